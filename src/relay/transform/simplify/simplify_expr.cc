// SimplifyExpr: algebra on graphs, one rule a function.
//
//   transpose(transpose(%x))             =>    %x, or one transpose; next to layout_transform one layout_transform
//   reshape(reshape(%x))                 =>    one reshape
//   cast(cast(%x, "float64"), "float32") =>    %x
//   zeros_like(%x)                       =>    zeros(shape)           where the shape is known; so for the other *_like
//   multiply(%x, ones((3,)))             =>    multiply(%x, 1)        a filled tensor as its one value
//   %x + 0, %x - 0, %x * 1, %x / 1       =>    %x
//   (%x + 1) + 2                         =>    %x + (1 + 2)
//   %y / sqrt(%x)                        =>    %y * rsqrt(%x)
//   argmax(qnn.dequantize(%x))           =>    argmax(%x)
//
// A rule sees a call whose arguments are simple already and typed; what it returns has the type of the call.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"
#include "relay/type/type_of.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

bool same_type(const Expr& a, const Expr& b) { return structural_equal(checked_type(a), checked_type(b)); }

// ---- *_like, where the shape is known --------------------------------------------------------------------------------

Expr make_concrete(const Call* call) {
  Any form = Op(call->op.as<OpNode>()).slot(kConcreteForm);
  if (form.is_null() || !fixed_shape(call->checked_type_)) return nullptr;
  Any out = form.to<PackedFunc>()(Expr(call), tensor_type(Expr(call)));
  return out.is_null() ? Expr() : out.to<Expr>();
}

// ---- neutral elements --------------------------------------------------------------------------------------------

/// The one value of a tensor that an operator fills; empty for other expressions.
Expr fill_value(const Expr& expr) {
  auto* call = expr.as<Call>();
  std::string_view name = op_name(call);
  auto* op = call ? call->op.as<OpNode>() : nullptr;
  if (Any value = op ? Op(op).slot(kFillValue) : Any(); !value.is_null())
    return make_scalar(value.to<double>(), dtype_of(expr));
  if (name == ops::full && call->args[0].as<Constant>()) return call->args[0];
  if (name == ops::full_like && call->args[1].as<Constant>()) return call->args[1];
  return nullptr;
}

/// x + full(c)  =>  x + c, where the filled tensor broadcasts nothing: of dynamic extents none is known to equal another.
/// Operators with attributes (nn.bias_add) want their arguments in the shape that they have.
Expr use_fill_value(const Call* call) {
  auto* op = call->op.as<OpNode>();
  if (call->args.size() != 2 || call->attrs.defined() || fusion_of(Op(op)) != Fusion::Broadcast) return nullptr;
  for (size_t i : {1, 0}) {
    auto* tensor = call->args[1 - i]->checked_type_.as<TensorTypeNode>();
    auto* out = call->checked_type_.as<TensorTypeNode>();
    if (!tensor || !out || !fixed_shape(call->checked_type_) || !structural_equal(tensor->shape, out->shape)) continue;
    Expr value = fill_value(call->args[i]);
    if (!value || dtype_of(typed(value)) != dtype_of(call->args[i])) continue;
    Array<Expr> args = call->args;
    args.set(i, value);
    return with_args(call, args);
  }
  return nullptr;
}

Expr drop_neutral(const Call* call) {
  auto* op = call->op.as<OpNode>();
  Any neutral = Op(op).slot(kNeutralElement);
  if (neutral.is_null()) return nullptr;
  for (size_t i : {1, 0}) {
    if (i == 0 && !has_flag(op, kIsCommutative)) continue;
    auto* constant = call->args[i].as<Constant>();
    if (!constant || !constant->is_scalar() || scalar_value(call->args[i]) != neutral.to<double>()) continue;
    if (same_type(call->args[1 - i], Expr(call))) return call->args[1 - i];
  }
  return nullptr;
}

