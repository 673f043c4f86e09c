// Branches and loops. What is known while importing is decided then: constant conditions, few iterations. The rest
// becomes Relay's If and a recursive function.

#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/scope.h"
#include "frontend/onnx/tensor_ops/loops.h"
#include "ir/prim/ops.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

constexpr int64_t kMaxCopies = 64;  // of a loop's body

// ---- If -------------------------------------------------------------------------------------------------------------

Values if_then_else(Operation& in) {
  if (std::optional<std::vector<int64_t>> condition = in.constant_ints(in[0])) {
    if (condition->size() != 1) in.invalid("the condition must be one value");
    return in.import(in.graph((*condition)[0] ? "then_branch" : "else_branch"), {});
  }
  Values yes = in.import(in.graph("then_branch"), {}), no = in.import(in.graph("else_branch"), {});
  if (yes.size() != no.size()) in.invalid("the branches have different numbers of outputs");
  Expr condition = in.rank(in[0]) == 0 ? in[0] : reshape(in[0], Array<PrimExpr>());
  std::vector<Expr> first, second;
  for (size_t i = 0; i < yes.size(); ++i) {
    if (!yes[i].tensor.defined() || !no[i].tensor.defined())
      in.unknown("the condition of branches that give sequences must be known", in[0]);
    if (yes[i].element != no[i].element) in.invalid("the branches have results of different types");
    first.push_back(yes[i].tensor);
    second.push_back(no[i].tensor);
  }
  std::vector<Expr> chosen = choose(in, condition, first, second);
  Values out;
  for (size_t i = 0; i < yes.size(); ++i) {
    out.push_back(chosen[i]);
    out.back().element = yes[i].element;
  }
  return out;
}

// ---- loops ----------------------------------------------------------------------------------------------------------

Expr int64_number(int64_t value) { return make_constant(int_scalar(value, DataType::Int(64))); }

/// Copies of the body, one for each iteration; nothing where a condition is known only at run time.
std::optional<Values> unrolled(Operation& in, int64_t count, const Expr& start, Values states, const Body& body,
                               size_t scans) {
  std::vector<Array<Expr>> parts(scans);
  Expr condition = start;
  for (int64_t i = 0; i < count; ++i) {
    if (condition.defined()) {
      std::optional<std::vector<int64_t>> goes_on = in.constant_ints(condition);
      if (!goes_on) return std::nullopt;
      if (!(*goes_on)[0]) break;
    }
    if (i >= kMaxCopies) return std::nullopt;
    Step step = body(int64_number(i), condition.defined() ? condition : make_scalar(1, DataType::Bool()), states);
    states = std::move(step.states);
    for (size_t k = 0; k < scans; ++k) parts[k].push_back(step.scans.at(k).tensor);
    condition = step.condition;
  }
  Values out = states;
  if (scans > 0 && parts[0].empty()) {  // what an iteration would give says the types
    Step step = body(int64_number(0), make_scalar(1, DataType::Bool()), states);
    for (size_t k = 0; k < scans; ++k) out.push_back(Value(no_rows(in, step.scans.at(k).tensor)));
    return out;
  }
  for (const Array<Expr>& rows : parts) out.push_back(Value(stack(rows, 0)));
  return out;
}

/// The states and scans that a run decides the number of.
Values recursive(Operation& in, const Expr& limit, const Expr& start, const Values& initial, const Body& body,
                 size_t scans) {
  auto tensors = [&](const Values& values, const char* why) {
    std::vector<Expr> out;
    for (const Value& value : values) {
      if (!value.tensor.defined()) in.unsupported(why);
      out.push_back(value.tensor);
    }
    return out;
  };
  constexpr const char* kNoSequence = "a sequence that a loop changes an unknown number of times";
  LoopBody step = [&](const Expr& iteration, const Expr& condition, const std::vector<Expr>& states) {
    Step out = body(iteration, condition, {states.begin(), states.end()});
    return LoopStep{out.condition, tensors(out.states, kNoSequence),
                    tensors(out.scans, "sequences that a loop collects")};
  };
  std::vector<Expr> out =
      recursive_loop(in, limit, start, tensors(initial, kNoSequence), step, scans, in.importer().visible_tensors());
  return {out.begin(), out.end()};
}

