#include "runtime/rpc/server_session.h"

#include "runtime/containers.h"
#include "runtime/module/module.h"
#include "runtime/registry.h"

namespace tessera::rpc {
namespace {

constexpr uint32_t kMaxArguments = 4096;

/// A frame that no client of ours sends: not to be told apart from an attack.
struct Malformed {
  Error error;
};

std::string exception_frame(const std::string& kind, const std::string& message) {
  ByteWriter out = frame_of(Code::Exception);
  out.write(kind);
  out.write(message);
  return out.take();
}

}  // namespace

std::optional<std::string> ServerSession::answer(std::string_view frame) {
  ByteReader in(frame, "RPC frame");
  auto code = static_cast<Code>(in.read<uint8_t>("code"));
  if (code == Code::Shutdown) return is_over_ = true, std::nullopt;
  if (code == Code::FreeHandle) {
    kept_.erase(in.read<uint64_t>("handle"));
    return std::nullopt;
  }
  try {
    ByteWriter out = frame_of(Code::Return);
    write_value(out, perform(code, in), *this, "the result");
    return out.take();
  } catch (const Malformed& malformed) {
    throw malformed.error;
  } catch (const Error& error) {
    return exception_frame(error.kind(), error.message());
  } catch (const std::exception& error) {
    return exception_frame(RuntimeError, error.what());
  }
}

Any ServerSession::perform(Code code, ByteReader& in) {
  // Reading is over before anything is done, so that a malformed frame has no effect.
  auto checked = [&](auto&& read) {
    try {
      auto value = read();
      if (in.left()) in.fail("end", "is not where the frame ends");
      return value;
    } catch (const Error& error) {
      throw Malformed{error};
    }
  };
  struct Region {
    Handle handle;
    uint64_t offset;
  };
  auto region = [&] {
    auto handle = in.read<uint64_t>("handle");
    return Region{handle, in.read<uint64_t>("offset")};
  };
  switch (code) {
    case Code::CallFunc: return call(in);
    case Code::GetGlobalFunc: return Any(find_global(checked([&] { return in.read_string("name"); })));
    case Code::DevSetDevice: {
      DLDevice device = checked([&] { return read_device(in); });
      get_device_api(device)->set_device(device);
      return {};
    }
    case Code::DevStreamSync: {
      DLDevice device = checked([&] { return read_device(in); });
      get_device_api(device)->sync(device, nullptr);
      return {};
    }
    case Code::DevGetAttr: {
      DLDevice device{};
      int attr = checked([&] {
        device = read_device(in);
        return in.read<int32_t>("attribute");
      });
      return get_global("runtime.GetDeviceAttr")(device, attr);
    }
    case Code::DevAllocData: {
      DLDevice device{};
      auto bytes = checked([&] {
        device = read_device(in);
        return in.read<int64_t>("bytes");
      });
      return keep(NDArray::empty(std::array{bytes}, DataType::UInt(8), device));
    }
    case Code::DevAllocDataWithScope: {
      DLDevice device{};
      std::vector<int64_t> shape;
      DataType dtype;
      std::string scope = checked([&] {
        device = read_device(in);
        shape = read_shape(in);
        dtype = read_dtype(in);
        return in.read_string("scope");
      });
      return keep(NDArray::empty(shape, dtype, device, scope));
    }
    case Code::CopyFromRemote: {
      Region from{};
      auto bytes = checked([&] {
        from = region();
        return in.read<uint64_t>("bytes");
      });
      if (bytes > kMaxFrame / 2) throw Error(ValueError) << "a copy of " << bytes << " bytes at once is too large";
      NDArray data = piece(from.handle, from.offset, bytes);
      std::string out(bytes, '\0');
      data.copy_to_bytes(out.data(), out.size());
      return Bytes(std::move(out));
    }
    case Code::CopyToRemote: {
      Region to{};
      std::string data = checked([&] {
        to = region();
        return in.read_string("contents");
      });
      piece(to.handle, to.offset, data.size()).copy_from_bytes(data.data(), data.size());
      return {};
    }
    case Code::CopyAmongRemote: {
      Region from{}, to{};
      auto bytes = checked([&] {
        from = region();
        to = region();
        return in.read<uint64_t>("bytes");
      });
      piece(to.handle, to.offset, bytes).copy_from(piece(from.handle, from.offset, bytes));
      return {};
    }
    default: break;
  }
  return checked([&]() -> Any { in.fail("code", "is " + std::to_string(static_cast<int>(code))); });
}

Any ServerSession::call(ByteReader& in) {
  PackedFunc function = nullptr;
  std::vector<Any> args;
  try {
    function = this->function(in.read<uint64_t>("handle")).to<PackedFunc>();
    auto count = in.read<uint32_t>("number of arguments");
    if (count > kMaxArguments) in.fail("number of arguments", "is " + std::to_string(count));
    for (uint32_t i = 0; i < count; ++i) args.push_back(read_value(in, *this));
    if (in.left()) in.fail("end", "is not where the frame ends");
  } catch (const Error& error) {
    throw Malformed{error};
  }
  std::vector<TesseraValue> values;
  std::vector<int> codes;
  for (const Any& each : args) {
    values.push_back(each.raw());
    codes.push_back(each.code());
  }
  Any result;
  function.call_packed({values.data(), codes.data(), static_cast<int>(args.size())}, &result);
  return result;
}

Handle ServerSession::keep(Any value) {
  kept_.emplace(next_, std::move(value));
  return next_++;
}

const Any& ServerSession::find(Handle handle, const char* kind) const {
  auto found = kept_.find(handle);
  if (found == kept_.end()) throw Error(ValueError) << "handle " << handle << " stands for no " << kind;
  return found->second;
}

NDArray ServerSession::piece(Handle handle, uint64_t offset, std::span<const int64_t> shape, DataType dtype) const {
  const Any& found = find(handle, "tensor");
  if (found.code() != kTesseraNDArray) throw Error(ValueError) << "handle " << handle << " stands for no tensor";
  auto whole = found.to<NDArray>();
  uint64_t bytes = tensor_bytes(shape, dtype), there = whole.bytes();
  if (offset > there || bytes > there - offset)
    throw Error(ValueError) << "bytes " << offset << " to " << offset + bytes << " are not inside a tensor of " << there
                            << " bytes";
  NDArray out = whole.view(shape, dtype);
  out.tensor()->byte_offset += offset;
  return out;
}

NDArray ServerSession::piece(Handle handle, uint64_t offset, uint64_t bytes) const {
  if (bytes > INT64_MAX) throw Error(ValueError) << "a tensor has no " << bytes << " bytes";
  return piece(handle, offset, std::array{static_cast<int64_t>(bytes)}, DataType::UInt(8));
}

Handle ServerSession::handle_of(const AnyView& value, const std::string&) { return keep(value); }

WireTensor ServerSession::tensor_of(const AnyView& value, const std::string& what) {
  if (value.code() != kTesseraNDArray)
    throw Error(TypeError) << what << " is a borrowed tensor, which cannot be given to a client";
  auto tensor = value.to<NDArray>();
  if (tensor->byte_offset != 0 || !is_contiguous(tensor.tensor())) tensor = tensor.copy_to(tensor.device());
  return {keep(tensor), 0, tensor.device(), tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}};
}

