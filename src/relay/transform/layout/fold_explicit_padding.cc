// FoldExplicitPadding: a border put on by nn.pad becomes the padding of the convolution or pooling that follows.
//
//   nn.conv2d(nn.pad(%x, 0, [[0, 0], [0, 0], [1, 1], [1, 1]]), %w)    =>    nn.conv2d(%x, %w, padding=[1, 1, 1, 1])

#include <cmath>
#include <limits>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

using Ints = std::vector<int64_t>;

/// All begins and then all ends, from one number, one a dimension, or all of them.
std::optional<Ints> full_padding(const Array<PrimExpr>& padding, size_t spatial) {
  auto given = fixed_ints(padding);
  if (!given || given->empty()) return std::nullopt;
  if (given->size() == 2 * spatial) return given;
  if (given->size() != 1 && given->size() != spatial) return std::nullopt;
  Ints out;
  for (size_t i = 0; i < 2 * spatial; ++i) out.push_back((*given)[given->size() == 1 ? 0 : i % spatial]);
  return out;
}

/// `padding` with the border of `pad` added; nothing when the border is not in the spatial dimensions of the layout alone.
std::optional<Array<PrimExpr>> summed(const PadAttrs* pad, const Array<PrimExpr>& padding, const String& layout_name,
                                      size_t spatial) {
  Layout layout = make_layout(layout_name);
  auto out = full_padding(padding, spatial);
  if (!out || pad->pad_mode != "constant" || layout->axes.size() != pad->pad_width.size()) return std::nullopt;
  size_t next = 0;
  for (size_t i = 0; i < layout->axes.size(); ++i) {
    auto width = fixed_ints(pad->pad_width[i]);
    if (!width || width->size() != 2 || (*width)[0] < 0 || (*width)[1] < 0) return std::nullopt;
    char axis = layout->letter(i);
    if (axis == 'D' || axis == 'H' || axis == 'W') {
      (*out)[next] += (*width)[0];
      (*out)[next + spatial] += (*width)[1];
      ++next;
    } else if ((*width)[0] != 0 || (*width)[1] != 0) {
      return std::nullopt;
    }
  }
  if (next != spatial) return std::nullopt;
  for (int64_t width : *out)
    if (width < 0) return std::nullopt;
  return int_array(*out);
}

/// No window lies in the border alone, where the lowest finite float would be the maximum and not -inf.
bool windows_see_data(const PoolAttrs* pool, const Array<PrimExpr>& padding) {
  auto sizes = fixed_ints(pool->pool_size), dilation = fixed_ints(pool->dilation);
  if (!sizes || !dilation) return false;
  for (int64_t step : *dilation)
    if (step != 1) return false;
  for (size_t i = 0; i < padding.size(); ++i)
    if (*as_int(padding[i]) >= (*sizes)[i % sizes->size()]) return false;
  return true;
}

double least_value(DataType dtype) {
  if (dtype == DataType::Float(32)) return std::numeric_limits<float>::lowest();
  if (dtype == DataType::Float(64)) return std::numeric_limits<double>::lowest();
  if (dtype.is_uint()) return 0;
  if (dtype.is_int()) return -std::ldexp(1.0, dtype.bits - 1);
  return std::numeric_limits<double>::quiet_NaN();  // equal to nothing
}

Expr folded(const Call* call) {
  auto* pad = call->args.empty() ? nullptr : as_call(call->args[0], ops::pad);
  if (!pad) return nullptr;
  auto* border = pad->attrs_as<PadAttrs>();
  std::optional<double> value = scalar_value(pad->args[1]);
  if (!value) return nullptr;
  Array<Expr> args = call->args;
  args.set(0, pad->args[0]);
  if (auto* conv = cast_or_null<ConvAttrs>(call->attrs.get())) {
    // a quantised convolution pads with what stands for 0
    if (*value != (op_name(call) == ops::qnn_conv2d ? scalar_value(call->args[2]) : 0.0)) return nullptr;
    auto padding = summed(border, conv->padding, conv->data_layout, conv->strides.size());
    if (!padding) return nullptr;
    return make_call(call->op, args, changed_attrs<ConvAttrs>(call->attrs, [&](auto& a) { a.padding = *padding; }));
  }
  auto* pool = cast_or_null<PoolAttrs>(call->attrs.get());
  if (!pool || pool->ceil_mode) return nullptr;
  auto padding = summed(border, pool->padding, pool->layout, pool->pool_size.size());
  if (!padding) return nullptr;
  Attrs attrs = changed_attrs<PoolAttrs>(call->attrs, [&](auto& a) { a.padding = *padding; });
  if (auto* average = cast_or_null<AvgPoolAttrs>(call->attrs.get())) {
    bool has_none = true;
    for (const PrimExpr& width : pool->padding) has_none = has_none && is_zero(width);
    if (*value != 0 || !(has_none || average->count_include_pad)) return nullptr;
    attrs = changed_attrs<AvgPoolAttrs>(attrs, [](auto& a) { a.count_include_pad = true; });
  } else if (*value != -std::numeric_limits<double>::infinity()) {
    DataType dtype = dtype_of(pad->args[0]);
    if (*value != least_value(dtype) || (dtype.is_float() && !windows_see_data(pool, *padding))) return nullptr;
  }
  return make_call(call->op, args, attrs);
}

}  // namespace

Function fold_explicit_padding(const Function& function) {
  return rewrite(function, [](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    Expr out = folded(post.get());
    return out ? out : Expr(post);
  });
}

}  // namespace tessera::relay
