#pragma once
// The passes over Relay programs, by folder; `passes.cc` names them. `pass(fuse_ops, -1)` makes one; a function that
// returns a Pass makes it itself. What each does stands above its definition, in the file that has its name.

#include "ir/target/virtual_device.h"
#include "relay/dataflow/pattern.h"
#include "relay/transform/pass.h"

namespace tessera::relay {

// function/: normal forms, functions and closures
IRModule eta_expand(const IRModule& mod, bool expand_constructor, bool expand_global_var);
Function inline_closures(const Function& function);
IRModule inline_globals(const IRModule& mod);
IRModule lambda_lift(const IRModule& mod);
IRModule partial_evaluate(const IRModule& mod);
Function manifest_lifetimes(const Function& function);
IRModule annotate_used_memory(const IRModule& mod);
Pass to_a_normal_form_pass();
Pass to_basic_block_normal_form_pass();
Pass to_cps_pass();
Expr to_graph_normal_form(const Expr& body);

// fuse/: what one kernel computes
Expr defuse_ops(const Expr& body);
Expr fuse_attention(const Expr& body, const GraphEnvironment& environment);
/// Level 0 gives each operator its own kernel; -1 takes the level of the context.
Function fuse_ops(const Function& function, const PassContext& context, int level);
Expr fuse_resample(const Expr& body);
Expr fuse_rows(const Expr& body, const GraphEnvironment& environment);
Expr merge_reduced_axes(const Expr& body);
Expr lift_constants(const Expr& body);
Function label_kernels(const Function& function);
Function label_ops(const Function& function);
Expr sink_views(const Expr& body);
Expr split_args(const Expr& body, int max_function_args);
Expr split_dynamic_concats(const Expr& body);

// gradient/
Pass first_order_gradient_pass();
Expr lazy_gradient_init(const Expr& body);

// layout/
Expr alter_op_layout(const Expr& body, const GraphEnvironment& environment);
Expr convert_layout(const Expr& body, const Map<String, Array<String>>& desired);
Function flatten_atrous_conv(const Function& function);
Function fold_explicit_padding(const Function& function);
Expr legalize(const Expr& body, const GraphEnvironment& environment, const std::string& slot);
/// Needs types, and leaves new calls without.
Expr pad_channels(const Expr& body, const GraphEnvironment& environment);
Expr pack_weights(const Expr& body, const GraphEnvironment& environment);

// precision/
Expr fake_quantization_to_integer(const Expr& body, bool hard_fail, bool use_qat);
Function integer_contractions(const Function& function, const GraphEnvironment& environment);
Expr narrow_weights(const Expr& body, const GraphEnvironment& environment, DataType narrow);
Pass to_mixed_precision_pass(DataType narrow, int missing_mode);
Function widen_floats(const Function& function, const GraphEnvironment& environment);
Expr widen_weights(const Expr& body);

// region/: what other compilers and devices take
Expr annotate_target(const Expr& body, const Array<String>& targets, bool include_non_call_ops);
Pass collage_partition_pass(const Target& host, const Array<Target>& targets, const Array<String>& names,
                            const Array<DFPattern>& patterns, const Array<PackedFunc>& checks,
                            const PackedFunc& estimate);
Pass merge_compiler_regions_pass();
Pass merge_composite_pass(const Array<String>& names, const Array<DFPattern>& patterns,
                          const Array<PackedFunc>& checks);
Pass partition_graph_pass(const std::string& mod_name, bool bind_constants);
IRModule plan_devices(const IRModule& mod, const CompilationConfig& config);

// simplify/
Expr backward_fold_scale_axis(const Expr& body);
Expr canonicalize_cast(const Expr& body);
Expr canonicalize_ops(const Expr& body);
Function combine_parallel_batch_matmul(const Function& function, int min_branches);
Function combine_parallel_conv2d(const Function& function, int min_branches);
Function combine_parallel_dense(const Function& function, int min_branches, bool to_batch);
Pass combine_products_pass();
Pass dynamic_to_static();
/// `skip`, which may be empty, keeps the calls it is true for apart.
Expr eliminate_common_subexpr(const Expr& body, const PackedFunc& skip);
Expr eliminate_dead_code(const Expr& body, bool inline_once, bool ignore_impurity);
Expr fast_math(const Expr& body);
Pass fold_constant_pass(bool fold_qnn);
Pass fold_scale_axis_pass();
Expr forward_fold_scale_axis(const Expr& body);
IRModule remove_unused_functions(const IRModule& mod, const Array<String>& entries);
Expr simplify_expr(const Expr& body);
Function simplify_fc_transpose(const Function& function, const Array<String>& weights);
Expr simplify_inference(const Expr& body);

// relay/type, relay/parser
Pass infer_type_pass();
IRModule annotate_spans(const IRModule& mod);
IRModule check_spans(const IRModule& mod);

}  // namespace tessera::relay
