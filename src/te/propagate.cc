#include "te/propagate.h"

#include <algorithm>
#include <ranges>

#include "ir/prim/ops.h"

namespace tessera::te {
namespace {

template <class Known>
auto values_of(const std::vector<IterVar>& axes, const Known& known) {
  std::vector<std::decay_t<decltype(known(axes[0]))>> out;
  for (const IterVar& axis : axes) out.push_back(known(axis));
  return out;
}

std::vector<Range> domains_of(const std::vector<IterVar>& axes, const Bounds& bounds) {
  return values_of(axes, [&](const IterVar& axis) { return bounds[axis]; });
}

bool has_any(const AxisSet& set, const std::vector<IterVar>& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](const IterVar& axis) { return set.count(axis.get()) != 0; });
}

void insert_all(AxisSet* set, const std::vector<IterVar>& axes) {
  for (const IterVar& axis : axes) set->insert(axis.get());
}

void set_domain(Bounds* bounds, const IterVar& iv, const Range& range, arith::Analyzer& analyzer) {
  DataType dtype = iv->var->dtype;
  Range own = range->extent.dtype() == dtype && range->min.dtype() == dtype
                  ? range
                  : make_range(cast(dtype, range->min), cast(dtype, range->extent));
  bounds->set(iv, own);
  analyzer.bind(iv->var, own, true);
}

}  // namespace

Relations::Relations(const StageNode* stage) : stage_(stage) {
  for (const IterVarRelation& relation : stage->relations) {
    if (auto* split = relation.as<Split>())
      down_.push_back(
          {loops::LoopMap::split(split->factor, split->nparts), {split->parent}, {split->outer, split->inner}});
    else if (auto* fuse = relation.as<Fuse>())
      down_.push_back({loops::LoopMap::fuse(), {fuse->outer, fuse->inner}, {fuse->fused}});
    else if (auto* rebase = relation.as<Rebase>())
      down_.push_back({loops::LoopMap::shift(), {rebase->parent}, {rebase->rebased}});
    else if (auto* singleton = relation.as<Singleton>())
      down_.push_back({loops::LoopMap::unit(), {}, {singleton->iter}});
  }
}

/// Those from which a thread-bound leaf comes.
AxisSet Relations::axes_of_threads() const {
  AxisSet out;
  for (const IterVar& leaf : stage_->leaf_iter_vars)
    if (bound_thread(stage_.get(), leaf) || leaf->iter_type == IterType::ThreadIndex) out.insert(leaf.get());
  for (const Relation& relation : std::views::reverse(down_))
    if (has_any(out, relation.loops)) insert_all(&out, relation.axes);
  return out;
}

void Relations::pass_down_domains(Bounds* bounds, arith::Analyzer& analyzer, Axes which) const {
  AxisSet threads = axes_of_threads();
  auto is_missing = [&](const IterVar& iv) {
    if (bounds->count(iv)) return false;
    ICHECK(which == Axes::Known) << "no domain for " << iv->var->name << " of stage " << stage_name(stage_.get());
    return true;
  };
  for (const auto& [map, axes, loops] : down_) {
    if (std::any_of(axes.begin(), axes.end(), is_missing)) continue;
    std::vector<Range> domains = domains_of(axes, *bounds);
    bool keep = which == Axes::Known || threads.count(loops[map.stated_loop()].get()) ||
                (!domains.empty() && is_zero(domains[0]->extent));
    domains = map.loop_domains(domains, keep, analyzer);
    for (size_t i = 0; i < loops.size(); ++i) set_domain(bounds, loops[i], domains[i], analyzer);
  }
}

void Relations::pass_up_intervals(const Bounds& bounds, AxisMap<loops::Interval>* intervals,
                                  arith::Analyzer& analyzer) const {
  for (const auto& [map, axes, loops] : std::views::reverse(down_)) {
    if (axes.empty()) continue;
    auto parts = values_of(loops, [&](const IterVar& loop) { return intervals->at(loop.get()); });
    auto found = map.axis_intervals(parts, domains_of(axes, bounds), domains_of(loops, bounds), analyzer);
    for (size_t i = 0; i < axes.size(); ++i) (*intervals)[axes[i].get()] = found[i];
  }
}

namespace {

/// Gives `to` the values that `carry` finds from those of `from`; nothing where one is not known and need not be.
template <class Carry>
void carry_values(const StageNode* stage, const std::vector<IterVar>& from, const std::vector<IterVar>& to, Axes which,
                  AxisMap<PrimExpr>* values, const Carry& carry) {
  for (const IterVar& iv : from) {
    if (values->count(iv.get())) continue;
    ICHECK(which == Axes::Known) << "no value for " << iv->var->name << " of stage " << stage_name(stage);
    return;
  }
  std::vector<PrimExpr> found = carry(values_of(from, [&](const IterVar& iv) { return values->at(iv.get()); }));
  for (size_t i = 0; i < to.size(); ++i) (*values)[to[i].get()] = found[i];
}

}  // namespace

void Relations::pass_up_indices(const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which) const {
  for (const Relation& relation : std::views::reverse(down_)) {
    if (relation.axes.empty()) continue;
    carry_values(stage_.get(), relation.loops, relation.axes, which, values, [&](const std::vector<PrimExpr>& known) {
      return relation.map.axis_indices(known, domains_of(relation.axes, bounds), domains_of(relation.loops, bounds));
    });
  }
}

void Relations::pass_down_indices(const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which) const {
  for (const Relation& relation : down_) {
    if (relation.axes.empty()) {
      const IterVar& unit = relation.loops[0];
      (*values)[unit.get()] = make_zero(unit->var->dtype);
      continue;
    }
    carry_values(stage_.get(), relation.axes, relation.loops, which, values, [&](const std::vector<PrimExpr>& known) {
      return relation.map.loop_indices(known, domains_of(relation.axes, bounds), domains_of(relation.loops, bounds));
    });
  }
}

