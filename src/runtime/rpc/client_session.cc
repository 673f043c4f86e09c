#include "runtime/rpc/client_session.h"

#include <map>

#include "runtime/ndarray.h"
#include "runtime/rpc/handshake.h"

namespace tessera::rpc {
namespace {

constexpr size_t kCopyPiece = 16 << 20;
constexpr double kHandshakeSeconds = 20;

struct SessionTable {
  std::mutex mutex;
  std::map<int, std::weak_ptr<ClientSession>> sessions;

  static SessionTable& get() {
    static auto* table = new SessionTable;  // sessions of globals end after us
    return *table;
  }
};

}  // namespace

std::shared_ptr<ClientSession> ClientSession::start(Connection connection, uint32_t timeout) {
  std::shared_ptr<ClientSession> session(new ClientSession(std::move(connection), timeout));
  SessionTable& table = SessionTable::get();
  std::lock_guard lock(table.mutex);
  int index = 0;
  while (table.sessions.contains(index)) ++index;
  table.sessions[index] = session;
  session->index_ = index;
  return session;
}

ClientSession::ClientSession(Connection connection, uint32_t timeout) : connection_(std::move(connection)) {
  if (timeout) end_ = after(timeout);
}

ClientSession::~ClientSession() {
  close();
  SessionTable& table = SessionTable::get();
  std::lock_guard lock(table.mutex);
  table.sessions.erase(index_);
}

std::shared_ptr<ClientSession> ClientSession::find(int index) {
  SessionTable& table = SessionTable::get();
  std::lock_guard lock(table.mutex);
  auto found = table.sessions.find(index);
  std::shared_ptr<ClientSession> session = found == table.sessions.end() ? nullptr : found->second.lock();
  if (!session) throw Error(RpcError) << "the RPC session " << index << " has ended";
  return session;
}

void ClientSession::close() {
  std::lock_guard lock(mutex_);
  if (is_closed_.exchange(1)) return;
  try {
    connection_.send_frame(frame_of(Code::Shutdown).take());
  } catch (const Error&) {  // it has gone already
  }
  connection_.close();
}

void ClientSession::free_handle(Handle handle) {
  if (handle == 0 || is_closed_) return;
  std::lock_guard lock(pending_mutex_);
  pending_.push_back(handle);
}

void ClientSession::free_pending() {
  std::vector<Handle> handles;
  {
    std::lock_guard lock(pending_mutex_);
    handles.swap(pending_);
  }
  for (Handle handle : handles) {
    ByteWriter frame = frame_of(Code::FreeHandle);
    frame.write(handle);
    connection_.send_frame(frame.take());
  }
}

std::string ClientSession::exchange(const std::string& frame) {
  std::lock_guard lock(mutex_);
  if (is_closed_) throw Error(RpcError) << "the session with " << connection_.peer() << " has ended";
  try {
    free_pending();
    connection_.send_frame(frame);
    return connection_.receive_frame(answer_timeout_ > 0 ? after(answer_timeout_) : std::nullopt);
  } catch (const Error& error) {
    is_closed_ = true;
    connection_.close();
    if (end_ && Clock::now() >= *end_ - std::chrono::milliseconds(100))
      throw Error(RpcTimeoutError) << "the session with " << connection_.peer()
                                   << " took longer than its session_timeout";
    throw;
  }
}

Any ClientSession::request(ByteWriter frame) {
  std::string answer = exchange(frame.take());
  ByteReader in(answer, "RPC answer");
  auto code = static_cast<Code>(in.read<uint8_t>("code"));
  if (code == Code::Return) return read_value(in, *this);
  if (code != Code::Exception) in.fail("code", "is " + std::to_string(static_cast<int>(code)));
  std::string kind = in.read_string("kind"), message = in.read_string("message");
  bool has_own_class = kind != RuntimeError && kind != RpcError;
  throw Error(has_own_class ? std::string(RpcError) + "." + kind : RpcError, "Error caught from RPC call: " + message);
}

Any ClientSession::call(Handle function, Args args) {
  ByteWriter frame = frame_of(Code::CallFunc);
  frame.write(function);
  frame.write(static_cast<uint32_t>(args.size()));
  for (int i = 0; i < args.size(); ++i) write_value(frame, args[i], *this, "argument " + std::to_string(i));
  return request(std::move(frame));
}

PackedFunc ClientSession::get_function(const std::string& name) {
  ByteWriter frame = frame_of(Code::GetGlobalFunc);
  frame.write(name);
  return request(std::move(frame)).to<PackedFunc>();
}

void ClientSession::copy_to(Handle handle, uint64_t offset, const char* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCopyPiece) {
    ByteWriter frame = frame_of(Code::CopyToRemote);
    frame.write(handle);
    frame.write(offset + at);
    frame.write(std::string_view(data + at, std::min(kCopyPiece, bytes - at)));
    request(std::move(frame));
  }
}

