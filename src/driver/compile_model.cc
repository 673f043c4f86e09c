#include "driver/compile_model.h"

#include "base/progress.h"
#include "driver/relay_build.h"
#include "driver/vm/compile.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "runtime/graph_executor/module.h"
#include "runtime/module/linked_params.h"
#include "topi/cpu/contraction/half_floats.h"

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

const std::vector<std::string>& precisions() {
  static const std::vector<std::string> names{"fp32", "fp16", "bf16"};
  return names;
}

LoadedModel convert_precision(const LoadedModel& given, const std::string& precision, const Target& target) {
  if (precision == "fp32") return given;
  if (precision != "fp16" && precision != "bf16") {
    Error error(ValueError);
    error << "there is no precision \"" << precision << "\"; there are";
    for (size_t i = 0; i < precisions().size(); ++i) error << (i ? ", " : " ") << precisions()[i];
    throw error;
  }
  begin_stage("convert precision");
  const DataType narrow(precision == "fp16" ? "float16" : "bfloat16");
  const bool weights_only = target->kind->name == "llvm" && !topi::has_arithmetic_of(topi::machine_of(target), narrow);
  constexpr int kMissingStayWide = 2;
  PassContextNode context;
  context.opt_level = 3;
  context.config.set("relay.ToMixedPrecision.keep_orig_output_dtype", number_boxes.box_bool(true));
  WithPassContext scope(PassContext::create(std::move(context)));
  const Pass convert = weights_only ? pass_for(target, relay::narrow_weights, narrow)
                                    : relay::to_mixed_precision_pass(narrow, kMissingStayWide);
  return {sequential({relay::infer_type_pass(), relay::fold_constant_pass(false), convert, relay::infer_type_pass(),
                      relay::fold_constant_pass(false)})(bind_params(given.mod, given.params)),
          {},
          given.format};
}

CompiledModel compile_model(const LoadedModel& given, const CompileOptions& options) {
  LoadedModel model = given;
  if (!options.desired_layout.empty()) {
    begin_stage("convert layout");
    model.mod = convert_layout(model.mod, options.desired_layout);
  }
  model = convert_precision(model, options.precision, options.target);
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
