"""What programs written for v0.10 rely on, and the tests that hold it.

A row is one behaviour; `docs/compatibility.md` says where another is meant. A test is a file below tests/python and a name in it.
"""

import pathlib
import re

import pytest

TESTS = pathlib.Path(__file__).parents[1]

TOOLS = {
    "parameters of tests in the body of a class": "testing/test_plugin.py test_parameters_of_a_class_go_to_its_tests",
    "CompareBeforeAfter with methods": "testing/test_plugin.py TestMethodsGiveProgramsAndPass",
    "check_numerical_grads in the inputs' types": (
        "testing/test_plugin.py test_gradients_are_checked_on_arrays_of_the_inputs_types"
    ),
    "check_error": "testing/test_plugin.py test_a_wrong_line_of_a_script_is_found",
    "renderers see errors of scripts": "script/test_parser.py test_a_renderer_of_the_user_s_sees_errors_of_scripts",
    "mma_schedule": "testing/test_mma_schedule.py test_a_matmul_of_fp16_is_made_of_mma_and_ldmatrix",
    "libinfo has every key": "testing/test_plugin.py test_names_that_tests_of_v010_ask_for",
    "rows of a machine's own instructions": (
        "driver/test_vm.py test_a_profile_has_the_machine_s_own_instructions_that_take_time"
    ),
    "utils.roofline": "runtime/test_roofline.py test_rows_of_kernels_have_their_operations_and_bytes",
    "ChangeDatatype": "tir/transform/test_custom_datatypes.py test_a_program_changes_its_data_type",
    "te_workload": "te/test_te_workload.py test_the_operations_of_each",
    "structural_equal of a number of Python": (
        "ir/test_structural_equal.py test_numbers_of_python_are_constants_of_their_type"
    ),
    "arrays keep their identity": "v0_10/test_small_behaviours.py test_an_array_given_to_a_constructor_is_what_it_holds",
    "a function without attributes, specialised by nothing": (
        "tir/test_stmt_functor.py test_functions_keep_what_they_are_when_attributes_change"
    ),
    "wrong arguments are TVMError too": "v0_10/test_small_behaviours.py test_a_wrong_argument_is_an_error_of_both_kinds",
    "numbers that no type holds": "tir/test_folding.py test_a_whole_number_that_fits_no_type_is_an_error",
    "a missing block, briefly": (
        "v0_10/test_small_behaviours.py test_a_missing_block_is_told_briefly_where_that_is_asked_for"
    ),
    "which function to work on": "schedule/test_schedule_state.py test_a_module_of_several_functions_needs_one_to_work_on",
    "prefixes of paths": "ir/test_structural_equal.py test_a_path_has_no_prefix_of_nothing",
    "ids of tests": "testing/test_plugin.py test_ids_name_parameters_then_groups_then_marks_then_targets",
    "topi.testing": "topi/test_topi_testing.py test_a_compute_is_compared_with_numpy",
    "AnnotateSpans": (
        "relay/transform/test_small_passes.py test_annotated_expressions_know_their_position_in_the_printed_text"
    ),
    "relay.testing": "relay/test_relay_testing.py test_names_that_packages_pass_on",
    "TempOpAttr": "relay/test_relay_testing.py test_an_attribute_of_an_operator_is_replaced_for_a_while",
    "pickle_memoize": "runtime/test_contrib_helpers.py test_results_are_kept_by_arguments_and_closure",
    "the first lines of tutorials": "testing/test_plugin.py test_the_first_lines_of_a_tutorial_change_nothing",
    "download_testdata": "runtime/test_contrib_helpers.py test_nothing_is_downloaded_but_what_is_there_is_found",
}

SCRIPTS = {
    "stores of another type": "script/test_parser.py test_a_store_keeps_the_type_of_its_value",
    "__tvm_meta__": "script/test_parser.py test_what_printers_write_below_a_module_is_skipped",
    "helpers of Python inside a script": "script/test_parser.py test_results_of_python_functions_are_named_not_bound",
    "allocate_const of fewer numbers": (
        "script/test_parser.py test_constant_memory_may_have_fewer_numbers_than_elements"
    ),
    "spans of statements": "script/test_parser.py test_statements_know_their_lines",
    "what is said twice": ("script/test_parser.py test_what_is_said_twice_or_means_nothing_is_an_error_on_its_line"),
    "scopes without a body": "script/test_parser.py test_scopes_without_a_body_and_blocks_with_a_name_are_errors",
    "buffers without a dtype": "script/test_parser.py test_a_buffer_type_without_a_dtype_is_an_error_of_python",
    "carets of schedule errors": "schedule/test_schedule_state.py test_an_error_underlines_the_loop_in_the_program",
    "annotations of allocate": "v0_10/test_small_behaviours.py test_annotations_of_memory_are_printed",
}

