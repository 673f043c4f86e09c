#pragma once
// The passes over loop programs, by folder; `passes.cc` names them. `pass(storage_flatten, 64, false)` makes one.
// What each does stands above its definition, in the file that has its name.

#include "ir/target/target.h"
#include "tir/transform/pass.h"

namespace tessera {

// block/: blocks become plain statements
PrimFunc apply_layout_transforms(const PrimFunc& function);
PrimFunc compact_buffer_allocation(const PrimFunc& function);
PrimFunc convert_blocks_to_opaque(const PrimFunc& function);
Stmt inject_rolling_buffer(const Stmt& body);
PrimFunc inject_software_pipeline(const PrimFunc& function);
PrimFunc lower_cross_thread_reduction(const PrimFunc& function);
Stmt lower_init_block(const Stmt& body);
Stmt lower_match_buffer(const Stmt& body);
PrimFunc lower_opaque_block(const PrimFunc& function);
Stmt mark_guards(const Stmt& body);
PrimFunc manifest_local_stage(const PrimFunc& function);
PrimFunc plan_buffer_allocation(const PrimFunc& function);
PrimFunc remove_weight_layout_rewrite_block(const PrimFunc& function);

// function/: what functions are called with and what they call
IRModule annotate_entry_func(IRModule mod);
Stmt bf16_cast_elimination(const Stmt& body);
PrimFunc bf16_legalize(const PrimFunc& function);
Stmt bf16_promote(const Stmt& body);
PrimFunc bf16_type_lowering(const PrimFunc& function);
PrimFunc bind_target(const PrimFunc& function, const Target& target);
PrimFunc combine_context_call(const PrimFunc& function);
/// Drops the functions for which `keep` is false.
PrimFunc filter(const PrimFunc& function, const PackedFunc& keep);
Stmt instrument_bound_checkers(const Stmt& body);
Stmt legalize_packed_calls(const Stmt& body, const IRModule& mod);
PrimFunc lower_custom_datatypes(const PrimFunc& function);
PrimFunc lower_intrin(const PrimFunc& function);
Stmt lower_tvm_builtin(const Stmt& body);
PrimFunc make_packed_api(const PrimFunc& function, int num_unpacked_params);
PrimFunc make_unpacked_api(const PrimFunc& function);

// loop/
Stmt convert_for_loops_to_serial(const Stmt& body);
Stmt hoist_checked_index(const Stmt& body);
PrimFunc hoist_expression(const PrimFunc& function, const PassContext& context);
PrimFunc hoist_if_then_else(const PrimFunc& function, const PassContext& context);
PrimFunc hoist_if_then_else_basic(const PrimFunc& function);
PrimFunc inject_double_buffer(const PrimFunc& function, const PassContext& context);
Stmt inject_prefetch(const Stmt& body);
Stmt inject_virtual_thread(const Stmt& body);
Stmt lift_attr_scope(const Stmt& body, const String& key);
PrimFunc loop_partition(const PrimFunc& function, const PassContext& context);
Stmt mask_vector_tails(const Stmt& body);
Stmt renormalize_split_pattern(const Stmt& body);
PrimFunc unroll_loop(const PrimFunc& function, const PassContext& context);
Stmt vectorize_loop(const Stmt& body, bool enable);

// memory/
Stmt cast_stores(const Stmt& body);
IRModule extract_prim_func_constants(const IRModule& mod);
PrimFunc flatten_buffer(const PrimFunc& function);
Stmt inject_copy_intrin(const Stmt& body, const String& pragma_key, const PackedFunc& fintrin);
Stmt inject_ptx_async_copy(const Stmt& body);
Stmt lower_async_dma(const Stmt& body);
Stmt lower_device_storage_access_info(const Stmt& body);
Stmt lower_vtcm_alloc(const Stmt& body);
Stmt merge_dynamic_shared_memory(const Stmt& body);
PrimFunc specialize_strides(const PrimFunc& function);
PrimFunc storage_flatten(const PrimFunc& function, int cache_line_size, bool create_bound_attributes);
PrimFunc storage_rewrite(const PrimFunc& function);
Stmt texture_flatten(const Stmt& body);
Stmt use_vector_types(const Stmt& body);

// simplify/
PrimFunc common_subexpr_elim(const PrimFunc& function, bool enable, bool identify_equal_terms);
Pass narrow_data_type_pass(int bits);
Stmt remove_assume(const Stmt& body);
Stmt remove_no_op(const Stmt& body);
Stmt remove_store_undef(const Stmt& body);
Stmt rewrite_unsafe_select(const Stmt& body);
Stmt simplify(const Stmt& body);
Stmt skip_assert(const Stmt& body);

// thread/
Stmt coproc_sync(const Stmt& body);
Stmt decorate_device_scope(const Stmt& body);
Stmt infer_fragment(const Stmt& body);
PrimFunc lower_thread_allreduce(const PrimFunc& function);
PrimFunc lower_warp_memory(const PrimFunc& function);
Stmt remap_thread_axis(const Stmt& body, const Map<String, IterVar>& axes);
IRModule split_host_device(IRModule mod);
Stmt thread_sync(const Stmt& body, const String& scope);
PrimFunc unify_thread_binding(const PrimFunc& function);

// tir/analysis: they change nothing and throw where a program is not as it should be
IRModule oob_checker(const IRModule& mod);
Pass verify_gpu_code_pass(const Map<String, PrimExpr>& constraints);
IRModule verify_memory(const IRModule& mod);
PrimFunc verify_ssa(const PrimFunc& function);

}  // namespace tessera
