// The adjoint of a tensor is the sum of what each of its reads contributes. For one read, T[index(i, r)] in the formula of
// O[i] (reduced over r):
//
//   dT[p, t] = sum over i, r with index(i, r) = t of  head[p, i] * d formula(i, r) / d read
//
// The equations index(i, r) = t are solved for axes that they determine (i for T[i], or i = t - r for T[i + r]), so that
// only the others are summed over; what cannot be solved stays as a condition.

#include "te/gradient/gradient.h"

#include <algorithm>
#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "runtime/registry.h"
#include "te/gradient/derivative.h"
#include "te/reduce.h"
#include "te/solve_axes.h"

namespace tessera::te {
namespace {

/// What the adjoint of a consumer is: a tensor, or the identity for the output itself when no head was given.
struct Adjoint {
  Tensor tensor;           // empty: the identity
  Array<PrimExpr> prefix;  // its axes before those of the consumer
};

bool is_sum(const Reduce* reduce) {
  const CommReducer& f = reduce->combiner;
  if (f->result.size() != 1) return false;
  auto* add = f->result[0].as<Add>();
  if (!add) return false;
  auto is = [&](const PrimExpr& e, const Var& var) { return e.same_as(var); };
  return (is(add->a, f->lhs[0]) && is(add->b, f->rhs[0])) || (is(add->a, f->rhs[0]) && is(add->b, f->lhs[0]));
}

PrimExpr sum_of(const PrimExpr& value, const std::vector<IterVar>& open) {
  if (open.empty()) return value;
  Array<IterVar> axis;
  for (const IterVar& iv : open) axis.push_back(make_iter_var(iv->dom, iv->var, IterType::CommReduce));
  return sum(value, axis);
}

/// `value` where all conditions hold, else 0; `value` is not looked at there.
PrimExpr guarded(const std::vector<PrimExpr>& conditions, const PrimExpr& value) {
  PrimExpr all;
  for (const PrimExpr& condition : conditions) all = all ? logical_and(all, condition) : condition;
  return all ? if_then_else(all, value, make_zero(value.dtype())) : value;
}

/// The reduction of the pair (derivative, value): its first component is the derivative of the reduction.
CommReducer derivative_of(const CommReducer& combiner) {
  const Var &x = combiner->lhs[0], &y = combiner->rhs[0];
  Var dx = make_var("d_" + x->name.str(), x->dtype), dy = make_var("d_" + y->name.str(), y->dtype);
  PrimExpr change = derivative(combiner->result[0], [&](const PrimExprNode* leaf) -> PrimExpr {
    return leaf == x.get() ? PrimExpr(dx) : leaf == y.get() ? PrimExpr(dy) : PrimExpr(nullptr);
  });
  if (!change) change = make_zero(x->dtype);
  return make(CommReducerNode{.lhs = {dx, x},
                              .rhs = {dy, y},
                              .result = {change, combiner->result[0]},
                              .identity_element = {make_zero(x->dtype), combiner->identity_element[0]}});
}

/// What one consumer of `tensor` contributes to its adjoint.
class PullBack {
 public:
  PullBack(const Tensor& consumer, const Adjoint& adjoint, const Tensor& tensor)
      : consumer_(consumer), adjoint_(adjoint), tensor_(tensor), op_(consumer->op.as<ComputeOp>()) {
    if (!op_)
      throw Error(NotImplementedError) << "gradient: operation " << consumer->op->name << " is a "
                                       << consumer->op->type_key() << "; only computes can be differentiated";
    body_ = op_->body[static_cast<size_t>(consumer->value_index)];
    reduce_ = body_.as<Reduce>();
    if (reduce_ && (reduce_->combiner->result.size() != 1 || !reduce_->init.empty()))
      throw Error(NotImplementedError) << "gradient: the reduction of " << consumer->op->name
                                       << (reduce_->init.empty() ? " gives several values" : " has an init of its own")
                                       << "; only reductions of one value can be differentiated";
    formula_ = reduce_ ? reduce_->source[0] : body_;
  }

  void add_to(std::vector<Tensor>* out) {
    for (const Array<PrimExpr>& indices : accesses()) {
      PrimExpr slope = derivative(formula_, [&](const PrimExprNode* leaf) -> PrimExpr {
        return is_read(leaf, indices) ? make_const(leaf->dtype, 1) : PrimExpr(nullptr);
      });
      if (!slope) continue;
      out->push_back(!reduce_ || is_sum(reduce_) ? by_sum(indices, slope) : by_reduction(indices, slope));
    }
  }

 private:
  bool is_read(const PrimExprNode* leaf, const Array<PrimExpr>& indices) const {
    auto* load = cast_or_null<ProducerLoad>(leaf);
    if (!load || !same_tensor(load->producer.as<TensorNode>(), tensor_.get())) return false;
    for (size_t i = 0; i < indices.size(); ++i)
      if (!expr_equal(load->indices[i], indices[i])) return false;
    return true;
  }

