#include "frontend/onnx/pad_open.h"

#include "frontend/onnx/known.h"
#include "frontend/onnx/parts.h"
#include "relay/attrs/transform.h"
#include "relay/make.h"
#include "runtime/element.h"

namespace tessera::onnx {

using namespace relay;  // NOLINT: makers of calls

Expr padded_at_run_time(Operation& in, const Expr& data, const Expr& pads, const std::vector<int64_t>& axes,
                        const Expr& value, const std::string& mode) {
  if (mode != "constant" && mode != "edge") in.unknown("pads of the mode " + mode + " must be known", pads);
  const DataType dtype = DataType::Int(64);
  auto number = [&](int64_t x) { return make_constant(int_scalar(x, dtype)); };
  Expr out = data;
  for (size_t i = 0; i < axes.size(); ++i) {
    size_t ends = i + axes.size();
    auto is_none = [&](size_t at) {
      std::optional<Element> seen = element_of(pads, static_cast<int64_t>(at));
      return seen && seen->value && *seen->value == 0;
    };
    if (is_none(i) && is_none(ends)) continue;
    // Where each element of the result lies in the data; outside, the last element or the value stands for it.
    int axis = in.axis(axes[i], in.rank(data)), behind = static_cast<int>(in.rank(data)) - axis - 1;
    auto pad = [&](size_t at) { return cast_if_needed(in, take(pads, number(static_cast<int64_t>(at)), 0), dtype); };
    Expr extent = extent_at_run_time(in, data, axis), start = negative(pad(i)), stop = add(extent, pad(ends));
    Expr place = call_op("arange", {start, stop, number(1)}, make_attrs<ArangeAttrs>([&](auto& attrs) {
                           attrs.start = start;
                           attrs.stop = stop;
                           attrs.step = number(1);
                           attrs.dtype = dtype;
                         }));
    Expr inside = minimum(maximum(place, number(0)), subtract(extent, number(1)));
    out = take(out, inside, axis);
    if (mode == "edge") continue;
    Expr is_inside = equal(place, inside);
    out = where(behind ? expand_dims(is_inside, 1, behind) : is_inside, out, value);
  }
  return out;
}

}  // namespace tessera::onnx
