#pragma once
// The functions that fill the operator table, one for each operator or family of operators that differ in one line.

#include "op/record.h"

namespace tessera::op {

void annotation_records();
void memory_records();
void random_records();

// tensor/
void binary_records();
void cast_records();
void create_records();
void dimension_records();
void einsum_records();
void host_records();
void index_records();
void join_records();
void position_records();
void reduce_records();
void repeat_records();
void reshape_records();
void scatter_records();
void search_records();
void slice_records();
void small_float_records();
void sparse_records();
void unary_records();

// dyn/
void dyn_create_records();
void dyn_image_records();
void dyn_reshape_records();

// nn/
void activation_records();
void conv_records();
void conv_transpose_records();
void deformable_records();
void loss_records();
void matmul_records();
void norm_records();
void pad_records();
void pool_records();
void space_records();

// qnn/
void quantize_records();
void quantized_elementwise_records();
void quantized_product_records();
void simulated_quantize_records();
void requantize_records();

// image/
void resize_records();
void sample_records();

// vision/
void boxes_records();
void nms_records();

// gradient/: after the records, whose slots they fill
void copy_gradients();
void dynamic_gradients();
void einsum_gradients();
void elementwise_gradients();
void index_gradients();
void reduce_gradients();
void region_gradients();
void sampling_gradients();
void scatter_gradients();
void separable_gradients();
void signal_gradients();
void slice_gradients();
void transform_gradients();
void window_gradients();

/// Makes all operators, the first time it is called.
void make_operators();

}  // namespace tessera::op
