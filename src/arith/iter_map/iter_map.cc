#include "arith/iter_map/iter_map.h"

#include <unordered_set>

#include "arith/iter_map/rewriter.h"
#include "arith/kind.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {

// ---- nodes ----

IterMark make_iter_mark(const PrimExpr& source, const PrimExpr& extent) {
  IterMarkNode node;
  node.source = source;
  node.extent = extent;
  return make(std::move(node));
}

IterSplitExpr make_iter_split(const IterMark& source, const PrimExpr& lower_factor, const PrimExpr& extent,
                              const PrimExpr& scale) {
  IterSplitExprNode node;
  node.dtype = source->source.dtype();
  node.source = source;
  node.lower_factor = lower_factor;
  node.extent = extent;
  node.scale = scale;
  return make(std::move(node));
}

IterSplitExpr make_iter_split(const IterMark& source, const PrimExpr& scale) {
  return make_iter_split(source, make_const(source->source.dtype(), 1), source->extent, scale);
}

IterSumExpr make_iter_sum(const Array<IterSplitExpr>& args, const PrimExpr& base) {
  IterSumExprNode node;
  node.dtype = base.dtype();
  node.args = args;
  node.base = base;
  return make(std::move(node));
}

// ---- to plain expressions ----

namespace {

PrimExpr plain(const PrimExpr& e, Analyzer* analyzer);

PrimExpr plain_split(const IterSplitExprNode* split, Analyzer* analyzer) {
  PrimExpr source = plain(split->source->source, analyzer);
  const PrimExpr& whole = split->source->extent;
  PrimExpr out = source;
  // The topmost digit needs no remainder, the lowest no quotient.
  bool topmost = analyzer->can_prove(split->lower_factor * split->extent >= whole);
  if (!topmost) out = floormod(out, split->lower_factor * split->extent);
  if (!is_one(split->lower_factor)) out = floordiv(out, split->lower_factor);
  return is_one(split->scale) ? out : out * split->scale;
}

PrimExpr plain(const PrimExpr& e, Analyzer* analyzer) {
  if (const auto* split = e.as<IterSplitExprNode>()) return plain_split(split, analyzer);
  if (const auto* sum = e.as<IterSumExprNode>()) {
    PrimExpr out = make_zero(sum->dtype);
    for (const IterSplitExpr& arg : sum->args) out = out + plain_split(arg.get(), analyzer);
    return out + sum->base;
  }
  return rewrite(e, [analyzer](const IterMapExprNode* inner) -> PrimExpr { return plain(inner, analyzer); });
}

}  // namespace

PrimExpr normalize_iter_map_to_expr(const PrimExpr& e) {
  Analyzer analyzer;
  return plain(e, &analyzer);
}

// ---- detection ----

namespace {

IterMapResult detect_once(const Array<PrimExpr>& indices, const Map<Var, Range>& iters, const PrimExpr& predicate,
                          IterMapLevel level, Analyzer* analyzer, bool simplify_trivial_iterators) {
  IterMapRewriter rewriter(iters, level, analyzer, simplify_trivial_iterators);
  auto answer = [&](const Array<IterSumExpr>& found) {
    IterMapResultNode node;
    node.indices = found;
    std::vector<String> errors(rewriter.errors.begin(), rewriter.errors.end());
    node.errors = Array<String>(errors);
    node.padding_predicate = rewriter.padding_predicate();
    node.is_whole = rewriter.uses_all_constraints(found.vec());
    return make(std::move(node));
  };
  auto rejected = [&] {
    IterMapResult out = answer({});
    return out;
  };
  for (const auto& [var, range] : iters)
    if (!is_zero(range->min) && uses_var(range->min, [&](const VarNode* v) { return iters.count(Var(v)); })) {
      rewriter.errors.push_back("the start of iterator " + var->name.str() + " depends on another");
      return rejected();
    }
  constexpr int kMaxRounds = 4;
  std::vector<IterSumExpr> sums;
  for (int round = 0; round == 0 || (round < kMaxRounds && rewriter.restart()); ++round) {
    if (!rewriter.add_constraints(predicate)) return rejected();
    sums.clear();
    for (const PrimExpr& index : indices) {
      IterSumExpr sum = rewriter.normalize(index);
      if (!sum.defined()) {
        IterMapResultNode node;
        std::vector<String> errors(rewriter.errors.begin(), rewriter.errors.end());
        node.errors = Array<String>(errors);
        return make(std::move(node));
      }
      sums.push_back(sum);
    }
  }
  if (level == IterMapLevel::Bijective && rewriter.pads()) {
    rewriter.errors.push_back("Bijectivity of the map is lost by padding an iterator");
    return rejected();
  }
  if (!rewriter.check_mapping(sums)) return rejected();
  return answer(Array<IterSumExpr>(sums));
}

/// A map of the iterators as they are.
bool is_exact(const IterMapResult& map) { return map->errors.empty() && is_zero(map->padding_predicate); }

}  // namespace

