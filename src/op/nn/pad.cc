// Borders and room between elements: nn.pad, nn.mirror_pad, nn.dilate, nn.fifo_buffer.

#include "topi/nn/pad.h"
#include "ir/prim/ops.h"
#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"
#include "op/least_extent.h"
#include "op/nn/gradients.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "topi/operand.h"

namespace tessera::op {
namespace {

using relay::DilateAttrs;
using relay::FIFOBufferAttrs;
using relay::MirrorPadAttrs;
using relay::PadAttrs;
using topi::Border;

/// The extents with a border of `width` elements before and after each; one of negative width is cropped.
Array<PrimExpr> padded_shape(const TensorTypeNode* data, const Array<Array<PrimExpr>>& width, bool may_crop) {
  if (width.size() != data->shape.size())
    throw Error(TypeError) << "pad_width has " << width.size() << " pairs, but data has " << data->shape.size()
                           << " dimensions";
  Array<PrimExpr> out;
  for (size_t i = 0; i < width.size(); ++i) {
    if (width[i].size() != 2)
      throw Error(TypeError) << "pad_width of dimension " << i << " has " << width[i].size()
                             << " values; it takes one before and one after";
    for (const PrimExpr& count : width[i])
      if (const int64_t* value = as_int(count); value && *value < 0 && !may_crop)
        throw Error(TypeError) << "pad_width of dimension " << i << " is " << *value << "; it cannot be negative";
    out.push_back(on_extent(data->shape[i], [&](const PrimExpr& n) { return n + (width[i][0] + width[i][1]); }));
  }
  return out;
}

/// Dimension `i` must have `least` elements, which its border is made of.
void require_elements(const TensorTypeNode* data, size_t i, int64_t border, int64_t least, const char* kind) {
  if (!may_reach(data->shape[i], least))
    throw Error(TypeError) << kind << " border of " << border << " does not fit dimension " << i << " of extent "
                           << data->shape[i];
}

/// A mirrored border can be no wider than the data, less one where the outermost element is not repeated.
void check_mirror(const TensorTypeNode* data, const Array<Array<PrimExpr>>& width, bool repeats_edge) {
  for (size_t i = 0; i < width.size(); ++i)
    for (const PrimExpr& count : width[i])
      if (const int64_t* value = as_int(count); value && *value > 0)
        require_elements(data, i, *value, *value + (repeats_edge ? 0 : 1), "a mirrored");
}

/// A border of the outermost element needs one.
void check_edge(const TensorTypeNode* data, const Array<Array<PrimExpr>>& width) {
  for (size_t i = 0; i < width.size(); ++i)
    for (const PrimExpr& count : width[i])
      if (const int64_t* value = as_int(count); value && *value > 0) require_elements(data, i, *value, 1, "an edge");
}

bool pad_type(TypeQuery& query) {
  auto *data = query.tensor(0), *value = query.tensor(1);
  if (!data || !value) return false;
  auto* attrs = query.attrs_as<PadAttrs>();
  if (!value->shape.empty())
    throw Error(TypeError) << "pad_value must have no dimensions, but is " << to_text(query.type(1));
  if (attrs->pad_mode != "constant" && attrs->pad_mode != "edge" && attrs->pad_mode != "reflect")
    throw Error(TypeError) << "pad_mode is " << attrs->pad_mode << ", but must be constant, edge or reflect";
  Array<PrimExpr> shape = padded_shape(data, attrs->pad_width, attrs->pad_mode != "reflect");
  if (attrs->pad_mode == "reflect") check_mirror(data, attrs->pad_width, false);
  if (attrs->pad_mode == "edge") check_edge(data, attrs->pad_width);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Array<te::Tensor> pad(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<PadAttrs>();
  auto [before, after] = split_pairs(attrs->pad_width);
  if (attrs->pad_mode == "constant") return {topi::pad(in[0], before, after, te::load(in[1], {}), "T_pad", "ax")};
  Border border = attrs->pad_mode == "edge" ? Border::Edge : Border::Reflect;
  return {topi::border_pad(in[0], before, after, border, "T_pad", "ax")};
}

bool mirror_pad_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<MirrorPadAttrs>();
  if (attrs->mode != "SYMMETRIC" && attrs->mode != "REFLECT")
    throw Error(TypeError) << "mode is " << attrs->mode << ", but must be SYMMETRIC or REFLECT";
  Array<PrimExpr> shape = padded_shape(data, attrs->pad_width, false);
  check_mirror(data, attrs->pad_width, attrs->mode == "SYMMETRIC");
  query.result(TensorType(shape, data->dtype));
  return true;
}

Array<te::Tensor> mirror_pad(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<MirrorPadAttrs>();
  auto [before, after] = split_pairs(attrs->pad_width);
  Border border = attrs->mode == "SYMMETRIC" ? Border::Symmetric : Border::Reflect;
  return {topi::border_pad(in[0], before, after, border, "MirrorPadInput")};
}

bool dilate_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<DilateAttrs>();
  if (attrs->strides.size() != data->shape.size())
    throw Error(TypeError) << "strides has " << attrs->strides.size() << " values, but data has " << data->shape.size()
                           << " dimensions";
  Array<PrimExpr> shape;
  for (size_t i = 0; i < data->shape.size(); ++i)
    shape.push_back(on_extent(data->shape[i], [&](const PrimExpr& n) { return (n - 1) * attrs->strides[i] + 1; }));
  query.result(TensorType(shape, data->dtype));
  return true;
}

Array<te::Tensor> dilate(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<DilateAttrs>();
  return {topi::dilate(in[0], attrs->strides, make_const(in[0]->dtype, attrs->dilation_value))};
}

bool fifo_buffer_type(TypeQuery& query) {
  auto *data = query.tensor(0), *buffer = query.tensor(1);
  if (!data || !buffer) return false;
  if (data->shape.size() != buffer->shape.size())
    throw Error(TypeError) << "data and buffer must have as many dimensions, but are " << to_text(query.type(0))
                           << " and " << to_text(query.type(1));
  int axis = normal_axis(query.attrs_as<FIFOBufferAttrs>()->axis, static_cast<int>(data->shape.size()));
  for (size_t i = 0; i < data->shape.size(); ++i)
    if (static_cast<int>(i) != axis && !relay::may_equal(data->shape[i], buffer->shape[i]))
      throw Error(TypeError) << "data and buffer differ along dimension " << i << ": " << to_text(query.type(0))
                             << " and " << to_text(query.type(1));
  query.result(TensorType(buffer->shape, buffer->dtype));
  return true;
}

/// The buffer with data pushed in behind and as much dropped in front.
Array<te::Tensor> fifo_buffer(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  const te::Tensor &data = in[0], &buffer = in[1];
  auto axis = static_cast<size_t>(normal_axis(attrs.as<FIFOBufferAttrs>()->axis, static_cast<int>(data->shape.size())));
  PrimExpr room = buffer->shape[axis], added = data->shape[axis];
  return {topi::compute(
      buffer->shape, "i",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> older = at, newer = at;
        older.set(axis, at[axis] + added);
        newer.set(axis, at[axis] - room + added);
        return if_then_else(at[axis] < room - added, te::load(buffer, older), te::load(data, newer));
      },
      "new_buffer", "injective,fifo_buffer")};
}

}  // namespace