SCHEDULES = {
    "buffers by name": "schedule/test_tiles.py test_buffers_are_copied_by_index_name_or_themselves",
    "copies inside shared loops": (
        "schedule/test_legality.py test_a_copy_stands_inside_the_loop_that_writer_and_reader_share"
    ),
    "copies inside blocks": "schedule/test_tiles.py test_a_copy_inside_a_block_is_of_what_the_block_touches",
    "types of loops of copies": (
        "v0_10/test_small_behaviours.py test_copies_count_in_the_type_of_their_buffers_extents"
    ),
    "copies of what nobody reads": "schedule/test_tiles.py test_a_copy_of_what_nobody_reads_stands_at_the_end",
    "cache_write of two writers": (
        "schedule/test_schedule_primitives.py test_cache_write_of_halves_that_two_blocks_write_is_rejected"
    ),
    "reindexed reads": "schedule/test_tiles.py test_the_copy_of_a_reindexed_read_stands_before_its_block",
    "compute_at of blockized producers": (
        "schedule/test_tiles.py test_a_tile_runs_the_blocks_of_a_blockized_producer_that_it_needs"
    ),
    "compute_at of groups": (
        "schedule/test_tiles.py test_a_tile_computes_the_groups_that_a_part_of_the_reduction_reads"
    ),
    "guards of consumers": "schedule/test_tiles.py test_the_guard_of_a_consumer_bounds_what_it_needs",
    "lower guards": "schedule/test_tiles.py test_the_lower_guard_of_a_halo_is_a_constant_first",
    "reductions in tiles that overlap": (
        "schedule/test_tiles.py test_a_reduction_begins_anew_in_each_of_tiles_that_overlap"
    ),
    "consumers of digits": "schedule/test_tiles.py test_a_consumer_of_digits_moves_under_the_loop_of_the_first",
    "reorder inside other loops": "schedule/test_tiles.py test_loops_inside_one_that_is_no_digit_are_reordered",
    "loops that v0.10 does not reorder": (
        "v0_10/test_small_behaviours.py test_loops_that_v0_10_does_not_reorder_are_reordered_rightly"
    ),
    "parallel loops keep the order of data": (
        "schedule/test_legality.py test_iterations_that_read_earlier_ones_stay_in_order"
    ),
    "decompose_reduction keeps kinds": (
        "schedule/test_tiles.py test_the_init_of_a_reduction_keeps_annotations_and_loop_kinds"
    ),
    "guards of splits keep their factors": (
        "schedule/test_schedule_primitives.py test_a_split_that_does_not_divide_guards_its_blocks"
    ),
    "padding needs a value": "schedule/test_tiles.py test_padding_needs_a_value_that_the_buffer_holds",
    "padding of reductions": "schedule/test_transform_layout.py test_a_reduction_runs_over_its_padding",
    "loops of one iteration": (
        "v0_10/test_small_behaviours.py test_loops_of_one_iteration_stay_in_bindings_when_tiled"
    ),
    "get_sref of loops": "schedule/test_trace.py test_the_reference_of_a_loop_is_of_its_own_schedule",
    "regions through match_buffer": "tir/test_analysis.py test_a_script_infers_regions_through_matched_buffers",
    "texts in traces": "schedule/test_trace.py test_texts_with_quotation_marks_come_back_as_they_were",
    "instructions of no trace": "schedule/test_trace.py test_an_instruction_of_no_trace_names_nothing",
}