Expr as_scalar(Operation& in, const Expr& x) { return in.rank(x) == 0 ? x : reshape(x, Array<PrimExpr>()); }

/// Inputs: the most iterations, a condition, states. Both of the first may be left out.
Values loop(Operation& in) {
  const Graph& graph = in.graph("body");
  Values states;
  for (size_t i = 2; i < in.size(); ++i) states.push_back(in.value_or_absent(i));
  size_t count = states.size();
  if (graph.outputs.size() < count + 1) in.invalid("the body gives fewer values than the loop has");
  size_t scans = graph.outputs.size() - count - 1;
  Body body = [&](Expr iteration, Expr condition, const Values& now) {
    Values inputs{Value(iteration), Value(condition)};
    inputs.insert(inputs.end(), now.begin(), now.end());
    Values out = in.import(graph, inputs);
    auto at = out.begin() + static_cast<int64_t>(count) + 1;
    return Step{as_scalar(in, out.at(0).tensor), {out.begin() + 1, at}, {at, out.end()}};
  };
  Expr limit = in.has(0) ? as_scalar(in, in[0]) : Expr(), start = in.has(1) ? as_scalar(in, in[1]) : Expr();
  std::optional<std::vector<int64_t>> known;
  if (limit.defined()) known = in.constant_ints(limit);
  if (known || !limit.defined()) {
    int64_t most = known ? (*known)[0] : INT64_MAX;
    bool may_stop = !start.defined() || in.constant_ints(start).has_value();
    if (may_stop && (!known || most <= kMaxCopies))
      if (std::optional<Values> out = unrolled(in, most, start, states, body, scans)) return *out;
  }
  if (limit.defined()) limit = cast_if_needed(in, limit, DataType::Int(64));
  auto is_unknown = [&](const Expr& x) { return x.defined() && !in.constant_ints(x); };
  try {
    return recursive(in, limit, start, states, body, scans);
  } catch (const Error&) {  // with known values the body may be copied instead
    if (is_unknown(limit)) in.unknown("the number of iterations must be known", limit);
    if (is_unknown(start)) in.unknown("the condition of a loop must be known", start);
    throw;
  }
}

}  // namespace

Values counted_loop(Operation& in, std::optional<int64_t> count, Expr limit, const Values& states, const Body& body,
                    size_t scans) {
  if (count && *count <= kMaxCopies)
    if (std::optional<Values> out = unrolled(in, *count, Expr(), states, body, scans)) return *out;
  if (count) limit = int64_number(*count);
  return recursive(in, limit, Expr(), states, body, scans);
}

