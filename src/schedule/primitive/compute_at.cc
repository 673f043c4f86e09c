// Moving a block under a loop of its consumers (compute_at) or of its producers (reverse_compute_at).

#include <unordered_map>

#include "arith/iter_map/iter_map.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/legality.h"
#include "schedule/primitive_error.h"
#include "schedule/primitives.h"
#include "schedule/region.h"
#include "schedule/scope.h"
#include "tir/threads.h"

namespace tessera::schedule {
namespace {

/// The loops of `cursor` that run inside `loop`, and those outside it that share the memory of `buffer`.
std::vector<const For*> relaxed_loops(const Cursor& cursor, const For* loop, const Buffer& buffer) {
  std::vector<const For*> out;
  const StorageRank storage = storage_rank(buffer->scope());
  bool is_inside = false;
  for (const For* outer : cursor.loops()) {
    bool is_shared = outer->thread_binding && spans_threads(storage, outer->thread_binding->thread_tag);
    if (is_inside || is_shared) out.push_back(outer);
    is_inside |= outer == loop;
  }
  return out;
}

/// Rejects blocks that are neither complete nor reductions, whose guard says more than their domain, or whose scope is
/// not made of stages.
void require_movable(const Cursor& block) {
  require_known_block(block);
  require_domain_guard(block);
  require_stage(block);
}

class Mover {
 public:
  Mover(State& state, const BlockRef& ref, const LoopRef& loop_ref, bool to_consumers)
      : state_(state), ref_(ref), loop_ref_(loop_ref), to_consumers_(to_consumers) {}

  void run(bool preserve_unit_loops, int index) {
    check();
    Cursor cursor = state_.find(ref_);
    Stmt nest = build(preserve_unit_loops);
    size_t top = cursor.path.size() - 1;
    while (top > 0 && cursor.path[top - 1].as<For>()) --top;
    state_.replace(ref_.function, cursor.path[top], Stmt());
    insert(nest, index);
    check_moved(cursor);
  }

 private:
  const char* partners() const { return to_consumers_ ? "consumer" : "producer"; }

  void check() {
    Cursor block = state_.find(ref_), loop = state_.find(loop_ref_);
    const String& name = block.block()->name_hint;
    if (!block.scope() || block.scope() != loop.scope() || contains(loop.stmt(), block.block()))
      throw Error(ScheduleError) << "Expected the block " << quoted(name) << " and loop " << loop_ref_.var->name
                                 << " to be under the same block scope, and loop not to be the ancestor of block";
    if (to_consumers_ && is_output(block))
      throw Error(ScheduleError) << "The block " << quoted(name) << " is an output block";
    require_movable(block);
    std::vector<BlockRef> all = to_consumers_ ? get_consumers(state_, ref_) : get_producers(state_, ref_);
    std::string missing;
    for (const BlockRef& partner : all) {
      const BlockNode* other = state_.find(partner).block();
      if (!contains(loop.stmt(), other)) missing += (missing.empty() ? "" : ", ") + other->name_hint.str();
    }
    if (!missing.empty() || all.empty())
      throw Error(ScheduleError) << "The primitive requires all the " << partners() << "(s) of block " << quoted(name)
                                 << " to be present under the target loop " << loop_ref_.var->name
                                 << (all.empty() ? ", but it has none" : "; these are not: " + missing);
  }

  /// What must hold at the new position: all that is read has been written, a consumer still runs through its whole
  /// domain, and sums are added up once.
  void check_moved(const Cursor& before) {
    Cursor now = state_.find(ref_);
    std::string why_not;
    bool is_fine = accumulates_once(now, &why_not) && (to_consumers_ || runs_all_of(now, before, &why_not)) &&
                   is_covered_around(now, &why_not);
    if (!is_fine)
      throw PrimitiveError({Stmt(before.block()), state_.find(loop_ref_).stmt()})
          << "block " << quoted(before.block()->name_hint) << " cannot stand in loop " << loop_ref_.var->name << ": "
          << why_not;
  }