/// (x + c) + d  =>  x + (c + d), in any order.
Expr merge_addends(const Call* call) {
  if (op_name(call) != ops::add) return nullptr;
  for (size_t i : {1, 0}) {
    auto* inner = as_call(call->args[1 - i], ops::add);
    if (!call->args[i].as<Constant>() || !inner) continue;
    for (size_t j : {1, 0})
      if (inner->args[j].as<Constant>() && !inner->args[1 - j].as<Constant>())
        return add(inner->args[1 - j], add(inner->args[j], call->args[i]));
  }
  return nullptr;
}

// ---- shapes and orders of dimensions ---------------------------------------------------------------------------------

bool is_reshape(std::string_view name) { return name == ops::reshape || name == ops::contrib_reverse_reshape; }

Expr merge_reshapes(const Call* call) {
  auto* inner = call->args.empty() ? nullptr : call->args[0].as<Call>();
  auto shape = fixed_shape(call->checked_type_);
  if (!is_reshape(op_name(call)) || !inner || !is_reshape(op_name(inner)) || !shape) return nullptr;
  return reshape(inner->args[0], tensor_type(Expr(call))->shape);
}

/// Where each dimension of the result comes from, for a transpose and for a change of layout without blocks.
std::optional<std::vector<int64_t>> permutation(const Call* call) {
  if (op_name(call) == ops::transpose) {
    auto rank = static_cast<int64_t>(rank_of(call->args[0]));
    const Array<PrimExpr>& axes = call->attrs_as<TransposeAttrs>()->axes;
    std::vector<int64_t> out;
    if (axes.defined()) out = fixed_ints(axes).value();
    else
      for (int64_t i = rank; i-- > 0;) out.push_back(i);
    for (int64_t& axis : out) axis = axis < 0 ? axis + rank : axis;
    return out;
  }
  if (op_name(call) != ops::layout_transform) return std::nullopt;
  auto* attrs = call->attrs_as<LayoutTransformAttrs>();
  Layout from = make_layout(attrs->src_layout), to = make_layout(attrs->dst_layout);
  if (from->axes.size() != to->axes.size()) return std::nullopt;
  std::vector<int64_t> out;
  for (size_t i = 0; i < to->axes.size(); ++i) {
    int at = from->is_primal(i) && to->is_primal(i) ? from->index_of(to->letter(i)) : -1;
    if (at < 0) return std::nullopt;
    out.push_back(at);
  }
  return out;
}

bool is_identity(const std::vector<int64_t>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int64_t>(i)) return false;
  return true;
}

/// Changes of layout, one after the other, that meet in one layout.
Expr merge_layouts(const Call* call, const Call* inner) {
  if (op_name(call) != ops::layout_transform || op_name(inner) != ops::layout_transform) return nullptr;
  auto *second = call->attrs_as<LayoutTransformAttrs>(), *first = inner->attrs_as<LayoutTransformAttrs>();
  if (first->dst_layout.str() != second->src_layout.str()) return nullptr;
  // blocks that do not divide leave padding behind, which the second change must not drop
  if (first->src_layout.str() == second->dst_layout.str()) return inner->args[0];
  auto shape = fixed_shape(inner->args[0]->checked_type_), out = fixed_shape(call->checked_type_);
  if (!shape || !out) return nullptr;
  int64_t before = 1, after = 1;
  for (int64_t extent : *shape) before *= extent;
  for (int64_t extent : *out) after *= extent;
  return before == after ? layout_transform(inner->args[0], first->src_layout, second->dst_layout) : nullptr;
}

/// The layout whose axis i is axis order[i] of another.
std::string permuted(const Layout& layout, const std::vector<int64_t>& order) {
  std::string out;
  for (int64_t at : order) {
    auto i = static_cast<size_t>(at);
    if (!layout->is_primal(i)) out += std::to_string(*as_int(layout->axes[i]->dom->extent));
    out += layout->letter(i);
  }
  return out;
}

