// What moves, repeats and divides tensors.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

/// 0 is the extent of the data, -1 what is left.
Exprs reshaped(LayerNode& in) {
  Expr shape = ints_of(in, "shape", {"ShapeTensor", "Shape"});
  if (!shape.defined()) in.invalid("it says no shape");
  return only(in, apply(in, "Reshape", {in.slot("X"), shape}));
}

Exprs transposed(LayerNode& in) { return only(in, transpose(in.slot("X"), int_array(in.fields().integers("axis")))); }

Exprs flattened(LayerNode& in) {
  Expr x = in.slot("X");
  const size_t rank = in.rank(x);
  if (rank == 0) return only(in, reshape_to(x, {1}));
  const int begin = in.axis(in.integer("start_axis", 1), rank), end = in.axis(in.integer("stop_axis", -1), rank);
  if (begin > end) in.invalid("its first axis lies behind its last one");
  return only(in, merged(x, begin, end + 1));
}

/// Axes whose extent is not 1 stay.
Exprs squeezed(LayerNode& in) {
  Expr x = in.slot("X");
  const Array<PrimExpr> shape = in.shape(x);
  Ints given = known_ints(in, "axes", {"AxesTensor", "AxesTensorList"});
  std::vector<int64_t> axes;
  auto is_one = [&](size_t axis) { return as_int(shape[axis]) && *as_int(shape[axis]) == 1; };
  for (int64_t axis : given) {
    const auto one = static_cast<size_t>(in.axis(axis, shape.size()));
    if (is_one(one) || !as_int(shape[one])) axes.push_back(static_cast<int64_t>(one));
  }
  if (given.empty())
    for (size_t i = 0; i < shape.size(); ++i)
      if (is_one(i)) axes.push_back(static_cast<int64_t>(i));
  return only(in, axes.empty() ? x : squeeze(x, int_array(axes)));
}

/// Each axis counts in what those before it have made.
Exprs unsqueezed(LayerNode& in) {
  Expr out = in.slot("X");
  for (int64_t axis : known_ints(in, "axes", {"AxesTensor", "AxesTensorList"}))
    out = typed(expand_dims(out, in.axis(axis, in.rank(out) + 1)));
  return only(in, out);
}

Exprs concatenated(LayerNode& in) {
  Array<Expr> parts;
  for (const Expr& x : in.slots("X")) parts.push_back(x);
  if (parts.empty()) in.invalid("it has no inputs");
  const int axis = in.axis(known_int(in, "axis", 0, {"AxisTensor"}), in.rank(parts[0]));
  return only(in, concatenate(parts, axis));
}
Exprs stacked(LayerNode& in) {
  Array<Expr> parts;
  for (const Expr& x : in.slots("X")) parts.push_back(x);
  if (parts.empty()) in.invalid("it has no inputs");
  return only(in, relay::stack(parts, in.axis(in.integer("axis", 0), in.rank(parts[0]) + 1)), "Y");
}

/// So many equal parts, or the extents of each, of which one may be what is left.
Exprs parted(LayerNode& in) {
  Expr x = in.slot("X");
  const int axis = in.axis(known_int(in, "axis", 0, {"AxisTensor"}), in.rank(x));
  Ints sections = known_ints(in, "sections", {"SectionsTensorList"});
  size_t count = sections.size();
  Expr parts;
  if (sections.empty()) {
    const int64_t number = in.integer("num", 0);
    if (number < 1 || number > 100'000) in.invalid("it makes " + std::to_string(number) + " parts");
    count = static_cast<size_t>(number);
    parts = split(x, static_cast<int>(number), axis);
  } else {
    int64_t known = 0, open = 0;
    for (int64_t extent : sections) extent < 0 ? ++open : known += extent;
    if (open > 1) in.invalid("the extents of two parts are not given");
    std::vector<int64_t> begins;
    int64_t at = 0;
    for (size_t i = 0; i + 1 < sections.size(); ++i) {
      at +=
          sections[i] < 0 ? in.static_shape(x, "the extent of a part")[static_cast<size_t>(axis)] - known : sections[i];
      begins.push_back(at);
    }
    parts = split(x, begins, axis);
  }
  Exprs out;
  for (size_t i = 0; i < count; ++i) out.push_back(make_get_item(parts, static_cast<int>(i)));
  return in.results({{"Out", out}});
}
/// Each element of an axis as a tensor without it.
LayerConverter unstacked(const char* slot) {
  return [slot](LayerNode& in) {
    Expr x = in.slot("X");
    const int axis = in.axis(in.integer("axis", 0), in.rank(x));
    const int64_t count = in.static_shape(x, "the number of results")[static_cast<size_t>(axis)];
    if (count < 1) in.invalid("an axis of extent " + std::to_string(count));
    Expr parts = split(x, static_cast<int>(count), axis);
    Exprs out;
    for (int64_t i = 0; i < count; ++i)
      out.push_back(squeeze(make_get_item(parts, static_cast<int>(i)), int_array({axis})));
    return in.results({{slot, out}});
  };
}

// ---- slices ---------------------------------------------------------------------------------------------------------

/// Axes of extent 1 that a slice leaves out.
Expr without_axes(const LayerNode& in, Expr x) {
  Ints axes = in.fields().integers("decrease_axis");
  return axes.empty() ? x : squeeze(typed(x), int_array(axes));
}
Exprs sliced(LayerNode& in) {
  Expr begins = ints_of(in, "starts", {"StartsTensor", "StartsTensorList"}),
       ends = ints_of(in, "ends", {"EndsTensor", "EndsTensorList"});
  Expr out = apply(in, "Slice", {in.slot("Input"), begins, ends, make_ints(in.fields().integers("axes"))});
  return only(in, without_axes(in, out));
}
Exprs strided(LayerNode& in) {
  Expr begins = ints_of(in, "starts", {"StartsTensor", "StartsTensorList"}),
       ends = ints_of(in, "ends", {"EndsTensor", "EndsTensorList"}),
       strides = ints_of(in, "strides", {"StridesTensor", "StridesTensorList"});
  Expr out = apply(in, "Slice", {in.slot("Input"), begins, ends, make_ints(in.fields().integers("axes")), strides});
  return only(in, without_axes(in, out));
}

// ---- repeats --------------------------------------------------------------------------------------------------------

/// -1 keeps an extent.
Exprs expanded(LayerNode& in) {
  Expr x = in.slot("X"), shape = ints_of(in, "shape", {"Shape", "expand_shapes_tensor"});
  if (!shape.defined()) in.invalid("it says no shape");
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(shape)) {
    for (int64_t& extent : *known)
      if (extent < 0) extent = 1;
    shape = make_ints(*known);
  } else {
    shape = typed(maximum(shape, make_scalar(1, DataType::Int(64))));
  }
  return only(in, apply(in, "Expand", {x, shape}));
}
Exprs expanded_as(LayerNode& in) {
  Expr x = in.slot("X");
  if (in.has_slot("Y")) return only(in, broadcast_to_like(x, in.slot("Y")));
  return only(in, apply(in, "Expand", {x, make_ints(in.fields().integers("target_shape"))}));
}
Exprs tiled(LayerNode& in) {
  Ints times = known_ints(in, "repeat_times", {"RepeatTimes", "repeat_times_tensor"});
  return only(in,
              call_op("tile", {in.slot("X")}, make_attrs<TileAttrs>([&](auto& to) { to.reps = int_array(times); })));
}
Exprs mesh(LayerNode& in) {
  Exprs all = in.slots("X"), out;
  std::vector<int64_t> shape;
  for (const Expr& x : all) shape.push_back(product_of(in.static_shape(x, "a mesh")));
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<int64_t> own(all.size(), 1);
    own[i] = shape[i];
    out.push_back(broadcast_to(typed(reshape_to(all[i], own)), int_array(shape)));
  }
  return in.results({{"Out", out}});
}

