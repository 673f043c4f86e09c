// Functions, branches and loops.

#include "frontend/tensorflow/control.h"

#include "frontend/common/known.h"
#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

using namespace relay;  // NOLINT: makers of calls

namespace {

constexpr int64_t kMaxCopies = 64;  // of a loop's body

/// A value that a run decides, as one tensor; null for variables and texts, which no run changes.
Expr tensor_of_state(const NodeContext& in, const Value& value) {
  if (value.list) return stacked(in, *value.list);
  return value.tensor;
}

/// The same value with another tensor.
Value with_tensor(const Value& value, const Expr& tensor) {
  if (!tensor.defined()) return value;
  if (!value.list) return tensor;
  List list = *value.list;
  list.stacked = tensor;
  return Value::of(std::move(list));
}

/// Numbers that a loop counts with stay numbers, so that its end is seen.
Value as_counted(const NodeContext& in, const Value& value) {
  if (!value.tensor.defined() || value.tensor.as<Constant>()) return value;
  const DataType dtype = in.dtype(value.tensor);
  if (in.rank(value.tensor) != 0 || (dtype != DataType::Int(32) && dtype != DataType::Int(64))) return value;
  std::optional<std::vector<int64_t>> seen = seen_ints(value.tensor);
  return seen && seen->size() == 1 ? Value(make_constant(int_scalar((*seen)[0], dtype))) : value;
}

/// Copies of the body; nothing where the condition is not known, or too many.
std::optional<Values> written_out(Operation& in, Values states, const Condition& condition, const Body& body) {
  for (int64_t i = 0;; ++i) {
    std::optional<std::vector<int64_t>> goes_on = in.constant_ints(condition(states));
    if (!goes_on || goes_on->size() != 1) return std::nullopt;
    if (!(*goes_on)[0]) return states;
    if (i >= kMaxCopies) return std::nullopt;
    states = body(states);
    for (Value& state : states) state = as_counted(in, state);
  }
}

}  // namespace

Expr as_truth(const NodeContext& in, const Expr& x) {
  Expr scalar = in.rank(x) == 0 ? x : reshape(x, Array<PrimExpr>());
  return in.dtype(x) == DataType::Bool() ? scalar : call_op("not_equal", {scalar, make_scalar(0, in.dtype(x))});
}

Values while_loop(Operation& in, const Values& initial, const Condition& condition, const Body& body) {
  auto checked_body = [&](const Values& states) {
    Values out = body(states);
    if (out.size() != states.size())
      in.invalid("the body of a loop gives " + std::to_string(out.size()) + " values, but takes " +
                 std::to_string(states.size()));
    return out;
  };
  if (std::optional<Values> out = written_out(in, initial, condition, checked_body)) return *out;
  Values first = initial;
  bool has_unknown = false;
  for (const Value& value : first) has_unknown |= value.list && !value.list->stacked.defined();
  if (has_unknown) {  // an iteration says what the elements of lists are
    Values after = checked_body(first);
    for (size_t i = 0; i < first.size(); ++i) {
      if (!first[i].list || first[i].list->stacked.defined() || !after[i].list || !after[i].list->stacked.defined())
        continue;
      List list = *first[i].list;
      const Array<PrimExpr> shape = in.shape(after[i].list->stacked);
      list.element = Array<PrimExpr>(shape.begin() + 1, shape.end());
      list.dtype = in.dtype(after[i].list->stacked);
      first[i] = Value::of(std::move(list));
    }
  }
  std::vector<size_t> changing;
  std::vector<Expr> start;
  for (size_t i = 0; i < first.size(); ++i) {
    Expr tensor = tensor_of_state(in, first[i]);
    if (!tensor.defined()) continue;
    first[i] = with_tensor(first[i], tensor);
    changing.push_back(i);
    start.push_back(tensor);
  }
  auto values_of = [&](const std::vector<Expr>& tensors) {
    Values out = first;
    for (size_t k = 0; k < changing.size(); ++k) out[changing[k]] = with_tensor(first[changing[k]], tensors[k]);
    return out;
  };
  LoopBody step = [&](const Expr&, const Expr&, const std::vector<Expr>& states) {
    Values after = checked_body(values_of(states));
    LoopStep out{as_truth(in, condition(after)), {}, {}};
    for (size_t k = 0; k < changing.size(); ++k) {
      Expr tensor = tensor_of_state(in, after[changing[k]]);
      if (!tensor.defined()) in.unsupported("a loop that makes a variable of a tensor");
      out.states.push_back(tensor);
    }
    return out;
  };
  return values_of(
      recursive_loop(in, Expr(), as_truth(in, condition(first)), start, step, 0, in.importer().visible_tensors()));
}

