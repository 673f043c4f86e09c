#include "topi/cpu/contraction/tile_contraction.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/cpu/contraction/half_floats.h"
#include "topi/cpu/contraction/row_blocks.h"
#include "topi/cpu/contraction/tile_plan.h"
#include "topi/cpu/number.h"

namespace tessera::topi {
namespace {

register_types<ContractionKnobsNode> contraction_types;

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kMinLanes = 4, kMaxVectors = 8, kMaxUnrolled = 7;
/// Pixels of a tile where rows end at run time: each smaller tile is code of its own.
constexpr int64_t kMaxDynamicColumns = 6;
/// Code beyond is not worth having.
constexpr int64_t kMaxTileSums = 256;

/// The factors, as the last axis of the result sees them.
struct Factors {
  std::vector<const BufferLoad*> lanes;   // one element after the other
  std::vector<const BufferLoad*> single;  // the same for all
  bool has_groups = false;                // one of `lanes` reads its vector in another order: neighbours share elements
  const GroupDot* dot = nullptr;          // several a lane, along the innermost reduce axis
  bool are_widened = false;               // `lanes` are fp16 and bf16
};

/// Lanes of a load that are all in one vector, though not one after the other: those of channels in small groups.
bool reads_one_vector(const BufferLoad* load, const Var& axis, int64_t extent) {
  constexpr int64_t kMaxLanes = 16;
  if (extent == kDynamic || extent > kMaxLanes) return false;
  arith::Analyzer analyzer;
  PrimExpr flat = PrimExpr(0);
  for (size_t i = 0; i < load->indices.size(); ++i) flat = flat * load->buffer->shape[i] + load->indices[i];
  auto at = [&](int64_t lane) {
    return substitute(flat, [&](const Var& var) { return var.same_as(axis) ? number(lane) : PrimExpr(); });
  };
  for (int64_t lane = 1; lane < extent; ++lane) {
    PrimExpr apart = analyzer.simplify(at(lane) - at(0));
    const int64_t* value = as_int(apart);
    if (!value || *value < 0 || *value >= extent) return false;
  }
  return true;
}

/// The factors of a contraction by groups; nothing where it is none, or where the machine has no instruction for it.
std::optional<Factors> group_factors_of(const Reduction& reduction, const Machine& machine, const GroupDot& dot) {
  if (!group_isa(machine, dot) || reduction.reduce_extents.back() != dot.group || reduction.reduce_axes < 2) return {};
  if (reduction.block->writes[0]->buffer->dtype != dot.sum) return {};
  const Var& along = reduction.block->iter_vars.back()->var;
  Factors out;
  out.dot = &dot;
  for (const BufferLoad* load : loads_of(reduction)) {
    std::optional<int64_t> apart = stride(load, reduction.axes.back());
    if (stride(load, along) != 1) return {};
    if (apart == 0 && load->buffer->dtype == dot.a) out.single.push_back(load);
    else if (apart == dot.group && load->buffer->dtype == dot.b) out.lanes.push_back(load);
    else return {};
  }
  if (out.lanes.size() != 1 || out.single.size() != 1) return {};
  return out;
}

std::optional<Factors> factors_of(const Reduction& reduction) {
  Factors out;
  DataType dtype = reduction.block->writes[0]->buffer->dtype;
  for (const BufferLoad* load : loads_of(reduction)) {
    std::optional<int64_t> apart = stride(load, reduction.axes.back());
    const DataType own = load->buffer->dtype;
    const bool is_widened = (dtype == DataType::Int(32) && own.bits == 8 && !own.is_float()) ||
                            (dtype == DataType::Float(32) && is_half_float(own));
    if (!apart && own == dtype && reads_one_vector(load, reduction.axes.back(), reduction.extents.back())) {
      out.has_groups = true;
      out.lanes.push_back(load);
      continue;
    }
    if (!apart || *apart < 0 || *apart > 1 || (own != dtype && !is_widened)) return {};
    out.are_widened = out.are_widened || (is_half_float(own) && *apart == 1);
    (*apart == 1 ? out.lanes : out.single).push_back(load);
  }
  bool is_contraction = out.lanes.size() + out.single.size() == 2 && !out.lanes.empty();
  return is_contraction ? std::optional(out) : std::nullopt;
}

bool is_shared(const BufferLoad* load, const Var& axis) { return stride(load, axis) == 0; }

using Split = ContractionPlan::Split;

/// What a tile may be made of.
struct Space {
  int64_t lanes = 1;
  std::vector<size_t> pixels;  // at most two axes, the inner one last
  std::optional<size_t> vectors;
  int64_t vector_extent = 1;
  bool reads_pixels = false;  // a factor has lanes of its own for each pixel
  bool widens = false;        // lanes, as they are read
};

std::optional<Space> space_of(const Reduction& reduction, const Factors& factors, const Machine& machine) {
  const size_t last = reduction.axes.size() - 1;
  Space out;
  const int64_t extent = reduction.extents[last];
  const int64_t bytes = factors.dot ? group_isa(machine, *factors.dot)->vector_bytes : machine->vector_bytes;
  const int64_t native = bytes / reduction.block->writes[0]->buffer->dtype.bytes();
  // A dynamic row of lanes is split into whole vectors and a remainder.
  for (out.lanes = native; extent != kDynamic && out.lanes > 1 && extent % out.lanes != 0;) out.lanes /= 2;
  if (extent == kDynamic && (factors.single.empty() || factors.dot)) return {};
  if (out.lanes < std::min(native, kMinLanes) || (factors.has_groups && out.lanes != extent) ||
      (factors.dot && !group_isa(machine, *factors.dot, out.lanes)))
    return {};
  for (size_t i = 0; i < last; ++i) {
    if (reduction.extents[i] == 1) continue;
    auto shares = [&](const BufferLoad* load) { return is_shared(load, reduction.axes[i]); };
    bool all_single = std::all_of(factors.single.begin(), factors.single.end(), shares);
    if (std::any_of(factors.lanes.begin(), factors.lanes.end(), shares)) out.pixels.push_back(i);
    else if (!factors.single.empty() && all_single && reduction.extents[i] != kDynamic) out.vectors = i;
  }
  if (out.pixels.size() > 2) out.pixels.erase(out.pixels.begin(), out.pixels.end() - 2);
  out.reads_pixels = factors.single.empty();
  out.widens = factors.are_widened;
  if (extent > out.lanes && !factors.single.empty()) out.vectors = last;
  if (extent > out.lanes && factors.single.empty() && out.pixels.empty()) return {};
  if (out.vectors) out.vector_extent = *out.vectors == last ? extent / out.lanes : reduction.extents[*out.vectors];
  if (out.pixels.empty() && out.vector_extent == 1) return {};
  return out;
}

/// How many pixels a row may have: one number, or where that is known only at run time some that are likely.
std::vector<int64_t> widths_of(const Reduction& reduction, const Space& space) {
  const int64_t width = space.pixels.empty() ? 1 : reduction.extents[space.pixels.back()];
  if (width != kDynamic) return {width};
  return {7, 10, 14, 20, 28, 40, 56, 80};
}

/// `exceeds_cache`: lanes do not stay in the cache from tile to tile, so that each reads its vectors from L2.
ContractionKnobsNode choose(const Reduction& reduction, const Space& space, const Machine& machine, int64_t registers,
                            bool exceeds_cache) {
  const std::vector<int64_t> widths = widths_of(reduction, space);
  const int64_t height = space.pixels.size() < 2 ? 1 : reduction.extents[space.pixels[0]];
  TileSpace tiles{.rows = {widths, Cover::Rest}, .vectors = {{space.vector_extent}, Cover::Whole}};
  tiles.max_rows = widths.size() > 1 ? kMaxDynamicColumns : registers;
  tiles.max_vectors = std::min(kMaxVectors, space.vector_extent);
  tiles.max_stack = widths.size() > 1 || height == kDynamic ? 1 : height;
  tiles.fits = [&](const RegisterTile& tile) {
    // what neighbouring window elements read stays too
    return space.reads_pixels ? 2 * tile.rows + 5 <= registers : outer_registers(tile) <= registers;
  };
  int64_t steps = 1;
  for (int64_t extent : reduction.reduce_extents) steps *= extent == kDynamic ? 1 : extent;
  tiles.tile_cost = [&](const RegisterTile& tile) {
    return (exceeds_cache ? outer_tile_cost : cached_tile_cost)(machine, tile, steps, space.widens);
  };
  tiles.ties = Ties::Larger;
  const TileChoice choice = cheapest_tile(tiles);
  ContractionKnobsNode out;
  out.rows = static_cast<int32_t>(choice.stack);
  out.columns = static_cast<int32_t>(choice.tile.rows);
  out.vectors = static_cast<int32_t>(choice.tile.vectors);
  return out;
}

/// All of the elements of the factors that have lanes: the weights of a convolution.
int64_t lane_bytes(const Factors& factors) {
  int64_t out = 0;
  for (const BufferLoad* load : factors.lanes) out += bytes_of(load->buffer);
  return out;
}

class Scheduler {
 public:
  Scheduler(State& state, BlockRef block, BlockRef store, const ContractionPlan& plan)
      : state_(state),
        block_(std::move(block)),
        store_(std::move(store)),
        reduction_(plan.reduction),
        tile_(plan),
        pixels_(plan.pixels()) {}

