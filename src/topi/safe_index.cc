#include "topi/safe_index.h"

#include <limits>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"

namespace tessera::topi {

PrimExpr wide_index(const PrimExpr& index, const PrimExpr& extent) {
  DataType from = index.dtype();
  const int64_t* known = as_int(extent);
  bool is_long = known ? *known > std::numeric_limits<int32_t>::max() : extent.dtype().bits > 32;
  if (from.is_uint() && from.bits == 64) {  // beyond int64 is beyond the extent
    PrimExpr largest = tessera::cast(from, make_const(DataType::Int(64), std::numeric_limits<int64_t>::max()));
    return tessera::cast(DataType::Int(64), min(index, largest));
  }
  bool fits = from.is_int() ? from.bits <= 32 : from.bits < 32;
  return tessera::cast(DataType::Int(fits && !is_long ? 32 : 64), index);
}

PrimExpr nearest_index(const PrimExpr& index, const PrimExpr& extent) {
  PrimExpr wide = wide_index(index, extent);
  if (const int64_t* known = as_int(extent); known && *known <= 0) return make_zero(wide.dtype());
  DataType bits = DataType::UInt(wide.dtype().bits);  // a negative one is beyond all others
  PrimExpr last = tessera::cast(wide.dtype(), extent) - make_const(wide.dtype(), 1);
  return tessera::cast(wide.dtype(), min(tessera::cast(bits, wide), tessera::cast(bits, last)));
}

void SafeAccess::Guard::add_report(const PrimExpr& checked) {
  PrimExpr value = tessera::cast(DataType::Int(64), checked);
  report = report ? report + value : value;
}

PrimExpr SafeAccess::Guard::protect(const PrimExpr& value,
                                    const std::function<PrimExpr(const PrimExpr& report)>& other) const {
  if (!holds) return value;
  return if_then_else(holds, value, other(report ? report : make_zero(DataType::Int(64))));
}

PrimExpr SafeAccess::checked(const PrimExpr& index, const PrimExpr& extent, int axis) const {
  PrimExpr wide = wide_index(index, extent);
  String where = check_.name.str() + ", axis " + std::to_string(axis);
  return make_call(wide.dtype(), "tir.checked_index", {wide, tessera::cast(wide.dtype(), extent), string_imm(where)});
}

PrimExpr SafeAccess::index(const PrimExpr& given, const PrimExpr& extent, int axis) {
  if (!check_) return bounded(nearest_index(given, extent), extent);
  PrimExpr out = checked(given, extent, axis);
  has_elements_.add_report(out);
  return bounded(out, extent);
}

PrimExpr SafeAccess::bounded(const PrimExpr& index, const PrimExpr& extent) {
  const int64_t* known = as_int(extent);
  if (!known || *known <= 0) has_elements_.require(extent > make_zero(extent.dtype()));
  return index;
}

void SafeAccess::shares(const PrimExpr& from, const PrimExpr& extent, int axis) {
  const int64_t *given = as_int(from), *have = as_int(extent);
  if ((given && have && *given <= *have) || expr_equal(from, extent)) return;
  fits_.require(from <= extent);
  if (check_) fits_.add_report(checked(from - make_const(from.dtype(), 1), extent, axis));
}

PrimExpr SafeAccess::load(const te::Tensor& x, const Array<PrimExpr>& at) const {
  auto zero = [&](const PrimExpr& report) { return tessera::cast(x->dtype, report); };
  return fits_.protect(has_elements_.protect(te::load(x, at), zero), zero);
}

PrimExpr SafeAccess::is_possible() const {
  auto no = [](const PrimExpr& report) { return report < make_zero(report.dtype()); };
  return fits_.protect(has_elements_.protect(bool_imm(true), no), no);
}

}  // namespace tessera::topi