static void pad_records() {
  OpRecord("nn.pad")
      .doc("A border of one value, of the outermost elements, or of the mirrored data.")
      .attrs<PadAttrs>()
      .input("data", "the input")
      .input("pad_val", "the value of a constant border")
      .support_level(2)
      .type("Pad", pad_type)
      .fusion(Fusion::Injective)
      .precision(Precision::Follow)
      .layout(layout::padding)
      .evaluate(evaluate_pad)
      .compute(pad)
      .gradient(pad_gradient);
  OpRecord("nn.mirror_pad")
      .doc("A border of the mirrored data.")
      .attrs<MirrorPadAttrs>()
      .input("data", "the input")
      .support_level(2)
      .type("MirrorPad", mirror_pad_type)
      .fusion(Fusion::Injective)
      .compute(mirror_pad);
  OpRecord("nn.dilate")
      .doc("Elements further apart, with one value between them.")
      .input("x", "the input", "1D Tensor")
      .support_level(10)
      .type("Dilate", dilate_type)
      .fusion(Fusion::Injective)
      .compute(dilate)
      .gradient(dilate_gradient);
  OpRecord("nn.fifo_buffer")
      .doc("A buffer of the latest slices, with new ones pushed in behind.")
      .attrs<FIFOBufferAttrs>()
      .input("data", "the new slices")
      .input("buffer", "the buffer so far")
      .support_level(3)
      .type("FIFOBuffer", fifo_buffer_type)
      .fusion(Fusion::Opaque)
      .compute(fifo_buffer);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily pad_family{pad_records};

}  // namespace tessera::op
