// All operators. They are made when the library is loaded, in this order.

#include "op/records.h"

namespace tessera::op {
namespace {

[[maybe_unused]] const bool made = [] {
  activation_records();
  annotation_records();
  binary_records();
  conv_records();
  conv_transpose_records();
  loss_records();
  matmul_records();
  norm_records();
  pad_records();
  pool_records();
  reduce_records();
  resize_records();
  space_records();
  transform_records();
  unary_records();
  return true;
}();

}  // namespace
}  // namespace tessera::op