  std::vector<LoopRef> split_into_tiles() {
    std::vector<LoopRef> outer = store_loops(tile_.knobs->vectors_first);
    schedule::set_scope(state_, block_, 0, "local");
    schedule::compute_at(state_, block_, outer.back(), true, -1);
    reduction_loops(tile_.knobs->unrolls_window);
    return outer;
  }

  void run() {
    std::vector<LoopRef> outer = split_into_tiles();
    if (outer.size() > 1) outer.pop_back();
    if (outer.size() > 1 && reduction_.extents[last()] == kDynamic)
      outer.pop_back();  // it is partitioned before its remainder
    if (tile_.knobs->copies_block) return copy_blocks(outer);
    if (tile_.padded.key && attach_padding(&outer)) return;
    if (is_dynamic(reduction_) || reduction_.steps >= ParallelThreshold::contraction) share(outer);
  }

 private:
  size_t last() const { return reduction_.axes.size() - 1; }
  bool vectors_in_last() const { return tile_.knobs->vectors > 1 && tile_.vector_axis == last(); }

  /// The loops of the stage that stores: outer ones over tiles, then those of a tile. Returns the outer ones.
  std::vector<LoopRef> store_loops(bool vectors_first) {
    std::vector<LoopRef> axes = last_loops(state_, store_, reduction_.axes.size()), tile;
    auto split_axis = [&](size_t axis, int64_t size) {
      auto parts = schedule::split(state_, axes[axis], {PrimExpr(), number(size)}, true);
      axes[axis] = parts[0];
      return parts[1];
    };
    LoopRef lanes = split_axis(last(), tile_.lanes);
    if (reduction_.extents[last()] == kDynamic)
      schedule::annotate(state_, state_.find(axes[last()]), attr::kPragmaLoopPartitionHint, PrimExpr(1));
    for (const Split& pixels : pixels_) tile.push_back(split_axis(pixels.axis, pixels.size));
    if (tile_.knobs->vectors > 1) tile.push_back(split_axis(*tile_.vector_axis, tile_.knobs->vectors));
    for (const LoopRef& loop : tile) schedule::unroll(state_, loop);
    schedule::vectorize(state_, lanes);
    // tiles that follow each other read the same lanes
    std::vector<LoopRef> outer = axes;
    if (!pixels_.empty()) {
      const Split& inner = pixels_.back();
      outer.erase(outer.begin() + static_cast<long>(inner.axis));
      if (vectors_first && tile_.vector_axis.value_or(0) == last())
        std::rotate(outer.begin(), outer.end() - 1, outer.end());
      outer.push_back(axes[inner.axis]);
      const bool is_dynamic =
          reduction_.extents[inner.axis] == kDynamic;  // then each number of pixels left gets a tile
      if (is_dynamic || reduction_.extents[inner.axis] % inner.size != 0)
        schedule::annotate(state_, state_.find(axes[inner.axis]), attr::kPragmaLoopPartitionHint,
                           is_dynamic ? number(inner.size) : PrimExpr(1));
    }
    if (tile_.knobs->block_rows > 0) block_rows(axes, &outer);
    std::vector<LoopRef> order = outer;
    order.insert(order.end(), tile.begin(), tile.end());
    order.push_back(lanes);
    schedule::reorder(state_, order);
    return outer;
  }

