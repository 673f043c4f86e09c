// Pad in all its modes: constant, edge, reflect and wrap, and pads that crop.

#include <algorithm>
#include <cmath>

#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/pad_dynamic.h"
#include "frontend/onnx/scope.h"
#include "frontend/onnx/tensor_ops/named_axes.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Values padded(Operation& in) {
  std::string mode = in.text("mode", "constant");
  size_t rank = in.rank(in[0]);
  std::optional<std::vector<int64_t>> pads, axes;
  Expr value = make_scalar(0, in.dtype(in[0]));
  if (in.version() < 11) {
    pads = in.integers(in.has_attribute("pads") ? "pads" : "paddings");
    value = make_scalar(in.number("value", 0), in.dtype(in[0]));
  } else {
    if (in.has(2)) value = reshape(in[2], Array<PrimExpr>{});
    pads = in.constant_ints(in[1]);
    if (in.has(3) && !in.constant_ints(in[3])) {  // pads of all axes: 0 where none is named
      Expr positions = counted_from_front(in, in[3], rank), last = make_ints({static_cast<int64_t>(rank)});
      Expr zeros = make_ints(std::vector<int64_t>(2 * rank, 0));
      Expr all = call_op(
          "scatter",
          {zeros, concatenate({positions, add(positions, last)}, 0), cast_if_needed(in, in[1], DataType::Int(64))},
          make_attrs<ScatterAttrs>([](auto& attrs) { attrs.axis = 0; }));
      return {padded_at_run_time(in, in[0], all, counted(rank), value, mode)};
    }
    if (in.has(3)) axes = in.needed_ints(in[3], "axes");
    if (!pads) return {padded_at_run_time(in, in[0], in[1], axes ? *axes : counted(rank), value, mode)};
  }
  if (!axes) axes = counted(rank);
  if (pads->size() != 2 * axes->size()) in.invalid("there must be two pads for each axis");
  std::vector<int64_t> before(rank, 0), after(rank, 0);
  bool crops = false;
  for (size_t i = 0; i < axes->size(); ++i) {
    auto axis = static_cast<size_t>(in.axis((*axes)[i], rank));
    before[axis] = (*pads)[i];
    after[axis] = (*pads)[i + axes->size()];
    for (int64_t pad : {before[axis], after[axis]}) {
      if (std::abs(static_cast<double>(pad)) > INT32_MAX) in.invalid("a pad of " + std::to_string(pad) + " elements");
      crops |= pad < 0;
    }
  }
  Expr data = in[0];
  if ((crops || mode == "wrap") && !in.fixed_shape(data))
    return {padded_at_run_time(in, data, make_ints(*pads), *axes, value, mode)};
  if (crops) {
    Ints extents = in.static_shape(data, "a pad that crops"), end(rank), begin(rank), ones(rank, 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t total = before[i] + extents[i] + after[i];
      if (total < 0)
        in.invalid("pads of " + std::to_string(before[i]) + " and " + std::to_string(after[i]) + " leave axis " +
                   std::to_string(i) + " of " + shape_text(extents) + " less than nothing");
      begin[i] = std::max<int64_t>(-before[i], 0);
      end[i] = extents[i] + std::min<int64_t>(after[i], 0);
      before[i] = std::max<int64_t>(before[i], 0);
      after[i] = std::max<int64_t>(after[i], 0);
      if (begin[i] < end[i]) continue;
      begin[i] = end[i] = 0;  // nothing of the data is left
      before[i] = total;
      after[i] = 0;
    }
    data = call_op("strided_slice", {data}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                     attrs.begin = int_array(begin);
                     attrs.end = int_array(end);
                     attrs.strides = int_array(ones);
                   }));
  }
  if (mode == "wrap") {  // the other end goes on
    Ints extents = in.static_shape(data, "wrapping");
    for (size_t axis = 0; axis < rank; ++axis) {
      if (before[axis] == 0 && after[axis] == 0) continue;
      std::vector<int64_t> indices;
      int64_t n = extents[axis];
      if (n == 0) in.invalid("an empty axis cannot wrap");
      for (int64_t i = -before[axis]; i < n + after[axis]; ++i) indices.push_back(((i % n) + n) % n);
      data = call_op("take", {data, make_ints(indices)},
                     make_attrs<TakeAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(static_cast<int>(axis)); }));
    }
    return {data};
  }
  if (mode != "constant" && mode != "edge" && mode != "reflect") in.unsupported("the mode " + mode);
  Array<Array<PrimExpr>> widths;
  for (size_t i = 0; i < rank; ++i) widths.push_back(int_array({before[i], after[i]}));
  return {call_op("nn.pad", {data, value}, make_attrs<PadAttrs>([&](auto& attrs) {
                    attrs.pad_width = widths;
                    attrs.pad_mode = mode;
                  }))};
}

}  // namespace

Rows pad_rows() {
  return {
      {"Pad", 1, padded},
  };
}

}  // namespace tessera::onnx
