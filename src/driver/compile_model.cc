#include "driver/compile_model.h"

#include "base/progress.h"
#include "driver/relay_build.h"
#include "driver/vm/compile.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "runtime/graph_executor/module.h"
#include "runtime/module/linked_params.h"

namespace tessera {
namespace {

PassContext context_of(const CompileOptions& options) {
  PassContextNode node;
  node.opt_level = options.opt_level;
  node.disabled_pass = options.disabled_pass;
  node.config = options.pass_config;
  return PassContext::create(std::move(node));
}

IRModule bind_params(const IRModule& given, const Map<String, NDArray>& params) {
  if (params.empty()) return given;
  IRModule mod = given.copy();
  auto main = downcast<relay::Function>(mod.lookup("main"));
  mod.update(mod.get_global_var("main"), relay::bind_params_by_name(main, params));
  return mod;
}

CompiledModel compile_graph(const LoadedModel& model, const CompileOptions& options) {
  CompiledModel out;
  out.executor = "graph";
  relay::BuiltGraph built = relay::build_graph(model.mod, options.target, model.params, options.module_name);
  out.graph_json = built.graph_json;
  out.optimized = built.optimized;
  out.library = built.library;
  if (options.link_params) {
    out.library = link_params(built.library, built.params);
  } else {
    out.params = built.params;
  }
  out.runnable = make_graph_factory(out.graph_json, out.library, out.params, options.module_name);
  return out;
}

CompiledModel compile_program(const LoadedModel& model, const CompileOptions& options) {
  CompiledModel out;
  out.executor = "vm";
  begin_stage("optimise graph");
  CompilationConfig config = make_compilation_config({options.target}, {});
  out.optimized = relay::optimize_for_vm(bind_params(model.mod, model.params), config);
  out.runnable = relay::compile_vm(out.optimized, config);
  out.library = out.runnable.imports().empty() ? Module() : Module(out.runnable.imports()[0]);
  return out;
}

}  // namespace

IRModule convert_layout(const IRModule& mod, const std::string& layout) {
  if (layout != "NCHW" && layout != "NHWC")
    throw Error(ValueError) << "the layout of convolutions can be NCHW or NHWC, not \"" << layout << "\"";
  Map<String, Array<String>> desired;
  for (std::string_view op : {relay::ops::conv2d, relay::ops::conv2d_transpose, relay::ops::qnn_conv2d})
    desired.set(String(op), Array<String>{String(layout), String("default")});
  PassContextNode context;
  context.opt_level = 3;
  WithPassContext scope(PassContext::create(std::move(context)));
  return sequential({pass(relay::remove_unused_functions, Array<String>{"main"}), pass(relay::convert_layout, desired),
                     relay::fold_constant_pass(false)})(mod);
}

CompiledModel compile_model(const LoadedModel& given, const CompileOptions& options) {
  LoadedModel model = given;
  if (!options.desired_layout.empty()) {
    begin_stage("convert layout");
    model.mod = convert_layout(model.mod, options.desired_layout);
  }
  WithPassContext scope(context_of(options));
  bool needs_vm = options.executor != "vm" && relay::needs_vm(model.mod);
  if (needs_vm && options.executor == "graph")
    throw Error(ValueError)
        << "the model has control flow, data types or dynamic shapes, which the graph executor cannot run. "
        << "Leave out --executor so that the virtual machine is used, or fix the shapes of the "
        << "inputs with --input-shapes";
  return needs_vm || options.executor == "vm" ? compile_program(model, options) : compile_graph(model, options);
}

}  // namespace tessera