  /// The part of each buffer that the partners under the loop touch in one of its iterations.
  void find_boxes(arith::Analyzer& analyzer) {
    Cursor block = state_.find(ref_);
    const For* loop = state_.find(loop_ref_).loop();
    auto is_partner = [&](const BlockNode* other) {
      if (other == block.block()) return false;
      for (const BufferRegion& own : to_consumers_ ? block.block()->writes : block.block()->reads)
        if (to_consumers_ ? reads_buffer(other, own->buffer) : writes_buffer(other, own->buffer)) return true;
      return false;
    };
    for (const Cursor& other : blocks_where(block.scope()->block->body, ref_.function, is_partner)) {
      for (const BufferRegion& own : to_consumers_ ? block.block()->writes : block.block()->reads)
        for (const BufferRegion& theirs : to_consumers_ ? other.block()->reads : other.block()->writes) {
          if (!own->buffer.same_as(theirs->buffer)) continue;
          auto& box = boxes_[own->buffer.get()];
          box = hull(box, touched(other, theirs, relaxed_loops(other, loop, own->buffer), analyzer), analyzer);
        }
    }
  }

  /// The values each axis of the block takes in one iteration of the loop; axes that are not told run through all.
  std::unordered_map<const VarNode*, arith::IntSet> find_domains(const Cursor& block, arith::Analyzer& analyzer) {
    std::unordered_map<const VarNode*, arith::IntSet> domains;
    for (const BufferRegion& own : to_consumers_ ? block.block()->writes : block.block()->reads) {
      auto box = boxes_.find(own->buffer.get());
      if (box == boxes_.end()) continue;
      auto tell = [&](const VarNode* var, const arith::IntSet& set) {
        auto [entry, is_new] = domains.emplace(var, set);
        if (is_new) return;
        if (!to_consumers_) require_same(entry->second, set, own->buffer, analyzer);
        entry->second = arith::union_sets({entry->second, set}, &analyzer);
      };
      std::vector<bool> is_told(own->region.size());
      for (const IterVar& iter : block.block()->iter_vars) {
        std::vector<size_t> dims = dimensions_along(own, iter, block.block());
        arith::IntSet set = values_along(own, dims, iter, box->second, analyzer);
        if (!set.defined()) continue;
        tell(iter->var.get(), set);
        for (size_t dim : dims) is_told[dim] = true;
      }
      for (size_t i = 0; i < own->region.size() && !to_consumers_; ++i)
        if (!is_told[i]) require_whole(box->second[i], own->buffer, i, analyzer);
    }
    return domains;
  }

  /// The dimensions of a region whose start depends on the axis, and on no other one.
  static std::vector<size_t> dimensions_along(const BufferRegion& region, const IterVar& iter, const BlockNode* block) {
    std::vector<size_t> out;
    for (size_t i = 0; i < region->region.size(); ++i) {
      const Range& range = region->region[i];
      bool is_alone = uses_var(range->min, iter->var) && !uses_var(range->extent, iter->var);
      for (const IterVar& other : block->iter_vars)
        is_alone = is_alone && (other->var.same_as(iter->var) || !uses_var(range->min, other->var));
      if (is_alone) out.push_back(i);
    }
    return out;
  }