Values choose_branch(Operation& in, const Expr& condition, const std::function<Values()>& yes,
                     const std::function<Values()>& no) {
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(condition)) {
    if (known->size() != 1) in.invalid("the condition is one value");
    return (*known)[0] ? yes() : no();
  }
  Values a = yes(), b = no();
  if (a.size() != b.size()) in.invalid("the branches have different numbers of outputs");
  std::vector<Expr> first, second;
  for (size_t i = 0; i < a.size(); ++i) {
    Expr x = tensor_of_state(in, a[i]), y = tensor_of_state(in, b[i]);
    if (!x.defined() != !y.defined()) in.unsupported("branches that give a variable and a tensor");
    if (!x.defined()) continue;
    first.push_back(x);
    second.push_back(y);
  }
  std::vector<Expr> chosen = choose(in, as_truth(in, condition), first, second);
  Values out;
  size_t at = 0;
  for (const Value& value : a)
    out.push_back(tensor_of_state(in, value).defined() ? with_tensor(value, chosen[at++]) : value);
  return out;
}

namespace {

/// Inputs: the condition, then those of the branches.
Values if_op(Operation& in) {
  const Values inputs(in.inputs().begin() + 1, in.inputs().end());
  auto branch = [&](const char* name) {
    return [&in, name, &inputs] { return in.importer().call(in.function(name), inputs); };
  };
  return choose_branch(in, in[0], branch("then_branch"), branch("else_branch"));
}

Values while_op(Operation& in) {
  const std::string condition = in.function("cond"), body = in.function("body");
  return while_loop(
      in, in.inputs(),
      [&](const Values& states) {
        Values out = in.importer().call(condition, states);
        if (out.size() != 1 || !out[0].tensor.defined()) in.invalid("the condition of a loop gives one value");
        return as_truth(in, out[0].tensor);
      },
      [&](const Values& states) { return in.importer().call(body, states); });
}

/// Inputs: which branch, then those of the branches.
Values case_op(Operation& in) {
  const Attribute* branches = in.find("branches");
  if (!branches || !branches->list || branches->list->empty()) in.invalid("there are no branches");
  const Values inputs(in.inputs().begin() + 1, in.inputs().end());
  const Expr index = in.scalar(0);
  std::function<Values(size_t)> from = [&](size_t i) {
    auto call = [&] { return in.importer().call((*branches->list)[i].s.value_or(""), inputs); };
    if (i + 1 == branches->list->size()) return call();  // also what is outside
    Expr is_this = equal(index, make_scalar(static_cast<double>(i), in.dtype(index)));
    return choose_branch(in, is_this, call, [&] { return from(i + 1); });
  };
  return from(0);
}

Values call_op_of(Operation& in) {
  return in.importer().call(in.function(in.has_attribute("f") ? "f" : "function"), in.inputs());
}

}  // namespace

Rows control_rows() {
  return {
      {"Case", case_op},
      {"If", if_op},
      {"PartitionedCall", call_op_of},
      {"StatefulPartitionedCall", call_op_of},
      {"StatelessCase", case_op},
      {"StatelessIf", if_op},
      {"StatelessWhile", while_op},
      {"While", while_op},
  };
}

}  // namespace tessera::tensorflow
