#include "frontend/common/loops.h"

#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "op/rules.h"
#include "relay/attrs/loop.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::frontend {

using namespace relay;  // NOLINT: makers of calls

Expr make_if(Expr condition, Expr yes, Expr no) {
  If out;
  out.cond = std::move(condition);
  out.true_branch = std::move(yes);
  out.false_branch = std::move(no);
  Type type = relay::type_of(out.true_branch);
  Expr expr = make(std::move(out));
  expr->checked_type_ = type;
  return expr;
}

namespace {

using op::any_extent;

bool same_fixed_shape(const TensorTypeNode* a, const TensorTypeNode* b) {
  for (size_t i = 0; i < a->shape.size(); ++i) {
    const int64_t *x = as_int(a->shape[i]), *y = as_int(b->shape[i]);
    if (!x || !y || *x != *y) return false;
  }
  return true;
}

/// What a branch gives, with unknown extents. It is a slice whose end is the shape times `taken`, which is 1 in that branch, so
/// that no pass finds the extents out.
Expr opened(const Expr& value, const Expr& taken) {
  std::vector<int64_t> ones(relay::type_of(value).as<TensorTypeNode>()->shape.size(), 1), none(ones.size(), 0);
  return call_op("dyn.strided_slice",
                 {value, make_ints(none), multiply(shape_at_run_time(value), taken), make_ints(ones)},
                 make_attrs<StridedSliceAttrs>([](auto& attrs) { attrs.slice_mode = "end"; }));
}

Expr int64_constant(int64_t value) { return make_constant(int_scalar(value, DataType::Int(64))); }

/// The type of both, with unknown extents where they differ.
Type wider(const NodeContext& in, const Type& a, const Type& b) {
  auto *x = a.as<TensorTypeNode>(), *y = b.as<TensorTypeNode>();
  if (!x || !y || x->dtype != y->dtype || x->shape.size() != y->shape.size())
    in.unsupported("a loop that changes the element type or the number of dimensions of a value");
  Array<PrimExpr> shape;
  for (size_t i = 0; i < x->shape.size(); ++i) {
    auto *left = x->shape[i].as<IntImm>(), *right = y->shape[i].as<IntImm>();
    shape.push_back(left && right && left->value == right->value ? x->shape[i] : any_extent());
  }
  return TensorType(shape, x->dtype);
}

bool equal_shapes(const Type& a, const Type& b) {
  auto *x = a.as<TensorTypeNode>(), *y = b.as<TensorTypeNode>();
  for (size_t i = 0; i < x->shape.size(); ++i)
    if (!x->shape[i].as<IntImm>() != !y->shape[i].as<IntImm>()) return false;
  return true;
}

/// Values from outside of a loop, computed once before it: in a graph, what only the body uses would be part of the body.
class Captured {
 public:
  explicit Captured(const std::unordered_set<const Object*>& outside) : outside_(outside) {}

  /// The body with variables instead of values from outside.
  Expr of(const Expr& body) {
    auto taken = [this](Rewriter& self, const auto* node) -> Expr {
      Expr known = variable_of(Expr(node));
      return known.defined() ? known : Expr(self.children(node));
    };
    Rewriter rewriter;
    rewriter.on([taken](Rewriter& self, const relay::Call* call) -> Expr { return taken(self, call); });
    rewriter.on([taken](Rewriter& self, const relay::TupleGetItem* get) -> Expr { return taken(self, get); });
    rewriter.on([taken](Rewriter& self, const relay::If* branch) -> Expr { return taken(self, branch); });
    return rewriter(body);
  }

  /// The expression with those variables bound around it.
  Expr bound(Expr expr) const {
    const Type type = expr->checked_type_;
    for (size_t i = bindings_.size(); i-- > 0;) {
      expr = make_let(bindings_[i].first, bindings_[i].second, expr);
      expr->checked_type_ = type;
    }
    return expr;
  }

 private:
  Expr variable_of(const Expr& value) {
    if (!outside_.count(value.get())) return nullptr;
    auto [it, is_new] = variables_.try_emplace(value.get());
    if (is_new) {
      const Type type = relay::type_of(value);
      it->second = make_local("outside" + std::to_string(bindings_.size()), without_names(type));
      it->second->checked_type_ = type;
      bindings_.emplace_back(it->second, value);
    }
    return it->second;
  }

  const std::unordered_set<const Object*>& outside_;
  std::unordered_map<const Object*, relay::Var> variables_;
  std::vector<std::pair<relay::Var, Expr>> bindings_;
};

}  // namespace