/// Simplified indices are looked at first; where they are no map without padding, as they stand: `(i*4 + j) % 3`, a digit of
/// `i*4 + j`, is simplified to `(i + j) % 3`, which is none.
IterMapResult detect_iter_map(const Array<PrimExpr>& indices, const Map<Var, Range>& iters, const PrimExpr& predicate,
                              IterMapLevel level, Analyzer* analyzer, bool simplify_trivial_iterators) {
  Array<PrimExpr> simplified;
  bool is_other = false;
  for (const PrimExpr& index : indices) {
    simplified.push_back(analyzer->simplify(index));
    is_other = is_other || !expr_equal(simplified.back(), index);
  }
  IterMapResult out = detect_once(simplified, iters, predicate, level, analyzer, simplify_trivial_iterators);
  if (is_exact(out) || !is_other) return out;
  IterMapResult plain = detect_once(indices, iters, predicate, level, analyzer, simplify_trivial_iterators);
  return is_exact(plain) || (plain->errors.empty() && !out->errors.empty()) ? plain : out;
}

Array<PrimExpr> iter_map_simplify(const Array<PrimExpr>& indices, const Map<Var, Range>& iters,
                                  const PrimExpr& predicate, IterMapLevel level, bool simplify_trivial_iterators) {
  Analyzer analyzer;
  // bound, an iterator of one iteration would be replaced by its only value
  for (const auto& [var, range] : iters)
    if (simplify_trivial_iterators || !is_one(range->extent)) analyzer.bind(var, range);
  IterMapResult found = detect_iter_map(indices, iters, predicate, level, &analyzer, simplify_trivial_iterators);
  Array<PrimExpr> digits = indices, out;
  bool has_remainder = false;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!found->indices.empty()) digits.set(i, plain(found->indices[i], &analyzer));
    out.push_back(analyzer.simplify(digits[i]));
    walk(out[i], [&](const FloorMod*) { has_remainder = true; });
  }
  if (!has_remainder || !is_exact(found)) return out;
  IterMapResult again = detect_once(out, iters, predicate, level, &analyzer, simplify_trivial_iterators);
  return is_exact(again) ? out : digits;  // simplified, a remainder may be no digit any more
}

// ---- inversion ----

namespace {

/// Gives each mark its value from the values of its digits.
class Inverse {
 public:
  void give(const IterSumExpr& sum, const PrimExpr& value) {
    for (const IterSplitExpr& arg : sum->args) reach(arg->source);
    spread(sum, value);
  }

  Map<Var, PrimExpr> solve() {
    // Users of a mark were reached after it, so backwards each value is whole before it is taken apart.
    for (auto mark = order_.rbegin(); mark != order_.rend(); ++mark)
      if (const auto* inner = (*mark)->source.as<IterSumExprNode>())
        spread(IterSumExpr(inner), values_.at(mark->get()));
    Map<Var, PrimExpr> out;
    for (const IterMark& mark : order_)
      if (const auto* var = mark->source.as<VarNode>()) out.set(Var(var), analyzer_.simplify(values_.at(mark.get())));
    return out;
  }

 private:
  void reach(const IterMark& mark) {
    if (!reached_.insert(mark.get()).second) return;
    if (const auto* inner = mark->source.as<IterSumExprNode>())
      for (const IterSplitExpr& arg : inner->args) reach(arg->source);
    order_.push_back(mark);
  }

  void spread(const IterSumExpr& sum, PrimExpr value) {
    value = value - sum->base;
    for (size_t i = 0; i < sum->args.size(); ++i) {
      IterSplitExpr arg = sum->args[i];
      PrimExpr part = is_one(arg->scale) ? value : floordiv(value, arg->scale);
      if (i > 0) part = floormod(part, arg->extent);
      PrimExpr digit = part * arg->lower_factor;
      auto [it, fresh] = values_.try_emplace(arg->source.get(), digit);
      if (!fresh) it->second = it->second + digit;
    }
  }

  Analyzer analyzer_;
  std::unordered_map<const IterMarkNode*, PrimExpr> values_;
  std::unordered_set<const IterMarkNode*> reached_;
  std::vector<IterMark> order_;
};

}  // namespace

Map<Var, PrimExpr> inverse_affine_iter_map(const Array<IterSumExpr>& iter_map, const Array<PrimExpr>& outputs) {
  if (iter_map.size() != outputs.size())
    throw Error(ValueError) << "an iteration map of " << iter_map.size() << " indices has as many outputs; got "
                            << outputs.size();
  Inverse inverse;
  for (size_t i = 0; i < outputs.size(); ++i) inverse.give(iter_map[i], outputs[i]);
  return inverse.solve();
}

}  // namespace tessera::arith
