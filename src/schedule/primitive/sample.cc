// Choices that a search makes: one of a list, the factors of a loop, where a block is computed.

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/compute_locations.h"
#include "schedule/primitives.h"
#include "schedule/trace/sampling.h"

namespace tessera::schedule {
namespace {

double number_of(const ObjectRef& value) {
  if (auto* number = value.as<FloatImm>()) return number->value;
  if (auto* number = value.as<IntImm>()) return static_cast<double>(number->value);
  throw Error(TypeError) << "expected a number, got " << to_text(value);
}

int64_t integer_of(const ObjectRef& value) {
  if (auto* number = value.as<IntImm>()) return number->value;
  throw Error(TypeError) << "expected an int, got " << to_text(value);
}

/// What the loop runs in the blocks below: all of it spatial, or not.
bool is_spatial(const For* loop, const GlobalVar& function) {
  for (const Cursor& below : blocks_below(loop->body, function))
    for (size_t i = 0; i < below.block()->iter_vars.size(); ++i)
      if (below.block()->iter_vars[i]->iter_type != IterType::DataPar &&
          uses_var(below.realize()->iter_values[i], loop->loop_var))
        return false;
  return true;
}

/// True when the primitive would not be rejected.
template <class F>
bool is_possible(const State& state, F&& primitive) {
  State trial = state.copy();
  try {
    primitive(trial);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ScheduleError) throw;
    return false;
  }
}

/// The loops around all of the blocks, outermost first.
std::vector<const For*> loops_around(const State& state, const std::vector<BlockRef>& blocks) {
  Cursor first = state.find(blocks[0]);
  std::vector<const For*> shared = first.loops();
  for (const BlockRef& block : blocks)
    shared.resize(std::min(shared.size(), common_loops(first, state.find(block)).size()));
  return shared;
}

struct Location {
  int64_t number;  // -2 inline, -1 where it is, else the position among the loops of its consumers
  LoopRef loop;
};

/// The primitives reject none of the locations; leaving the block where it is always is possible.
bool is_possible(const State& state, const BlockRef& block, const Location& location) {
  if (location.number == -1) return true;
  return is_possible(state, [&](State& trial) {
    if (location.number == -2) compute_inline(trial, block);
    else compute_at(trial, block, location.loop, true, -1);
  });
}

/// Where the block might be computed, in the order of their numbers; which of them are possible is to be tried.
std::vector<Location> locations_to_try(const State& state, const BlockRef& block) {
  std::vector<Location> out{{-2, {block.function, Var(), LoopMark::Inline}},
                            {-1, {block.function, Var(), LoopMark::Root}}};
  std::vector<BlockRef> consumers = get_consumers(state, block);
  if (consumers.empty()) return out;
  std::vector<const For*> loops = loops_around(state, consumers);
  std::vector<bool> spatial;
  int last_spatial = -1;
  for (size_t i = 0; i < loops.size(); ++i) {
    spatial.push_back(is_spatial(loops[i], block.function));
    if (spatial[i]) last_spatial = static_cast<int>(i);
  }
  // No spatial loops inside other ones, and no other loops at the end: nothing is gained there.
  bool seen_other = false;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (is_one(loops[i]->extent)) continue;
    if (spatial[i] && seen_other) break;
    if (!spatial[i] && static_cast<int>(i) > last_spatial) break;
    seen_other |= !spatial[i];
    out.push_back({static_cast<int64_t>(i), State::ref(block.function, loops[i])});
  }
  return out;
}

std::vector<Location> compute_locations(const State& state, const BlockRef& block) {
  std::vector<Location> out = locations_to_try(state, block);
  std::erase_if(out, [&](const Location& location) { return !is_possible(state, block, location); });
  return out;
}

}  // namespace

/// sample_categorical([1, 2, 4], [0.2, 0.3, 0.5]): one of the candidates; the decision is its index.
int64_t sample_categorical(int64_t* random, const Array<ObjectRef>& candidates, const Array<ObjectRef>& probs,
                           ObjectRef* decision) {
  if (candidates.size() != probs.size() || candidates.empty())
    throw Error(ValueError) << "sample_categorical has " << candidates.size() << " candidates and " << probs.size()
                            << " probabilities; there must be as many of both, and one at least";
  int64_t index;
  if (*decision) {
    index = integer_of(*decision);
    if (index < 0 || index >= static_cast<int64_t>(candidates.size()))
      throw Error(ValueError) << "the decision " << index << " is no index of " << candidates.size() << " candidates";
  } else {
    std::vector<double> weights;
    for (const ObjectRef& prob : probs) weights.push_back(number_of(prob));
    index = sample_index(random, weights);
  }
  *decision = PrimExpr(static_cast<int>(index));
  return integer_of(candidates[static_cast<size_t>(index)]);
}

/// sample_perfect_tile(i, 3): three factors whose product is the extent of i. A loop of unknown extent is not divided:
/// its first factor is -1, which split takes for "the rest". An earlier decision is made to fit the loop.
std::vector<int64_t> sample_perfect_tile(const State& state, int64_t* random, const LoopRef& loop, int parts,
                                         int max_innermost_factor, ObjectRef* decision) {
  constexpr int kMaxParts = 1024;
  if (parts < 1 || parts > kMaxParts)
    throw Error(ValueError) << "a loop cannot be divided into " << parts << " loops; 1 to " << kMaxParts
                            << " are possible";
  if (max_innermost_factor < 1 && max_innermost_factor != -1)
    throw Error(ValueError) << "max_innermost_factor is at least 1, or -1 for no limit, not " << max_innermost_factor;
  auto extent = as_int(state.find(loop).loop()->extent);
  std::vector<int64_t> factors;
  if (!extent) {
    factors.assign(static_cast<size_t>(parts), 1);
    factors[0] = -1;
  } else if (*decision) {
    auto* list = decision->as<ArrayNode>();
    if (!list || list->items.size() != static_cast<size_t>(parts))
      throw Error(ValueError) << "the decision of sample_perfect_tile is a list of " << parts << " ints";
    for (const ObjectRef& factor : list->items) factors.push_back(integer_of(factor));
    factors = fitted_tile(std::move(factors), *extent);
  } else {
    factors = sample_tile(random, *extent, parts, max_innermost_factor);
  }
  Array<ObjectRef> taken;
  for (int64_t factor : factors) taken.push_back(PrimExpr(static_cast<int>(factor)));
  *decision = taken;
  return factors;
}

std::vector<int64_t> compute_location_decisions(const State& state, const BlockRef& block) {
  std::vector<int64_t> out;
  for (const Location& location : compute_locations(state, block)) out.push_back(location.number);
  return out;
}

/// sample_compute_location(B): a loop of B's consumers that compute_at takes, or the word to inline B or to leave it. An
/// earlier decision that is not possible now gives way to the possible one before it.
LoopRef sample_compute_location(const State& state, int64_t* random, const BlockRef& block, ObjectRef* decision) {
  Location chosen{-1, {block.function, Var(), LoopMark::Root}};
  if (*decision) {
    int64_t wanted = integer_of(*decision);
    std::vector<Location> locations = locations_to_try(state, block);
    auto found = std::find_if(locations.rbegin(), locations.rend(), [&](const Location& location) {
      return location.number <= wanted && is_possible(state, block, location);
    });
    if (found != locations.rend()) chosen = *found;
  } else {
    std::vector<Location> locations = compute_locations(state, block);
    chosen = locations[static_cast<size_t>(sample_int(random, 0, static_cast<int>(locations.size())))];
  }
  *decision = PrimExpr(static_cast<int>(chosen.number));
  return chosen.loop;
}

}  // namespace tessera::schedule
