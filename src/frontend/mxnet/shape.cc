// What moves, repeats, crops and makes tensors.

#include <algorithm>
#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/mxnet/mxnet.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

DataType type_named(const LayerNode& in, const char* usual = "float32") { return DataType(in.text("dtype", usual)); }

Exprs flattened(LayerNode& in) { return {call_op("nn.batch_flatten", {in[0]})}; }

Expr with_codes(const Expr& x, const char* op, const Ints& shape) {
  return call_op(op, {x}, make_attrs<ReshapeAttrs>([&](auto& to) { to.newshape = int_array(shape); }));
}
Exprs reshaped(LayerNode& in) {
  Ints shape = in.fields().integers("shape");
  if (shape.empty()) shape = in.fields().integers("target_shape");
  if (shape.empty()) in.invalid("it says no shape");
  return {with_codes(in[0], in.flag("reverse") ? "contrib_reverse_reshape" : "reshape", shape)};
}
/// NumPy's reshape of MXNet has its own codes: -2 copies an extent, -3 skips one of 1, -4 copies all others, -5 merges two, -6 divides one.
Exprs npx_reshaped(LayerNode& in) {
  Ints given = in.fields().integers("newshape"), from = in.static_shape(in[0], "a new shape"), out;
  if (in.flag("reverse")) in.unsupported("reverse");
  size_t next = 0;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == -2) out.push_back(from[next++]);
    else if (given[i] == -3) {
      if (from[next++] != 1) in.invalid("-3 stands for a dimension that is not of extent 1");
    } else if (given[i] == -4) {
      while (next < from.size()) out.push_back(from[next++]);
    } else if (given[i] == -5) {
      out.push_back(from[next] * from[next + 1]), next += 2;
    } else if (given[i] == -6) {
      int64_t whole = from[next++], a = given[i + 1], b = given[i + 2];
      if (a < 0 && b < 0) in.invalid("-6 is followed by two unknown extents");
      if (a == 0 || b == 0) in.invalid("-6 is followed by 0");
      out.push_back(a < 0 ? whole / b : a), out.push_back(b < 0 ? whole / a : b);
      i += 2;
    } else {
      out.push_back(given[i]);
      ++next;
    }
  }
  return {reshape_to(in[0], out)};
}
Exprs reshaped_like(LayerNode& in) {
  return {call_op("reshape_like", {in[0], in[1]}, make_attrs<ReshapeLikeAttrs>([&](auto& to) {
                    auto axis = [&](const char* name, size_t rank, int otherwise) {
                      return in.fields().has(name)
                                 ? static_cast<int>(in.integer(name) +
                                                    (in.integer(name) < 0 ? static_cast<int64_t>(rank) : 0))
                                 : otherwise;
                    };
                    const size_t a = in.rank(in[0]), b = in.rank(in[1]);
                    to.lhs_begin = axis("lhs_begin", a, 0), to.rhs_begin = axis("rhs_begin", b, 0);
                    to.lhs_end = PrimExpr(axis("lhs_end", a, static_cast<int>(a)));
                    to.rhs_end = PrimExpr(axis("rhs_end", b, static_cast<int>(b)));
                  }))};
}
Exprs transposed(LayerNode& in) {
  Ints axes = in.fields().integers("axes");
  return {axes.empty() ? transpose(in[0]) : transpose(in[0], int_array(axes))};
}
Exprs swapped(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  std::swap(axes.at(static_cast<size_t>(in.axis(in.integer("dim1", 0), rank))),
            axes.at(static_cast<size_t>(in.axis(in.integer("dim2", 0), rank))));
  return {transpose(in[0], int_array(axes))};
}
Exprs expanded(LayerNode& in) { return {expand_dims(in[0], static_cast<int>(in.integer("axis")))}; }
Exprs squeezed(LayerNode& in) {
  Ints axes = in.fields().integers("axis");
  return {axes.empty() ? squeeze(in[0]) : squeeze(in[0], int_array(axes))};
}

