// Contractions of 8-bit integers on CPUs whose instructions multiply uint8 by int8 (the slot FTVMLegalize). Data of int8 is moved by
// 128, and what that adds to each sum, 128 times the sum of its weights, is subtracted; of matmuls a second operand of uint8 too.
//
//   nn.conv2d(%x, %w)   =>   nn.conv2d(nn.pad(uint8(%x + 128), 128), %w) - 128 * sum(%w)
//   nn.matmul(%a, %b)   =>   nn.matmul(%a, int8(%b - 128)) + 128 * sum(%a, over k)
//
// What is moved fuses with what made the data; the sums of constant weights are constants, and their subtraction an epilogue.

#include <algorithm>
#include <functional>

#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/fuse/affine_view.h"
#include "tir/layout.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/nn/conv.h"

namespace tessera::op {

using relay::Expr;

namespace {

constexpr int64_t kShift = 128;
const DataType kInt8 = DataType::Int(8), kUInt8 = DataType::UInt(8), kInt32 = DataType::Int(32);

bool is(const Type& type, DataType dtype) {
  auto* tensor = type.as<TensorTypeNode>();
  return tensor && tensor->dtype == dtype;
}

bool is_signed_contraction(const Array<Type>& types, const relay::GraphEnvironment& environment) {
  return environment.is_for_cpu() && is(types[0], kInt8) && is(types[1], kInt8) && is(types.back(), kInt32) &&
         topi::int8_isa(topi::machine_of(environment.target));
}

/// The matmul of bytes as one of uint8 by int8, whose operands of another sign are moved: `call` makes it, `of_columns` gives 128 times
/// the sums of columns of the right operand. Nothing where all is as it should be.
Expr moved_matmul(const Array<Expr>& args, const Array<Type>& types, const relay::GraphEnvironment& environment,
                  const std::function<Expr(Expr, Expr)>& call, const std::function<Expr(Expr)>& of_columns) {
  auto is_byte = [&](const Type& type) { return is(type, kInt8) || is(type, kUInt8); };
  const bool moves_left = is(types[0], kInt8), moves_right = is(types[1], kUInt8);
  if (!environment.is_for_cpu() || !is_byte(types[0]) || !is_byte(types[1]) || !is(types.back(), kInt32) ||
      (!moves_left && !moves_right) || !topi::int8_isa(topi::machine_of(environment.target)))
    return nullptr;
  const Expr right = moves_right ? relay::as_signed(args[1]) : args[1];
  Expr out = call(moves_left ? relay::as_unsigned(args[0]) : args[0], right);
  if (moves_right) {
    const Expr sums = relay::sum(relay::cast(args[0], kInt32), {PrimExpr(-1)}, true);
    out = relay::add(out, relay::multiply(sums, relay::make_scalar(kShift, kInt32)));
  }
  return moves_left ? relay::subtract(out, of_columns(right)) : out;
}

/// The data with a border of zeros, which are kShift among moved numbers; `type` becomes that of the result.
Expr with_border(const Expr& data, const Layout& layout, const std::vector<int64_t>& around, Type* type) {
  auto* tensor = type->as<TensorTypeNode>();
  std::vector<std::array<int64_t, 2>> widths;
  Array<PrimExpr> shape;
  for (size_t i = 0; i < tensor->shape.size(); ++i) {
    const bool is_row = static_cast<int>(i) == layout->index_of('H');
    const bool is_spatial = is_row || static_cast<int>(i) == layout->index_of('W');
    const int64_t before = is_spatial ? around[is_row ? 0 : 1] : 0, after = is_spatial ? around[is_row ? 2 : 3] : 0;
    widths.push_back({before, after});
    const int64_t* extent = as_int(tensor->shape[i]);
    shape.push_back(extent ? PrimExpr(static_cast<int>(*extent + before + after)) : tensor->shape[i]);
  }
  *type = TensorType(shape, tensor->dtype);
  return relay::pad_around(data, widths, kShift, DataType::UInt(8));
}

Expr conv2d(const Op& op, const Attrs& given, const Array<Expr>& args, const Array<Type>& types,
            const relay::GraphEnvironment& environment) {
  auto* attrs = cast_or_null<relay::Conv2DAttrs>(given.get());
  if (!attrs || !is_signed_contraction(types, environment)) return nullptr;
  const Layout kernel = make_layout(attrs->kernel_layout), layout = make_layout(attrs->data_layout);
  if (kernel->axes.size() != 4 || layout->axes.size() != 4) return nullptr;
  if (!attrs->out_layout.empty() && attrs->out_layout != attrs->data_layout) return nullptr;
  std::optional<std::vector<int64_t>> around = relay::fixed_ints(topi::full_padding(attrs->padding, 2));
  if (!around) return nullptr;

  Expr data = relay::as_unsigned(args[0]);
  Type type = TensorType(types[0].as<TensorTypeNode>()->shape, DataType::UInt(8));
  const bool pads = std::any_of(around->begin(), around->end(), [](int64_t width) { return width != 0; });
  if (pads) data = with_border(data, layout, *around, &type);
  const Attrs inner =
      pads ? relay::changed_attrs<relay::Conv2DAttrs>(given, [](auto& a) { a.padding = {0, 0, 0, 0}; }) : given;
  Expr sums = layout::pad_channels_conv2d(op, inner, {data, args[1]}, {type, types[1], types.back()}, environment);
  if (!sums) sums = relay::make_call(op, {data, args[1]}, inner);
  Expr shift = relay::channel_sums(args[1], kernel->index_of('O'), 4, kShift);
  const int behind = 3 - layout->index_of('C');
  return relay::subtract(sums, behind > 0 ? relay::expand_dims(shift, 1, behind) : shift);
}

}  // namespace

Expr layout::legalize_conv2d(const Op& op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                             const relay::GraphEnvironment& environment) {
  auto further = [](const Op& op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                    const relay::GraphEnvironment& environment) {
    Expr out = conv2d(op, attrs, args, types, environment);
    return out ? out : pad_channels_conv2d(op, attrs, args, types, environment);
  };
  if (Expr padded = pad_few_channels(op, attrs, args, types, environment)) return padded;
  Expr out = trim_kernel(op, attrs, args, types, environment, further);
  return out ? out : further(op, attrs, args, types, environment);
}

Expr layout::legalize_matmul(const Op& op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                             const relay::GraphEnvironment& environment) {
  auto* matmul = attrs.as<relay::MatmulAttrs>();
  if (matmul && matmul->transpose_a) return nullptr;
  const int along = !matmul || matmul->transpose_b ? 0 : 1;
  return moved_matmul(
      args, types, environment, [&](const Expr& a, const Expr& b) { return relay::make_call(op, {a, b}, attrs); },
      [&](const Expr& b) { return relay::channel_sums(b, along, 2, kShift); });
}

Expr layout::legalize_batch_matmul(const Op& op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                                   const relay::GraphEnvironment& environment) {
  auto* matmul = attrs.as<relay::BatchMatmulAttrs>();
  if (matmul->transpose_a) return nullptr;
  return moved_matmul(
      args, types, environment, [&](const Expr& a, const Expr& b) { return relay::make_call(op, {a, b}, attrs); },
      [&](const Expr& b) {
        const Expr sums = relay::sum(relay::cast(b, kInt32), {PrimExpr(matmul->transpose_b ? 2 : 1)});
        return relay::expand_dims(relay::multiply(sums, relay::make_scalar(kShift, kInt32)), 1, 1);
      });
}

}  // namespace tessera::op