  /// The different indices at which the tensor is read.
  std::vector<Array<PrimExpr>> accesses() const {
    std::vector<Array<PrimExpr>> out;
    walk(formula_, [&](const ProducerLoad* load) {
      auto seen = [&](const Array<PrimExpr>& indices) { return is_read(load, indices); };
      if (same_tensor(load->producer.as<TensorNode>(), tensor_.get()) && std::none_of(out.begin(), out.end(), seen))
        out.push_back(load->indices);
    });
    return out;
  }

  /// The axes of the adjoint: those of the prefix, then those of the tensor.
  Array<PrimExpr> shape() const {
    Array<PrimExpr> out = adjoint_.prefix;
    for (const PrimExpr& extent : tensor_->shape) out.push_back(extent);
    return out;
  }
  Map<Var, Range> ranges(const Array<PrimExpr>& at, const Array<PrimExpr>& extents) const {
    Map<Var, Range> out;
    for (size_t i = 0; i < at.size(); ++i)
      out.set(downcast<Var>(at[i]), make_range(make_zero(extents[i].dtype()), extents[i]));
    return out;
  }
  String name() const { return String(tensor_->op->name + ".grad"); }

  /// Equations of the identity, where it is the adjoint: the consumer's axes are those of the prefix.
  void add_identity(AxisSolver& solver, const Array<PrimExpr>& at) const {
    if (adjoint_.tensor) return;
    for (size_t i = 0; i < op_->axis.size(); ++i)
      solver.add(op_->axis[i]->var, at[i], [](const IterVar&) { return true; });
  }

  /// head[p, i], or 1 where the identity's equations say the rest.
  PrimExpr head(const AxisSolver& solver, const Array<PrimExpr>& at) const {
    if (!adjoint_.tensor) return make_const(consumer_->dtype, 1);
    Array<PrimExpr> indices;
    for (size_t i = 0; i < adjoint_.prefix.size(); ++i) indices.push_back(at[i]);
    for (const IterVar& axis : op_->axis) indices.push_back(solver.in_own_terms(PrimExpr(axis->var)));
    return load(adjoint_.tensor, indices);
  }

  Tensor by_sum(const Array<PrimExpr>& indices, const PrimExpr& slope) const {
    Array<PrimExpr> extents = shape();
    return compute(
        extents,
        [&](const Array<PrimExpr>& at) {
          Array<IterVar> axes = op_->axis;
          if (reduce_)
            for (const IterVar& axis : reduce_->axis) axes.push_back(axis);
          AxisSolver solver(axes, ranges(at, extents));
          add_identity(solver, at);
          for (size_t d = 0; d < indices.size(); ++d)
            solver.add(indices[d], at[adjoint_.prefix.size() + d], [](const IterVar&) { return true; });
          std::vector<PrimExpr> conditions = solver.conditions();
          if (reduce_ && !is_one(reduce_->condition)) conditions.push_back(solver.in_own_terms(reduce_->condition));
          PrimExpr value = head(solver, at) * solver.in_own_terms(slope);
          return sum_of(guarded(conditions, value), solver.open());
        },
        name());
  }

  /// Any other reduction: the derivative of each of its results by each element, reduced beside the results, then the
  /// sum over the consumer's axes. Only axes that do not need the reduction's own are solved for.
  Tensor by_reduction(const Array<PrimExpr>& indices, const PrimExpr& slope) const {
    Array<PrimExpr> extents = shape();
    Array<IterVar> axes = op_->axis;
    for (const IterVar& axis : reduce_->axis) axes.push_back(axis);
    auto uses_reduction = [&](const PrimExpr& e) {
      for (const IterVar& axis : reduce_->axis)
        if (uses_var(e, axis->var)) return true;
      return false;
    };
    auto spatial = [](const IterVar& axis) { return axis->iter_type != IterType::CommReduce; };
    // the axes of the derivative: all of the consumer's, then all of the tensor's
    Array<PrimExpr> table;
    for (const IterVar& axis : op_->axis) table.push_back(axis->dom->extent);
    for (const PrimExpr& extent : tensor_->shape) table.push_back(extent);
    CommReducer combiner = derivative_of(reduce_->combiner);
    Tensor slopes = compute_many(
        table,
        [&](const Array<PrimExpr>& at) {
          AxisSolver solver(axes, ranges(at, table));
          for (size_t i = 0; i < op_->axis.size(); ++i) solver.add(op_->axis[i]->var, at[i], spatial);
          PrimExpr hit = solver.in_own_terms(slope);
          for (size_t d = 0; d < indices.size(); ++d)
            hit = make_select(equal(solver.in_own_terms(indices[d]), at[op_->axis.size() + d]), hit,
                              make_zero(hit.dtype()));
          PrimExpr value = solver.in_own_terms(formula_);
          if (!is_one(reduce_->condition)) {
            PrimExpr condition = solver.in_own_terms(reduce_->condition);
            hit = make_select(condition, hit, make_zero(hit.dtype()));
            value = make_select(condition, value, reduce_->combiner->identity_element[0]);
          }
          Array<IterVar> reduced;
          for (const IterVar& axis : solver.open()) reduced.push_back(axis);
          return Array<PrimExpr>{reduce(combiner, {hit, value}, reduced, 0),
                                 reduce(combiner, {hit, value}, reduced, 1)};
        },
        name() + ".slope")[0];
    return compute(
        extents,
        [&](const Array<PrimExpr>& at) {
          AxisSolver solver(op_->axis, ranges(at, extents));
          add_identity(solver, at);
          Array<PrimExpr> where;
          for (size_t d = 0; d < indices.size(); ++d)
            if (!uses_reduction(indices[d])) solver.add(indices[d], at[adjoint_.prefix.size() + d], spatial);
          for (const IterVar& axis : op_->axis) where.push_back(solver.in_own_terms(PrimExpr(axis->var)));
          for (size_t d = 0; d < indices.size(); ++d) where.push_back(at[adjoint_.prefix.size() + d]);
          PrimExpr value = head(solver, at) * load(slopes, where);
          return sum_of(guarded(solver.conditions(), value), solver.open());
        },
        name());
  }