Array<Expr> all_of(const LayerNode& in) {
  Array<Expr> out;
  for (const Expr& x : in.inputs()) out.push_back(x);
  if (out.empty()) in.invalid("it has no inputs");
  return out;
}
Exprs concatenated(LayerNode& in) { return {concatenate(all_of(in), in.axis(in.integer("dim", 1), in.rank(in[0])))}; }
Exprs npi_concatenated(LayerNode& in) {
  if (!in.fields().has("axis")) in.unsupported("flattening first");
  return {concatenate(all_of(in), in.axis(in.integer("axis", 0), in.rank(in[0])))};
}
Exprs param_concatenated(LayerNode& in) {
  Array<Expr> flat;
  for (const Expr& x : in.inputs()) flat.push_back(reshape_to(x, {-1}));
  const bool is_flat = std::all_of(in.inputs().begin(), in.inputs().end(), [&](auto& x) { return in.rank(x) == 1; });
  return {is_flat ? concatenate(flat, 0) : concatenate(all_of(in), in.axis(in.integer("dim", 1), in.rank(in[0])))};
}
Exprs stacked(LayerNode& in) { return {relay::stack(all_of(in), static_cast<int>(in.integer("axis", 0)))}; }

Exprs parts(const LayerNode& in, const Expr& pieces, size_t count, int axis) {
  Exprs out;
  for (size_t i = 0; i < count; ++i) {
    Expr part = make_get_item(pieces, static_cast<int>(i));
    out.push_back(in.flag("squeeze_axis") ? squeeze(part, int_array({axis})) : part);
  }
  return out;
}
Exprs split_channels(LayerNode& in) {
  const int axis = in.axis(in.integer("axis", 1), in.rank(in[0]));
  const int64_t count = in.integer("num_outputs");
  if (count < 1 || count > 100000) in.invalid("num_outputs is " + std::to_string(count));
  return parts(in, split(in[0], static_cast<int>(count), axis), static_cast<size_t>(count), axis);
}
Exprs split_at(LayerNode& in) {
  const int axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
  if (const int64_t sections = in.integer("sections", 0); sections > 0)
    return parts(in, split(in[0], static_cast<int>(sections), axis), static_cast<size_t>(sections), axis);
  Ints begins = in.fields().integers("indices");
  if (!begins.empty() && begins[0] == 0) begins.erase(begins.begin());
  return parts(in, split(in[0], begins, axis), begins.size() + 1, axis);
}

// ---- slices ---------------------------------------------------------------------------------------------------------

Exprs sliced(LayerNode& in) {
  std::vector<ObjectRef> begins = in.fields().list("begin"), ends = in.fields().list("end"),
                         steps = in.fields().list("step");
  Expr out = in[0];
  if (begins.size() > in.rank(out) || ends.size() != begins.size()) in.invalid("begin and end do not fit the data");
  auto number = [](const std::vector<ObjectRef>& list, size_t i) -> std::optional<int64_t> {
    if (i >= list.size() || !list[i]) return std::nullopt;
    if (auto* text = list[i].as<StringNode>(); text && text->text == "None") return std::nullopt;
    return integer_of(list[i], "a slice");
  };
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t step = number(steps, i).value_or(1);
    if (step == 0) in.invalid("a step of 0");
    const int64_t begin = number(begins, i).value_or(step > 0 ? 0 : -1);
    const int64_t end = number(ends, i).value_or(step > 0 ? INT32_MAX : INT32_MIN);
    out = slice(out, static_cast<int>(i), begin, end, step);
  }
  return {out};
}
Exprs sliced_axis(LayerNode& in) {
  const int axis = in.axis(in.integer("axis"), in.rank(in[0]));
  return {slice(in[0], axis, in.integer("begin", 0), in.integer("end", INT32_MAX))};
}
Exprs sliced_like(LayerNode& in) {
  Ints axes = in.fields().integers("axes");
  return {call_op("slice_like", {in[0], in[1]}, make_attrs<SliceLikeAttrs>([&](auto& to) {
                    to.axes = axes.empty() ? Array<PrimExpr>(nullptr) : int_array(axes);
                  }))};
}
Exprs cropped(LayerNode& in) {
  Ints shape = in.static_shape(in[0], "a crop"), size = in.fields().integers("h_w", {0, 0}),
       offset = in.fields().integers("offset", {0, 0});
  if (in.size() > 1) {
    Ints like = in.static_shape(in[1], "a crop");
    size = {like[2], like[3]};
  }
  if (in.flag("center_crop")) offset = {(shape[2] - size[0]) / 2, (shape[3] - size[1]) / 2};
  Expr out = slice(in[0], 2, offset[0], offset[0] + size[0]);
  return {slice(out, 3, offset[1], offset[1] + size[1])};
}

