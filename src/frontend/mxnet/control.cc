// Branches and loops. The number of steps is known while importing, and loops are written out.

#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "frontend/mxnet/mxnet.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls

constexpr int64_t kMaxSteps = 10'000;

const GraphModel& graph_of(const LayerNode& in, size_t i) {
  if (i >= in.node().graphs.size()) in.invalid("it holds fewer graphs than it needs");
  return *in.node().graphs[i];
}
Exprs at(const LayerNode& in, const Exprs& values, const Ints& positions) {
  Exprs out;
  for (int64_t position : positions) {
    if (position < 0 || static_cast<size_t>(position) >= values.size())
      in.invalid("it has no input " + std::to_string(position));
    out.push_back(values[static_cast<size_t>(position)]);
  }
  return out;
}
Expr as_truth(const LayerNode& in, const Expr& x) {
  Expr flat = squeeze(x);
  return typed(in.dtype(x).is_bool() ? flat : call_op("not_equal", {flat, make_scalar(0, in.dtype(x))}));
}

/// The first input is the result of the condition's own graph; the others are those of the branches.
Exprs branch(LayerNode& in) {
  Fields fields = in.fields();
  auto inputs = [&](const char* name) { return at(in, in.inputs(), fields.integers(name)); };
  Exprs truth = in.importer().import_graph(graph_of(in, 0), inputs("cond_input_locs"));
  Exprs yes = in.importer().import_graph(graph_of(in, 1), inputs("then_input_locs"));
  Exprs no = in.importer().import_graph(graph_of(in, 2), inputs("else_input_locs"));
  if (truth.size() != 1 || yes.size() != no.size() || yes.empty())
    in.invalid("its branches do not give as many values");
  auto all = [](const Exprs& values) {
    return values.size() == 1 ? values[0] : make_tuple(Array<Expr>(values.begin(), values.end()));
  };
  Expr whole = make_if(as_truth(in, truth[0]), typed(all(yes)), typed(all(no)));
  if (yes.size() == 1) return {whole};
  Exprs out;
  for (size_t i = 0; i < yes.size(); ++i) out.push_back(make_get_item(whole, static_cast<int>(i)));
  return out;
}

/// How many values of a step are rows of the result: those of the graph but for the states.
size_t rows_of(const LayerNode& in, const GraphModel& body, size_t states) {
  const size_t all = body.outputs.size();
  if (all < states || in.integer("num_out_data") != static_cast<int64_t>(all - states))
    in.invalid("its graph does not give what the loop needs");
  return all - states;
}

Exprs for_each(LayerNode& in) {
  const GraphModel& body = graph_of(in, 0);
  Ints data = in.fields().integers("in_data_locs"), states = in.fields().integers("in_state_locs"),
       rest = in.fields().integers("remain_locs");
  const size_t outputs = rows_of(in, body, states.size());
  if (data.empty() || data.size() + states.size() + rest.size() != in.size() || in.size() != body.inputs.size())
    in.invalid("its inputs do not fit its graph");
  const int64_t steps = in.static_shape(in[0], "a loop")[0];
  if (steps > kMaxSteps) in.unsupported("a loop of " + std::to_string(steps) + " steps");
  Exprs now(in.inputs().begin() + static_cast<int64_t>(data.size()),
            in.inputs().begin() + static_cast<int64_t>(data.size() + states.size()));
  std::vector<Array<Expr>> rows(outputs);
  for (int64_t step = 0; step < steps; ++step) {
    Exprs given(in.size());
    auto put = [&](int64_t position, const Expr& value) {
      if (position < 0 || static_cast<size_t>(position) >= given.size())
        in.invalid("its graph has no input " + std::to_string(position));
      given[static_cast<size_t>(position)] = typed(value);
    };
    for (size_t i = 0; i < data.size(); ++i) put(data[i], squeeze(slice(in[i], 0, step, step + 1), int_array({0})));
    for (size_t i = 0; i < states.size(); ++i) put(states[i], now[i]);
    for (size_t i = 0; i < rest.size(); ++i) put(rest[i], in[data.size() + states.size() + i]);
    Exprs made = in.importer().import_graph(body, given);
    for (size_t i = 0; i < outputs; ++i) rows[i].push_back(made[i]);
    now.assign(made.begin() + static_cast<int64_t>(outputs), made.end());
  }
  Exprs out;
  for (const Array<Expr>& one : rows) out.push_back(relay::stack(one, 0));
  out.insert(out.end(), now.begin(), now.end());
  return out;
}

/// Every step is written out; after the condition fails, values stay and rows are zeros.
Exprs while_loop(LayerNode& in) {
  const Fields& fields = in.fields();
  Ints of_condition = fields.integers("cond_input_locs"), of_body = fields.integers("func_input_locs"),
       vars = fields.integers("func_var_locs");
  const int64_t steps = in.integer("max_iterations");
  const size_t outputs = rows_of(in, graph_of(in, 1), vars.size());
  if (steps < 1 || steps > kMaxSteps) in.unsupported("a loop of " + std::to_string(steps) + " steps");
  Exprs now = in.inputs();
  std::vector<Array<Expr>> rows(outputs);
  Expr goes_on;
  for (int64_t step = 0; step < steps; ++step) {
    Exprs truth = in.importer().import_graph(graph_of(in, 0), at(in, now, of_condition));
    if (truth.size() != 1) in.invalid("its condition gives no value");
    Expr holds = as_truth(in, truth[0]);
    goes_on = typed(goes_on.defined() ? call_op("logical_and", {goes_on, holds}) : holds);
    Exprs made = in.importer().import_graph(graph_of(in, 1), at(in, now, of_body));
    for (size_t i = 0; i < outputs; ++i) rows[i].push_back(where(goes_on, made[i], zeros_like(made[i])));
    for (size_t i = 0; i < vars.size(); ++i) {
      const auto position = static_cast<size_t>(of_body[static_cast<size_t>(vars[i])]);
      if (position >= now.size()) in.invalid("it has no input " + std::to_string(position));
      now[position] = typed(where(goes_on, made[outputs + i], now[position]));
    }
  }
  Exprs out;
  for (const Array<Expr>& one : rows) out.push_back(relay::stack(one, 0));
  for (int64_t var : vars) out.push_back(now[static_cast<size_t>(of_body[static_cast<size_t>(var)])]);
  return out;
}

}  // namespace

LayerRows control_rows() {
  return {
      {"_cond", branch},
      {"_foreach", for_each},
      {"_while_loop", while_loop},
  };
}

}  // namespace tessera::mxnet