  /// Moves loops over blocks of rows outside of those over vectors: what a block reads stays in the cache.
  ///   vectors, planes, rows, columns  =>  planes, blocks of rows, vectors, rows of a block, columns
  void block_rows(const std::vector<LoopRef>& axes, std::vector<LoopRef>* outer) {
    const size_t vectors = *tile_.vector_axis, rows = *tile_.row_axis();
    auto parts = schedule::split(state_, axes[rows], {PrimExpr(), number(tile_.knobs->block_rows)}, true);
    auto first = outer->begin() + static_cast<long>(vectors), last = outer->begin() + static_cast<long>(rows);
    *last = parts[0];
    std::rotate(first, first + 1, last + 1);
    outer->insert(last + 1, parts[1]);
  }

  /// The loops of the sums: axes of one iteration, the reduction, then the tile.
  void reduction_loops(bool unrolls_window) {
    const size_t count = reduction_.axes.size();
    std::vector<LoopRef> mine = last_loops(state_, block_, count + reduction_.reduce_axes), tile, order;
    std::vector<bool> in_tile(count, false);
    for (const Split& pixels : pixels_) {
      tile.push_back(mine[pixels.axis]);
      in_tile[pixels.axis] = true;
    }
    LoopRef lanes = mine[last()];
    in_tile[last()] = true;
    if (vectors_in_last()) {
      auto parts = schedule::split(state_, lanes, {PrimExpr(), number(tile_.lanes)}, true);
      tile.push_back(parts[0]);
      lanes = parts[1];
    } else if (tile_.knobs->vectors > 1) {
      tile.push_back(mine[*tile_.vector_axis]);
      in_tile[*tile_.vector_axis] = true;
    }
    for (size_t i = 0; i < mine.size(); ++i)
      if (i >= count || !in_tile[i]) order.push_back(mine[i]);
    if (tile_.dot) order.pop_back();
    order.insert(order.end(), tile.begin(), tile.end());
    order.push_back(lanes);
    if (tile_.dot) order.push_back(mine.back());
    schedule::reorder(state_, order);
    if (unrolls_window) schedule::unroll(state_, mine.back());
    for (const LoopRef& loop : tile) schedule::unroll(state_, loop);
    if (!tile_.dot) schedule::vectorize(state_, lanes);
    BlockRef init = schedule::decompose_reduction(state_, block_, mine[count]);
    std::vector<LoopRef> at_start = last_loops(state_, init, tile.size() + 1);
    if (tile_.dot) schedule::tensorize(state_, state_.find(lanes), group_dot_intrin(*tile_.dot, *tile_.dot_isa));
    mark(at_start);
  }

