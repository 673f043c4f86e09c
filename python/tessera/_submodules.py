"""Submodules of v0.10 whose names lie elsewhere here: in their package.

`topi.nn.conv2d` is a file there. Here its functions are in `topi.nn`, and importing the submodule gives that package; a
submodule of the table that exists here too (`relay.op.tensor`) finds in the package what it lacks itself.
"""

from __future__ import annotations

#: Package, and its submodules.
_ROWS = {
    "tvm.meta_schedule.database": (
        "json_database memory_database ordered_union_database schedule_fn_database union_database"
    ),
    "tvm.meta_schedule.feature_extractor": "random_feature_extractor",
    "tvm.meta_schedule.measure_callback": "add_to_database echo_statistics remove_build_artifact update_cost_model",
    "tvm.meta_schedule.mutator": (
        "mutate_compute_location mutate_parallel mutate_thread_binding mutate_tile_size mutate_unroll"
    ),
    "tvm.meta_schedule.postproc": (
        "disallow_dynamic_loop rewrite_cooperative_fetch rewrite_layout rewrite_parallel_vectorize_unroll "
        "rewrite_reduction_block rewrite_tensorize rewrite_unbound_block verify_gpu_code"
    ),
    "tvm.meta_schedule.schedule_rule": (
        "add_rfactor auto_bind auto_inline cross_thread_reduction multi_level_tiling parallel_vectorize_unroll "
        "random_compute_location"
    ),
    "tvm.meta_schedule.search_strategy": "evolutionary_search replay_func replay_trace",
    "tvm.meta_schedule.space_generator": "post_order_apply schedule_fn space_generator_union",
    "tvm.meta_schedule.task_scheduler": "gradient_based round_robin",
    "tvm.relay.op": "tensor",
    "tvm.relay.op.nn": "nn",
    "tvm.relay.op.strategy": "generic",
    "tvm.relay.op.vision": "multibox rcnn yolo",
    "tvm.relay.transform": "transform",
    "tvm.runtime": "vm",
    "tvm.script.tir": "prim_func",
    "tvm.target": "compilation_config",
    "tvm.te.hybrid": "module",
    "tvm.topi": (
        "argwhere einsum math scan scatter scatter_add searchsorted sort sparse_fill_empty_rows sparse_reshape stft unique"
    ),
    "tvm.topi.bifrost": "conv2d dense depthwise_conv2d gemm transforms",
    "tvm.topi.gpu": "conv2d conv2d_nhwc dense",
    "tvm.topi.hls": "injective nn",
    "tvm.topi.intel_graphics": "conv2d depthwise_conv2d",
    "tvm.topi.mali": "conv2d dense depthwise_conv2d",
    "tvm.topi.cuda": (
        "argwhere batch_matmul batch_matmul_tensorcore conv1d conv1d_transpose_ncw conv2d conv2d_direct conv2d_hwcn "
        "conv2d_hwnc_tensorcore conv2d_int8 conv3d_direct sparse_reshape transform "
        "conv2d_nhwc_tensorcore conv2d_nhwc_winograd conv2d_transpose conv2d_winograd conv3d conv3d_ndhwc_tensorcore "
        "conv3d_transpose_ncdhw conv3d_winograd correlation deformable_conv2d dense dense_tensorcore depthwise_conv2d "
        "group_conv2d_nchw injective nms nn pooling rcnn reduction scan scatter searchsorted softmax sort sparse ssd "
        "stft unique vision"
    ),
    "tvm.topi.adreno": (
        "conv2d_nchw conv2d_nchw_winograd conv2d_nhwc conv2d_nhwc_winograd conv2d_winograd_common depthwise_conv2d_nchw "
        "depthwise_conv2d_nhwc injective pooling reduction"
    ),
    "tvm.topi.cuda.rcnn": "proposal",
    "tvm.topi.cuda.ssd": "multibox",
    "tvm.topi.vision.rcnn": "proposal roi_align roi_pool",
    "tvm.topi.vision.ssd": "multibox",
    "tvm.topi.arm_cpu": (
        "bitserial_conv2d bitserial_dense conv1d conv2d conv2d_gemm conv2d_int8 conv2d_spatial_pack conv2d_transpose "
        "dense depthwise_conv2d group_conv2d injective pooling"
    ),
    "tvm.topi.generic": "conv2d default extern image injective math nn search sort vision",
    "tvm.topi.image": "dilation2d grid_sample resize",
    "tvm.topi.nn": (
        "batch_matmul batch_norm batch_to_space_nd bitserial_conv2d bitserial_dense bitserial_util bnn conv1d conv1d_transpose conv2d conv2d_transpose conv3d "
        "conv3d_transpose correlation deformable_conv2d dense depth_to_space depthwise_conv2d dilate elemwise fifo_buffer "
        "flatten local_response_norm loss mapping pad pooling softmax space_to_batch_nd space_to_depth sparse upsampling winograd_util"
    ),
    "tvm.topi.random": "kernel",
    "tvm.topi.rocm": "batch_matmul conv2d dense injective lrn nn reduction",
    "tvm.topi.sparse": "csrmm csrmv dense",
    "tvm.topi.testing": (
        "adaptive_pool_python batch_matmul batch_norm batch_to_space_nd conv1d_ncw_python conv1d_transpose_ncw_python "
        "conv2d_backcward_weight_python conv2d_hwcn_python conv2d_nchw_python conv2d_nhwc_python "
        "conv2d_transpose_python conv3d_ncdhw_python conv3d_ndhwc_python conv3d_transpose_ncdhw_python "
        "correlation_nchw_python crop_and_resize_python deformable_conv2d_python dense depth_to_space "
        "depthwise_conv2d_python dilate_python gather_nd_python gather_python grid_sample_python l2_normalize_python "
        "lrn_python lstm_python matrix_set_diag nll_loss one_hot pool_grad_python poolnd_python reorg_python "
        "resize_python roi_align_python roi_pool_python searchsorted sequence_mask_python slice_axis_python "
        "softmax_python space_to_batch_nd space_to_depth strided_slice_python"
    ),
    "tvm.topi.vision": "nms rcnn reorg ssd",
    "tvm.topi.x86": (
        "batch_matmul binarize_pack binary_dense bitserial_conv2d bitserial_dense concat conv1d conv2d conv2d_alter_op "
        "conv2d_int8 conv2d_transpose conv3d conv3d_transpose dense dense_alter_op depthwise_conv2d group_conv2d injective nn pooling "
        "reduction "
        "roi_align scatter sparse"
    ),
}

#: The package of each.
PACKAGE_OF = {f"{package}.{name}": package for package, names in _ROWS.items() for name in names.split()}
