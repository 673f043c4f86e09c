"""Functions of the packages of devices with the signatures that v0.10 gives them.

Templates of v0.10 take a configuration first, which callers leave out: `cfg` or `_`. Rows are by package and parameters.
"""

from __future__ import annotations

#: Package, parameters, and the functions that have them.
TEMPLATES: dict[str, dict[str, str]] = {
    "adreno": {
        "cfg, s, output": (
            "schedule_conv2d_NCHWc_KCRSk schedule_conv2d_NHWC schedule_depthwise_conv2d_NCHWc_KCRSk "
            "schedule_depthwise_conv2d_NHWC_HWOI"
        ),
        "cfg, outs": (
            "schedule_conv2d_nchw_winograd schedule_conv2d_nchw_winograd_without_weight_transform "
            "schedule_conv2d_nchwc schedule_conv2d_nhwc schedule_conv2d_nhwc_winograd "
            "schedule_conv2d_nhwc_winograd_without_weight_transform schedule_depthwise_conv2d_nchwc "
            "schedule_depthwise_conv2d_nhwc"
        ),
        "cfg, data, kernel, strides, padding, dilation, out_dtype": (
            "conv2d_nchw_winograd conv2d_nchw_winograd_without_weight_transform conv2d_nhwc_winograd "
            "conv2d_nhwc_winograd_without_weight_transform"
        ),
        "cfg, data, kernel, strides, padding, dilation, out_dtype, pre_computed": "conv2d_nchw_winograd_comp conv2d_nhwc_winograd_comp",
        "cfg, Input, Filter, stride, padding, dilation, out_dtype": "conv2d_nhwc depthwise_conv2d_nhwc",
        "cfg, s, output, pre_computed": "schedule_conv2d_winograd",
        "cfg, outs, tag, pre_computed=False": "schedule_conv2d_winograd_impl",
    },
    "arm_cpu": {
        "cfg, data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype, out_dtype, unipolar": "bitserial_conv2d_nhwc",
        "cfg, outs": (
            "schedule_bitserial_conv2d_nhwc schedule_bitserial_dense schedule_conv1d_nwc_dsp "
            "schedule_conv2d_NCHWc_int8 schedule_conv2d_NHWC_quantized_interleaved "
            "schedule_conv2d_NHWC_quantized_interleaved_without_transform schedule_conv2d_NHWC_quantized_native "
            "schedule_conv2d_NHWC_quantized_native_without_transform schedule_conv2d_nchw_spatial_pack "
            "schedule_conv2d_nchw_winograd schedule_conv2d_nchw_winograd_nnpack "
            "schedule_conv2d_nchw_winograd_nnpack_without_weight_transform schedule_conv2d_nhwc_dsp "
            "schedule_conv2d_nhwc_spatial_pack schedule_conv2d_transpose_nchw schedule_dense_dsp "
            "schedule_depthwise_conv2d_nchw schedule_depthwise_conv2d_nchw_spatial_pack "
            "schedule_depthwise_conv2d_nhwc schedule_depthwise_conv2d_nhwc_dsp schedule_group_conv2d_nchwc"
        ),
        "cfg, data, weight, data_bits, weight_bits, pack_dtype, out_dtype, unipolar": "bitserial_dense",
        "cfg, data, kernel, strides, padding, dilation, out_dtype": (
            "compute_conv2d_NHWC_quantized_interleaved compute_conv2d_NHWC_quantized_native conv1d_nwc_dsp "
            "conv2d_nchw_spatial_pack conv2d_nchw_winograd conv2d_nchw_winograd_nnpack conv2d_nhwc_dsp "
            "conv2d_nhwc_spatial_pack depthwise_conv2d_nchw_spatial_pack depthwise_conv2d_nhwc_dsp"
        ),
        "cfg, s, out, final_out": "schedule_conv2d_gemm_interleaved schedule_conv2d_gemm_native",
        "cfg, data, kernel, strides, padding, dilation, layout, out_layout, out_dtype": "conv2d_NCHWc_int8",
        "data, kernel, strides, padding, dilation, out_dtype": "conv2d_nchw_int8",
        "cfg, data, kernel, strides, padding, dilation, out_dtype, num_tile": "conv2d_spatial_pack_nchw",
        "cfg, data, kernel, strides, padding, dilation, out_dtype, num_tile=2": "conv2d_spatial_pack_nhwc",
        "cfg, s, data_vec, kernel_vec, conv, output, last": "schedule_conv2d_spatial_pack_nchw",
        "cfg, s, op, output": "schedule_conv2d_spatial_pack_nhwc",
        "cfg, Input, Filter, strides, padding, out_dtype, output_padding": "conv2d_transpose_nchw",
        "cfg, data, weight, bias, out_dtype": "dense_dsp",
        "_, data, kernel, strides, padding, dilation, out_dtype": "compute_depthwise_conv2d_nhwc depthwise_conv2d_nchw",
        "data, kernel, strides, padding, dilation, groups, out_dtype": "group_conv2d_nchw",
        "cfg, data, kernel, strides, padding, dilation, groups, out_dtype='float32'": "group_conv2d_nchw_spatial_pack",
    },
    "bifrost": {
        "cfg, data, kernel, strides, padding, dilation, out_dtype": "conv2d_nchw_spatial_pack conv2d_nchw_winograd",
        "cfg, outs": "schedule_conv2d_nchw_spatial_pack schedule_conv2d_nchw_winograd schedule_dense",
        "_, data, weight, bias=None, out_dtype=None": "dense",
        "outs": "schedule_depthwise_conv2d_nchw",
        "cfg, s, A, B, C, batched=False, schedule_transforms=True": "schedule_gemm",
        "cfg, s, A, B, C, R": "schedule_unrollable_gemm",
    },
    "cuda": {
        "cfg, x, y, out_shape=None, out_dtype=None, transpose_a=False, transpose_b=True": "batch_matmul batch_matmul_cublas batch_matmul_int8 batch_matmul_tensorcore",
        "cfg, outs": (
            "schedule_batch_matmul schedule_batch_matmul_int8 schedule_batch_matmul_tensorcore "
            "schedule_conv1d_ncw schedule_conv1d_nwc schedule_conv1d_transpose_ncw schedule_conv2d_NCHWc_int8 "
            "schedule_conv2d_cudnn schedule_conv2d_hwcn schedule_conv2d_hwnc_tensorcore schedule_conv2d_nchw "
            "schedule_conv2d_nchw_winograd schedule_conv2d_nchw_winograd_without_weight_transform "
            "schedule_conv2d_nhwc_tensorcore schedule_conv2d_nhwc_winograd_direct "
            "schedule_conv2d_nhwc_winograd_direct_without_weight_transform "
            "schedule_conv2d_nhwc_winograd_tensorcore "
            "schedule_conv2d_nhwc_winograd_tensorcore_without_weight_transform schedule_conv2d_transpose_nchw "
            "schedule_conv3d_ncdhw schedule_conv3d_ncdhw_winograd "
            "schedule_conv3d_ncdhw_winograd_without_weight_transform schedule_conv3d_ndhwc "
            "schedule_conv3d_ndhwc_tensorcore schedule_conv3d_transpose_ncdhw schedule_correlation_nchw "
            "schedule_deformable_conv2d_nchw schedule_dense_int8 schedule_dense_tensorcore "
            "schedule_depthwise_conv2d_nchw schedule_group_conv1d_ncw schedule_group_conv1d_nwc "
            "schedule_group_conv2d_NCHWc_int8 schedule_group_conv2d_nchw"
        ),
        "_, outs": (
            "schedule_batch_matmul_cublas schedule_conv3d_cudnn schedule_dense_cublas schedule_matmul_cublas "
            "schedule_scatter schedule_scatter_via_sort"
        ),
        "x, y, out_dtype=None": "batch_matmul_tensorcore_cuda",
        "cfg, data, kernel, strides, padding, dilation, out_dtype='float32'": "conv1d_ncw conv1d_nwc conv2d_hwcn conv2d_nchw",
        "cfg, data, kernel, strides, padding, dilation, groups, out_dtype='float32'": "conv3d_ncdhw conv3d_ndhwc group_conv1d_ncw group_conv1d_nwc",
        "cfg, data, kernel, stride, padding, out_dtype, output_padding": "conv1d_transpose_ncw conv3d_transpose_ncdhw",
        "cfg, data, kernel, strides, padding, dilation, groups=1, layout='NCHW', out_dtype='float32'": "conv2d_cudnn",
        "cfg, s, conv": "schedule_direct_cuda",
        "cfg, s, Conv": "schedule_hwnc_tensorcore_cuda schedule_ndhwc_tensorcore_cuda schedule_nhwc_tensorcore_cuda",
        "cfg, data, kernel, stride, padding, dilation, layout, out_dtype": "conv2d_NCHWc_int8",
        "data, kernel, strides, padding, dilation, out_dtype='int32'": "conv2d_nchw_int8",
        "cfg, data, kernel, strides, padding, dilation, out_dtype": (
            "conv2d_nchw_winograd conv2d_nchw_winograd_without_weight_transform conv2d_nhwc_tensorcore "
            "conv2d_nhwc_winograd_direct conv2d_nhwc_winograd_direct_without_weight_transform "
            "conv2d_nhwc_winograd_tensorcore conv2d_nhwc_winograd_tensorcore_without_weight_transform "
            "depthwise_conv2d_nchw"
        ),
        "cfg, Input, Filter, stride, padding, dilation, out_dtype": "ndhwc_tensorcore_cuda nhwc_tensorcore_cuda",
        "cfg, data, kernel, strides, padding, dilation, out_dtype, use_tensorcore, pre_computed": "nhwc_winograd_cuda",
        "cfg, s, bgemm, data_pack, kernel_pack": "schedule_bgemm_direct schedule_bgemm_tensorcore",
        "cfg, s, output, use_tensorcore, pre_computed": "schedule_nhwc_winograd_cuda",
        "cfg, data, kernel, stride, padding, out_dtype, output_padding, groups=1": "conv2d_transpose_nchw",
        "data, weight, strides, padding, dilation, out_dtype, pre_computed=False, auto_scheduler_rewritten_layout='', meta_schedule_original_shape=None": "conv2d_winograd_nhwc_cuda",
        "cfg, s, output, pre_computed": "schedule_winograd_cuda schedule_winograd_no_depth_cuda",
        "cfg, data, kernel, strides, padding, dilation, out_dtype, pre_computed": "winograd_cuda",
        "cfg, data, kernel, strides, padding, dilation, groups, layout='NCDHW', out_dtype='float32'": "conv3d_cudnn",
        "cfg, s, conv, layout, workload_name": "schedule_direct_conv3d_cuda",
        "cfg, data, kernel, strides, padding, dilation, groups, out_dtype": "conv3d_ncdhw_winograd conv3d_ncdhw_winograd_without_weight_transform conv3d_ndhwc_tensorcore",
        "cfg, data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply": "correlation_nchw",
        "cfg, data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype": "deformable_conv2d_nchw",
        "cfg, data, weight, bias=None, out_dtype=None": "dense_cublas dense_int8 dense_tensorcore",
        "cfg, tensor_a, tensor_b, bias=None, out_dtype=None, transpose_a=False, transpose_b=False": "matmul_cublas",
        "data, weight, bias=None, out_dtype=None": "dense_tensorcore_cuda",
        "cfg, data, kernel, stride, padding, dilation, groups, out_dtype='float32'": "group_conv2d_NCHWc_int8",
        "_, data, kernel, stride, padding, dilation, groups, out_dtype='float32'": "group_conv2d_nchw",
        "data, kernel, strides, padding, dilation, groups, out_dtype='float32'": "group_conv2d_nchw_int8",
        "cfg, data, indices, updates, axis=0": "scatter scatter_via_sort",
        "sparse_indices, prev_shape, new_shape, new_sparse_indices_shape, new_shape_shape": "sparse_reshape",
        "data": "invert_permutation",
        "outs": "schedule_transpose",
        "s, out": "schedule_transpose_from_existing",
    },
    "generic": {
        "s, cfg, data_vec, kernel_vec, conv_out, last, int32_lanes=16, int8_elems=4, intrin=None, inline_fused=False": "schedule_conv_NCHWc_cpu_1x1_int8",
        "s, cfg, data_vec, kernel_vec, conv_out, last, int32_lanes=16, int8_elems=4, intrin=None, inline_fused=True": "schedule_conv_NCHWc_cpu_common_int8",
    },
    "gpu": {
        "cfg, data, kernel, strides, padding, dilation, out_dtype='float32'": "conv2d_nhwc",
        "cfg, outs": "schedule_conv2d_nhwc schedule_dense_large_batch schedule_dense_small_batch schedule_matmul_default",
        "cfg, s, Conv": "schedule_conv2d_nhwc_direct",
        "cfg, data, weight, bias=None, out_dtype=None": "dense_large_batch dense_small_batch",
        "cfg, tensor_a, tensor_b, bias=None, out_dtype=None, transpose_a=False, transpose_b=False": "matmul_default",
    },
    "hls": {
        "outs": (
            "schedule_adaptive_pool schedule_bitserial_conv2d_nchw schedule_bitserial_conv2d_nhwc "
            "schedule_conv2d_NCHWc schedule_conv2d_nchw schedule_conv2d_nhwc schedule_conv2d_transpose_nchw "
            "schedule_dense schedule_depthwise_conv2d_nchw schedule_depthwise_conv2d_nhwc schedule_injective "
            "schedule_reduce schedule_softmax"
        ),
        "outs, layout": "schedule_pool",
    },
    "intel_graphics": {
        "cfg, data, kernel, strides, padding, dilation, layout, out_layout, out_dtype='float32'": "conv2d_NCHWc",
        "data, kernel, stride, padding, dilation, out_dtype='float32'": "conv2d_nchw",
        "cfg, outs": "schedule_conv2d_NCHWc schedule_depthwise_conv2d_nchw",
        "outs": "schedule_conv2d_nchw",
        "_, data, kernel, strides, padding, dilation, out_dtype": "depthwise_conv2d_nchw",
    },
    "mali": {
        "cfg, data, kernel, strides, padding, dilation, out_dtype": (
            "conv2d_nchw_spatial_pack conv2d_nchw_winograd conv2d_nhwc_spatial_pack depthwise_conv2d_nchw "
            "depthwise_conv2d_nhwc"
        ),
        "data, weight, strides, padding, dilation, out_dtype, pre_computed=False, auto_scheduler_rewritten_layout=''": "conv2d_winograd_nhwc_mali",
        "cfg, outs": (
            "schedule_conv2d_nchw_spatial_pack schedule_conv2d_nchw_winograd schedule_conv2d_nhwc_spatial_pack "
            "schedule_dense schedule_depthwise_conv2d_nchw schedule_depthwise_conv2d_nhwc"
        ),
        "_, data, weight, bias=None, out_dtype=None": "dense",
    },
    "rocm": {
        "cfg, x, y, out_shape=None, out_dtype=None, transpose_a=False, transpose_b=True": "batch_matmul_rocblas",
        "_, outs": "schedule_batch_matmul_rocblas schedule_dense_rocblas",
        "cfg, data, kernel, strides, padding, dilation, layout='NCHW', out_dtype='float32'": "conv2d_nchw_miopen",
        "cfg, outs": "schedule_conv2d_nchw_miopen",
        "cfg, data, weight, bias=None, out_dtype=None": "dense_rocblas",
    },
    "x86": {
        "cfg, tensor_a, tensor_b, out_shape=None, out_dtype=None, transpose_a=False, transpose_b=True": "batch_matmul batch_matmul_cblas batch_matmul_mkl",
        "cfg, tensor_a, tensor_b, out_shape, trans_a, trans_b, lib": "batch_matmul_blas_common",
        "cfg, outs": (
            "schedule_batch_matmul schedule_batch_matmul_vnni schedule_bitserial_conv2d_nchw "
            "schedule_bitserial_conv2d_nhwc schedule_bitserial_dense schedule_conv2d_NCHWc "
            "schedule_conv2d_NCHWc_int8 schedule_conv2d_nhwc_pack_int8 schedule_conv3d_ncdhw "
            "schedule_conv3d_ndhwc schedule_dense_nopack schedule_dense_pack schedule_dense_vnni "
            "schedule_depthwise_conv2d_NCHWc schedule_group_conv2d_nchwc schedule_spconv2d_3x3_nchw "
            "schedule_spconv2d_3x3_nhwc"
        ),
        "_, outs": (
            "schedule_batch_matmul_cblas schedule_batch_matmul_mkl schedule_conv2d_nchw_dnnl "
            "schedule_conv2d_nhwc_dnnl schedule_dense_cblas schedule_dense_dnnl schedule_dense_mkl "
            "schedule_matmul_cblas schedule_matmul_dnnl schedule_matmul_mkl"
        ),
        "cfg, data, kernel, stride, padding, in_bits, weight_bits, pack_dtype='uint32', out_dtype='int16', unipolar=True": "bitserial_conv2d_nchw bitserial_conv2d_nhwc",
        "cfg, data, weight, data_bits, weight_bits, pack_dtype='uint32', out_dtype='int16', unipolar=True": "bitserial_dense",
        "data, axis=0": "concatenate",
        "cfg, data, kernel, strides, padding, dilation, layout, out_layout, out_dtype": "conv2d_NCHWc conv2d_NCHWc_int8",
        "data, kernel, strides, padding, dilation, out_dtype": "conv2d_nchw conv2d_nchw_int8 depthwise_conv2d_nchw",
        "cfg, data, kernel, strides, padding, dilation, out_dtype": "conv2d_nchw_dnnl conv2d_nhwc_dnnl",
        "data, kernel, strides, padding, out_dtype, output_padding": "conv2d_transpose_nchw conv3d_transpose_ncdhw",
        "cfg, data, kernel, strides, padding, dilation, groups, out_dtype": "conv3d_ncdhw conv3d_ndhwc",
        "cfg, data, weight, bias=None, out_dtype=None": "dense_cblas dense_dnnl dense_mkl dense_nopack dense_pack",
        "cfg, tensor_a, tensor_b, bias, out_dtype, transpose_a, transpose_b, lib": "matmul_blas_common",
        "cfg, tensor_a, tensor_b, bias=None, out_dtype=None, transpose_a=False, transpose_b=False": "matmul_cblas matmul_dnnl matmul_mkl",
        "cfg, data, kernel, strides, padding, dilation, layout, out_layout, out_dtype=None": "depthwise_conv2d_NCHWc",
        "data, kernel, strides, padding, dilation, groups, out_dtype": "group_conv2d_nchw",
        "cfg, data, kernel, strides, padding, dilation, groups, out_dtype='float32'": "group_conv2d_nchw_spatial_pack",
        "cfg, data, wdat, wind, wptr, layout='NCHW'": "spconv2d_3x3_nchw",
        "cfg, data, wdat, wind, wptr, layout='NHWC'": "spconv2d_3x3_nhwc",
    },
}

