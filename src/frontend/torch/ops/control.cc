// Branches and loops. What is known while importing is decided then; the rest becomes Relay's If and a recursive function.

#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/scope.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

constexpr int64_t kMostCopies = 64;  // of a loop's body

/// Notes what is changed in place while it lives.
struct JournalScope {
  explicit JournalScope(Importer& importer) : importer(importer), outer(std::exchange(importer.journal, &changes)) {}
  ~JournalScope() { importer.journal = outer; }
  void undo() {
    for (size_t i = changes.size(); i-- > 0;) {
      Cell& cell = *changes[i].first;
      cell.now = changes[i].second;
      ++cell.version;
    }
  }
  Importer& importer;
  Importer::Journal changes, *outer;
};

/// Values with tensors in place of numbers, tuples opened; `like` closes them again.
void open_values(const Operation& in, const Values& values, std::vector<Expr>* out) {
  for (const Value& value : values) {
    if (value.kind == Value::List) {
      open_values(in, *value.items, out);
    } else if (value.is_tensor() || value.is_number()) {
      out->push_back(value.is_number() ? in.number_expr(value) : value.expr());
      relay::type_of(out->back());
    }
  }
}
Values close_values(const Values& like, const std::vector<Expr>& tensors, size_t* next) {
  Values out;
  for (const Value& value : like) {
    if (value.kind == Value::List)
      out.push_back(Value::of(std::vector<Value>(close_values(*value.items, tensors, next))));
    else if (value.is_number()) out.push_back(Value::number(value.kind, tensors.at((*next)++)));
    else if (value.is_tensor()) out.push_back(Value(tensors.at((*next)++)));
    else out.push_back(value);
  }
  return out;
}

std::optional<bool> known_truth(const Operation& in, const Value& condition) {
  if (std::optional<int64_t> known = in.known_int(condition)) return *known != 0;
  return std::nullopt;
}
Expr scalar_truth(const Operation& in, const Value& condition) {
  Expr out = as_type(in, condition, DataType::Bool());
  return in.rank(out) == 0 ? out : reshape(out, Array<PrimExpr>());
}

bool is_only_error(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.op == "prim::RaiseException") return true;
  return false;
}

Values branched(Operation& in, const Value& condition, const Graph& yes, const Graph& no, const Values& operands) {
  if (std::optional<bool> known = known_truth(in, condition)) return in.import(*known ? yes : no, operands);
  if (is_only_error(yes)) return in.import(no, operands);  // an assertion: a run that fails it is not ours to see
  if (is_only_error(no)) return in.import(yes, operands);
  Values sides[2];
  std::vector<Expr> opened[2];
  for (int i = 0; i < 2; ++i) {
    JournalScope journal(in.importer());
    sides[i] = in.import(i == 0 ? yes : no, operands);
    open_values(in, sides[i], &opened[i]);
    if (!journal.changes.empty()) {
      journal.undo();
      in.unsupported("a tensor that is changed in place in a branch of unknown condition");
    }
  }
  if (opened[0].size() != opened[1].size()) in.unsupported("branches whose lists differ in length");
  if (opened[0].empty()) return sides[0];
  for (size_t i = 0; i < opened[0].size(); ++i) {
    DataType a = in.dtype(opened[0][i]), b = in.dtype(opened[1][i]);
    if (a != b) in.unsupported("branches whose results differ in their element types");
  }
  std::vector<Expr> chosen = choose(in, scalar_truth(in, condition), opened[0], opened[1]);
  size_t next = 0;
  return close_values(sides[0], chosen, &next);
}

Values if_of(Operation& in) {
  if (in.node().blocks.size() != 2) in.invalid("a branch has two graphs");
  return branched(in, in.value(0), *in.node().blocks[0], *in.node().blocks[1], {});
}

/// torch.cond(condition, operands), graphs apart.
Values cond_of(Operation& in) {
  if (in.node().blocks.size() != 2) in.invalid("a branch has two graphs");
  return branched(in, in.value(0), *in.node().blocks[0], *in.node().blocks[1],
                  in.has(1) ? in.items_of(in.value(1), "operands") : Values());
}

// ---- loops ----------------------------------------------------------------------------------------------------------

/// A value of the loop: a number that the first iterations know is one that a run decides.
Value as_state(const Value& like, const Expr& now) {
  return like.is_number() ? Value::number(like.kind, now) : Value(now);
}