TENSOR_EXPRESSIONS = {
    "bodies of scans": "te/test_graph_questions.py test_only_what_depends_on_the_state_is_inside_a_scan",
    "stages stay in the group of their scan": "te/test_graph_questions.py test_a_stage_of_a_scan_stays_in_its_group",
    "te.hybrid is a package": "te/test_graph_questions.py test_words_of_hybrid_scripts",
    "hybrid modules called with tensors": "te/test_hybrid.py test_a_module_called_with_tensors_makes_an_operation",
    "hybrid scripts of lists": "te/test_hybrid.py test_lists_of_tensors_and_constants_are_inputs",
    "hybrid scripts that call others": "te/test_hybrid.py test_one_script_calls_another",
    "scalars of hybrid scripts": (
        "te/test_hybrid.py test_names_of_numbers_are_constants_and_others_live_in_their_loop"
    ),
    "AutoInlineBroadcast": "te/test_primitives.py test_stages_of_a_kind_are_inlined_at_once",
    "no guard in memory of threads": "te/test_nest.py test_threads_compute_all_that_their_own_memory_needs",
    "cache_write of instructions": "te/test_primitives.py test_a_write_cache_of_what_an_instruction_computes",
    "cache_write by the identity's axis": (
        "te/test_primitives.py test_a_write_cache_of_a_reduction_whose_identity_names_an_axis"
    ),
    "bounds that end at a constant": "te/test_primitives.py test_bounds_of_a_region_that_ends_at_a_constant",
    "several outputs of one compute": "te/test_create_prim_func.py test_values_of_one_compute_are_a_block_each",
    "foreign functions as blocks": (
        "te/test_create_prim_func.py test_the_block_of_a_foreign_function_touches_whole_buffers"
    ),
    "scans are no blocks": "te/test_create_prim_func.py test_a_scan_is_not_written_as_blocks",
    "tensors of no dimensions": "topi/test_broadcast.py test_an_element_and_a_tensor_without_dimensions_are_a_tensor",
    "topi.cast of an element": "topi/test_broadcast.py test_elements_are_cast_as_expressions",
}

ARITHMETIC = {
    "not of a constant": "arith/test_rules_of_v0_10.py test_the_negation_of_a_constant_is_a_constant",
    "Any - Any": "arith/test_rules_of_v0_10.py test_two_unknown_dimensions_are_not_equal",
    "lower bounds under a guard": (
        "arith/test_rules_of_v0_10.py test_a_guard_that_does_not_fit_the_index_leaves_no_lower_bound"
    ),
    "quotients of sums": "arith/test_rules_of_v0_10.py test_the_quotients_of_a_sum_of_loops_are_an_interval",
    "rules and order of rewrite_simplify": "arith/test_rules_of_v0_10.py test_rewrite_simplify",
    "truncated quotients": "arith/test_rules_of_v0_10.py test_rewrite_simplify_of_what_is_not_negative",
    "canonical_simplify": "arith/test_rules_of_v0_10.py test_canonical_simplify",
    "reductions": "arith/test_rules_of_v0_10.py test_sources_know_the_ranges_of_axes",
    "casts to fewer bits": (
        "arith/test_rules_of_v0_10.py test_a_cast_to_fewer_bits_goes_inward_only_where_nothing_overflows"
    ),
    "solve_linear_inequalities": (
        "arith/test_solve_inequalities.py test_a_start_names_later_variables_and_an_extent_is_the_greatest"
    ),
    "SolveInequalitiesAsCondition": "arith/test_solve_inequalities.py test_opposite_inequalities_are_an_equation",
    "systems without solutions": (
        "arith/test_solve_inequalities.py test_a_system_without_solutions_has_the_relation_false"
    ),
    "vectors of zeros as divisors": "arith/test_rules_of_v0_10.py test_a_division_by_a_vector_of_zeros_is_an_error",
    "index maps that drop an axis": (
        "arith/test_rules_of_v0_10.py test_an_axis_of_one_element_that_a_map_drops_comes_back_as_its_first_index"
    ),
    "padding on the left of several digits": "tir/test_layout.py test_several_digits_of_one_index_share_its_padding",
    "padding of inverses": "tir/test_layout.py test_padding_is_found_by_the_inverse",
    "offsets by symbols": ("arith/test_rules_of_v0_10.py test_an_offset_merges_quotients_and_remainders_by_symbols"),
}

