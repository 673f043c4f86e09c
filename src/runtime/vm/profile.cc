#include "runtime/vm/profile.h"

#include "runtime/package/model_names.h"

namespace tessera::vm {
namespace {

/// Writes each kernel call into a report, and the machine's own instructions under v0.10's names.
class KernelTimes final : public Observer {
 public:
  explicit KernelTimes(profiling::Profiler& profiler) : profiler_(profiler) {}
  void before_kernel(const std::string& name, std::span<const DLTensor* const> args, DLDevice device,
                     const std::string& nodes) override {
    std::string shapes;
    for (const DLTensor* arg : args) shapes += (shapes.empty() ? "" : ", ") + profiling::argument_text(arg);
    profiling::Metrics extra{{"Argument Shapes", String(shapes)}};
    if (!nodes.empty()) extra.set(profiling::kNodes, String(source_nodes_text(nodes)));
    profiler_.start_call(name, device, extra);
  }
  void after_kernel() override { profiler_.stop_call(); }
  void before_instruction(const char* name, DLDevice device) override {
    profiler_.start_call(std::string("VM::") + name, device, {});
  }
  void after_instruction() override { profiler_.stop_call(); }

 private:
  profiling::Profiler& profiler_;
};

}  // namespace

profiling::Report profile(Machine& machine, const profiling::Collectors& collectors,
                          const std::function<void()>& invoke) {
  invoke();
  profiling::Profiler profiler({machine.device()}, collectors ? collectors : profiling::Collectors(),
                               {{"Executor", String("VM")}});
  KernelTimes times(profiler);
  struct Watch {  // also after an error nobody is told any more
    Machine& machine;
    Watch(Machine& machine, Observer* observer) : machine(machine) { machine.observe(observer); }
    ~Watch() { machine.observe(nullptr); }
  } watch(machine, &times);
  profiler.start();
  invoke();
  profiler.stop();
  return profiler.report();
}

}  // namespace tessera::vm