namespace {

void give_flags(AxisMap<int>* flags, const std::vector<IterVar>& from, const std::vector<IterVar>& to) {
  int given = 0;
  for (const IterVar& iv : from)
    if (auto it = flags->find(iv.get()); it != flags->end()) given |= it->second;
  if (!given) return;
  for (const IterVar& iv : to) (*flags)[iv.get()] |= given;
}

}  // namespace

void Relations::pass_down_flags(AxisMap<int>* flags) const {
  for (const Relation& relation : down_) give_flags(flags, relation.axes, relation.loops);
}

void Relations::pass_up_flags(AxisMap<int>* flags) const {
  for (const Relation& relation : std::views::reverse(down_)) give_flags(flags, relation.loops, relation.axes);
}

/// Axes whose value may run past their domain because some split below does not divide.
AxisSet Relations::axes_that_overrun(const Bounds& bounds, const AxisMap<PrimExpr>& values,
                                     arith::Analyzer& analyzer) const {
  AxisSet over;
  for (const IterVar& leaf : stage_->leaf_iter_vars) {
    IterVar thread = bound_thread(stage_.get(), leaf);
    if (!thread || !bounds.count(leaf)) continue;
    Range launched = bounds.get_or_null(thread);
    if (launched && !analyzer.can_prove(equal(launched->extent, bounds[leaf]->extent))) over.insert(leaf.get());
  }
  for (const auto& [map, axes, loops] : std::views::reverse(down_)) {
    bool is_over = has_any(over, loops);
    if (map.may_overrun()) {
      if (!values.count(axes[0].get()) || !bounds.count(axes[0])) continue;
      is_over = is_over || !map.is_exact(domains_of(axes, bounds), domains_of(loops, bounds), analyzer);
    }
    if (is_over) insert_all(&over, axes);
  }
  return over;
}

OverLeaves over_leaves(const StageNode* stage, const Relations& relations, const std::vector<IterVar>& axes,
                       const std::function<Var(const IterVar& leaf)>& variable_of) {
  OverLeaves out;
  arith::Analyzer analyzer;
  loops::VarIntervals intervals;
  for (const IterVar& axis : axes) {
    out.domains.set(axis, axis->dom);
    analyzer.bind(axis->var, axis->dom);
  }
  relations.pass_down_domains(&out.domains, analyzer, Axes::Known);
  for (const IterVar& leaf : stage->leaf_iter_vars) {
    if (!out.domains.count(leaf)) continue;
    Range domain = out.domains[leaf];
    Var var = variable_of(leaf);
    analyzer.bind(var, domain, true);
    intervals[var.get()] = loops::Interval::of(domain);
    out.values[leaf.get()] = is_one(domain->extent) ? domain->min : PrimExpr(var);
  }
  relations.pass_up_indices(out.domains, &out.values, Axes::Known);
  AxisSet unknown;
  for (const IterVar& iv : stage->all_iter_vars)
    if (!out.values.count(iv.get())) unknown.insert(iv.get());
  out.conditions = relations.guards(out.domains, out.values, true, unknown, intervals, analyzer);
  return out;
}

loops::VarIntervals intervals_of(const Bounds& bounds) {
  loops::VarIntervals out;
  for (const auto& [iv, range] : bounds) out[iv->var.get()] = loops::Interval::of(range);
  return out;
}

std::vector<PrimExpr> Relations::guards(const Bounds& bounds, const AxisMap<PrimExpr>& values, bool skip_domain,
                                        const AxisSet& skip, const loops::VarIntervals& loops,
                                        arith::Analyzer& analyzer) const {
  auto is_proven = [&](const PrimExpr& value, const PrimExpr& extent) {
    if (analyzer.can_prove(value < extent)) return true;
    loops::Interval interval = loops::eval_interval(value, loops, analyzer);
    return interval.max.defined() && analyzer.can_prove(interval.max < extent);
  };
  auto is_never_negative = [&](const PrimExpr& value) {
    PrimExpr zero = make_zero(value.dtype());
    if (analyzer.can_prove(value >= zero)) return true;
    loops::Interval interval = loops::eval_interval(value, loops, analyzer);
    return interval.min.defined() && analyzer.can_prove(interval.min >= zero);
  };
  auto offset_in = [&](const IterVar& iv, const Range& domain) {
    const PrimExpr& value = values.at(iv.get());
    return is_zero(domain->min) ? value : analyzer.simplify(value - domain->min);
  };

  std::vector<PrimExpr> out;
  AxisSet over = axes_that_overrun(bounds, values, analyzer);
  for (const IterVar& iv : stage_->all_iter_vars) {
    if (skip.count(iv.get()) || iv->iter_type == IterType::Opaque || !over.count(iv.get())) continue;
    Range domain = bounds[iv];
    PrimExpr offset = offset_in(iv, domain);
    if (!is_proven(offset, domain->extent)) out.push_back(offset < domain->extent);
  }
  if (skip_domain) return out;
  for (const IterVar& iv : root_iter_vars(stage_->op.get())) {
    if (skip.count(iv.get()) || iv->iter_type == IterType::Opaque) continue;
    if (loops::is_same_range(iv->dom, bounds[iv], analyzer)) continue;
    PrimExpr offset = offset_in(iv, iv->dom);
    if (!is_never_negative(offset)) out.push_back(offset >= make_zero(offset.dtype()));
    if (!is_proven(offset, iv->dom->extent)) out.push_back(offset < iv->dom->extent);
  }
  return out;
}

}  // namespace tessera::te