  /// The values of an axis at which a region meets a box along the dimensions it counts; empty where that is not known.
  /// A producer may run for more of them than it must, a consumer for none that the box does not hold whole.
  arith::IntSet values_along(const BufferRegion& region, const std::vector<size_t>& dims, const IterVar& iter,
                             const Array<arith::IntSet>& box, arith::Analyzer& analyzer) const {
    for (size_t dim : dims)
      if (!box[dim].has_lower_bound() || !box[dim].has_upper_bound()) return nullptr;
    if (dims.empty()) return nullptr;
    const PrimExpr start = region->region[dims[0]]->min, extent = region->region[dims[0]]->extent;
    const arith::IntSet set = box[dims[0]];
    PrimExpr zero = make_zero(start.dtype()), one = make_const(start.dtype(), 1);
    if (dims.size() == 1) {
      if (start.same_as(iter->var) && is_one(extent)) return set;
      // step * v + base <= max  and  min < step * v + base + extent
      PrimExpr base = analyzer.simplify(substitute(start, {{iter->var, zero}}));
      PrimExpr step = analyzer.simplify(substitute(start, {{iter->var, one}}) - base);
      const int64_t *by = as_int(step), *size = as_int(extent);
      if (by && *by > 0 && size && analyzer.can_prove_equal(start, iter->var * step + base) &&
          (to_consumers_ || *size <= *by)) {
        PrimExpr first = floordiv(set.min() - base - extent + step, step), last = floordiv(set.max() - base, step);
        if (!to_consumers_ && *size != *by) return nullptr;
        if (!to_consumers_ && !(analyzer.can_prove_equal(floormod(set.min() - base, step), zero) &&
                                analyzer.can_prove_equal(floormod(set.max() + one - base, step), zero)))
          return nullptr;
        return arith::IntSet::interval(analyzer.simplify(first), analyzer.simplify(last));
      }
    }
    // The dimensions as digits of the axis: their least and greatest values are those of the axis.
    Array<PrimExpr> digits, least, greatest;
    PrimExpr count = one;
    for (size_t dim : dims) {
      if (!is_one(region->region[dim]->extent)) return nullptr;
      digits.push_back(region->region[dim]->min);
      least.push_back(box[dim].min());
      greatest.push_back(box[dim].max());
      count = count * (box[dim].max() - box[dim].min() + one);
    }
    arith::IterMapResult map = arith::detect_iter_map(digits, {{iter->var, iter->dom}}, bool_imm(true),
                                                      arith::IterMapLevel::Bijective, &analyzer, false);
    if (map->indices.size() != digits.size()) return nullptr;
    PrimExpr first = arith::inverse_affine_iter_map(map->indices, least).get_or_null(iter->var);
    PrimExpr last = arith::inverse_affine_iter_map(map->indices, greatest).get_or_null(iter->var);
    if (!first || !last) return nullptr;
    bool is_whole = analyzer.can_prove_equal(last - first + one, count);
    if (!to_consumers_ && !is_whole) return nullptr;
    return arith::IntSet::interval(analyzer.simplify(first), analyzer.simplify(last));
  }

  void require_same(const arith::IntSet& a, const arith::IntSet& b, const Buffer& buffer, arith::Analyzer& analyzer) {
    if (analyzer.can_prove_equal(a.min(), b.min()) && analyzer.can_prove_equal(a.max(), b.max())) return;
    throw Error(ScheduleError) << "an iteration of loop " << loop_ref_.var->name << " produces another part of "
                               << buffer->name << " than the block needs with it";
  }
  /// A consumer that does not walk along this dimension may run only where all of it has been produced.
  void require_whole(const arith::IntSet& set, const Buffer& buffer, size_t dim, arith::Analyzer& analyzer) {
    if (set.has_lower_bound() && set.has_upper_bound() &&
        analyzer.can_prove(set.min() <= make_zero(set.min().dtype())) &&
        analyzer.can_prove(set.max() >= buffer->shape[dim] - 1))
      return;
    throw Error(ScheduleError) << "the block needs more of dimension " << dim << " of " << buffer->name
                               << " than an iteration of loop " << loop_ref_.var->name << " produces";
  }

