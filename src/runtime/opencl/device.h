#pragma once
// OpenCL devices of the machine. A tensor's data pointer on such a device is a Memory*.

#include <map>
#include <memory>
#include <mutex>

#include "runtime/device_api.h"
#include "runtime/index_error.h"
#include "runtime/opencl/library.h"

namespace tessera::opencl {

struct Memory {
  cl_mem buffer;
};

/// Where one kernel notes bad indices.
struct IndexErrors {
  std::vector<std::string> texts;
  cl_mem buffer = nullptr;  // IndexErrorRecords, one for each text

  size_t bytes() const { return texts.size() * sizeof(IndexErrorRecord); }

  IndexErrors(cl_context context, std::vector<std::string> texts);
  ~IndexErrors();
  IndexErrors(const IndexErrors&) = delete;
  IndexErrors& operator=(const IndexErrors&) = delete;
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
  /// The next `sync` of the queue reads the records.
  void watch_indices(cl_command_queue queue, const std::shared_ptr<IndexErrors>& errors);

 private:
  using Watched = std::vector<std::shared_ptr<IndexErrors>>;
  Watched take_watched(cl_command_queue queue);

  std::mutex mutex_;
  std::map<cl_command_queue, Watched> watched_;  // of kernels that were launched since the queue was waited for
};

}  // namespace tessera::opencl
