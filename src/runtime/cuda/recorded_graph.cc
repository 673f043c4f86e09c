// Work of CUDA devices as graphs: what a stream is given is captured instead of run.

#include <memory>

#include "runtime/cpu/workspace_pool.h"
#include "runtime/cuda/device.h"
#include "runtime/recorded_work.h"

namespace tessera::cuda {
namespace {

constexpr int kCaptureOfThread = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

class RecordedGraph final : public RecordedWork {
 public:
  RecordedGraph(DLDevice device, CUgraph graph, std::unique_ptr<WorkspacePool> workspaces)
      : device_(device), workspaces_(std::move(workspaces)) {
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
  std::unique_ptr<WorkspacePool> workspaces_;
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

/// Runs the work until it finds all workspaces that it asks for: they cannot be taken while it is recorded.
void fill(const WorkspacePool& workspaces, DLDevice device, const std::function<void()>& work) {
  constexpr int kMaxRuns = 4;
  size_t before = 0;
  for (int i = 0; i < kMaxRuns && (i == 0 || workspaces.times_taken() != before); ++i) {
    before = workspaces.times_taken();
    work();
  }
  CudaDevice::instance().sync(device, nullptr);
}

std::unique_ptr<RecordedWork> record(DLDevice device, const std::function<void()>& work) {
  const Driver& cu = driver();
  auto workspaces = std::make_unique<WorkspacePool>();
  WorkspacePool::Instead instead(kDLCUDA, *workspaces);
  fill(*workspaces, device, work);
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
  return std::make_unique<RecordedGraph>(device, graph, std::move(workspaces));
}

[[maybe_unused]] const bool records_work = [] {
  register_work_recorder(kDLCUDA, record);
  return true;
}();

}  // namespace
}  // namespace tessera::cuda
