// All operators. They are made when the library is loaded, in this order.

#include "op/records.h"

namespace tessera::op {
namespace {

[[maybe_unused]] const bool made = [] {
  activation_records();
  annotation_records();
  binary_records();
  conv_records();
  dense_record();
  pool_records();
  reduce_records();
  transform_records();
  unary_records();
  return true;
}();

}  // namespace
}  // namespace tessera::op
