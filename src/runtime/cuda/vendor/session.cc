#include "runtime/cuda/vendor/session.h"

#include <algorithm>

namespace tessera::cuda {

VendorSession::VendorSession(const char* library, std::initializer_list<const DLTensor*> tensors) {
  const DLTensor* first = nullptr;
  for (const DLTensor* tensor : tensors) {
    if (!tensor) continue;
    if (tensor->device.device_type != kDLCUDA || !is_contiguous(tensor))
      throw Error(ValueError) << library << " takes row-major tensors on a CUDA device, not " << describe(tensor)
                              << " on " << device_text(tensor->device);
    if (first && !same_device(first->device, tensor->device))
      throw Error(ValueError) << library << " was given tensors on " << device_text(first->device) << " and on "
                              << device_text(tensor->device);
    first = tensor;
  }
  ICHECK(first) << "a call of a library has tensors";
  device_ = first->device;
  CudaDevice::instance().enter(device_);
  stream_ = CudaDevice::instance().stream_of(device_, nullptr);
}

bool VendorSession::is_recording() const {
  int status = 0;
  check(driver().cuStreamIsCapturing(stream_, &status), "asking whether work is recorded");
  return status != 0;
}

float VendorSession::milliseconds(const std::function<void()>& work) const {
  constexpr int kRuns = 5;
  const Driver& cu = driver();
  struct Event {
    CUevent event = nullptr;
    Event() { check(driver().cuEventCreate(&event, 0), "making an event"); }
    ~Event() { driver().cuEventDestroy_v2(event); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
  } begin, end;
  work();
  float best = 0;
  for (int i = 0; i < kRuns; ++i) {
    float here = 0;
    check(cu.cuEventRecord(begin.event, stream_), "recording an event");
    work();
    check(cu.cuEventRecord(end.event, stream_), "recording an event");
    check(cu.cuEventSynchronize(end.event), "waiting for an event");
    check(cu.cuEventElapsedTime(&here, begin.event, end.event), "asking for a time");
    best = i == 0 ? here : std::min(best, here);
  }
  return best;
}

}  // namespace tessera::cuda