// ---- repeats and broadcasts ---------------------------------------------------------------------------------------------------------

Exprs repeated(LayerNode& in) {
  const auto times = static_cast<int>(in.integer("repeats"));
  if (!in.fields().has("axis")) return {repeat(reshape_to(in[0], {-1}), times, 0)};
  return {repeat(in[0], times, in.axis(in.integer("axis"), in.rank(in[0])))};
}
Exprs tiled(LayerNode& in) {
  return {call_op("tile", {in[0]},
                  make_attrs<TileAttrs>([&](auto& to) { to.reps = int_array(in.fields().integers("reps")); }))};
}
Exprs broadcast_shape(LayerNode& in) {
  Ints shape = in.fields().integers("shape"), from = in.static_shape(in[0], "a broadcast");
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 0) shape[i] = from[i];
  return {broadcast_to(in[0], int_array(shape))};
}
Exprs broadcast_axes(LayerNode& in) {
  Ints axes = in.fields().integers("axis"), sizes = in.fields().integers("size"),
       shape = in.static_shape(in[0], "a broadcast");
  if (axes.size() != sizes.size()) in.invalid("axis and size have not as many numbers");
  for (size_t i = 0; i < axes.size(); ++i) shape[static_cast<size_t>(in.axis(axes[i], shape.size()))] = sizes[i];
  return {broadcast_to(in[0], int_array(shape))};
}
Exprs broadcast_like(LayerNode& in) {
  Ints left = in.fields().integers("lhs_axes"), right = in.fields().integers("rhs_axes");
  if (left.empty()) return {broadcast_to_like(in[0], in[1])};
  Ints shape = in.static_shape(in[0], "a broadcast"), like = in.static_shape(in[1], "a broadcast");
  for (size_t i = 0; i < left.size(); ++i)
    shape[static_cast<size_t>(in.axis(left[i], shape.size()))] =
        like[static_cast<size_t>(in.axis(right[i], like.size()))];
  return {broadcast_to(in[0], int_array(shape))};
}

Exprs padded(LayerNode& in) {
  Ints widths = in.fields().integers("pad_width");
  const std::string mode = in.text("mode", "constant");
  if (widths.size() != 2 * in.rank(in[0])) in.invalid("pad_width has not two numbers for each dimension");
  std::vector<int64_t> pads;
  for (size_t half = 0; half < 2; ++half)
    for (size_t i = 0; i < widths.size(); i += 2) pads.push_back(widths[i + half]);
  return {apply(
      in, "Pad",
      {in[0], make_ints(pads),
       mode == "constant" ? make_scalar(in.number("constant_value", in.number("constant_values", 0)), in.dtype(in[0]))
                          : Expr()},
      {{"mode", mode}})};
}
/// NumPy's pad has a pair for each dimension.
Exprs npi_padded(LayerNode& in) {
  std::string text = in.text("pad_width"), flat;
  for (char c : text)
    if (c != '(' && c != ')') flat += c;
  Fields own;
  own.set("pad_width", String("(" + flat + ")"));
  Ints widths = own.integers("pad_width");
  if (widths.size() != 2 * in.rank(in[0])) in.invalid("pad_width has not two numbers for each dimension");
  std::vector<int64_t> pads;
  for (size_t half = 0; half < 2; ++half)
    for (size_t i = 0; i < widths.size(); i += 2) pads.push_back(widths[i + half]);
  const std::string mode = in.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect") in.unsupported("padding of the kind " + mode);
  return {apply(
      in, "Pad",
      {in[0], make_ints(pads),
       mode == "constant" ? make_scalar(in.number("constant_values", in.number("constant_value", 0)), in.dtype(in[0]))
                          : Expr()},
      {{"mode", mode}})};
}
Exprs reversed(LayerNode& in) {
  Expr out = in[0];
  for (int64_t axis : in.fields().integers("axis"))
    out = call_op("reverse", {out},
                  make_attrs<ReverseAttrs>([&](auto& to) { to.axis = PrimExpr(in.axis(axis, in.rank(in[0]))); }));
  return {out};
}

// ---- new tensors ----------------------------------------------------------------------------------------------------