  Tensor consumer_;
  const Adjoint& adjoint_;
  Tensor tensor_;
  const ComputeOp* op_;
  PrimExpr body_, formula_;
  const Reduce* reduce_;
};

Tensor total(const std::vector<Tensor>& parts, const String& name) {
  if (parts.size() == 1) return parts[0];
  return compute(
      parts[0]->shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr sum = load(parts[0], at);
        for (size_t i = 1; i < parts.size(); ++i) sum = sum + load(parts[i], at);
        return sum;
      },
      name);
}

Tensor identity(const Tensor& like) {
  Array<PrimExpr> shape = like->shape;
  for (const PrimExpr& extent : like->shape) shape.push_back(extent);
  size_t rank = like->shape.size();
  return compute(
      shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr same = bool_imm(true);
        for (size_t i = 0; i < rank; ++i) same = logical_and(same, equal(at[i], at[rank + i]));
        return make_select(same, make_const(like->dtype, 1), make_zero(like->dtype));
      },
      "identity");
}

}  // namespace

Array<Tensor> gradient(const Tensor& output, const Array<Tensor>& inputs, const Tensor& head) {
  if (!output->dtype.is_floating())
    throw Error(TypeError) << "gradient: the output " << tensor_name(output.get()) << " is " << output->dtype
                           << "; only floats have derivatives";
  size_t rank = output->shape.size();
  if (head && head->shape.size() < rank)
    throw Error(ValueError) << "gradient: the head has " << head->shape.size() << " axes; it needs those of the output "
                            << tensor_name(output.get()) << " last, and these are " << rank;
  Array<PrimExpr> prefix;
  for (size_t i = 0; i < (head ? head->shape.size() - rank : rank); ++i)
    prefix.push_back(head ? head->shape[i] : output->shape[i]);

  // Operations through which an input reaches the output.
  Array<Operation> order = post_order_operations({output->op});
  std::unordered_set<const Object*> on_the_way;
  auto is_input = [&](const Tensor& tensor) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const Tensor& input) { return same_tensor(input.get(), tensor.get()); });
  };
  for (const Operation& op : order)
    for (const Tensor& read : input_tensors(op.get()))
      if (is_input(read) || on_the_way.count(read->op.get())) on_the_way.insert(op.get());

  TensorMap<std::vector<Tensor>> parts;
  TensorMap<Tensor> done;
  for (size_t k = order.size(); k-- > 0;) {
    const Operation& op = order[k];
    for (int i = 0; i < num_outputs(op.get()); ++i) {
      Tensor consumer = te::output(op, i);
      bool is_output = same_tensor(consumer.get(), output.get());
      std::vector<Tensor>& own = parts[consumer];
      Adjoint adjoint{.prefix = prefix};
      if (is_output && head) own.push_back(head);
      if (!own.empty()) adjoint.tensor = total(own, String(op->name + ".grad"));
      if (!is_output && own.empty()) continue;
      done[consumer] = adjoint.tensor;
      if (!on_the_way.count(op.get())) continue;
      for (const Tensor& read : input_tensors(op.get()))
        if (is_input(read) || on_the_way.count(read->op.get())) {
          std::vector<Tensor> more;
          PullBack(consumer, adjoint, read).add_to(&more);
          std::vector<Tensor>& sum = parts[read];
          sum.insert(sum.end(), more.begin(), more.end());
        }
    }
  }

  Array<Tensor> out;
  for (const Tensor& input : inputs) {
    const Tensor* known = done.find(input.get());
    if (known) {
      out.push_back(*known ? *known : identity(output));
      continue;
    }
    Array<PrimExpr> shape = prefix;
    for (const PrimExpr& extent : input->shape) shape.push_back(extent);
    out.push_back(compute(
        shape, [&](const Array<PrimExpr>&) { return make_zero(output->dtype); }, String(input->op->name + ".grad")));
  }
  return out;
}

namespace {

Globals gradient_globals{{"te.Gradient", gradient}};

}  // namespace
}  // namespace tessera::te