/// Inputs: the most iterations, a first condition, states.
Values loop_of(Operation& in) {
  if (in.node().blocks.size() != 1) in.invalid("a loop has one graph");
  const Graph& body = *in.node().blocks[0];
  Values states;
  for (size_t i = 2; i < in.size(); ++i) states.push_back(in.has(i) ? in.value(i) : Value());
  std::optional<int64_t> most = in.known_int(in.value(0));
  std::optional<bool> goes_on = known_truth(in, in.value(1));
  const bool has_limit = !most || *most < INT64_MAX / 2;
  auto run = [&](const Value& iteration, const Values& now) {
    Values inputs{iteration};
    inputs.insert(inputs.end(), now.begin(), now.end());
    Values out = in.import(body, inputs);
    if (out.size() != states.size() + 1)
      in.invalid("the graph of a loop gives as many values as the loop has, and a condition");
    return out;
  };
  Values unrolled = states;
  if ((most && *most <= kMostCopies) || !has_limit) {
    int64_t i = 0;
    while (goes_on && *goes_on && i < (has_limit ? *most : kMostCopies)) {
      Values out = run(Value::of(i++), unrolled);
      goes_on = known_truth(in, out[0]);
      if (!goes_on && has_limit) break;
      unrolled.assign(out.begin() + 1, out.end());
    }
    if (goes_on && (!*goes_on || (has_limit && i >= *most))) return unrolled;
  }
  JournalScope journal(in.importer());
  std::vector<Expr> initial;
  for (const Value& state : states)
    if (!state.is_tensor() && !state.is_number()) in.unsupported("a list that a loop of unknown length changes");
  open_values(in, states, &initial);
  Expr limit;
  if (has_limit) limit = cast_if_needed(in, in.number_expr(in.value(0)), DataType::Int(64));
  Expr start = scalar_truth(in, in.value(1));
  LoopBody step = [&](const Expr& iteration, const Expr&, const std::vector<Expr>& now) {
    Values current;
    for (size_t i = 0; i < now.size(); ++i) current.push_back(as_state(states[i], now[i]));
    Values out = run(Value::number(Value::Int, iteration), current);
    LoopStep result;
    result.condition = scalar_truth(in, out[0]);
    open_values(in, {out.begin() + 1, out.end()}, &result.states);
    if (result.states.size() != now.size()) in.unsupported("a list that a loop of unknown length changes");
    return result;
  };
  std::vector<Expr> last = recursive_loop(in, limit, start, initial, step, 0, in.importer().visible_tensors());
  if (!journal.changes.empty()) {
    journal.undo();
    in.unsupported("a tensor that is changed in place in a loop of unknown length");
  }
  size_t next = 0;
  return close_values(states, last, &next);
}

/// while_loop(states, more), graphs apart.
Values while_of(Operation& in) {
  if (in.node().blocks.size() != 2) in.invalid("a loop has two graphs");
  const Graph &test = *in.node().blocks[0], &body = *in.node().blocks[1];
  Values states = in.items_of(in.value(0), "the states of a loop"), more;
  if (in.has(1)) more = in.items_of(in.value(1), "what a loop reads");
  std::vector<Expr> initial;
  open_values(in, states, &initial);
  if (initial.size() != states.size()) in.unsupported("a list as the state of a loop");
  auto with_more = [&](const std::vector<Expr>& now) {
    Values out;
    for (size_t i = 0; i < now.size(); ++i) out.push_back(as_state(states[i], now[i]));
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  auto goes_on = [&](const std::vector<Expr>& now) {
    Values out = in.import(test, with_more(now));
    return scalar_truth(in, out.at(0));
  };
  JournalScope journal(in.importer());
  LoopBody step = [&](const Expr&, const Expr&, const std::vector<Expr>& now) {
    LoopStep result;
    open_values(in, in.import(body, with_more(now)), &result.states);
    if (result.states.size() != now.size()) in.invalid("the body gives another number of values than the loop has");
    result.condition = goes_on(result.states);
    return result;
  };
  std::vector<Expr> last =
      recursive_loop(in, Expr(), goes_on(initial), initial, step, 0, in.importer().visible_tensors());
  size_t next = 0;
  return close_values(states, last, &next);
}

Values inlined(Operation& in) {
  Values operands;
  for (size_t i = 0; i < in.size(); ++i) operands.push_back(in.has(i) ? in.value(i) : Value());
  if (in.node().blocks.size() != 1) in.invalid("one graph is needed");
  return in.import(*in.node().blocks[0], operands);
}

}  // namespace

Rows control_rows() {
  return {
      {"higher_order::cond", cond_of},
      {"higher_order::inlined", inlined},
      {"higher_order::while_loop", while_of},
      {"prim::If", if_of},
      {"prim::Loop", loop_of},
  };
}

}  // namespace tessera::torch