Any ServerSession::function(Handle handle) {
  const Any& found = find(handle, "function");
  if (found.code() != kTesseraFunction) throw Error(ValueError) << "handle " << handle << " stands for no function";
  return found;
}

Any ServerSession::module(Handle handle) {
  if (handle == 0) return Module(nullptr);  // the session itself: global functions
  const Any& found = find(handle, "module");
  if (found.code() != kTesseraModule) throw Error(ValueError) << "handle " << handle << " stands for no module";
  return found;
}

Any ServerSession::tensor(const WireTensor& tensor) {
  NDArray out = piece(tensor.handle, tensor.offset, tensor.shape, tensor.dtype);
  if (!same_device(out.device(), tensor.device))
    throw Error(ValueError) << "handle " << tensor.handle << " is a tensor on " << device_text(out.device());
  return out;
}

void serve_session(Connection& connection) {
  ServerSession session;
  while (!session.is_over()) {
    std::string frame;
    try {
      frame = connection.receive_frame(std::nullopt);
    } catch (const Error& error) {
      if (error.message().ends_with("closed the connection")) return;
      throw;
    }
    std::optional<std::string> answer = session.answer(frame);
    if (answer && answer->size() > kMaxFrame)
      answer = exception_frame(ValueError, "a result of " + std::to_string(answer->size()) + " bytes is too large");
    if (answer) connection.send_frame(*answer);
  }
}

}  // namespace tessera::rpc