LOOP_PASSES = {
    "memory of devices": (
        "tir/transform/test_memory_passes.py test_special_memory_is_one_allocation_whose_parts_lie_at_aligned_offsets"
    ),
    "memory of devices for other types": (
        "tir/transform/test_memory_passes.py test_special_memory_that_is_free_is_used_again_for_another_type"
    ),
    "the end of memory": "tir/transform/test_memory_passes.py test_special_memory_has_an_end",
    "memory with a tag": "tir/transform/test_memory_passes.py test_memory_with_a_tag_is_one_allocation_too",
    "chains of stages in place": (
        "tir/transform/test_storage_rewrite.py "
        "test_a_chain_of_stages_needs_one_buffer_also_of_symbolic_and_of_two_extents"
    ),
    "pointers that a let binds": (
        "v0_10/test_small_behaviours.py test_a_pointer_that_a_let_binds_keeps_its_type_where_accesses_are_vectors"
    ),
    "folded extents": "tir/transform/test_storage_rewrite.py test_extents_that_are_products_of_constants_are_folded",
    "UnifyThreadBinding": "tir/transform/test_loop_passes.py test_loops_of_one_thread_become_one",
    "threads of other types": "tir/transform/test_loop_passes.py test_loops_of_one_thread_may_count_in_other_types",
    "hints of LoopPartition": "tir/transform/test_loop_partition.py test_a_hinted_loop_is_cut_at_any_if",
    "equations of LoopPartition": "tir/transform/test_loop_partition.py test_an_equation_is_met_in_one_iteration",
    "unrolled by a hint": (
        "tir/transform/test_loop_partition.py test_a_hinted_loop_that_cannot_be_cut_is_unrolled_on_request"
    ),
    "blocks around allocations": (
        "tir/transform/test_blocks.py test_the_block_around_an_allocation_touches_what_its_body_does"
    ),
    "HoistIfThenElse and threads": (
        "tir/transform/test_loop_passes.py test_a_condition_on_a_thread_leaves_a_loop_only_on_request"
    ),
    "flat buffers of blocks": (
        "tir/transform/test_memory_passes.py test_buffers_of_blocks_are_flat_where_they_are_allocated"
    ),
    "flat memory with separators": (
        "tir/transform/test_memory_passes.py test_memory_with_axis_separators_keeps_an_extent_for_each_group"
    ),
    "plain guards": "tir/transform/test_blocks.py test_the_guard_of_a_block_is_a_plain_condition",
    "order of pragmas": "tir/transform/test_loop_passes.py test_pragmas_nest_in_the_order_of_their_keys",
    "BF16Legalize": "tir/transform/test_bfloat16.py test_buffers_of_blocks_are_words_too",
    "stores of what is undefined": (
        "tir/transform/test_moving_passes.py test_stores_of_what_depends_on_undefined_values_disappear"
    ),
    "undefined indices": "tir/transform/test_moving_passes.py test_an_undefined_index_is_rejected",
    "shared bytes": (
        "tir/transform/test_memory_passes.py test_parts_of_dynamic_shared_memory_that_follow_one_another_share_bytes"
    ),
    "layouts of weights": (
        "tir/transform/test_moving_passes.py test_a_copy_of_a_weight_gives_way_to_the_weight_in_its_layout"
    ),
    "bare addresses": "tir/test_analysis.py test_a_bare_address_is_an_opaque_access_of_all",
    "estimate_tir_flops": "tir/test_analysis.py test_guards_indices_and_casts_are_not_counted",
    "OOBChecker": "tir/test_analysis.py test_an_access_beyond_the_end_is_rejected",
    "verify_well_formed": "tir/test_analysis.py test_a_loop_of_outside_in_a_block_of_axes_is_not_well_formed",
}

RUNTIME = {
    "asobject of ir_builder": "tir/test_ir_builder.py test_memory_of_a_builder_stands_for_its_buffer",
    "export_library(fcompile=False)": "byoc/test_external_codegen.py test_constants_inside_kernels_become_parameters",
    "tir.trace": "v0_10/test_small_behaviours.py test_values_are_traced_without_a_name",
    "system libraries": "v0_10/test_small_behaviours.py test_system_libraries_are_rejected_rather_than_ignored",
    "arm_cpu.conv2d_int8": "topi/test_topi_devices.py test_what_the_target_says_of_arm",
}