/// A transpose before or after a change to or from blocks: one change between the layouts that the outer dimensions have.
Expr merge_transpose_and_layout(const Call* call, const Call* inner) {
  const bool is_after = op_name(call) == ops::transpose;
  if (op_name(is_after ? inner : call) != ops::layout_transform || op_name(is_after ? call : inner) != ops::transpose)
    return nullptr;
  auto* attrs = (is_after ? inner : call)->attrs_as<LayoutTransformAttrs>();
  std::vector<int64_t> order = *permutation(is_after ? call : inner);
  if (is_after)
    return layout_transform(inner->args[0], attrs->src_layout, permuted(make_layout(attrs->dst_layout), order));
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return layout_transform(inner->args[0], permuted(make_layout(attrs->src_layout), back), attrs->dst_layout);
}

Expr merge_transposes(const Call* call) {
  std::string_view name = op_name(call);
  if (name != ops::transpose && name != ops::layout_transform) return nullptr;
  if (name == ops::layout_transform) {
    auto* attrs = call->attrs_as<LayoutTransformAttrs>();
    if (attrs->src_layout.str() == attrs->dst_layout.str()) return call->args[0];
  }
  auto outer = permutation(call);
  if (outer && is_identity(*outer)) return call->args[0];
  auto* inner = call->args[0].as<Call>();
  if (!inner) return nullptr;
  if (Expr merged = merge_layouts(call, inner)) return merged;
  auto first = outer ? permutation(inner) : std::nullopt;
  if (!first) return merge_transpose_and_layout(call, inner);
  std::vector<int64_t> both;
  for (int64_t axis : *outer) both.push_back((*first)[static_cast<size_t>(axis)]);
  return is_identity(both) ? inner->args[0] : transpose(inner->args[0], int_array(both));
}

// ---- casts -------------------------------------------------------------------------------------------------------

/// Every value of `from` is one of `to`.
bool holds_all(DataType to, DataType from) {
  bool same_kind = (to.is_float() && from.is_float()) || (to.is_int() && from.is_int()) ||
                   (to.is_uint() && from.is_uint() && !from.is_bool());
  return same_kind && to.bits >= from.bits;
}

Expr merge_casts(const Call* call) {
  if (op_name(call) != ops::cast) return nullptr;
  if (same_type(call->args[0], Expr(call))) return call->args[0];
  auto* inner = as_call(call->args[0], ops::cast);
  if (!inner || !holds_all(dtype_of(call->args[0]), dtype_of(inner->args[0]))) return nullptr;
  return same_type(inner->args[0], Expr(call)) ? inner->args[0] : cast(inner->args[0], dtype_of(Expr(call)));
}

// ---- others ------------------------------------------------------------------------------------------------------

Expr use_rsqrt(const Call* call) {
  if (op_name(call) != ops::divide) return nullptr;
  auto* root = as_call(call->args[1], ops::sqrt);
  if (!root) return nullptr;
  Expr inverse = typed(rsqrt(root->args[0]));
  bool is_one = scalar_value(call->args[0]) == 1.0 && same_type(inverse, Expr(call));
  return is_one ? inverse : multiply(call->args[0], inverse);
}

/// The order of values is that of what they were quantised to.
Expr order_of_quantised(const Call* call) {
  if (!has_flag(call->op.as<OpNode>(), kSeesOrderOnly)) return nullptr;
  auto* inner = as_call(call->args[0], ops::qnn_dequantize);
  if (!inner || !scalar_value(inner->args[1]) || *scalar_value(inner->args[1]) <= 0) return nullptr;
  return with_args(call, {inner->args[0]});
}

using Rule = Expr (*)(const Call*);
constexpr Rule kRules[] = {make_concrete,  drop_neutral,  merge_reshapes, merge_transposes,  merge_casts,
                           use_fill_value, merge_addends, use_rsqrt,      order_of_quantised};

Expr simplified(Expr expr) {
  for (bool changed = true; changed;) {
    changed = false;
    auto* call = expr.as<Call>();
    if (!call || !call->op.as<OpNode>()) return expr;
    for (Rule rule : kRules) {
      Expr out = rule(call);
      if (!out) continue;
      if (!out->checked_type_) typed(out);
      expr = out;
      changed = true;
      break;
    }
  }
  return expr;
}

}  // namespace

Expr simplify_expr(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr { return simplified(self.children(call)); });
}

}  // namespace tessera::relay