void ClientSession::copy_from(Handle handle, uint64_t offset, char* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCopyPiece) {
    size_t count = std::min(kCopyPiece, bytes - at);
    ByteWriter frame = frame_of(Code::CopyFromRemote);
    frame.write(handle);
    frame.write(offset + at);
    frame.write(uint64_t{count});
    auto piece = request(std::move(frame)).to<Bytes>();
    if (piece.str().size() != count)
      throw Error(RpcError) << connection_.peer() << " sent " << piece.str().size() << " bytes, not " << count;
    std::memcpy(data + at, piece.str().data(), count);
  }
}

Handle ClientSession::handle_of(const AnyView& value, const std::string& what) {
  const RemoteObject* object = nullptr;
  if (value.code() == kTesseraModule) {
    if (RemoteModule* module = as_remote(value.to<Module>())) object = &module->object();
  } else if (auto* body = value.to<PackedFunc>()->body.target<RemoteFunction>()) {
    object = body->object.get();
  }
  if (object && object->session.get() == this) return object->handle;
  throw Error(TypeError) << what << " is a " << (value.code() == kTesseraModule ? "module" : "function") << " of "
                         << (object ? "another session" : "this process") << "; a server can use only its own";
}

WireTensor ClientSession::tensor_of(const AnyView& value, const std::string& what) {
  const DLTensor* tensor = value.to<DLTensor*>();
  DLDevice device = device_of(tensor->device, what);
  if (!is_contiguous(tensor)) throw Error(ValueError) << what << " is a tensor with strides; copy it first";
  auto* memory = static_cast<RemoteObject*>(tensor->data);
  return {memory->handle,
          tensor->byte_offset,
          device,
          DataType(tensor->dtype),
          {tensor->shape, tensor->shape + tensor->ndim}};
}

DLDevice ClientSession::device_of(DLDevice device, const std::string& what) {
  int type = device.device_type;
  if (type / kRpcSessionMask - 1 != index_)
    throw Error(ValueError) << what << " is on " << device_text(device)
                            << ", not on a device of the session; make it there: nd.array(data, remote.cpu())";
  return make_device(type % kRpcSessionMask, device.device_id);
}

Any ClientSession::function(Handle handle) {
  return PackedFunc(RemoteFunction{std::make_shared<RemoteObject>(shared_from_this(), handle)});
}

Any ClientSession::module(Handle handle) {
  return make_module<RemoteModule>(std::make_shared<RemoteObject>(shared_from_this(), handle));
}

Any ClientSession::device(DLDevice device) { return make_device(masked(device.device_type), device.device_id); }

Any ClientSession::tensor(const WireTensor& tensor) {
  struct Managed {
    DLManagedTensor managed{};
    RemoteObject memory;
    std::vector<int64_t> shape;
  };
  uint64_t bytes = tensor_bytes(tensor.shape, tensor.dtype);
  auto* made = new Managed{{}, RemoteObject(shared_from_this(), tensor.handle, bytes), tensor.shape};
  made->managed.dl_tensor = {.data = &made->memory,
                             .device = make_device(masked(tensor.device.device_type), tensor.device.device_id),
                             .ndim = static_cast<int>(made->shape.size()),
                             .dtype = tensor.dtype,
                             .shape = made->shape.data(),
                             .strides = nullptr,
                             .byte_offset = 0};
  made->managed.manager_ctx = made;
  made->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Managed*>(self->manager_ctx); };
  return NDArray::from_dlpack(&made->managed);
}

PackedFunc RemoteModule::get_function(const std::string& name, const Module& self) {
  if (object_->handle == 0) return object_->session->get_function(name);
  return object_->session->get_function("tvm.rpc.server.ModuleGetFunction")(self, name, true).to<PackedFunc>();
}

RemoteModule* as_remote(const Module& module) {
  return module ? dynamic_cast<RemoteModule*>(module.get()->body.get()) : nullptr;
}

Module session_module(const std::shared_ptr<ClientSession>& session) {
  return make_module<RemoteModule>(std::make_shared<RemoteObject>(session, 0));
}

std::shared_ptr<ClientSession> connect(const std::string& host, int port, const std::string& key, uint32_t timeout) {
  Connection connection = Connection::open(host, port);
  Hello hello;
  hello.key = key;
  hello.timeout = timeout;
  introduce(connection, hello, after(kHandshakeSeconds));
  return ClientSession::start(std::move(connection), timeout);
}

}  // namespace tessera::rpc