// ---- orders of elements ---------------------------------------------------------------------------------------------

Exprs flipped(LayerNode& in) {
  Expr out = in.slot("X");
  const size_t rank = in.rank(out);
  for (int64_t axis : in.fields().integers("axis"))
    out =
        call_op("reverse", {out}, make_attrs<ReverseAttrs>([&](auto& to) { to.axis = PrimExpr(in.axis(axis, rank)); }));
  return only(in, out);
}
LayerConverter triangle(const char* way) {
  return [way](LayerNode& in) {
    const bool is_lower = way[0] == 'l' || (way[0] == '?' && in.flag("lower"));
    return only(in, apply(in, "Trilu", {in.slot("X"), make_ints({in.integer("diagonal", 0)})}, {{"upper", !is_lower}}));
  };
}
/// Elements leave one end of an axis and enter the other.
Exprs rolled(LayerNode& in) {
  Ints shifts = known_ints(in, "shifts", {"ShiftsTensor"}), axes = in.fields().integers("axis");
  Expr x = in.slot("X"), out = x;
  const bool is_flat = axes.empty();
  if (is_flat) out = typed(reshape_to(x, {-1})), axes = {0};
  if (axes.size() != shifts.size()) in.invalid("it has not as many shifts as axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = in.axis(axes[i], in.rank(out));
    const int64_t extent = in.static_shape(out, "a shift")[static_cast<size_t>(axis)];
    const int64_t by = extent ? ((shifts[i] % extent) + extent) % extent : 0;
    if (by) out = typed(concatenate({slice(out, axis, extent - by, extent), slice(out, axis, 0, extent - by)}, axis));
  }
  return only(in, is_flat ? reshape_like(out, x) : out);
}

// ---- shapes as data -------------------------------------------------------------------------------------------------

LayerConverter shape_as(DataType dtype) {
  return [dtype](LayerNode& in) {
    Expr shape = apply(in, "Shape", {in.slot("Input")});
    return only(in, cast_if_needed(in, typed(shape), dtype));
  };
}
Exprs size(LayerNode& in) { return only(in, apply(in, "Size", {in.slot("Input")})); }

}  // namespace

LayerRows shape_rows() {
  return {
      {"concat", concatenated},
      {"expand_as_v2", expanded_as},
      {"expand_v2", expanded},
      {"flatten_contiguous_range", flattened},
      {"flip", flipped},
      {"meshgrid", mesh},
      {"reshape2", reshaped},
      {"roll", rolled},
      {"shape", shape_as(DataType::Int(32))},
      {"shape64", shape_as(DataType::Int(64))},
      {"size", size},
      {"slice", sliced},
      {"split", parted},
      {"squeeze2", squeezed},
      {"stack", stacked},
      {"strided_slice", strided},
      {"tile", tiled},
      {"transpose2", transposed},
      {"tril", triangle("lower")},
      {"tril_triu", triangle("?")},
      {"triu", triangle("upper")},
      {"unbind", unstacked("Out")},
      {"unsqueeze2", unsqueezed},
      {"unstack", unstacked("Y")},
  };
}

}  // namespace tessera::paddle
