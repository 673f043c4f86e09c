// Conditions on iterators, and the independence of digits, for the rewriter of iter_map_rewriter.h.

#include <algorithm>

#include "arith/iter_map/rewriter.h"
#include "arith/kind.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::arith {
namespace {

/// low <= value <= high, either end possibly missing.
struct Between {
  PrimExpr value, low, high;
};

}  // namespace

// ---- conditions ----

bool IterMapRewriter::add_constraints(const PrimExpr& predicate) {
  std::vector<PrimExpr> pending{predicate};
  std::vector<Between> found;
  while (!pending.empty()) {
    PrimExpr e = pending.back();
    pending.pop_back();
    Kind kind = kind_of(e);
    if (is_call(e, "tir.likely")) {
      pending.push_back(static_cast<const Call*>(e.get())->args[0]);
      continue;
    }
    if (kind == Kind::And) {
      pending.push_back(as_binary(e)->b);
      pending.push_back(as_binary(e)->a);
      continue;
    }
    if (kind == Kind::IntImm && static_cast<const IntImm*>(e.get())->value) continue;
    bool comparison = is_comparison(kind) && kind != Kind::NE && is_index_type(as_binary(e)->a.dtype());
    if (!comparison) return reject("Could not parse predicate as constraints on the input iterators"), false;
    PrimExpr a = as_binary(e)->a, b = as_binary(e)->b;
    if (kind == Kind::GT || kind == Kind::GE) std::swap(a, b), kind = kind == Kind::GT ? Kind::LT : Kind::LE;
    PrimExpr one = make_const(a.dtype(), 1);
    if (!uses_iter(a) && !uses_iter(b)) {
      leaves_out_ = leaves_out_ || !analyzer_->can_prove(e);
      continue;
    }
    if (!uses_iter(b)) found.push_back({a, kind == Kind::EQ ? b : PrimExpr(), kind == Kind::LT ? b - one : b});
    else if (!uses_iter(a)) found.push_back({b, kind == Kind::LT ? a + one : a, kind == Kind::EQ ? a : PrimExpr()});
    else
      found.push_back({a - b, kind == Kind::EQ ? make_zero(a.dtype()) : PrimExpr(),
                       kind == Kind::LT ? make_zero(a.dtype()) - one : make_zero(a.dtype())});
  }
  // Conditions on few iterators first: they are inside those on many.
  auto width = [&](const Between& c) {
    int count = 0;
    walk(c.value, [&](const VarNode* v) { count += of_var_.count(v); });
    return count;
  };
  std::stable_sort(found.begin(), found.end(), [&](const Between& a, const Between& b) { return width(a) < width(b); });
  for (const Between& c : found)
    if (!constrain(c.value, c.low, c.high)) return false;
  return true;
}

bool IterMapRewriter::constrain(const PrimExpr& e, const PrimExpr& low, const PrimExpr& high) {
  IterSumExpr sum = parse(simple(e));
  if (!sum.defined()) return false;
  if (sum->args.empty()) return true;
  std::vector<IterSplitExpr> major_first;
  PrimExpr unit, size;
  if (!order_terms(sum, &major_first, &unit, &size) || !is_one(unit))
    return reject("Could not parse predicate as constraints on the input iterators"), false;
  PrimExpr zero = make_zero(sum->dtype), one = make_const(sum->dtype, 1);
  IterSumExpr flat = make_iter_sum(Array<IterSplitExpr>(major_first), zero);
  PrimExpr from = zero, end = size;  // of the flat sum, the end not included
  if (low.defined()) from = simple(max(low - sum->base, zero));
  if (high.defined()) end = simple(min(high - sum->base + one, size));
  constrained_.push_back(flat);
  for (Fused& known : fused_) {
    if (!is_zero(known.flat->base) || !same_terms(known.flat, flat)) continue;
    PrimExpr new_from = simple(max(from, known.base));
    PrimExpr new_end = simple(min(end, known.base + known.mark->extent));
    known.mark = make_iter_mark(known.mark->source, simple(new_end - new_from));
    known.base = new_from;
    return true;
  }
  IterSumExpr source = is_zero(from) ? flat : make_iter_sum(flat->args, simple(zero - from));
  fused_.push_back({flat, make_iter_mark(source, simple(end - from)), from});
  // One iterator alone: its mark is replaced wherever it is used.
  if (flat->args.size() == 1 && is_one(flat->args[0]->lower_factor) &&
      equal(flat->args[0]->extent, flat->args[0]->source->extent))
    for (auto& [var, known] : of_var_)
      if (known->args.size() == 1 && known->args[0]->source.same_as(flat->args[0]->source))
        known = make_iter_sum({make_iter_split(fused_.back().mark, one)}, simple(known->base + from));
  return true;
}

