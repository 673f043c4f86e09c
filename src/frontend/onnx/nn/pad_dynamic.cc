#include "frontend/onnx/nn/pad_dynamic.h"

#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "relay/attrs/transform.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {

using namespace relay;  // NOLINT: makers of calls

Expr padded_at_run_time(Operation& in, const Expr& data, const Expr& given, const std::vector<int64_t>& axes,
                        const Expr& value, const std::string& mode) {
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") in.unsupported("the mode " + mode);
  const DataType dtype = DataType::Int(64);
  auto number = [&](int64_t x) { return make_constant(int_scalar(x, dtype)); };
  // A pad so large that a sum could overflow becomes one so small that the extent is negative, which is an error.
  constexpr int64_t kFar = int64_t{1} << 60;
  Expr pads = cast_if_needed(in, given, dtype), bounded = minimum(maximum(pads, number(-kFar)), number(kFar));
  pads = where(equal(bounded, pads), pads, number(-4 * kFar));
  Expr out = data;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t ends = i + axes.size();
    auto is_none = [&](size_t at) {
      std::optional<Element> seen = element_of(given, static_cast<int64_t>(at));
      return seen && seen->value && *seen->value == 0;
    };
    if (is_none(i) && is_none(ends)) continue;
    // Where each element of the result lies in the data; outside, the last element or the value stands for it.
    int axis = in.axis(axes[i], in.rank(data)), behind = static_cast<int>(in.rank(data)) - axis - 1;
    auto pad = [&](size_t at) { return take(pads, number(static_cast<int64_t>(at)), 0); };
    Expr extent = extent_at_run_time(in, data, axis), before = pad(i);
    Expr position = subtract(call_op("dyn.iota", {add(add(before, pad(ends)), extent)}), before);
    Expr last = subtract(extent, number(1)), index = position;
    if (mode == "wrap") index = call_op("floor_mod", {position, maximum(extent, number(1))});
    if (mode == "reflect") {  // forwards and backwards over the data, whose ends are not repeated
      Expr period = maximum(multiply(last, number(2)), number(1));
      Expr phase = call_op("floor_mod", {position, period});
      index = minimum(phase, subtract(period, phase));
    }
    Expr inside = minimum(maximum(index, number(0)), last);
    out = take(out, inside, axis);
    if (mode != "constant") continue;
    Expr is_inside = equal(position, inside);
    out = where(behind ? expand_dims(is_inside, 1, behind) : is_inside, out, value);
  }
  return out;
}

}  // namespace tessera::onnx
