// SinkViews: a tensor that comes from a matmul and is only seen in another shape keeps its own shape through the
// functions of its elements that follow, so that FuseOps finds them behind the matmul; the other shape is taken on at
// the end.
//
//   add(reshape(nn.dense(%x, %w), newshape=[1, 64, 768]), %r)
//     =>   reshape(add(nn.dense(%x, %w), reshape(%r, newshape=[64, 768])), newshape=[1, 64, 768])
//
// A transposition or change of layout that moves no extent but ones counts as a view, and becomes a reshape. Quotients by powers of two become
// products, which are exact too; so do those by other numbers where only erf reads them.

#include <cmath>
#include <unordered_map>

#include "ir/rewrite.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/layout_rule.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/fuse/kernel_groups.h"
#include "relay/transform/passes.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

using Shape = std::vector<int64_t>;

Fusion kind_of(const Call* call) {
  auto* op = call->op.as<OpNode>();
  return op ? fusion_of(Op(op)) : Fusion::Opaque;
}

/// A function of elements that does not ask for the shape: without attributes, or one that takes any layout and has no axis.
bool is_of_elements(const Call* call) {
  const Fusion kind = kind_of(call);
  if (!call->attrs) return kind <= Fusion::Broadcast;
  return kind == Fusion::Elementwise && Op(call->op.as<OpNode>()).has(kLayoutRule) &&
         !call->attrs->type()->find("axis");
}

