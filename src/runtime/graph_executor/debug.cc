#include "runtime/graph_executor/debug.h"

#include "runtime/package/model_names.h"
#include "runtime/profiling/time_evaluator.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// (number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown), of which all
/// but the first may be left out.
TimePlan plan_from(Args args, int first, DLDevice device) {
  TimePlan plan{.device = device};
  int64_t* parts[] = {&plan.number,        &plan.repeat,
                      &plan.min_repeat_ms, &plan.limit_zero_time_iterations,
                      &plan.cooldown_ms,   &plan.repeats_to_cooldown};
  if (args.size() <= first || args.size() > first + static_cast<int>(std::size(parts)))
    throw Error(TypeError) << "measuring nodes takes 1 to " << std::size(parts) << " numbers, got "
                           << args.size() - first;
  for (int i = first; i < args.size(); ++i) *parts[i - first] = args[i].to<int64_t>();
  plan.check("run_individual");
  return plan;
}

}  // namespace

size_t DebugGraphExecutor::checked(int64_t node) const {
  size_t count = executor.graph().nodes.size();
  if (node < 0 || static_cast<size_t>(node) >= count)
    throw Error(IndexError) << "node " << node << " of a graph that has " << count;
  return static_cast<size_t>(node);
}

std::vector<double> DebugGraphExecutor::time_node(const Module& self, int64_t node, const TimePlan& plan) {
  int64_t step = executor.step_of(checked(node));
  if (step < 0) return std::vector<double>(static_cast<size_t>(plan.repeat), 0.0);
  PackedFunc once([self, this, step](Args, Any*) { executor.run_step(static_cast<size_t>(step)); });
  return measure_calls(once, {}, plan);
}

Bytes DebugGraphExecutor::time_nodes(const Module& self, const TimePlan& plan) {
  executor.run();  // every node finds sensible inputs
  auto count = static_cast<int64_t>(executor.graph().nodes.size());
  std::string out(reinterpret_cast<const char*>(&count), sizeof count);
  for (int64_t node = 0; node < count; ++node) out += to_bytes(time_node(self, node, plan)).str();
  return Bytes(std::move(out));
}

void DebugGraphExecutor::execute_node(int64_t node) {
  checked(node);
  for (int64_t at = node > executed_ ? executed_ + 1 : 0; at <= node; ++at)
    if (int64_t step = executor.step_of(static_cast<size_t>(at)); step >= 0)
      executor.run_step(static_cast<size_t>(step));
  executed_ = node;
}

NDArray DebugGraphExecutor::node_output(int64_t node, int64_t output) const {
  const Graph& graph = executor.graph();
  size_t at = checked(node);
  if (output < 0 || output >= graph.nodes[at].outputs)
    throw Error(IndexError) << "output " << output << " of node " << graph.nodes[at].name << ", which has "
                            << graph.nodes[at].outputs;
  return executor.value(graph.first_entry[at] + static_cast<uint32_t>(output));
}

profiling::Report DebugGraphExecutor::profile(const profiling::Collectors& collectors) {
  executor.run();  // warms caches; not counted
  const Graph& graph = executor.graph();
  profiling::Profiler profiler(executor.devices(), collectors, {{"Executor", String("Graph")}});
  profiler.start();
  for (size_t step = 0; step < executor.num_steps(); ++step) {
    const uint32_t index = executor.step_node(step);
    const Graph::Node& node = graph.nodes[index];
    std::string shapes;
    auto add = [&](uint32_t entry) {
      shapes += (shapes.empty() ? "" : ", ") + profiling::argument_text(executor.value(entry).tensor());
    };
    for (const Graph::Value& input : node.inputs) add(graph.entry(input));
    for (uint32_t i = 0; i < node.outputs; ++i) add(graph.first_entry[index] + i);
    profiling::Metrics extra{{"Argument Shapes", String(shapes)}};
    if (!node.source_nodes.empty()) extra.set(profiling::kNodes, String(source_nodes_text(node.source_nodes)));
    for (const auto& [name, value] : node.labels) extra.set(String(name == "hash" ? "Hash" : name), String(value));
    profiler.start_call(node.function, executor.value(graph.first_entry[index]).device(), extra);
    executor.run_step(step);
    profiler.stop_call();
  }
  profiler.stop();
  return profiler.report();
}

PackedFunc DebugGraphExecutor::get_function(const std::string& name, const Module& self) {
  if (name == "run_individual")
    return PackedFunc([self, this](Args args, Any* result) {
      *result = Any(time_nodes(self, plan_from(args, 0, executor.devices()[0])));
    });
  if (name == "run_individual_node")
    return PackedFunc([self, this](Args args, Any* result) {
      *result = Any(to_bytes(time_node(self, args[0].to<int64_t>(), plan_from(args, 1, executor.devices()[0]))));
    });
  if (name == "execute_node") return typed(name, [self, this](int64_t node) { execute_node(node); });
  if (name == "get_node_output")
    return typed(name, [self, this](int64_t node, int64_t output) { return node_output(node, output); });
  if (name == "debug_get_output")
    return typed(name, [self, this](int64_t node, DLTensor* out) {
      checked(node);
      executed_ = -1;
      execute_node(node);
      copy_tensor(node_output(node, 0).tensor(), out);
    });
  if (name == "profile")
    return typed(name, [self, this](profiling::Collectors collectors) { return profile(collectors); });
  if (name == "profile_rpc") return typed(name, [self, this] { return profile({})->json(); });
  return GraphExecutorModule::get_function(name, self);
}

static Globals debug_globals{
    {"tvm.graph_executor_debug.create", PackedFunc([](Args args, Any* result) {
       if (args.size() < 4)
         throw Error(TypeError) << "graph_executor_debug.create takes a graph, a library and devices";
       int first = args.size() % 2;  // a callback for look-ups may stand before the devices
       auto graph = std::make_shared<const Graph>(Graph::parse(args[0].to<std::string>()));
       *result = Any(make_module<DebugGraphExecutor>(graph, args[1].to<Module>(), devices_from(args, 2 + first)));
     })},
};

}  // namespace tessera
