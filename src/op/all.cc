// All operators. They are made when the library is loaded, in this order.

#include "op/records.h"

namespace tessera::op {
namespace {

[[maybe_unused]] const bool made = [] {
  binary_records();
  dense_record();
  unary_records();
  return true;
}();

}  // namespace
}  // namespace tessera::op
