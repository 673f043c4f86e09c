#pragma once
// CUDA devices through the driver. They share the primary contexts that PyTorch and the CUDA runtime use, and work on
// the default stream unless told otherwise.

#include <memory>
#include <mutex>

#include "runtime/cuda/driver.h"
#include "runtime/device_api.h"
#include "runtime/index_error.h"

namespace tessera::cuda {

/// Where one kernel notes bad indices: pinned memory, which the device writes only then and the host reads without a copy.
struct IndexErrors {
  DLDevice device;
  std::vector<std::string> texts;
  IndexErrorRecord* records = nullptr;  // one for each text

  IndexErrors(DLDevice device, std::vector<std::string> texts);
  ~IndexErrors();
  IndexErrors(const IndexErrors&) = delete;
  IndexErrors& operator=(const IndexErrors&) = delete;
};

class CudaDevice final : public DeviceAPI {
 public:
  static CudaDevice& instance();

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

  /// Makes the device's context current in the calling thread.
  CUcontext enter(DLDevice device);
  DLDevice current() const;
  CUstream stream_of(DLDevice device, Stream stream) const;
  /// Records that `sync` looks at from now on, as long as a module holds them and once more.
  std::shared_ptr<IndexErrors> watch_indices(DLDevice device, const std::vector<std::string>& texts);
  /// "sm_80" of the device, "sm_90a" with all that Hopper alone has.
  std::string arch(DLDevice device);

 private:
  int attribute(DLDevice device, int which);
  void throw_noted_errors(DLDevice device);

  std::mutex mutex_;
  std::vector<std::shared_ptr<IndexErrors>> watched_;
};

}  // namespace tessera::cuda
