#include "runtime/recorded_work.h"

#include <map>

#include "base/error.h"

namespace tessera {
namespace {

std::map<int, WorkRecorder>& recorders() {
  static auto* all = new std::map<int, WorkRecorder>;
  return *all;
}

}  // namespace

void register_work_recorder(int device_type, WorkRecorder recorder) { recorders()[device_type] = recorder; }

std::unique_ptr<RecordedWork> record_work(DLDevice device, const std::function<void()>& work) {
  auto recorder = recorders().find(device.device_type);
  if (recorder == recorders().end())
    throw Error(NotImplementedError) << device_text(device)
                                     << " does not record work to launch it at once; CUDA devices do";
  return recorder->second(device, work);
}

}  // namespace tessera