LayerConverter full_of(double value) {
  return [value](LayerNode& in) { return Exprs{filled(value, in.fields().integers("shape"), type_named(in))}; };
}
Exprs full(LayerNode& in) { return {filled(in.number("value", 0), in.fields().integers("shape"), type_named(in))}; }

Expr numbers_from(const LayerNode& in, double start, double step, double count, int64_t times) {
  if (!(count >= 0) || count * static_cast<double>(times) > 1e8)
    in.invalid("it makes " + std::to_string(count) + " numbers");
  std::vector<double> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
    for (int64_t k = 0; k < times; ++k) values.push_back(start + step * static_cast<double>(i));
  return numbers_of(values, {static_cast<int64_t>(values.size())}, DataType::Float(32));
}
Exprs arange(LayerNode& in) {
  double start = in.number("start", 0), step = in.number("step", 1), stop = in.number("stop", 0);
  if (!in.fields().has("stop")) stop = start, start = 0;
  if (step == 0) in.invalid("a step of 0");
  Expr out = numbers_from(in, start, step, std::max(std::ceil((stop - start) / step), 0.0),
                          std::max<int64_t>(in.integer("repeat", 1), 1));
  return {cast_if_needed(in, out, type_named(in))};
}
Exprs arange_like(LayerNode& in) {
  Ints shape = in.static_shape(in[0], "numbers as many as its data has elements");
  const int64_t times = std::max<int64_t>(in.integer("repeat", 1), 1);
  const double start = in.number("start", 0), step = in.number("step", 1);
  if (in.fields().has("axis")) {
    const int64_t extent = shape[static_cast<size_t>(in.axis(in.integer("axis"), shape.size()))];
    return {
        slice(numbers_from(in, start, step, std::ceil(static_cast<double>(extent) / static_cast<double>(times)), times),
              0, 0, extent)};
  }
  const int64_t all = product_of(shape);
  Expr flat =
      slice(numbers_from(in, start, step, std::ceil(static_cast<double>(all) / static_cast<double>(times)), times), 0,
            0, all);
  return {reshape_to(flat, shape)};
}
Exprs shape_array(LayerNode& in) { return {shape_at_run_time(in[0])}; }

LayerConverter sub_pixel(const char* op) {
  return [op](LayerNode& in) {
    return Exprs{call_op(op, {in[0]}, make_attrs<SubPixelAttrs>([&](auto& to) {
                           to.block_size = static_cast<int32_t>(in.integer("block_size"));
                         }))};
  };
}

}  // namespace

LayerRows shape_rows() {
  return {
      {"Concat", concatenated},
      {"Crop", cropped},
      {"Flatten", flattened},
      {"Pad", padded},
      {"Reshape", reshaped},
      {"SliceChannel", split_channels},
      {"SwapAxis", swapped},
      {"_arange", arange},
      {"_contrib_arange_like", arange_like},
      {"_full", full},
      {"_np_transpose", transposed},
      {"_npi_concatenate", npi_concatenated},
      {"_npi_pad", npi_padded},
      {"_npi_stack", stacked},
      {"_npi_transpose", transposed},
      {"_npx_reshape", npx_reshaped},
      {"_ones", full_of(1)},
      {"_rnn_param_concat", param_concatenated},
      {"_split_v2", split_at},
      {"_zeros", full_of(0)},
      {"broadcast_axes", broadcast_axes},
      {"broadcast_axis", broadcast_axes},
      {"broadcast_like", broadcast_like},
      {"broadcast_to", broadcast_shape},
      {"concat", concatenated},
      {"depth_to_space", sub_pixel("nn.depth_to_space")},
      {"expand_dims", expanded},
      {"flatten", flattened},
      {"pad", padded},
      {"repeat", repeated},
      {"reshape", reshaped},
      {"reshape_like", reshaped_like},
      {"reverse", reversed},
      {"shape_array", shape_array},
      {"slice", sliced},
      {"slice_axis", sliced_axis},
      {"slice_like", sliced_like},
      {"space_to_depth", sub_pixel("nn.space_to_depth")},
      {"split", split_channels},
      {"squeeze", squeezed},
      {"stack", stacked},
      {"swapaxes", swapped},
      {"tile", tiled},
      {"transpose", transposed},
  };
}

}  // namespace tessera::mxnet
