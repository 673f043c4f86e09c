// FlattenAtrousConv: a convolution between space_to_batch_nd and batch_to_space_nd is a dilated convolution.
//
//   batch_to_space_nd(conv2d(space_to_batch_nd(%x, b, pads), %w), b, crops)  =>  conv2d(%x, %w, dilation=b, padding=pads - crops)

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/pad.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

using Ints = std::vector<int64_t>;

/// Pairs (before, after) for two dimensions as four numbers: both begins, then both ends.
std::optional<Ints> border(const Array<Array<PrimExpr>>& pairs) {
  if (pairs.size() != 2) return std::nullopt;
  auto first = fixed_ints(pairs[0]), second = fixed_ints(pairs[1]);
  if (!first || !second || first->size() != 2 || second->size() != 2) return std::nullopt;
  return Ints{(*first)[0], (*second)[0], (*first)[1], (*second)[1]};
}

/// The padding of a convolution as four numbers.
std::optional<Ints> four(const Array<PrimExpr>& padding) {
  auto given = fixed_ints(padding);
  if (!given) return std::nullopt;
  if (given->size() == 1) return Ints(4, (*given)[0]);
  if (given->size() == 2) return Ints{(*given)[0], (*given)[1], (*given)[0], (*given)[1]};
  return given->size() == 4 ? given : std::nullopt;
}

bool all_ones(const Array<PrimExpr>& values) {
  for (const PrimExpr& value : values)
    if (!is_one(value)) return false;
  return true;
}

Expr flattened(const Call* outer) {
  auto* conv = op_name(outer) == ops::batch_to_space_nd ? as_call(outer->args[0], ops::conv2d) : nullptr;
  auto* inner = conv ? as_call(conv->args[0], ops::space_to_batch_nd) : nullptr;
  if (!inner) return nullptr;
  auto* to_space = outer->attrs_as<BatchToSpaceNDAttrs>();
  auto* to_batch = inner->attrs_as<SpaceToBatchNDAttrs>();
  auto* attrs = conv->attrs_as<Conv2DAttrs>();
  auto block = fixed_ints(to_batch->block_shape), back = fixed_ints(to_space->block_shape);
  auto pads = border(to_batch->paddings), crops = border(to_space->crops), own = four(attrs->padding);
  bool is_plain = attrs->data_layout == "NHWC" && (attrs->out_layout.empty() || attrs->out_layout == "NHWC") &&
                  all_ones(attrs->strides) && all_ones(attrs->dilation) && to_batch->pad_value == 0;
  if (!is_plain || !block || block->size() != 2 || !back || *back != *block || !pads || !crops || !own) return nullptr;
  Ints padding(4);
  for (size_t i = 0; i < 4; ++i) {
    padding[i] = (*pads)[i] + (*own)[i] * (*block)[i % 2] - (*crops)[i];
    if (padding[i] < 0) return nullptr;
  }
  return make_call(conv->op, {inner->args[0], conv->args[1]}, changed_attrs<Conv2DAttrs>(conv->attrs, [&](auto& a) {
                     a.padding = int_array(padding);
                     a.dilation = int_array(*block);
                   }));
}

}  // namespace

Function flatten_atrous_conv(const Function& function) {
  return rewrite(function, [](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    Expr flat = flattened(post.get());
    return flat ? flat : Expr(post);
  });
}

}  // namespace tessera::relay