bool IterMapRewriter::uses_all_constraints(const std::vector<IterSumExpr>& sums) const {
  std::vector<const IterMarkNode*> used;
  auto use = [&](const IterSumExpr& sum) {
    for (const IterSplitExpr& arg : sum->args)
      if (std::find(used.begin(), used.end(), arg->source.get()) == used.end()) used.push_back(arg->source.get());
  };
  for (const IterSumExpr& sum : sums) use(sum);
  for (size_t i = 0; i < used.size(); ++i)
    if (const auto* inner = used[i]->source.as<IterSumExprNode>()) use(IterSumExpr(inner));
  if (leaves_out_) return false;
  for (const IterSumExpr& flat : constrained_) {
    const Fused* fused = find_fused(flat);
    if (!fused || std::find(used.begin(), used.end(), fused->mark.get()) == used.end()) return false;
  }
  return true;
}

// ---- independence ----

bool IterMapRewriter::check_mapping(const std::vector<IterSumExpr>& sums) {
  if (level_ == IterMapLevel::NoCheck) return true;
  std::vector<IterMark> order;  // users before what they use
  std::unordered_map<const IterMarkNode*, std::vector<IterSplitExpr>> uses;
  auto use = [&](const IterSumExpr& sum) {
    for (const IterSplitExpr& arg : sum->args) {
      auto& list = uses[arg->source.get()];
      if (list.empty()) order.push_back(arg->source);
      list.push_back(arg);
    }
  };
  for (const IterSumExpr& sum : sums) use(sum);
  for (size_t i = 0; i < order.size(); ++i) {
    IterMark mark = order[i];
    bool is_padded = std::any_of(padded_.begin(), padded_.end(), [&](const IterMark& m) { return m.same_as(mark); });
    bool torn = is_padded && uses[mark.get()].size() > 1;  // the padding is in some pairs of digits only
    if (torn || !check_mark(mark, uses[mark.get()])) {
      if (torn) errors.push_back("Dependent iterations on padding iter space");
      errors.push_back("Mapped indices are not independent.");
      return false;
    }
    if (const auto* inner = mark->source.as<IterSumExprNode>()) use(IterSumExpr(inner));
  }
  if (level_ != IterMapLevel::Bijective) return true;
  for (const IterMark& input : inputs_) {
    bool found = false;
    for (const IterMark& mark : order) found = found || mark.same_as(input);
    if (!found && !is_one(input->extent)) {
      errors.push_back("The mapping is not bijective because input iterator " + to_text(input->source) +
                       " is not used");
      return false;
    }
  }
  return true;
}

/// Digits of one mark must not overlap; in a bijective map they must be all of it.
bool IterMapRewriter::check_mark(const IterMark& mark, std::vector<IterSplitExpr> splits) {
  PrimExpr expected = make_const(mark->source.dtype(), 1);
  while (!splits.empty()) {
    int found = -1;
    for (size_t i = 0; i < splits.size() && found < 0; ++i)
      if (equal(splits[i]->lower_factor, expected)) found = static_cast<int>(i);
    if (found < 0 && level_ == IterMapLevel::Surjective) {
      const int64_t* reach = as_int(expected);
      int64_t best = 0;
      for (size_t i = 0; i < splits.size(); ++i) {  // the next digit above a gap
        const int64_t* lower = as_int(splits[i]->lower_factor);
        if (lower && reach && *lower % *reach == 0 && (best == 0 || *lower < best))
          best = *lower, found = static_cast<int>(i);
      }
    }
    if (found < 0) return false;
    expected = simple(splits[found]->lower_factor * splits[found]->extent);
    splits.erase(splits.begin() + found);
  }
  return level_ != IterMapLevel::Bijective || equal(expected, mark->extent) ||
         analyzer_->can_prove(expected >= mark->extent);
}

}  // namespace tessera::arith
