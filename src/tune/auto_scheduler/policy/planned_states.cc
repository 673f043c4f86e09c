// States planned as the schedule rules plan: tiles whose sums stay in registers while all of the reduction runs, with panels of
// operands outermost, or copied where rows of them are shared by many tiles.

#include <algorithm>
#include <numeric>

#include "topi/cpu/cost_model.h"
#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

constexpr size_t kMax = 64;               // states
constexpr size_t kTiles = 3;              // that are tried of a computation
constexpr int64_t kBlockBytes = 1 << 16;  // of the sums of a block of tiles
constexpr int64_t kMaxVectors = 4;        // of a tile
constexpr const char* kUnroll = "auto_unroll_max_step$512";

int64_t largest_divisor(int64_t value, int64_t most) {
  int64_t out = 1;
  for (int64_t each : divisors(value))
    if (each <= most) out = each;
  return out;
}

/// The axes of an operation that is tiled.
struct Shape {
  std::vector<std::string> names;  // of the space axes
  std::vector<int64_t> extents;    // of these; empty where one is no number
  size_t rows = 0;                 // the axis whose elements share vectors; the last one has vectors
  int64_t element_bytes = 4;

  explicit Shape(const te::ComputeOp* op) {
    if (!op) return;
    for (const IterVar& axis : op->axis) {
      const int64_t* extent = as_int(axis->dom->extent);
      if (!extent || *extent < 1) {
        extents.clear();
        return;
      }
      names.push_back(clean_name(axis->var->name.str()));
      extents.push_back(*extent);
    }
    for (size_t i = 0; i + 1 < extents.size(); ++i)
      if (extents[i] > 1) rows = i;
    element_bytes = std::max<int64_t>(1, op->body[0]->dtype.bytes());
  }
  bool is_planned() const { return extents.size() > 1; }
};

/// Of the stage that is tiled, the last one where there are several.
Shape shape_of_tiled(const State& sketch) {
  Stage tiled = nullptr;
  for (const Stage& stage : sketch->stages)
    if (is_tiled(stage) && has_reduce_loop(stage)) tiled = stage;
  return tiled ? Shape(tiled->op.as<te::ComputeOp>()) : Shape(nullptr);
}

/// A tile; whether rows of tiles are blocks; whether cores share rows, or panels alone.
struct TilePlan {
  int64_t rows = 1, columns = 1;
  bool has_blocks = false, shares_rows = true;
};

/// The cheapest tiles that divide the result, by the cost model of the rules.
std::vector<TilePlan> cheapest_tiles(const Shape& shape, const topi::Machine& machine) {
  const int64_t lanes = largest_divisor(shape.extents.back(), machine->vector_bytes / shape.element_bytes);
  std::vector<std::pair<double, TilePlan>> found;
  for (int64_t vectors : divisors(shape.extents.back() / lanes))
    for (int64_t rows : divisors(shape.extents[shape.rows])) {
      const topi::RegisterTile tile{rows, vectors};
      if (vectors > kMaxVectors || topi::outer_registers(tile) > machine->vector_registers) continue;
      const double cost = topi::step_cost(machine, tile) / static_cast<double>(tile.sums());
      found.push_back({cost, {rows, vectors * lanes}});
    }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TilePlan> out;
  for (size_t i = 0; i < std::min(kTiles, found.size()); ++i) out.push_back(found[i].second);
  return out;
}

/// Chooses the lengths of splits by a plan, step by step.
class Filling {
 public:
  Filling(const SketchPolicyNode& policy, const TilePlan& plan) : policy_(policy), plan_(plan) {}

  /// Empty where a step is about something that no plan has.
  State fill(const State& sketch) const {
    Draft draft(policy_.dag()->init_state, policy_);
    for (const Step& step : sketch->transform_steps) {
      auto* split = step.as<SplitStep>();
      const bool is_open = split && std::count(split->lengths.begin(), split->lengths.end(), 0) > 0;
      if (step.as<RfactorStep>()) return {};
      if (!is_open) {
        draft.add(step);
        continue;
      }
      SplitStep filled(*split);
      filled.lengths = lengths(draft, *split);
      if (filled.lengths.empty()) return {};
      draft.add(make(std::move(filled)));
    }
    draft.node()->concrete = true;
    return draft.finish();
  }

 private:
  std::vector<int64_t> lengths(const Draft& draft, const SplitStep& split) const {
    const Stage stage = draft.stage(split.stage_id);
    const Iterator iter = stage->iters[StateNode::at(split.iter_id)];
    std::vector<int64_t> out(split.lengths.size(), 1);
    if (iter->iter_kind != IterKind::Spatial) {
      out.back() = split.extent;
      return out;
    }
    const Shape shape(stage->op.as<te::ComputeOp>());
    const auto at = std::find(shape.names.begin(), shape.names.end(), iter->name.str());
    if (!shape.is_planned() || at == shape.names.end()) return {};
    const auto axis = static_cast<size_t>(at - shape.names.begin());
    if (axis + 1 == shape.extents.size()) {
      out.back() = plan_.columns;
      return out;
    }
    if (axis == shape.rows) out.back() = plan_.rows;
    const int64_t left = split.extent / out.back(), inner = left / parts(shape, axis, left);
    const int64_t block = plan_.has_blocks && axis == shape.rows ? largest_divisor(inner, most_rows(shape)) : 1;
    if (out.size() > 1) {
      out[0] = inner / block;
      out[out.size() - 2] *= block;
    }
    return out;
  }