  LoopRef share(const std::vector<LoopRef>& outer) {
    return share_between_threads(state_, outer, reduction_, ParallelThreshold::contraction);
  }

  /// Padding inside the loop that threads share: what is padded is still in the cache when it is read.
  bool attach_padding(std::vector<LoopRef>* outer) {
    const Split rows{pixels_.back().axis - 1, tile_.knobs->padded_rows};
    if (rows.axis >= outer->size() || (!is_dynamic(reduction_) && reduction_.steps < ParallelThreshold::contraction))
      return false;
    auto parts = schedule::split(state_, (*outer)[rows.axis], {PrimExpr(), number(rows.size)}, true);
    std::vector<LoopRef> shared(outer->begin(), outer->begin() + static_cast<long>(rows.axis));
    shared.push_back(parts[0]);
    LoopRef all = share(shared);
    schedule::compute_at(state_, tile_.padded, all, true, -1);
    schedule::vectorize(state_, last_loops(state_, tile_.padded, 1)[0]);
    return true;
  }

  /// The data of a block of rows is copied for itself, inside the loop that threads share.
  void copy_blocks(const std::vector<LoopRef>& outer) {
    const size_t rows = *tile_.row_axis();
    std::vector<LoopRef> blocks(outer.begin(), outer.begin() + static_cast<long>(rows));
    LoopRef all = share(blocks);
    const Array<BufferRegion> reads = state_.find(block_).block()->reads;
    int index = 0;
    while (!reads[static_cast<size_t>(index)]->buffer.same_as(tile_.data)) ++index;
    BlockRef copy = schedule::cache_read(state_, block_, index, "global", {});
    schedule::compute_at(state_, copy, all, true, -1);
    schedule::vectorize(state_, last_loops(state_, copy, 1)[0]);
  }

