#pragma once
// A call of a library on a device: its context is current, work goes to its stream, workspaces come from the pool.

#include <functional>
#include <initializer_list>
#include <memory>

#include "runtime/cuda/device.h"
#include "runtime/ndarray.h"

namespace tessera::cuda {

class VendorSession {
 public:
  /// The device of the tensors; an error where they lie on several, or on none of CUDA's, or are not row-major. Null tensors are left out.
  VendorSession(const char* library, std::initializer_list<const DLTensor*> tensors);

  DLDevice device() const { return device_; }
  CUstream stream() const { return stream_; }
  /// True while work of the stream is recorded, when nothing can be measured.
  bool is_recording() const;
  /// Milliseconds that `work` takes on the device, the fastest of a few runs.
  float milliseconds(const std::function<void()>& work) const;

 private:
  DLDevice device_{};
  CUstream stream_ = nullptr;
};

/// Memory for the time of a call.
class VendorWorkspace {
 public:
  VendorWorkspace(DLDevice device, size_t bytes) : device_(device) {
    if (bytes > 0) data_ = CudaDevice::instance().alloc_workspace(device, bytes);
  }
  ~VendorWorkspace() {
    if (data_) CudaDevice::instance().free_workspace(device_, data_);
  }
  VendorWorkspace(const VendorWorkspace&) = delete;
  VendorWorkspace& operator=(const VendorWorkspace&) = delete;
  void* data() const { return data_; }

 private:
  DLDevice device_;
  void* data_ = nullptr;
};

/// A descriptor of a library, made by `create` and destroyed with its last copy.
template <class T>
std::shared_ptr<T> vendor_object(T* made, int (*destroy)(T*)) {
  return std::shared_ptr<T>(made, [destroy](T* object) { destroy(object); });
}

/// The power of two, at most 256, at a multiple of which the data of a tensor begins.
inline uint32_t alignment_of(const DLTensor* tensor) {
  const auto address = reinterpret_cast<uintptr_t>(data_of(tensor));
  uint32_t out = 256;
  while (address % out != 0) out /= 2;
  return out;
}

}  // namespace tessera::cuda
