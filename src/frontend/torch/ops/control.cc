// Branches and loops. What is known while importing is decided then; the rest becomes Relay's If and a recursive function.

#include "frontend/common/parts.h"
#include "frontend/torch/changes.h"
#include "frontend/torch/loop_at_run_time.h"

namespace tessera::torch {
namespace {

constexpr int64_t kMaxCopies = 64;  // of a loop's body

std::optional<bool> known_truth(const Operation& in, const Value& condition) {
  if (std::optional<int64_t> known = in.known_int(condition)) return *known != 0;
  return std::nullopt;
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
  const Visible outside = in.importer().visible();
  auto side = [&](const Graph& graph) {
    JournalScope journal(in.importer());
    Values results = in.import(graph, operands);
    return Outcome(in, outside, std::move(results), journal.changes);
  };
  const Outcome if_true = side(yes), if_false = side(no);
  return merged(in, scalar_truth(in, condition), if_true, if_false);
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

/// Inputs: the most iterations, a first condition, states.
Values loop_of(Operation& in) {
  if (in.node().blocks.size() != 1) in.invalid("a loop has one graph");
  const Graph& body = *in.node().blocks[0];
  Values states;
  for (size_t i = 2; i < in.size(); ++i) states.push_back(in.has(i) ? in.value(i) : Value());
  std::optional<int64_t> most = in.known_int(in.value(0));
  std::optional<bool> goes_on = known_truth(in, in.value(1));
  const bool has_limit = !most || *most < INT64_MAX / 2;
  auto run = [&](const Value& index, const Values& now) {
    Values inputs{index};
    inputs.insert(inputs.end(), now.begin(), now.end());
    Values out = in.import(body, inputs);
    if (out.empty()) in.invalid("the graph of a loop gives no condition");
    return Iteration{out[0], {out.begin() + 1, out.end()}};
  };
  if ((most && *most <= kMaxCopies) || !has_limit) {
    JournalScope copies(in.importer());
    Values unrolled = states;
    int64_t i = 0;
    while (goes_on && *goes_on && i < (has_limit ? *most : kMaxCopies)) {
      Iteration step = run(Value::of(i++), unrolled);
      if (step.states.size() != states.size()) in.invalid("the graph of a loop gives another number of values");
      goes_on = known_truth(in, step.goes_on);
      if (!goes_on && has_limit) break;
      unrolled = std::move(step.states);
    }
    if (goes_on && (!*goes_on || (has_limit && i >= *most))) {
      copies.commit();
      return unrolled;
    }
  }
  Expr limit;
  if (has_limit) limit = cast_if_needed(in, in.number_expr(in.value(0)), DataType::Int(64));
  return loop_at_run_time(in, limit, scalar_truth(in, in.value(1)), std::move(states), run);
}

/// while_loop(states, more), graphs apart.
Values while_of(Operation& in) {
  if (in.node().blocks.size() != 2) in.invalid("a loop has two graphs");
  const Graph &test = *in.node().blocks[0], &body = *in.node().blocks[1];
  Values states = in.items_of(in.value(0), "the states of a loop"), more;
  if (in.has(1)) more = in.items_of(in.value(1), "what a loop reads");
  auto run = [&](const Graph& graph, Values now) {
    now.insert(now.end(), more.begin(), more.end());
    return in.import(graph, now);
  };
  auto goes_on = [&](const Values& now) { return run(test, now).at(0); };
  auto step = [&](const Value&, const Values& now) {
    Iteration out;
    out.states = run(body, now);
    out.goes_on = goes_on(out.states);
    return out;
  };
  Expr start = scalar_truth(in, goes_on(states));
  return loop_at_run_time(in, Expr(), start, std::move(states), step);
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