RELAY = {
    "autotvm imports": "relay/test_names_without_tuning.py test_templates_run_with_their_default_configuration",
    "rpc imports": "relay/test_names_without_tuning.py test_a_session_in_this_process",
    "small modules": "relay/test_names_without_tuning.py test_contrib_needs_no_import_of_its_own",
    "register_pattern_table": (
        "relay/transform/test_partition_passes.py test_patterns_are_registered_by_the_name_of_a_code_generator"
    ),
    "names that packages pass on": "relay/test_relay_testing.py test_names_that_packages_pass_on",
    "equality by vid": ("ir/test_structural_equal.py test_a_variable_of_relay_equals_its_copies_with_other_types"),
    "equality of constants": "ir/test_structural_equal.py test_constants_of_relay_are_values_whether_shared_or_not",
    "equality of floats": "ir/test_structural_equal.py test_floats_of_attributes_may_differ_in_the_tenth_place",
    "InferTypeLocal": "relay/test_infer_type_local.py test_the_expression_and_its_parts_know_their_types_then",
    "Call.type_args": "relay/test_infer_type_local.py test_calls_of_operators_know_the_types_of_their_arguments",
    "type relations by name": "op/test_slots.py test_a_type_relation_is_known_by_its_name",
    "free variables without a type": "relay/test_relay_text.py test_a_free_variable_without_a_type_has_none",
    "types of argmax": "v0_10/test_small_behaviours.py test_the_index_of_an_extreme_has_the_type_of_the_first_extent",
    "extents of two types": "v0_10/test_small_behaviours.py test_extents_of_32_and_64_bits_unify",
    "JSON of older versions": "ir/test_json_compact.py test_types_had_other_names",
    "extents of int64 constants": ("v0_10/test_small_behaviours.py test_a_shape_of_64_bits_gives_extents_of_64_bits"),
    "error types": ("v0_10/test_small_behaviours.py test_errors_of_registration_binding_and_calls_are_of_v0_10s_kind"),
    "names of the Prelude": "op/test_tensor_arrays.py test_functions_of_arrays_are_defined_one_by_one",
    "the type of storage": "op/test_tensor_arrays.py test_the_core_of_the_prelude_has_the_type_of_storage",
    "FakeQuantizationToInteger": "relay/transform/test_fake_quantization.py test_each_operator_becomes_one_of_integers",
    "rules that fail": "relay/transform/test_fake_quantization.py test_a_rule_that_fails_leaves_the_floats",
    "use_qat": ("relay/transform/test_fake_quantization.py test_what_no_quantize_follows_is_converted_when_asked_for"),
    "FoldScaleAxis of blocks": (
        "relay/transform/test_fold_scale_axis.py test_scales_of_blocks_of_channels_go_into_blocks_of_weights"
    ),
    "AlterOpLayout of blocked biases": (
        "relay/transform/test_layout_passes.py test_biases_of_blocked_data_follow_other_blocks"
    ),
    "conv2d_alter_layout": ("topi/test_topi_devices.py test_a_program_may_ask_for_the_layout_the_compiler_chooses"),
    "dense_alter_op": "topi/test_topi_devices.py test_rules_of_layouts_lie_where_v0_10_has_them",
    "inline_once": "relay/test_relay_forms.py test_a_value_used_once_moves_within_its_function",
    "instruments that derive": "ir/test_instrument.py test_an_instrument_may_derive_from_another",
    "no passes, no text": "v0_10/test_small_behaviours.py test_no_passes_take_no_time",
    "FlexibleShapeDispatch": (
        "relay/transform/test_flexible_shape.py test_every_extent_gives_what_the_static_program_gives"
    ),
    "ManifestLifetimes": "relay/transform/test_lifetimes.py test_a_value_is_killed_behind_its_last_use",
    "functions of compilers": (
        "relay/transform/test_compiler_functions.py test_functions_with_a_symbol_become_global_by_that_symbol"
    ),
    "CapturePostDfsIndexInSpans": (
        "relay/transform/test_capture_indices.py test_an_expression_has_its_number_and_that_of_its_dominator"
    ),
    "symbols of PartitionGraph": (
        "relay/transform/test_partition_passes.py test_symbols_are_identifiers_of_c_and_are_counted_in_each_function"
    ),
    "tuples of PartitionGraph": (
        "relay/transform/test_partition_passes.py test_a_tuple_that_leaves_a_region_leaves_it_field_by_field"
    ),
    "constants of PartitionGraph": "relay/transform/test_partition_passes.py test_a_tuple_of_constants_is_bound",
    "optimizers of generators": (
        "relay/transform/test_partition_passes.py test_new_functions_go_through_the_optimizer_of_their_generator"
    ),
    "extract_fused_functions": "relay/test_relay_analysis.py test_fused_functions_are_extracted_once_each",
    "DynamicToStatic before types": (
        "relay/transform/test_dynamic_to_static.py test_a_constant_number_chooses_a_branch_before_types_are_known"
    ),
    "layouts of transposes, casts like another": (
        "v0_10/test_small_behaviours.py test_a_transpose_before_a_layout_transform_is_one_and_cast_like_is_a_cast"
    ),
    "borders of even windows": "op/test_nn_operators.py test_lrn_of_an_even_size_has_a_type_and_no_kernel",
    "output_padding": "op/test_conv_pool.py test_output_padding_as_large_as_the_stride_has_a_type_and_no_kernel",
    "pipeline_executor": "contrib/test_pipeline_executor.py test_runs_overlap_and_results_keep_their_order",
    "SimplifyExpr": "relay/transform/test_simplify_expr.py test_rule",
    "collapse_sum_to of a list": ("v0_10/test_small_behaviours.py test_shapes_given_as_lists_are_constants_of_32_bits"),
    "borders by the zero point": (
        "relay/transform/test_small_passes.py test_a_border_of_a_quantised_convolution_is_its_zero_point"
    ),
    "borders by the lowest float": (
        "relay/transform/test_small_passes.py test_the_lowest_float_is_no_border_of_windows_that_see_no_data"
    ),
    "parameters of composites": (
        "relay/transform/test_partition_passes.py test_a_composite_function_has_a_parameter_for_each_wildcard"
    ),
    "values that leave a pattern": (
        "relay/test_dataflow_pattern.py test_nothing_is_partitioned_where_a_value_inside_leaves"
    ),
    "FoldConstant of qnn": (
        "relay/transform/test_fold_constant.py test_quantised_constants_are_computed_where_that_is_asked_for"
    ),
    "gradients of tuples": ("relay/transform/test_relay_gradient.py test_of_a_tuple_the_first_field_is_differentiated"),
    "gradients of arange": "relay/transform/test_relay_gradient.py test_a_range_follows_its_start_and_step",
    "checkpoints": "relay/transform/test_relay_gradient.py test_a_checkpoint_is_computed_again_backwards",
}

