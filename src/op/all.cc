// All operators. They are made when the library is loaded, in this order.

#include "op/records.h"

#include "op/nn/cpu_implementations.h"

namespace tessera::op {
namespace {

bool make_all() {
  activation_records();
  annotation_records();
  binary_records();
  boxes_records();
  cast_records();
  conv_records();
  conv_transpose_records();
  create_records();
  deformable_records();
  dimension_records();
  dyn_create_records();
  dyn_image_records();
  dyn_reshape_records();
  einsum_records();
  host_records();
  index_records();
  join_records();
  loss_records();
  matmul_records();
  nms_records();
  memory_records();
  norm_records();
  pad_records();
  pool_records();
  position_records();
  quantize_records();
  quantized_elementwise_records();
  quantized_product_records();
  simulated_quantize_records();
  requantize_records();
  random_records();
  reduce_records();
  repeat_records();
  reshape_records();
  resize_records();
  sample_records();
  scatter_records();
  search_records();
  slice_records();
  small_float_records();
  sparse_records();
  space_records();
  unary_records();
  copy_gradients();
  dynamic_gradients();
  einsum_gradients();
  elementwise_gradients();
  index_gradients();
  reduce_gradients();
  region_gradients();
  sampling_gradients();
  scatter_gradients();
  separable_gradients();
  signal_gradients();
  slice_gradients();
  transform_gradients();
  window_gradients();
  gemm_implementations();
  row_implementations();
  layout_move_implementations();
  return true;
}

}  // namespace

void make_operators() { [[maybe_unused]] static const bool made = make_all(); }

[[maybe_unused]] static const bool made_at_start = (make_operators(), true);

}  // namespace tessera::op