namespace {

/// Inputs: states, then tensors of which each iteration sees one slice.
Values scan_over(Operation& in, const Graph& graph, const Values& states, const std::vector<Expr>& scanned,
                 const Ints& axes, const Ints& directions) {
  std::optional<int64_t> length;
  for (size_t i = 0; i < scanned.size(); ++i) {
    int axis = in.axis(axes[i], in.rank(scanned[i]));
    auto* extent = in.shape(scanned[i])[static_cast<size_t>(axis)].as<IntImm>();
    if (extent && length && *length != extent->value) in.invalid("what is scanned differs in length");
    if (extent) length = extent->value;
  }
  const Expr count =
      length ? int64_number(*length) : extent_at_run_time(in, scanned[0], in.axis(axes[0], in.rank(scanned[0])));
  if (graph.outputs.size() < states.size()) in.invalid("the body gives fewer values than the scan has");
  size_t scans = graph.outputs.size() - states.size();
  Body body = [&](Expr iteration, Expr, const Values& now) {
    Values inputs = now;
    for (size_t i = 0; i < scanned.size(); ++i) {
      Expr at = iteration;
      if (directions[i]) at = subtract(subtract(count, int64_number(1)), at);
      inputs.push_back(Value(take(scanned[i], at, in.axis(axes[i], in.rank(scanned[i])))));
    }
    Values out = in.import(graph, inputs);
    auto middle = out.begin() + static_cast<int64_t>(states.size());
    return Step{Expr(), {out.begin(), middle}, {middle, out.end()}};
  };
  return counted_loop(in, length, count, states, body, scans);
}

/// Results that iterations gave, in the order and along the axis that the node asks for.
Expr turned(Operation& in, Expr x, int64_t axis, bool is_reversed) {
  if (is_reversed)
    x = call_op("reverse", {x}, make_attrs<ReverseAttrs>([](ReverseAttrs& attrs) { attrs.axis = PrimExpr(0); }));
  size_t rank = in.rank(x);
  int to = in.axis(axis, rank);
  if (to == 0) return x;
  std::vector<int64_t> order;
  for (size_t i = 1; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  order.insert(order.begin() + to, 0);
  return transpose(x, int_array(order));
}

Values scan_9(Operation& in) {
  const Graph& graph = in.graph("body");
  auto count = static_cast<size_t>(in.integer("num_scan_inputs"));
  if (count < 1 || count > in.size()) in.invalid("num_scan_inputs does not fit the inputs");
  Values states;
  for (size_t i = 0; i + count < in.size(); ++i) states.push_back(Value(in[i]));
  std::vector<Expr> scanned;
  for (size_t i = states.size(); i < in.size(); ++i) scanned.push_back(in[i]);
  if (graph.outputs.size() < states.size()) in.invalid("the body gives fewer values than the scan has");
  size_t scans = graph.outputs.size() - states.size();
  Ints none(count, 0), none_out(scans, 0), axes = in.integers("scan_input_axes", none);
  Values out = scan_over(in, graph, states, scanned, axes, in.integers("scan_input_directions", none));
  Ints out_axes = in.integers("scan_output_axes", none_out);
  Ints out_directions = in.integers("scan_output_directions", none_out);
  for (size_t k = 0; k < scans; ++k) {
    Value& value = out[states.size() + k];
    value = Value(turned(in, value.tensor, out_axes[k], out_directions[k] != 0));
  }
  return out;
}

/// Version 8: the first input may give lengths; everything has a batch as its first dimension, and the body sees one
/// element of it.
Values scan_8(Operation& in) {
  if (in.has(0)) in.unsupported("lengths of the sequences");
  const Graph& graph = in.graph("body");
  auto count = static_cast<size_t>(in.integer("num_scan_inputs"));
  if (count < 1 || count >= in.size()) in.invalid("num_scan_inputs does not fit the inputs");
  Ints directions = in.integers("directions", std::vector<int64_t>(count, 0));
  size_t states = in.size() - 1 - count;
  if (in.rank(in[1]) == 0) in.invalid("a scan of version 8 has a batch");
  auto* batch = in.shape(in[1])[0].as<IntImm>();
  if (!batch) in.unsupported("the batch of a scan must be fixed");
  std::vector<Array<Expr>> parts(graph.outputs.size());
  for (int64_t b = 0; b < batch->value; ++b) {
    auto one = [&](size_t i) { return squeeze(slice(in[i], 0, b, b + 1), int_array({0})); };
    Values initial;
    std::vector<Expr> scanned;
    for (size_t i = 0; i < states; ++i) initial.push_back(Value(one(i + 1)));
    for (size_t i = 0; i < count; ++i) scanned.push_back(one(i + 1 + states));
    Values out = scan_over(in, graph, initial, scanned, Ints(count, 0), directions);
    for (size_t i = 0; i < out.size(); ++i) parts[i].push_back(out[i].tensor);
  }
  Values out;
  for (const Array<Expr>& part : parts) out.push_back(Value(stack(part, 0)));
  return out;
}

}  // namespace

Rows control_rows() {
  return {
      {"If", 1, if_then_else},
      {"Loop", 1, loop},
      {"Scan", 8, scan_8},
      {"Scan", 9, scan_9},
  };
}

}  // namespace tessera::onnx
