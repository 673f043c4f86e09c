// Work of CUDA devices as graphs: what a stream is given is captured instead of run.

#include "runtime/cuda/device.h"
#include "runtime/recorded_work.h"

namespace tessera::cuda {
namespace {

constexpr int kCaptureOfThread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

class RecordedGraph final : public RecordedWork {
 public:
  RecordedGraph(DLDevice device, CUgraph graph) : device_(device) {
    const CUresult code = driver().cuGraphInstantiateWithFlags(&graph_, graph, 0);
    driver().cuGraphDestroy(graph);
    check(code, "making a graph of recorded work");
  }
  ~RecordedGraph() override {
    try {
      CudaDevice::instance().enter(device_);
    } catch (const Error&) {  // the driver is gone already
      return;
    }
    driver().cuGraphExecDestroy(graph_);
  }
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  void launch() override {
    CudaDevice& devices = CudaDevice::instance();
    devices.enter(device_);
    check(driver().cuGraphLaunch(graph_, devices.stream_of(device_, nullptr)), "launching recorded work");
  }

 private:
  DLDevice device_;
  CUgraphExec graph_ = nullptr;
};

/// A stream of its own that is the current one of the device while it lives.
class CaptureStream {
 public:
  explicit CaptureStream(DLDevice device)
      : device_(device), before_(devices().stream_of(device, nullptr)), stream_(devices().create_stream(device)) {
    devices().set_stream(device, stream_);
  }
  ~CaptureStream() {
    devices().set_stream(device_, before_);
    driver().cuStreamDestroy_v2(stream());
  }
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;
  CUstream stream() const { return static_cast<CUstream>(stream_); }

 private:
  static CudaDevice& devices() { return CudaDevice::instance(); }

  DLDevice device_;
  Stream before_, stream_;
};

std::unique_ptr<RecordedWork> record(DLDevice device, const std::function<void()>& work) {
  const Driver& cu = driver();
  CaptureStream capture(device);
  check(cu.cuStreamBeginCapture_v2(capture.stream(), kCaptureOfThread), "beginning to record work");
  CUgraph graph = nullptr;
  try {
    work();
  } catch (...) {
    cu.cuStreamEndCapture(capture.stream(), &graph);
    if (graph) cu.cuGraphDestroy(graph);
    throw;
  }
  check(cu.cuStreamEndCapture(capture.stream(), &graph), "recording work");
  return std::make_unique<RecordedGraph>(device, graph);
}

[[maybe_unused]] const bool records_work = [] {
  register_work_recorder(kDLCUDA, record);
  return true;
}();

}  // namespace
}  // namespace tessera::cuda