  /// Loops of a tile and then its lanes.
  void mark(const std::vector<LoopRef>& loops) {
    for (size_t i = 0; i + 1 < loops.size(); ++i) schedule::unroll(state_, loops[i]);
    schedule::vectorize(state_, loops.back());
  }

  State& state_;
  BlockRef block_, store_;
  const Reduction& reduction_;
  const ContractionPlan& tile_;
  const std::vector<Split> pixels_;
};

/// The stage that pads what each pixel reads for itself, if there is one.
BlockRef padding_of(const State& state, const BlockRef& block, const Reduction& reduction) {
  if (reduction.axes.size() < 4) return {};
  if (std::any_of(reduction.extents.begin() + 1, reduction.extents.end(), [](int64_t e) { return e == kDynamic; }))
    return {};
  for (const BlockRef& producer : schedule::get_producers(state, block)) {
    schedule::Cursor cursor = state.find(producer);
    bool is_plain = is_spatial(cursor) && !is_scheduled(cursor) && schedule::get_consumers(state, producer).size() == 1;
    if (is_plain && cursor.loops().size() == reduction.axes.size()) return producer;
  }
  return {};
}

/// As many rows of tiles as leave the data they are made of in a part of L2.
int64_t padded_rows(const ContractionPlan& plan, int64_t tile_rows, const State& state, const Machine& machine) {
  const Reduction& reduction = plan.reduction;
  const size_t axis = plan.pixel_axes.back() - 1;
  const Buffer& padded = state.find(plan.padded).block()->writes[0]->buffer;
  const Array<PrimExpr>& shape = padded->shape;
  int64_t row_bytes = padded->dtype.bytes();
  for (size_t i = axis + 1; i < shape.size(); ++i) row_bytes *= as_int(shape[i]) ? *as_int(shape[i]) : 1;
  const int64_t height = reduction.extents[axis], padded_height = as_int(shape[axis]) ? *as_int(shape[axis]) : height;
  const int64_t tiles = height / tile_rows;
  auto bytes = [&](int64_t count) { return count * tile_rows * padded_height / height * row_bytes; };
  int64_t count = tiles;
  while (count > 1 && (tiles % count != 0 || bytes(count) > machine->l2_bytes / 4)) --count;
  return count;
}

/// A ScheduleError where knobs do not fit the reduction.
void check_knobs(const ContractionPlan& plan) {
  const ContractionKnobs& knobs = plan.knobs;
  auto require = [](bool holds, const char* what) {
    if (!holds) throw Error(ScheduleError) << "the tile of a contraction does not fit it: " << what;
  };
  require(std::min({knobs->rows, knobs->columns, knobs->vectors, knobs->padded_rows}) >= 1, "all sizes are at least 1");
  require(plan.vector_extent % knobs->vectors == 0, "vectors are a divisor of those there are");
  require(knobs->columns == 1 || !plan.pixel_axes.empty(), "no axis of pixels has several columns");
  require(int64_t{knobs->rows} * knobs->columns * knobs->vectors <= kMaxTileSums, "it has too many sums");
  if (knobs->block_rows > 0) {
    require(plan.row_axis().has_value(), "no axis of rows is inside of one of vectors");
    const int64_t height = plan.reduction.extents[*plan.row_axis()];
    require(height != kDynamic && height / knobs->rows % knobs->block_rows == 0, "blocks of rows are whole");
  }
  require(!knobs->copies_block || (knobs->block_rows > 0 && plan.data), "only blocks of rows are copied");
  if (knobs->rows == 1) return;
  require(plan.pixel_axes.size() == 2, "only one axis of pixels");
  const int64_t height = plan.reduction.extents[plan.pixel_axes[0]], width = plan.reduction.extents[plan.pixel_axes[1]];
  require(height != kDynamic && height % knobs->rows == 0 && width == knobs->columns, "several rows are whole ones");
}

}  // namespace

std::optional<ContractionPlan> plan_contraction(const State& state, const BlockRef& block, const Machine& machine,
                                                const std::vector<int64_t>& extents) {
  std::optional<Reduction> reduction = as_reduction(state.find(block), true);
  if (!reduction) return {};
  if (!extents.empty()) reduction->extents = extents;
  std::optional<Factors> factors = group_factors_of(*reduction, machine, kInt8Dot);
  if (!factors) factors = group_factors_of(*reduction, machine, kBf16Dot);
  if (!factors) factors = factors_of(*reduction);
  if (!factors) return {};
  std::optional<Space> space = space_of(*reduction, *factors, machine);
  if (!space) return {};
  const Isa* dot_isa = factors->dot ? group_isa(machine, *factors->dot, space->lanes) : nullptr;
  const bool exceeds_cache = lane_bytes(*factors) > machine->l2_bytes / 2;
  ContractionKnobsNode knobs =
      choose(*reduction, *space, machine, dot_isa ? dot_isa->registers : machine->vector_registers, exceeds_cache);
  ContractionPlan out;
  out.reduction = *reduction;
  out.lanes = space->lanes;
  out.pixel_axes = space->pixels;
  out.vector_axis = space->vectors;
  out.vector_extent = space->vector_extent;
  out.dot = factors->dot;
  out.dot_isa = dot_isa;
  out.reads_pixels = space->reads_pixels;
  if (factors->single.size() == 1) out.data = factors->single[0]->buffer;
  knobs.vectors_first = exceeds_cache;
  const int64_t max_window = factors->has_groups ? out.lanes : kMaxUnrolled;
  const int64_t window = reduction->reduce_extents.back();
  knobs.unrolls_window = space->reads_pixels && window != kDynamic && window <= max_window;
  const bool has_rows = !out.pixel_axes.empty() && out.pixel_axes.back() > 0;
  if (extents.empty() && out.reads_pixels && has_rows) out.padded = padding_of(state, block, *reduction);
  if (out.padded.key) {
    const bool has_tile_rows = knobs.rows > 1 && out.pixel_axes[0] == out.pixel_axes.back() - 1;
    knobs.padded_rows = static_cast<int32_t>(padded_rows(out, has_tile_rows ? knobs.rows : 1, state, machine));
  }
  if (extents.empty() && factors->single.size() == 1)
    choose_row_blocks(out, *factors->single[0], lane_bytes(*factors), schedule::get_producers(state, block).empty(),
                      machine, &knobs);
  out.knobs = make(std::move(knobs));
  return out;
}

std::optional<size_t> ContractionPlan::row_axis() const {
  if (!vector_axis || pixel_axes.empty() || *vector_axis + 1 >= pixel_axes.back()) return {};
  return pixel_axes.back() - 1;
}

std::vector<Split> ContractionPlan::pixels() const {
  std::vector<Split> out;
  if (knobs->rows > 1) out.push_back({pixel_axes[0], knobs->rows});
  if (!pixel_axes.empty()) out.push_back({pixel_axes.back(), knobs->columns});
  return out;
}

std::vector<LoopRef> apply_contraction(State& state, const BlockRef& block, const BlockRef& store,
                                       const ContractionPlan& plan) {
  return Scheduler(state, block, store, plan).split_into_tiles();
}

void tile_contraction(State& state, const BlockRef& block, const ContractionPlan& plan) {
  check_knobs(plan);
  tile_with_store(state, block, plan.reduction,
                  [&](const BlockRef& store) { Scheduler(state, block, store, plan).run(); });
}

}  // namespace tessera::topi
