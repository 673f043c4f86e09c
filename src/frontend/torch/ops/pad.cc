// Borders.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Widths are given for the last dimension first, begin and end of each.
Expr with_border(Operation& in, const char* mode, const Value& value) {
  Expr x = in[0];
  const size_t rank = in.rank(x);
  const Value& given = in.has("pad") ? in.value("pad") : in.value("padding");
  const std::vector<Value>& widths = in.items_of(given, "the padding");
  if (widths.size() % 2 || widths.size() / 2 > rank) in.invalid("the padding does not fit the data");
  std::vector<Value> begins(rank, Value::of(int64_t{0})), ends = begins;
  for (size_t i = 0; i < widths.size() / 2; ++i) {
    begins[rank - 1 - i] = widths[2 * i];
    ends[rank - 1 - i] = widths[2 * i + 1];
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  Expr pads = in.int_vector(Value::of(begins));
  const DataType dtype = in.dtype(x), work = dtype.is_bool() ? DataType::UInt(8) : dtype;
  Expr fill = as_type(in, value, work);
  return as_type(in, onnx::apply(in, "Pad", {as_type(in, x, work), pads, fill}, {{"mode", mode}}), dtype);
}

Converter border_of(const char* mode) {
  return [mode](Operation& in) { return Values{with_border(in, mode, Value::of(0.0))}; };
}
Values constant_border(Operation& in) {
  return {with_border(in, "constant", in.has("value") ? in.value("value") : Value::of(0.0))};
}
Values any_border(Operation& in) {
  const std::string mode = in.text("mode", "constant");
  if (mode == "constant") return constant_border(in);
  if (mode != "reflect" && mode != "replicate" && mode != "circular") in.invalid("the mode " + mode);
  return {with_border(in, mode == "reflect" ? "reflect" : mode == "replicate" ? "edge" : "wrap", Value::of(0.0))};
}

}  // namespace

Rows pad_rows() {
  return {
      {"aten::_pad_circular", border_of("wrap")},
      {"aten::constant_pad_nd", constant_border},
      {"aten::pad", any_border},
      {"aten::reflection_pad1d", border_of("reflect")},
      {"aten::reflection_pad2d", border_of("reflect")},
      {"aten::reflection_pad3d", border_of("reflect")},
      {"aten::replication_pad1d", border_of("edge")},
      {"aten::replication_pad2d", border_of("edge")},
      {"aten::replication_pad3d", border_of("edge")},
      {"aten::zero_pad2d", constant_border},
  };
}

}  // namespace tessera::torch
