// Branches and loops that a run decides on.

#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "frontend/paddle/paddle.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls

const GraphModel& graph_of(const LayerNode& in, size_t i) {
  if (i >= in.node().graphs.size()) in.invalid("it holds fewer blocks than it needs");
  return *in.node().graphs[i];
}

/// One truth value, whatever its dimensions.
Expr as_truth(const LayerNode& in, const Expr& x) {
  Expr one = in.rank(x) ? typed(reshape_to(x, {})) : x;
  return typed(cast_if_needed(in, one, DataType::Bool()));
}

/// The first block, or the second.
Exprs branch(LayerNode& in) {
  Exprs yes = in.importer().import_graph(graph_of(in, 0), {}), no = in.importer().import_graph(graph_of(in, 1), {});
  if (yes.size() != no.size() || yes.size() != in.num_outputs()) in.invalid("its branches do not give as many values");
  return yes.empty() ? Exprs() : choose(in, as_truth(in, in[0]), yes, no);
}

/// A block that is run or not. What was there before stays where it is not run; what was not there is read only where it is, so
/// that computing it anyway changes nothing.
Exprs conditional_block(LayerNode& in) {
  Exprs made = in.importer().import_graph(graph_of(in, 0), {});
  Exprs before(in.inputs().begin() + 1, in.inputs().end());
  if (made.size() != in.num_outputs() || before.size() != made.size())
    in.invalid("its block does not give its results");
  for (size_t i = 0; i < made.size(); ++i)
    if (before[i].defined()) made[i] = choose(in, as_truth(in, in.slot("Condition")), {made[i]}, {before[i]})[0];
  return made;
}
/// The value of the branch that was run.
Exprs select_input(LayerNode& in) {
  Exprs values = in.slots("X");
  if (values.size() != 2) in.unsupported("a choice between " + std::to_string(values.size()) + " values");
  return in.results({{"Out", choose(in, as_truth(in, in.slot("Mask")), {values[1]}, {values[0]})}});
}

/// The graph takes the values that it changes and gives them again, and its condition at last.
Exprs while_loop(LayerNode& in) {
  const GraphModel& body = graph_of(in, 0);
  Exprs first(in.inputs().begin() + 1, in.inputs().end());
  const size_t count = first.size();
  if (body.inputs.size() != count || body.outputs.size() != count + 1 || in.num_outputs() != count || count == 0)
    in.invalid("its block does not give what it takes");
  LoopBody step = [&](const Expr&, const Expr&, const std::vector<Expr>& states) {
    Exprs made = in.importer().import_graph(body, states);
    return LoopStep{as_truth(in, made.back()), {made.begin(), made.end() - 1}, {}};
  };
  return recursive_loop(in, Expr(), as_truth(in, in[0]), first, step, 0, in.importer().visible());
}

}  // namespace

LayerRows control_rows() {
  return {
      {"conditional_block", conditional_block},
      {"if", branch},
      {"select_input", select_input},
      {"while", while_loop},
  };
}

}  // namespace tessera::paddle
