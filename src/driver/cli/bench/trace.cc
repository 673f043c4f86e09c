#include "driver/cli/bench/trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>

#include "base/json.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device_api.h"
#include "runtime/graph_executor/module.h"
#include "runtime/package/model_names.h"
#include "runtime/profiling/profiling.h"
#include "runtime/vm/machine.h"

namespace tessera::cli {
namespace {

double microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int64_t this_thread() { return syscall(SYS_gettid); }

/// What happened, from any number of threads.
class Recorder final : public ShareObserver, public vm::Observer {
 public:
  explicit Recorder(DLDevice device) : device_(device), main_(this_thread()) {}

  struct Event {
    std::string name, category, shapes, nodes;
    int64_t thread;
    double begin, end;
  };

  void add(Event event) {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }

  // ---- kernels: on the thread that runs the model ----
  void begin_kernel(const std::string& name, std::string shapes, const std::string& nodes) {
    kernel_ = {name, "kernel", std::move(shapes), source_nodes_text(nodes), main_, 0, 0};
    share_name_ = name;
    kernel_.begin = microseconds();
  }
  void end_kernel() {
    if (device_.device_type != kDLCPU) get_device_api(device_)->sync(device_, nullptr);
    kernel_.end = microseconds();
    add(kernel_);
  }
  void before_kernel(const std::string& name, std::span<const DLTensor* const> args, DLDevice,
                     const std::string& nodes) override {
    std::string shapes;
    for (const DLTensor* arg : args) shapes += (shapes.empty() ? "" : ", ") + profiling::argument_text(arg);
    begin_kernel(name, std::move(shapes), nodes);
  }
  void after_kernel() override { end_kernel(); }

  // ---- shares: on any thread; those of the main one lie inside the kernel's own bar ----
  void share_begins() override { began() = microseconds(); }
  void share_ends() override {
    if (int64_t thread = this_thread(); thread != main_)
      add({share_name_, "share", "", "", thread, began(), microseconds()});
  }

  std::string json() const {
    using Json = Map<String, ObjectRef>;
    auto number = [](auto value) { return box(Any(value)); };
    Array<ObjectRef> out;
    std::map<int64_t, int> threads{{main_, 0}};
    for (const Event& event : events_) threads.try_emplace(event.thread, 0);
    int count = 0;
    for (auto& [thread, worker] : threads) worker = thread == main_ ? 0 : ++count;
    for (auto [thread, worker] : threads)
      out.push_back(Json{{"name", String("thread_name")},
                         {"ph", String("M")},
                         {"pid", number(1)},
                         {"tid", number(thread)},
                         {"args", Json{{"name", String(worker ? "worker " + std::to_string(worker) : "caller")}}}});
    double start = events_.empty() ? 0 : events_[0].begin;
    for (const Event& event : events_) start = std::min(start, event.begin);
    for (const Event& event : events_) {
      Json json{{"name", String(event.name)},
                {"cat", String(event.category)},
                {"ph", String("X")},
                {"pid", number(1)},
                {"tid", number(event.thread)},
                {"ts", number(event.begin - start)},
                {"dur", number(event.end - event.begin)}};
      Json args;
      if (!event.shapes.empty()) args.set("shapes", String(event.shapes));
      if (!event.nodes.empty()) args.set("nodes", String(event.nodes));
      if (!args.empty()) json.set("args", args);
      out.push_back(json);
    }
    return to_json(Json{{"traceEvents", out}, {"displayTimeUnit", String("ms")}});
  }

 private:
  static double& began() {
    thread_local double at = 0;
    return at;
  }

  DLDevice device_;
  int64_t main_;
  Event kernel_;
  std::string share_name_;  // written while no region runs
  std::mutex mutex_;
  std::vector<Event> events_;
};

/// Tells the recorder of shares while it lives.
struct Watching {
  explicit Watching(Recorder* recorder) { observe_shares(recorder); }
  ~Watching() { observe_shares(nullptr); }
};

void add_run(Recorder& recorder, int run, double begin) {
  recorder.add({"run " + std::to_string(run), "run", "", "", this_thread(), begin, microseconds()});
}

void trace_graph(const Module& factory, DLDevice device, const NamedTensors& inputs, int runs, Recorder& recorder) {
  auto module = factory.get_function("debug_create")(factory.get_function("get_model_name")(), device).to<Module>();
  for (const auto& [name, tensor] : inputs) module.get_function("set_input")(name, tensor);
  auto* body = dynamic_cast<GraphExecutorModule*>(module.operator->());
  ICHECK(body) << "debug_create gives a graph executor";
  GraphExecutor& executor = body->executor;
  const Graph& graph = executor.graph();
  executor.run();
  Watching watching(&recorder);
  for (int run = 0; run < runs; ++run) {
    double begin = microseconds();
    for (size_t step = 0; step < executor.num_steps(); ++step) {
      uint32_t index = executor.step_node(step);
      const Graph::Node& node = graph.nodes[index];
      std::string shapes;
      for (const Graph::Value& input : node.inputs)
        shapes += (shapes.empty() ? "" : ", ") + profiling::argument_text(executor.value(graph.entry(input)).tensor());
      recorder.begin_kernel(node.name, std::move(shapes), node.source_nodes);
      executor.run_step(step);
      recorder.end_kernel();
    }
    add_run(recorder, run, begin);
  }
}

void trace_machine(const Module& executable, DLDevice device, const NamedTensors& inputs, int runs,
                   Recorder& recorder) {
  std::vector<DLDevice> devices{device};
  if (device.device_type != kDLCPU) devices.push_back(cpu());
  vm::Machine machine(executable, devices, true);
  std::vector<ObjectRef> args;
  for (const auto& [_, tensor] : inputs) args.push_back(tensor);
  machine.set_inputs("main", args);
  machine.invoke("main");
  Watching watching(&recorder);
  machine.observe(&recorder);
  for (int run = 0; run < runs; ++run) {
    double begin = microseconds();
    machine.invoke("main");
    add_run(recorder, run, begin);
  }
  machine.observe(nullptr);
}

}  // namespace

void write_trace(const std::string& path, const Module& compiled, DLDevice device, const NamedTensors& inputs,
                 int runs) {
  Recorder recorder(device);
  bool is_machine = compiled->type_key() == "VMExecutable";
  (is_machine ? trace_machine : trace_graph)(compiled, device, inputs, runs, recorder);
  write_whole_file(path, recorder.json());
}

}  // namespace tessera::cli