std::vector<Expr> choose(const NodeContext& in, const Expr& condition, std::vector<Expr> yes, std::vector<Expr> no) {
  Expr is_yes = cast(condition, DataType::Int(64)), is_no = subtract(int64_constant(1), is_yes);
  for (size_t i = 0; i < yes.size(); ++i) {
    auto *a = relay::type_of(yes[i]).as<TensorTypeNode>(), *b = relay::type_of(no[i]).as<TensorTypeNode>();
    if (!a || !b || a->dtype != b->dtype) in.invalid("the branches have results of different types");
    if (a->shape.size() != b->shape.size())
      in.unknown("the condition of branches whose results differ in their number of dimensions must be known",
                 condition);
    if (same_fixed_shape(a, b)) continue;
    yes[i] = opened(yes[i], is_yes);
    no[i] = opened(no[i], is_no);
  }
  auto tuple_of = [](const std::vector<Expr>& values) {
    Array<Expr> fields;
    for (const Expr& value : values) {
      relay::type_of(value);
      fields.push_back(value);
    }
    return make_tuple(fields);
  };
  Expr both = make_if(condition, tuple_of(yes), tuple_of(no));
  std::vector<Expr> out;
  for (size_t i = 0; i < yes.size(); ++i) out.push_back(make_get_item(both, static_cast<int>(i)));
  return out;
}

Expr no_rows(const NodeContext& in, const Expr& row) {
  std::vector<int64_t> shape{0};
  for (const PrimExpr& extent : in.shape(row)) shape.push_back(as_int(extent) ? *as_int(extent) : 0);
  return make_constant(NDArray::empty(shape, in.dtype(row)));
}

std::vector<Expr> recursive_loop(const NodeContext& in, const Expr& limit, const Expr& start,
                                 const std::vector<Expr>& initial, const LoopBody& body, size_t scans,
                                 const std::unordered_set<const Object*>& outside) {
  std::vector<Type> types;
  for (const Expr& state : initial) types.push_back(without_names(relay::type_of(state)));  // a body may change extents
  Type number = TensorType(Array<PrimExpr>(), DataType::Int(64)),
       truth = TensorType(Array<PrimExpr>(), DataType::Bool());
  std::optional<std::vector<int64_t>> count;
  if (limit.defined()) count = seen_ints(limit);
  for (size_t attempt = 0; attempt < 16; ++attempt) {
    relay::Var iteration = make_local("i", number), goes_on = make_local("goes_on", truth);
    Array<relay::Var> params{iteration, goes_on};
    std::vector<Expr> states;
    for (size_t i = 0; i < types.size(); ++i) {
      params.push_back(make_local("state" + std::to_string(i), types[i]));
      states.push_back(params[params.size() - 1]);
    }
    LoopStep step = body(Expr(iteration), Expr(goes_on), states);
    bool is_stable = true;
    for (size_t i = 0; i < types.size(); ++i) {
      Type joint = wider(in, types[i], relay::type_of(step.states.at(i)));
      is_stable = is_stable && equal_shapes(joint, types[i]);
      types[i] = joint;
    }
    if (!is_stable) continue;

    Array<Expr> next{add(iteration, int64_constant(1)),
                     step.condition.defined() ? step.condition : Expr(make_scalar(1, DataType::Bool()))};
    Array<Expr> now, first{int64_constant(0), start.defined() ? start : Expr(make_scalar(1, DataType::Bool()))};
    TupleType result;
    for (size_t i = 0; i < types.size(); ++i) {
      next.push_back(step.states.at(i));
      now.push_back(states[i]);
      first.push_back(initial[i]);
      result.fields_.push_back(types[i]);
    }
    for (size_t k = 0; k < scans; ++k) {
      const Expr& part = step.scans.at(k);
      Array<PrimExpr> shape{any_extent()};
      for (const PrimExpr& extent : in.shape(part)) shape.push_back(as_int(extent) ? extent : any_extent());
      Type type = TensorType(shape, in.dtype(part));
      relay::Var collected = make_local("collected" + std::to_string(k), type);
      params.push_back(collected);
      next.push_back(call_op(ops::append, {collected, part}, make_attrs<AppendAttrs>([&](AppendAttrs& attrs) {
                               if (count && !step.condition.defined()) attrs.expected = (*count)[0];
                             })));
      now.push_back(collected);
      first.push_back(no_rows(in, part));
      result.fields_.push_back(type);
    }
    Type result_type = make(std::move(result));
    FuncType function_type;
    for (const relay::Var& param : params) function_type.arg_types.push_back(param->type_annotation);
    function_type.ret_type = result_type;
    relay::Var loop = make_local("loop", Type(make(std::move(function_type))));
    Expr condition = goes_on;
    if (limit.defined()) condition = call_op("logical_and", {condition, less(Expr(iteration), limit)});
    Expr again = make_call(loop, next), last = make_tuple(now);
    again->checked_type_ = result_type;
    last->checked_type_ = result_type;
    Captured captured(outside);
    Expr choice = captured.of(make_if(condition, again, last));
    Expr call = make_call(loop, first);
    call->checked_type_ = result_type;
    Expr whole = make_let(loop, make_function(params, choice, result_type), call);
    whole->checked_type_ = result_type;
    whole = captured.bound(whole);
    std::vector<Expr> out;
    for (size_t i = 0; i < types.size() + scans; ++i) out.push_back(make_get_item(whole, static_cast<int>(i)));
    return out;
  }
  in.unsupported("a loop whose values have no stable shape");
}

}  // namespace tessera::frontend
