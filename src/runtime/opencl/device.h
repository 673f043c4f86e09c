#pragma once
// OpenCL devices of the machine. A tensor's data pointer on such a device is a Memory*.

#include <memory>
#include <mutex>

#include "runtime/device_api.h"
#include "runtime/opencl/library.h"

namespace tessera::opencl {

struct Memory {
  cl_mem buffer;
};

/// One device, with a context and a queue of its own, made when first used.
struct Device {
  cl_device_id id = nullptr;
  cl_platform_id platform = nullptr;
  std::once_flag started;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

class OpenCLDevice final : public DeviceAPI {
 public:
  static OpenCLDevice& instance();

  void set_device(DLDevice device) override;
  Any get_attr(DLDevice device, DeviceAttr attr) override;
  void* alloc(DLDevice device, size_t bytes, size_t alignment, DataType hint) override;
  void free(DLDevice device, void* data) override;
  void copy(const DLTensor* from, DLTensor* to, Stream stream) override;
  Stream create_stream(DLDevice device) override;
  void free_stream(DLDevice device, Stream stream) override;
  void set_stream(DLDevice device, Stream stream) override;
  void sync(DLDevice device, Stream stream) override;
  void sync_streams(DLDevice device, Stream from, Stream to) override;

  /// GPUs first, then other accelerators, then CPUs.
  const std::vector<std::unique_ptr<Device>>& devices();
  /// The started device of that number; an error that says what there is.
  Device& get(DLDevice device);
  /// What the calling thread works on now.
  DLDevice current() const;
  cl_command_queue queue_of(DLDevice device, Stream stream);
};

}  // namespace tessera::opencl