  /// The outermost axis that has enough tiles gives every core one part.
  int64_t parts(const Shape& shape, size_t axis, int64_t tiles) const {
    if (!plan_.shares_rows) return 1;
    const int64_t cores = std::max(policy_.task->hardware_params->num_cores, 1);
    for (size_t i = 0; i <= axis && i + 1 < shape.extents.size(); ++i) {
      const int64_t own = shape.extents[i] / (i == shape.rows ? plan_.rows : 1);
      if (own < cores) continue;
      if (i != axis) return 1;
      for (int64_t each : divisors(tiles))
        if (each >= cores) return each;
      return tiles;
    }
    return 1;
  }

  int64_t most_rows(const Shape& shape) const {
    return std::max<int64_t>(1, kBlockBytes / (plan_.rows * plan_.columns * shape.element_bytes));
  }

  const SketchPolicyNode& policy_;
  TilePlan plan_;
};

/// Where a stage that is not tiled itself, such as padding, is computed: alone, or once for each part.
std::vector<State> with_locations(const SketchPolicyNode& policy, const State& state) {
  std::vector<State> out{state};
  for (int id = static_cast<int>(state->stages.size()) - 1; id >= 0; --id) {
    const Stage stage = stage_at(state, id);
    if (is_placeholder(stage) || stage->compute_at != ComputeAt::Root || is_tiled(stage)) continue;
    if (consumers_of(policy, state, id).empty() || needs_tiling(policy, state, id)) continue;
    const std::vector<std::pair<int, int>> locations = compute_locations(policy, state, id);
    const auto outermost = std::find_if(locations.begin(), locations.end(), [&](const auto& at) {
      return stage_at(state, at.first)->compute_at == ComputeAt::Root;
    });
    if (outermost == locations.end()) continue;
    for (size_t i = 0, count = out.size(); i < count; ++i) {
      Draft draft(out[i], policy);
      draft.compute_at(id, outermost->first, outermost->second);
      out.push_back(draft.finish());
    }
  }
  return out;
}

/// The last loop of each stage by vectors, those of tiles whole.
void vectorize_all(Draft* draft, int64_t vector_bytes) {
  for (int id = 0; id < static_cast<int>((*draft)->stages.size()); ++id) {
    const Stage stage = draft->stage(id);
    if (is_placeholder(stage) || stage->compute_at == ComputeAt::Inlined || stage->iters.empty()) continue;
    if (has_reduce_loop(stage)) draft->pragma(id, 0, kUnroll);
    int last = static_cast<int>(stage->iters.size()) - 1;
    const Iterator iter = draft->stage(id)->iters[StateNode::at(last)];
    const int64_t extent = extent_of(iter);
    if (iter->iter_kind != IterKind::Spatial || iter->annotation != Annotation::None || extent < 2) continue;
    auto* op = stage->op.as<te::ComputeOp>();
    if (!op || (*draft)->has_attached(id, last)) continue;
    const int64_t lanes = vector_bytes / std::max<int64_t>(1, op->body[0]->dtype.bytes());
    if (extent > kMaxVectors * lanes) {
      const int64_t part = largest_divisor(extent, lanes);
      if (part < 2) continue;
      draft->split(id, last, {part});
      ++last;
    }
    draft->annotate(id, last, Annotation::Vectorize);
  }
}

}  // namespace

std::vector<State> planned_states(const SketchPolicyNode& policy) {
  if (policy.task->search_target()->kind->name != "llvm" || !policy.custom_rules.empty()) return {};
  const topi::Machine machine = topi::machine_of(policy.task->search_target());
  std::vector<State> out;
  std::unordered_set<std::string> seen;
  auto plan_sketch = [&](const State& sketch, const TilePlan& plan) {
    try {
      const State filled = Filling(policy, plan).fill(sketch);
      if (!filled) return;
      for (const State& placed : with_locations(policy, infer_bound(policy.dag(), filled))) {
        State state = infer_bound(policy.dag(), placed);
        parallel_loops()(policy, &state, nullptr);
        Draft draft(state, policy);
        vectorize_all(&draft, machine->vector_bytes);
        state = infer_bound(policy.dag(), draft.finish());
        if (seen.insert(state_text(state.get())).second) out.push_back(state);
      }
    } catch (const Error&) {  // a plan that does not fit the computation
    }
  };
  const std::vector<State> sketches[] = {generate_sketches(policy, planned_sketch_rules(false)),
                                         generate_sketches(policy, planned_sketch_rules(true))};
  for (size_t rank = 0; rank < kTiles; ++rank)  // the cheapest tile first, in all ways
    for (const bool shares_rows : {true, false})
      for (const bool has_blocks : {true, false})
        for (const State& sketch : sketches[has_blocks]) {
          const Shape shape = shape_of_tiled(sketch);
          if (!shape.is_planned()) continue;
          std::vector<TilePlan> plans = cheapest_tiles(shape, machine);
          if (rank >= plans.size()) continue;
          TilePlan& plan = plans[rank];
          if (!shares_rows && shape.extents.back() / plan.columns < policy.task->hardware_params->num_cores) continue;
          if (out.size() >= kMax) return out;
          plan.has_blocks = has_blocks;
          plan.shares_rows = shares_rows;
          plan_sketch(sketch, plan);
        }
  return out;
}

}  // namespace tessera::auto_scheduler