#: Functions of `topi` that serve under another name, with their arguments where those are not all parameters in order:
#: names of parameters, or =value. "name@package" is for one package; "own" is what the package defines itself.
SOURCES: dict[str, tuple[str, str]] = {
    "batch_matmul_blas_common": ("batch_matmul", "tensor_a tensor_b out_shape =None trans_a trans_b"),
    "batch_matmul_cublas": ("batch_matmul", ""),
    "batch_matmul_tensorcore_cuda": ("batch_matmul", "x y =None out_dtype"),
    "compute_conv2d_NHWC_quantized_interleaved": ("own", ""),
    "compute_conv2d_NHWC_quantized_native": ("own", ""),
    "compute_depthwise_conv2d_nhwc": ("own", ""),
    "conv1d_nwc_dsp": ("conv1d_nwc", ""),
    "conv2d_NCHWc_int8@cuda": ("own", ""),
    "conv2d_cudnn": ("own", ""),
    "conv2d_nchw_dnnl": ("conv2d_nchw", ""),
    "conv2d_nchw_miopen": ("conv2d_nchw", "data kernel strides padding dilation out_dtype"),
    "conv2d_nchw_winograd_comp": ("conv2d_winograd_nchw", ""),
    "conv2d_nchw_winograd_nnpack": ("conv2d_nchw", ""),
    "conv2d_nchw_winograd_without_weight_transform": (
        "conv2d_winograd_nchw",
        "data kernel strides padding dilation out_dtype =True",
    ),
    "conv2d_nhwc_dnnl": ("conv2d_nhwc", ""),
    "conv2d_nhwc_dsp": ("conv2d_nhwc", ""),
    "conv2d_nhwc_winograd_comp": ("conv2d_winograd_nhwc", ""),
    "conv2d_nhwc_winograd_direct_without_weight_transform": ("conv2d_winograd_nhwc_without_weight_transform", ""),
    "conv2d_nhwc_winograd_tensorcore_without_weight_transform": ("conv2d_winograd_nhwc_without_weight_transform", ""),
    "conv2d_nhwc_winograd_without_weight_transform": ("conv2d_winograd_nhwc_without_weight_transform", ""),
    "conv2d_spatial_pack_nchw": ("conv2d_nchw", "data kernel strides padding dilation out_dtype"),
    "conv2d_spatial_pack_nhwc": ("conv2d_nhwc", "data kernel strides padding dilation out_dtype"),
    "conv2d_transpose_nchw@cuda": ("group_conv2d_transpose_nchw", ""),
    "conv2d_winograd_nhwc_cuda": ("conv2d_winograd_nhwc", ""),
    "conv2d_winograd_nhwc_mali": ("conv2d_winograd_nhwc", ""),
    "conv3d_cudnn": ("own", ""),
    "conv3d_ncdhw_winograd_without_weight_transform": ("own", ""),
    "dense_cublas": ("dense", ""),
    "dense_dnnl": ("dense", ""),
    "dense_dsp": ("dense", ""),
    "dense_tensorcore_cuda": ("dense", ""),
    "depthwise_conv2d_nhwc_dsp": ("depthwise_conv2d_nhwc", ""),
    "group_conv2d_NCHWc_int8": ("own", ""),
    "matmul_blas_common": ("matmul", "tensor_a tensor_b bias out_dtype transpose_a transpose_b"),
    "matmul_cublas": ("matmul", ""),
    "matmul_dnnl": ("matmul", ""),
    "ndhwc_tensorcore_cuda": ("conv3d_ndhwc", "Input Filter stride padding dilation =1 out_dtype"),
    "nhwc_tensorcore_cuda": ("conv2d_nhwc", ""),
    "nhwc_winograd_cuda": ("conv2d_winograd_nhwc", "data kernel strides padding dilation out_dtype pre_computed"),
    "scatter_via_sort": ("scatter", ""),
    "spconv2d_3x3_nchw": ("sparse_conv2d", "data wdat wind wptr layout =3"),
    "spconv2d_3x3_nhwc": ("sparse_conv2d", "data wdat wind wptr layout =3"),
    "winograd_cuda": ("conv2d_winograd_nchw", ""),
}