  Stmt build(bool preserve_unit_loops) {
    Cursor block = state_.find(ref_), target = state_.find(loop_ref_);
    arith::Analyzer analyzer;
    std::vector<const For*> outer = target.loops();
    outer.push_back(target.loop());
    for (const For* loop : outer) analyzer.bind(loop->loop_var, range_of(loop));
    find_boxes(analyzer);
    auto domains = find_domains(block, analyzer);

    Array<PrimExpr> values;
    std::vector<std::pair<Var, PrimExpr>> loops;
    PrimExpr predicate = bool_imm(true);
    Map<Var, PrimExpr> at;  // a domain may tell of axes before it: windows that grow
    for (const IterVar& iter : block.block()->iter_vars) {
      const PrimExpr begin = substitute(iter->dom->min, at), count = substitute(iter->dom->extent, at);
      PrimExpr first = begin, extent = count;
      auto told = domains.find(iter->var.get());
      bool is_told = told != domains.end();
      if (is_told) {
        first = analyzer.simplify(told->second.min());
        extent = analyzer.simplify(told->second.max() - first + 1);
        const int64_t* whole = as_int(count);
        if (!as_int(extent) &&
            whole) {  // an extent that varies: its greatest value, for a producer; else all of the axis
          int64_t most = to_consumers_ ? analyzer.const_int_bound(extent).max : *whole;
          is_told = most < *whole;
          if (!is_told) first = begin;
          extent = is_told ? make_const(extent.dtype(), most) : count;
        }
      }
      PrimExpr value = first;
      if (preserve_unit_loops || !is_one(extent)) {
        Var var = make_var("ax" + std::to_string(loops.size()), iter->var->dtype);
        loops.emplace_back(var, extent);
        analyzer.bind(var, make_range(make_zero(extent.dtype()), extent));
        value = is_zero(first) ? PrimExpr(var) : first + var;
      }
      values.push_back(value);
      at.set(iter->var, value);
      if (!is_told) continue;
      PrimExpr end = begin + count;
      if (!analyzer.can_prove(value >= begin))  // 2 <= t*4 + ax0, not t*4 - 2 + ax0 >= 0
        predicate = logical_and(predicate, analyzer.rewrite_simplify(value >= begin));
      if (!analyzer.can_prove(value < end)) predicate = logical_and(predicate, value < end);
    }
    Stmt nest = make(BlockRealize{.iter_values = values, .predicate = predicate, .block = block.realize()->block});
    for (size_t i = loops.size(); i-- > 0;)
      nest = make(For{.loop_var = loops[i].first,
                      .min = make_zero(loops[i].second.dtype()),
                      .extent = loops[i].second,
                      .body = nest});
    return nest;
  }

  /// Behind the last producer and before the first consumer: -1 as late as possible, -2 as early, else at `index`.
  void insert(const Stmt& nest, int index) {
    Stmt target = state_.find(loop_ref_).stmt();
    const For* loop = target.as<For>();
    std::vector<Stmt> parts{loop->body};
    if (auto* seq = loop->body.as<SeqStmt>()) parts = seq->seq.vec();
    const BlockNode* block = block_of(nest);
    int early = 0, late = static_cast<int>(parts.size());
    for (int i = static_cast<int>(parts.size()); i-- > 0;) {
      bool reads_ours = false, writes_ours = false;
      for_each_block(parts[static_cast<size_t>(i)], [&](const BlockNode* other) {
        for (const BufferRegion& write : block->writes) reads_ours |= reads_buffer(other, write->buffer);
        for (const BufferRegion& read : block->reads) writes_ours |= writes_buffer(other, read->buffer);
      });
      if (reads_ours) late = i;
      if (writes_ours && early == 0) early = i + 1;
    }
    int at = index == -1 ? late : index == -2 ? early : index;
    if (early > late || at < early || at > late)
      throw Error(ScheduleError) << "there is no position for the block at index " << index << " of loop "
                                 << loop_ref_.var->name << ": it may stand at " << early << " to " << late;
    parts.insert(parts.begin() + at, nest);
    state_.replace(ref_.function, target, with(loop, &For::body, sequence(parts)));
  }

  State& state_;
  BlockRef ref_;
  LoopRef loop_ref_;
  bool to_consumers_;
  std::unordered_map<const BufferNode*, Array<arith::IntSet>> boxes_;
};

}  // namespace

/// compute_at(B, i):   for a: B[a] = f(a);  for i: for j: C[i, j] = g(B[e(i, j)])
///                 =>  for i: { for ax: B[..ax..] = f(..);  for j: C[i, j] = g(B[e(i, j)]) }
/// B computes in each iteration the box that its consumers inside read. Requires: all consumers stand under the loop.
void compute_at(State& state, const BlockRef& block, const LoopRef& loop, bool preserve_unit_loops, int index) {
  Mover(state, block, loop, true).run(preserve_unit_loops, index);
}

/// reverse_compute_at(C, i): the consumer C runs in each iteration on the box that its producers inside wrote.
void reverse_compute_at(State& state, const BlockRef& block, const LoopRef& loop, bool preserve_unit_loops, int index) {
  Mover(state, block, loop, false).run(preserve_unit_loops, index);
}

}  // namespace tessera::schedule