/// Extents other than 1 stay in order, and none is 0.
bool moves_only_ones(const Call* transpose, const Shape& from) {
  Shape order;
  if (auto axes = transpose->attrs_as<TransposeAttrs>()->axes; axes.defined()) {
    auto given = fixed_ints(axes);
    if (!given) return false;
    order = *given;
  } else {
    for (size_t i = from.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  int64_t last = -1;
  for (int64_t axis : order) {
    if (axis < 0) axis += static_cast<int64_t>(from.size());
    const int64_t extent = from[static_cast<size_t>(axis)];
    if (extent == 1) continue;
    if (axis < last || extent == 0) return false;  // 0 means another thing to reshape
    last = axis;
  }
  return true;
}

/// Parts of the axes of a layout in the order in which elements lie, without extents of 1 and as long as they can be.
struct AxisPart {
  char axis;
  int64_t step, extent;
  bool operator==(const AxisPart&) const = default;
};
std::vector<AxisPart> parts_in_order(const Layout& layout, const Shape& shape) {
  std::vector<AxisPart> out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const AxisPart part{layout->primal(i), layout->step_of(i), shape[i]};
    if (part.extent == 1) continue;
    if (!out.empty() && out.back().axis == part.axis && out.back().step == part.step * part.extent) {
      out.back().step = part.step;
      out.back().extent *= part.extent;
    } else {
      out.push_back(part);
    }
  }
  return out;
}

/// NCHW to NCHW16c of one pixel, or to NCHW1c: elements stay where they are.
bool keeps_order(const Call* layout_transform) {
  auto* attrs = layout_transform->attrs_as<LayoutTransformAttrs>();
  Layout from = make_layout(attrs->src_layout), to = make_layout(attrs->dst_layout);
  auto before = fixed_shape(checked_type(layout_transform->args[0])),
       after = fixed_shape(checked_type(Expr(layout_transform)));
  if (!before || !after || before->size() != from->axes.size() || after->size() != to->axes.size()) return false;
  return parts_in_order(from, *before) == parts_in_order(to, *after);
}

bool is_view(const Call* call) {
  if (call->args.size() == 1 && moves_of(call) == Moves::View) return true;
  if (call->attrs.as<LayoutTransformAttrs>()) return keeps_order(call);
  auto from = call->attrs.as<TransposeAttrs>() ? fixed_shape(checked_type(call->args[0])) : std::nullopt;
  return from && moves_only_ones(call, *from);
}

class Sinker {
 public:
  explicit Sinker(const Expr& body) : consumers_(body) {
    rewriter_.on([this](const Call* call) { return on(call); });
    rewriter_.on([](Rewriter& self, const FunctionNode* function) -> Expr {
      return function->attrs.is_true(attr::kPrimitive) ? Expr(function) : Expr(self.children(function));
    });
  }
  Expr operator()(const Expr& body) { return rewriter_(body); }

 private:
  struct View {
    Expr source;
    Shape shape;  // of the source
  };

  Expr on(const Call* call) {
    Array<Expr> args = rewriter_(call->args);
    auto shape = call->op.as<OpNode>() ? fixed_shape(checked_type(Expr(call))) : std::nullopt;
    if (!shape) return with(with(call, &Call::op, rewriter_(call->op)), &Call::args, args);
    if (is_view(call)) return seen_as(call, args, *shape);
    if (kind_of(call) == Fusion::OutputElementwise) return noted(with_args(call, args), *shape);
    if (!is_of_elements(call)) return with_args(call, args);
    if (Expr moved = moved_up(call, args, *shape)) return moved;
    Expr out = computed(call, args);
    for (const Expr& arg : args)
      if (auto it = matmuls_.find(arg.get()); it != matmuls_.end() && it->second == *shape) return noted(out, *shape);
    return out;
  }

  Expr noted(const Expr& expr, const Shape& shape) {
    matmuls_.emplace(expr.get(), shape);
    kept_.push_back(expr);
    return expr;
  }

  Expr view_of(const View& view, const Shape& shape) {
    if (view.shape == shape) return view.source;
    Expr out = reshape(view.source, int_array(shape));
    views_.emplace(out.get(), view);
    kept_.push_back(out);
    return out;
  }

  Expr seen_as(const Call* call, const Array<Expr>& args, const Shape& shape) {
    if (auto it = matmuls_.find(args[0].get()); it != matmuls_.end()) return view_of({args[0], it->second}, shape);
    if (auto it = views_.find(args[0].get()); it != views_.end()) return view_of(it->second, shape);
    return moves_of(call) == Moves::View ? with_args(call, args) : reshape(args[0], int_array(shape));
  }

  /// The call on sources of views, seen in its shape; empty where an argument does not let itself be seen in theirs.
  Expr moved_up(const Call* call, const Array<Expr>& args, const Shape& shape) {
    const View* view = nullptr;
    for (size_t i = 0; i < args.size() && !view; ++i)
      if (auto it = views_.find(args[i].get()); it != views_.end() && fixed_shape(checked_type(call->args[i])) == shape)
        view = &it->second;
    if (!view) return nullptr;
    const Shape source = view->shape;
    Array<Expr> inside;
    for (size_t i = 0; i < args.size(); ++i) {
      auto mine = fixed_shape(checked_type(call->args[i]));
      auto it = views_.find(args[i].get());
      const bool is_along_last =
          mine && mine->size() == 1 && !source.empty() && (*mine)[0] == shape.back() && shape.back() == source.back();
      if (mine && mine->empty()) inside.push_back(args[i]);
      else if (it != views_.end() && it->second.shape == source && mine == shape) inside.push_back(it->second.source);
      else if (mine == shape && is_in_memory(call->args[i])) inside.push_back(reshape(args[i], int_array(source)));
      else if (is_along_last) inside.push_back(args[i]);
      else return nullptr;
    }
    return view_of({noted(computed(call, inside), source), source}, shape);
  }

  /// A value that no kernel but its own would compute.
  bool is_in_memory(const Expr& expr) const {
    auto* call = expr.as<Call>();
    return !call || consumers_.of(expr).size() > 1 || kind_of(call) > Fusion::Injective;
  }

  /// What x / c is to be multiplied by instead; nothing where it stays a quotient.
  std::optional<double> factor_for(const Call* call) const {
    if (op_name(call) != ops::divide || !dtype_of(Expr(call)).is_float()) return {};
    std::optional<double> by = scalar_value(call->args[1]);
    if (!by || *by == 0 || !std::isfinite(*by) || rank_of(call->args[1]) != 0) return {};
    int exponent = 0;
    const bool is_exact = std::abs(std::frexp(*by, &exponent)) == 0.5 && std::abs(exponent) < 14;
    const RelayExprNode* consumer = consumers_.only(Expr(call));
    if (!is_exact && !(consumer && as_call(Expr(consumer), ops::erf))) return {};
    return 1 / *by;
  }

  /// The call of the same elements, with other arguments.
  Expr computed(const Call* call, Array<Expr> args) const {
    std::optional<double> factor = factor_for(call);
    if (!factor) return with_args(call, args);
    return multiply(args[0], make_scalar(*factor, dtype_of(Expr(call))));
  }

  Rewriter rewriter_;
  Consumers consumers_;
  std::unordered_map<const Object*, View> views_;     // of matmuls
  std::unordered_map<const Object*, Shape> matmuls_;  // and functions of their elements
  std::vector<Expr> kept_;                            // keys of both stay alive
};

}  // namespace

Expr sink_views(const Expr& body) { return Sinker(body)(body); }

}  // namespace tessera::relay
