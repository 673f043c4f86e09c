#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/mutator/mutators.h"
#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {
namespace {

struct Tile {
  Instruction inst;
  std::vector<int64_t> factors;
  int64_t most_inside;  // -1: no limit
};

/// The tiles that have a factor to give away.
std::vector<Tile> tiles_of(const Trace& trace) {
  std::vector<Tile> out;
  for (const Instruction& inst : schedule::instructions_of(trace, true)) {
    auto* factors =
        inst->kind->name == "SamplePerfectTile" ? trace->decisions.get_or_null(inst).as<ArrayNode>() : nullptr;
    auto* limit = factors ? inst->attrs[1].as<IntImm>() : nullptr;
    if (!limit || factors->items.size() < 2) continue;
    Tile tile{inst, {}, limit->value};
    bool is_divided = false;
    for (const ObjectRef& each : factors->items) {
      auto* factor = each.as<IntImm>();
      tile.factors.push_back(factor ? factor->value : 0);
      is_divided |= tile.factors.back() > 1;
    }
    if (is_divided) out.push_back(std::move(tile));
  }
  return out;
}

/// The divisors of n but for 1, up to `most`.
std::vector<int64_t> divisors(int64_t n, int64_t most) {
  std::vector<int64_t> out;
  for (int64_t d = 2; d <= std::min(n, most); ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

constexpr int kMaxTries = 64;

Trace with_moved_factor(const Trace& trace, Tile tile, int64_t* random) {
  using schedule::sample_int;
  int parts = static_cast<int>(tile.factors.size());
  for (int i = 0; i < kMaxTries; ++i) {
    auto from = static_cast<size_t>(sample_int(random, 0, parts));
    if (tile.factors[from] <= 1) continue;
    auto to = static_cast<size_t>(sample_int(random, 0, parts - 1));
    if (to >= from) ++to;
    bool is_limited = static_cast<int>(to) == parts - 1 && tile.most_inside != -1;
    int64_t most = is_limited ? tile.most_inside / tile.factors[to] : tile.factors[from];
    std::vector<int64_t> possible = divisors(tile.factors[from], most);
    if (possible.empty()) continue;
    int64_t factor = possible[static_cast<size_t>(sample_int(random, 0, static_cast<int>(possible.size())))];
    tile.factors[from] /= factor;
    tile.factors[to] *= factor;
    Array<ObjectRef> decision;
    for (int64_t each : tile.factors) decision.push_back(PrimExpr(static_cast<int>(each)));
    return schedule::trace_with_decision(trace, tile.inst, decision, true);
  }
  return {};
}

}  // namespace

Trace MutateTileSizeNode::apply(const Trace& trace, int64_t* random) {
  std::vector<Tile> tiles = tiles_of(trace);
  std::vector<Choice> fetches = choices_noted_as(trace, {note::kCooperativeFetch});
  int count = static_cast<int>(tiles.size() + fetches.size());
  if (count == 0) return {};
  auto at = static_cast<size_t>(schedule::sample_int(random, 0, count));
  if (at < tiles.size()) return with_moved_factor(trace, tiles[at], random);
  return with_other_choice(trace, fetches[at - tiles.size()], random);
}

}  // namespace tessera::meta_schedule
