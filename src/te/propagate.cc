#include "te/propagate.h"

#include "ir/prim/ops.h"
#include "tir/loops/split_fuse.h"

namespace tessera::te {
namespace {

/// True for axes from which a thread-bound leaf comes.
AxisSet axes_of_threads(const StageNode* stage) {
  AxisSet out;
  for (const IterVar& leaf : stage->leaf_iter_vars)
    if (bound_thread(stage, leaf) || leaf->iter_type == IterType::ThreadIndex) out.insert(leaf.get());
  for (size_t i = stage->relations.size(); i-- > 0;) {
    IterVarRelation relation = stage->relations[i];
    if (auto* split = relation.as<Split>()) {
      if (out.count(split->outer.get()) || out.count(split->inner.get())) out.insert(split->parent.get());
    } else if (auto* fuse = relation.as<Fuse>()) {
      if (out.count(fuse->fused.get())) out.insert({fuse->outer.get(), fuse->inner.get()});
    } else if (auto* rebase = relation.as<Rebase>()) {
      if (out.count(rebase->rebased.get())) out.insert(rebase->parent.get());
    }
  }
  return out;
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

void pass_down_domains(const StageNode* stage, Bounds* bounds, arith::Analyzer& analyzer, Axes which) {
  AxisSet threads = axes_of_threads(stage);
  auto is_missing = [&](const IterVar& iv) {
    if (bounds->count(iv)) return false;
    ICHECK(which == Axes::Known) << "no domain for " << iv->var->name << " of stage " << stage_name(stage);
    return true;
  };
  for (const IterVarRelation& relation : stage->relations) {
    if (auto* split = relation.as<Split>()) {
      if (is_missing(split->parent)) continue;
      Range parent = (*bounds)[split->parent];
      const IterVar& stated = split->factor ? split->inner : split->outer;
      bool keep = which == Axes::Known || threads.count(stated.get()) || is_zero(parent->extent);
      auto [outer, inner] = loops::split_domains(parent, split->factor, split->nparts, keep, analyzer);
      set_domain(bounds, split->outer, outer, analyzer);
      set_domain(bounds, split->inner, inner, analyzer);
    } else if (auto* fuse = relation.as<Fuse>()) {
      if (is_missing(fuse->outer) || is_missing(fuse->inner)) continue;
      Range fused = loops::fused_domain((*bounds)[fuse->outer], (*bounds)[fuse->inner], analyzer);
      set_domain(bounds, fuse->fused, fused, analyzer);
    } else if (auto* rebase = relation.as<Rebase>()) {
      if (is_missing(rebase->parent)) continue;
      PrimExpr extent = (*bounds)[rebase->parent]->extent;
      set_domain(bounds, rebase->rebased, make_range(make_zero(extent.dtype()), extent), analyzer);
    } else if (auto* singleton = relation.as<Singleton>()) {
      set_domain(bounds, singleton->iter, make_range(0, 1), analyzer);
    }
  }
}

void pass_up_intervals(const StageNode* stage, const Bounds& bounds, AxisMap<loops::Interval>* intervals,
                       arith::Analyzer& analyzer) {
  AxisMap<loops::Interval>& known = *intervals;
  for (size_t i = stage->relations.size(); i-- > 0;) {
    IterVarRelation relation = stage->relations[i];
    if (auto* split = relation.as<Split>()) {
      known[split->parent.get()] =
          loops::split_parent_interval(known.at(split->outer.get()), known.at(split->inner.get()),
                                       bounds[split->parent], bounds[split->outer], bounds[split->inner], analyzer);
    } else if (auto* fuse = relation.as<Fuse>()) {
      auto [outer, inner] = loops::fuse_part_intervals(known.at(fuse->fused.get()), bounds[fuse->fused],
                                                       bounds[fuse->outer], bounds[fuse->inner], analyzer);
      known[fuse->outer.get()] = outer;
      known[fuse->inner.get()] = inner;
    } else if (auto* rebase = relation.as<Rebase>()) {
      Range parent = bounds[rebase->parent];
      loops::Interval part = known.at(rebase->rebased.get());
      if (part.is_point()) part = loops::Interval::point(analyzer.simplify(part.min + parent->min));
      else if (loops::is_whole(part, bounds[rebase->rebased], analyzer)) part = loops::Interval::of(parent);
      else if (part.is_bounded())
        part = {analyzer.simplify(part.min + parent->min), analyzer.simplify(part.max + parent->min)};
      known[rebase->parent.get()] = part;
    }
  }
}

void pass_up_indices(const StageNode* stage, const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which) {
  AxisMap<PrimExpr>& known = *values;
  auto is_missing = [&](const IterVar& iv) {
    if (known.count(iv.get())) return false;
    ICHECK(which == Axes::Known) << "no value for " << iv->var->name << " of stage " << stage_name(stage);
    return true;
  };
  for (size_t i = stage->relations.size(); i-- > 0;) {
    IterVarRelation relation = stage->relations[i];
    if (auto* split = relation.as<Split>()) {
      if (is_missing(split->outer) || is_missing(split->inner)) continue;
      known[split->parent.get()] = loops::split_parent_index(known[split->outer.get()], known[split->inner.get()],
                                                             bounds[split->parent], bounds[split->inner]);
    } else if (auto* fuse = relation.as<Fuse>()) {
      if (is_missing(fuse->fused)) continue;
      auto [outer, inner] =
          loops::fuse_part_indices(known[fuse->fused.get()], bounds[fuse->outer], bounds[fuse->inner]);
      known[fuse->outer.get()] = outer;
      known[fuse->inner.get()] = inner;
    } else if (auto* rebase = relation.as<Rebase>()) {
      if (is_missing(rebase->rebased)) continue;
      Range parent = bounds[rebase->parent];
      PrimExpr value = known[rebase->rebased.get()];
      known[rebase->parent.get()] = is_zero(parent->min) ? value : value + parent->min;
    }
  }
}

void pass_down_indices(const StageNode* stage, const Bounds& bounds, AxisMap<PrimExpr>* values, Axes which) {
  AxisMap<PrimExpr>& known = *values;
  auto is_missing = [&](const IterVar& iv) {
    if (known.count(iv.get())) return false;
    ICHECK(which == Axes::Known) << "no value for " << iv->var->name << " of stage " << stage_name(stage);
    return true;
  };
  for (const IterVarRelation& relation : stage->relations) {
    if (auto* split = relation.as<Split>()) {
      if (is_missing(split->parent)) continue;
      auto [outer, inner] =
          loops::split_part_indices(known[split->parent.get()], bounds[split->parent], bounds[split->inner]);
      known[split->outer.get()] = outer;
      known[split->inner.get()] = inner;
    } else if (auto* fuse = relation.as<Fuse>()) {
      if (is_missing(fuse->outer) || is_missing(fuse->inner)) continue;
      known[fuse->fused.get()] = loops::fused_index(known[fuse->outer.get()], known[fuse->inner.get()],
                                                    bounds[fuse->outer], bounds[fuse->inner]);
    } else if (auto* rebase = relation.as<Rebase>()) {
      if (is_missing(rebase->parent)) continue;
      known[rebase->rebased.get()] = known[rebase->parent.get()] - bounds[rebase->parent]->min;
    } else if (auto* singleton = relation.as<Singleton>()) {
      known[singleton->iter.get()] = make_zero(singleton->iter->var->dtype);
    }
  }
}

void pass_down_flags(const StageNode* stage, AxisMap<int>* flags) {
  AxisMap<int>& set = *flags;
  auto give = [&](const IterVar& to, int some) {
    if (some) set[to.get()] |= some;
  };
  auto of = [&](const IterVar& iv) { return set.count(iv.get()) ? set[iv.get()] : 0; };
  for (const IterVarRelation& relation : stage->relations) {
    if (auto* split = relation.as<Split>()) {
      give(split->outer, of(split->parent));
      give(split->inner, of(split->parent));
    } else if (auto* fuse = relation.as<Fuse>()) {
      give(fuse->fused, of(fuse->outer) | of(fuse->inner));
    } else if (auto* rebase = relation.as<Rebase>()) {
      give(rebase->rebased, of(rebase->parent));
    }
  }
}

void pass_up_flags(const StageNode* stage, AxisMap<int>* flags) {
  AxisMap<int>& set = *flags;
  auto give = [&](const IterVar& to, int some) {
    if (some) set[to.get()] |= some;
  };
  auto of = [&](const IterVar& iv) { return set.count(iv.get()) ? set[iv.get()] : 0; };
  for (size_t i = stage->relations.size(); i-- > 0;) {
    IterVarRelation relation = stage->relations[i];
    if (auto* split = relation.as<Split>()) {
      give(split->parent, of(split->outer) | of(split->inner));
    } else if (auto* fuse = relation.as<Fuse>()) {
      give(fuse->outer, of(fuse->fused));
      give(fuse->inner, of(fuse->fused));
    } else if (auto* rebase = relation.as<Rebase>()) {
      give(rebase->parent, of(rebase->rebased));
    }
  }
}

namespace {

/// Axes whose value may run past their domain because some split below does not divide.
AxisSet axes_that_overrun(const StageNode* stage, const Bounds& bounds, const AxisMap<PrimExpr>& values,
                          arith::Analyzer& analyzer) {
  AxisSet over;
  for (const IterVar& leaf : stage->leaf_iter_vars) {
    IterVar thread = bound_thread(stage, leaf);
    if (!thread || !bounds.count(leaf)) continue;
    Range launched = bounds.get_or_null(thread);
    if (launched && !analyzer.can_prove(equal(launched->extent, bounds[leaf]->extent))) over.insert(leaf.get());
  }
  for (size_t i = stage->relations.size(); i-- > 0;) {
    IterVarRelation relation = stage->relations[i];
    if (auto* split = relation.as<Split>()) {
      if (!values.count(split->parent.get()) || !bounds.count(split->parent)) continue;
      if (over.count(split->outer.get()) || over.count(split->inner.get()) ||
          !loops::split_is_exact(bounds[split->parent], bounds[split->outer], bounds[split->inner], analyzer))
        over.insert(split->parent.get());
    } else if (auto* fuse = relation.as<Fuse>()) {
      if (over.count(fuse->fused.get())) over.insert({fuse->outer.get(), fuse->inner.get()});
    } else if (auto* rebase = relation.as<Rebase>()) {
      if (over.count(rebase->rebased.get())) over.insert(rebase->parent.get());
    }
  }
  return over;
}

}  // namespace

LoopIntervals::LoopIntervals(const Bounds& bounds) {
  for (const auto& [iv, range] : bounds) of_[iv->var.get()] = loops::Interval::of(range);
}

loops::IntervalOf LoopIntervals::lookup() const {
  return [this](const VarNode* var) -> const loops::Interval* {
    auto it = of_.find(var);
    return it == of_.end() ? nullptr : &it->second;
  };
}

std::vector<PrimExpr> guards(const StageNode* stage, const Bounds& bounds, const AxisMap<PrimExpr>& values,
                             bool skip_domain, const AxisSet& skip, const loops::IntervalOf& loop_of,
                             arith::Analyzer& analyzer) {
  auto is_proven = [&](const PrimExpr& value, const PrimExpr& extent) {
    if (analyzer.can_prove(value < extent)) return true;
    loops::Interval interval = loops::eval_interval(value, loop_of, analyzer);
    return interval.max.defined() && analyzer.can_prove(interval.max < extent);
  };
  auto is_never_negative = [&](const PrimExpr& value) {
    PrimExpr zero = make_zero(value.dtype());
    if (analyzer.can_prove(value >= zero)) return true;
    loops::Interval interval = loops::eval_interval(value, loop_of, analyzer);
    return interval.min.defined() && analyzer.can_prove(interval.min >= zero);
  };
  auto offset_in = [&](const IterVar& iv, const Range& domain) {
    const PrimExpr& value = values.at(iv.get());
    return is_zero(domain->min) ? value : analyzer.simplify(value - domain->min);
  };

  std::vector<PrimExpr> out;
  AxisSet over = axes_that_overrun(stage, bounds, values, analyzer);
  for (const IterVar& iv : stage->all_iter_vars) {
    if (skip.count(iv.get()) || iv->iter_type == IterType::Opaque || !over.count(iv.get())) continue;
    Range domain = bounds[iv];
    PrimExpr offset = offset_in(iv, domain);
    if (!is_proven(offset, domain->extent)) out.push_back(offset < domain->extent);
  }
  if (skip_domain) return out;
  for (const IterVar& iv : root_iter_vars(stage->op.get())) {
    if (skip.count(iv.get()) || iv->iter_type == IterType::Opaque) continue;
    if (loops::is_same_range(iv->dom, bounds[iv], analyzer)) continue;
    PrimExpr offset = offset_in(iv, iv->dom);
    if (!is_never_negative(offset)) out.push_back(offset >= make_zero(offset.dtype()));
    if (!is_proven(offset, iv->dom->extent)) out.push_back(offset < iv->dom->extent);
  }
  return out;
}

}  // namespace tessera::te
