#pragma once
// Work for a device that is recorded once and launched many times, as one call: CUDA graphs.

#include <functional>
#include <memory>

#include "runtime/device.h"

namespace tessera {

class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  /// Gives all of it to the current stream of the device, and does not wait.
  virtual void launch() = 0;
};

/// Records what `work` gives to the device: kernels and copies. Their arguments are those of this time. The work runs before, so that it
/// finds its code loaded and its workspaces, which belong to the record from then on, taken. Work that waits for the device, or takes
/// other memory of it, cannot be recorded and is an error, as are kinds of devices that record nothing.
std::unique_ptr<RecordedWork> record_work(DLDevice device, const std::function<void()>& work);

using WorkRecorder = std::unique_ptr<RecordedWork> (*)(DLDevice device, const std::function<void()>& work);
void register_work_recorder(int device_type, WorkRecorder recorder);

}  // namespace tessera