MODELS = {
    "constants in external functions": "byoc/test_external_codegen.py test_constants_inside_kernels_become_parameters",
    "headers of ccompiler": "byoc/test_external_codegen.py test_ccompiler_writes_c_with_the_header_of_its_target",
    "te_compiler": "relay/backend/test_te_compiler.py test_equal_functions_are_lowered_once",
    "inputs of other types": "driver/test_graph_inputs.py test_arrays_and_numbers_are_converted",
    "int8 layers in what x86 multiplies": "relay/transform/test_integer_contractions.py test_convolutions_are_those_of_integers",
    "requantize_config": "relay/qnn/test_requantize_config.py test_a_context_says_how_halves_are_rounded",
    "qnn.transform.Legalize": ("relay/qnn/test_requantize_config.py test_layers_multiply_what_the_target_multiplies"),
    "simulated scales of any length": (
        "v0_10/test_small_behaviours.py test_one_compiled_function_takes_one_scale_or_one_for_each_channel"
    ),
    "one element for all channels": ("v0_10/test_small_behaviours.py test_one_element_serves_channels_of_any_number"),
    "borders that crop": "relay/transform/test_small_passes.py test_a_cropping_border_stays",
    "boxes class by class": (
        "v0_10/test_small_behaviours.py test_boxes_of_all_classes_come_class_by_class_for_tensorflow"
    ),
    "get_input_info": "driver/test_graph_inputs.py test_what_inputs_are_is_told_by_maps",
    "GraphPlanMemory": (
        "relay/backend/test_graph_plan_memory.py test_a_chain_needs_two_storages_beside_those_of_its_parameters"
    ),
    "VirtualDevice of a scope": "v0_10/test_small_behaviours.py test_memory_on_a_scope_of_no_device",
    "sparse operators": "relay/test_sparse_operators.py test_linear_layer_with_one_sparse_operand",
    "packed bits": "topi/test_topi_bitserial.py test_dense",
    "topk is a list": "topi/test_topi_transform.py test_several_tensors_of_an_extern_are_a_list",
    "computes by target": "topi/test_topi_devices.py test_templates_take_a_configuration_or_none",
    "slices by tensors": "topi/test_topi_transform.py test_a_slice_that_tensors_decide",
    "tensordot of two axes": "topi/test_topi_transform.py test_contraction_over_one_axis_of_each",
    "tiles of nothing": "topi/test_topi_transform.py test_tiles_of_nothing",
    "lengths of another batch": "topi/test_topi_transform.py test_lengths_of_another_batch_are_rejected",
    "depth_to_space by CDR": "topi/test_topi_transform.py test_both_modes_of_depth_to_space",
    "shapes of tvmc": "driver/test_tvmc_parsers.py test_shapes_come_in_their_order_with_spaces_or_commas",
    "targets of tvmc": "driver/test_tvmc_parsers.py test_words_of_targets",
    "registries of tvmc": "driver/test_tvmc_parsers.py test_flags_of_executors_and_runtimes",
    "code generators of tvmc": "driver/test_tvmc_parsers.py test_external_code_generators_by_name",
    "frontends of tvmc": "driver/test_tvmc_parsers.py test_formats_have_classes",
    "passes of tvmc": "driver/test_tvmc_parsers.py test_passes_to_add_may_be_functions_and_add_up",
    "frameworks of tvmc": (
        "driver/test_tvmc_parsers.py test_a_missing_framework_is_told_before_the_file_is_looked_for"
    ),
    "relay_viz": "contrib/test_relay_viz.py test_a_function_is_a_tree_from_its_result",
    "contrib.cblas": "contrib/test_libraries.py test_blas_multiplies_matrices",
    "contrib.random": "contrib/test_random.py test_random_numbers_are_drawn_at_run_time",
    "contrib.clang": "runtime/test_contrib_helpers.py test_clang_makes_llvm_ir_of_a_text",
    "ONNX values at run time": "frontend/test_onnx_run_time_inputs.py test_pads",
    "ONNX axes at run time": "frontend/test_onnx_run_time_inputs.py test_squeeze_and_unsqueeze",
    "ONNX slices at run time": "frontend/test_onnx_run_time_inputs.py test_slice_with_all_its_numbers",
    "ONNX depth at run time": "frontend/test_onnx_run_time_inputs.py test_one_hot",
    "ONNX shapes at run time": "frontend/test_onnx_run_time_inputs.py test_eye_and_old_softmax_of_dynamic_shapes",
    "ONNX optimizers": "frontend/test_onnx_operators.py test_operators_as_onnx_tests_them",
    "ONNX random numbers": "frontend/test_onnx_run_time_inputs.py test_random_numbers_like_a_tensor",
    "ONNX seeds": "frontend/test_onnx_run_time_inputs.py test_a_seed_may_be_an_integer",
    "ONNX MatMulInteger16": "frontend/test_onnx_run_time_inputs.py test_matmul_of_16_bit_integers",
    "ONNX regions": (
        "frontend/test_onnx_run_time_inputs.py test_regions_in_half_pixels_with_as_many_samples_as_they_cover"
    ),
    "ONNX shapes that win": "frontend/test_onnx_run_time_inputs.py test_a_given_shape_wins_over_the_file",
    "ONNX shapes of no input": "frontend/test_onnx_run_time_inputs.py test_a_shape_of_an_input_that_is_not_there",
    "ONNX convert_config": "frontend/test_onnx_run_time_inputs.py test_the_form_of_batched_matmuls",
    "ONNX LinearRegressor": "frontend/test_onnx_run_time_inputs.py test_linear_regressor_uses_the_first_columns",
    "bits of bfloat16": "driver/test_graph_inputs.py test_bits_are_the_values_of_bfloat16",
    "saved programs": "ir/test_json.py test_a_program_of_a_reduction_is_read_back",
    "flags of imported LLVM": (
        "codegen/test_llvm.py test_code_that_another_compiler_made_is_imported_whatever_its_flags"
    ),
    "passes as text": "ir/test_transform.py test_passes_and_contexts_tell_what_they_are",
}

GROUPS = [TOOLS, SCRIPTS, SCHEDULES, TENSOR_EXPRESSIONS, ARITHMETIC, LOOP_PASSES, RUNTIME, RELAY, MODELS]
ROWS = [(what, *test.split()) for group in GROUPS for what, test in group.items()]


@pytest.mark.parametrize("what, file, name", ROWS, ids=[row[0] for row in ROWS])
def test_a_behaviour_has_a_test(what, file, name):
    text = (TESTS / file).read_text()
    assert re.search(rf"^\s*(def|class) {name}\b", text, re.MULTILINE), (
        f"{file} has no {name}, which is to hold: {what}"
    )
