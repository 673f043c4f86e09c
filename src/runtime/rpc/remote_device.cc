// Devices of a session as devices of this process: memory over there, copies between here and there.

#include "runtime/ndarray.h"
#include "runtime/rpc/client_session.h"

namespace tessera::rpc {
namespace {

std::shared_ptr<ClientSession> session_of(DLDevice device) {
  return ClientSession::find(device.device_type / kRpcSessionMask - 1);
}
DLDevice bare(DLDevice device) { return make_device(device.device_type % kRpcSessionMask, device.device_id); }
bool is_remote(DLDevice device) { return device.device_type >= kRpcSessionMask; }

const RemoteObject& memory_of(const DLTensor* tensor) { return *static_cast<const RemoteObject*>(tensor->data); }

class RemoteDeviceAPI : public DeviceAPI {
 public:
  void set_device(DLDevice device) override { ask(Code::DevSetDevice, device); }

  Any get_attr(DLDevice device, DeviceAttr attr) override {
    ByteWriter frame = frame_of(Code::DevGetAttr);
    write_device(frame, bare(device));
    frame.write(static_cast<int32_t>(attr));
    return session_of(device)->request(std::move(frame));
  }

  void* alloc(DLDevice device, size_t bytes, size_t, DataType) override {
    ByteWriter frame = frame_of(Code::DevAllocData);
    write_device(frame, bare(device));
    frame.write(static_cast<int64_t>(bytes));
    return allocated(device, std::move(frame), bytes);
  }

  void* alloc_in_scope(DLDevice device, std::span<const int64_t> shape, DataType dtype,
                       const std::string& scope) override {
    ByteWriter frame = frame_of(Code::DevAllocDataWithScope);
    write_device(frame, bare(device));
    write_shape(frame, shape);
    write_dtype(frame, dtype);
    frame.write(scope);
    return allocated(device, std::move(frame), tensor_bytes(shape, dtype));
  }

  void free(DLDevice, void* data) override { delete static_cast<RemoteObject*>(data); }

  void copy(const DLTensor* from, DLTensor* to, Stream) override {
    size_t bytes = tensor_bytes(from);
    if (!is_remote(from->device)) {
      const RemoteObject& memory = memory_of(to);
      memory.session->copy_to(memory.handle, to->byte_offset, static_cast<const char*>(data_of(from)), bytes);
    } else if (!is_remote(to->device)) {
      const RemoteObject& memory = memory_of(from);
      memory.session->copy_from(memory.handle, from->byte_offset, static_cast<char*>(data_of(to)), bytes);
    } else {
      copy_over_there(from, to, bytes);
    }
  }

  void sync(DLDevice device, Stream) override { ask(Code::DevStreamSync, device); }

 private:
  void ask(Code code, DLDevice device) {
    ByteWriter frame = frame_of(code);
    write_device(frame, bare(device));
    session_of(device)->request(std::move(frame));
  }

  void* allocated(DLDevice device, ByteWriter frame, size_t bytes) {
    std::shared_ptr<ClientSession> session = session_of(device);
    auto handle = session->request(std::move(frame)).to<uint64_t>();
    return new RemoteObject(session, handle, bytes);
  }

  void copy_over_there(const DLTensor* from, DLTensor* to, size_t bytes) {
    const RemoteObject &source = memory_of(from), &target = memory_of(to);
    if (source.session != target.session)
      throw Error(ValueError) << "cannot copy between two sessions directly; copy to cpu first";
    ByteWriter frame = frame_of(Code::CopyAmongRemote);
    frame.write(source.handle);
    frame.write(uint64_t{from->byte_offset});
    frame.write(target.handle);
    frame.write(uint64_t{to->byte_offset});
    frame.write(uint64_t{bytes});
    source.session->request(std::move(frame));
  }
};

RegisterDevice<RemoteDeviceAPI> remote_device{kRpcSessionMask};

}  // namespace
}  // namespace tessera::rpc
