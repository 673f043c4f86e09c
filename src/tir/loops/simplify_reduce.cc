// Reductions in expressions, simplified with what their axes are known to be.
//
//   sum(select(k < 12, k, 0), k in [0, 10))   =>   sum(k, k in [0, 10))
//   sum(x, over no axes)                      =>   x
//   component 0 of a tuple that needs no other =>  a reduction of one value

#include <algorithm>

#include "arith/node_simplifiers.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/loops/reduction.h"

namespace tessera {
namespace {

/// min <= axis < min + extent, for all axes with a range.
PrimExpr domain_of(const Array<IterVar>& axes) {
  PrimExpr out = bool_imm(true);
  for (const IterVar& axis : axes) {
    if (!axis->dom) continue;
    PrimExpr min = axis->dom->min, end = min + axis->dom->extent;
    PrimExpr inside = make_binary<And>(make_binary<LE>(min, axis->var), make_binary<LT>(axis->var, end));
    out = is_one(out) ? inside : make_binary<And>(out, inside);
  }
  return out;
}

/// Which components of the combiner the wanted one is made from, directly or not.
std::vector<bool> needed_components(const CommReducer& combiner, size_t wanted) {
  std::vector<bool> needed(combiner->result.size(), false);
  std::vector<size_t> open{wanted};
  needed[wanted] = true;
  while (!open.empty()) {
    size_t at = open.back();
    open.pop_back();
    pre_order(combiner->result[at], [&](const Object* node) {
      for (size_t i = 0; i < needed.size(); ++i) {
        if (needed[i] || (node != combiner->lhs[i].get() && node != combiner->rhs[i].get())) continue;
        needed[i] = true;
        open.push_back(i);
      }
      return true;
    });
  }
  return needed;
}

template <class T>
Array<T> chosen(const Array<T>& items, const std::vector<bool>& which) {
  Array<T> out;
  for (size_t i = 0; i < items.size(); ++i)
    if (which[i]) out.push_back(items[i]);
  return out;
}

void keep_needed(Reduce* reduce) {
  size_t wanted = static_cast<size_t>(reduce->value_index);
  std::vector<bool> needed = needed_components(reduce->combiner, wanted);
  if (std::find(needed.begin(), needed.end(), false) == needed.end()) return;
  CommReducerNode combiner(*reduce->combiner.get());
  combiner.lhs = chosen(combiner.lhs, needed);
  combiner.rhs = chosen(combiner.rhs, needed);
  combiner.result = chosen(combiner.result, needed);
  combiner.identity_element = chosen(combiner.identity_element, needed);
  reduce->combiner = make(std::move(combiner));
  reduce->source = chosen(reduce->source, needed);
  if (!reduce->init.empty()) reduce->init = chosen(reduce->init, needed);
  reduce->value_index =
      static_cast<int32_t>(std::count(needed.begin(), needed.begin() + static_cast<long>(wanted), true));
}

PrimExpr simplify_reduce(const PrimExpr& e, const arith::SimplifyUnder& under) {
  auto* given = e.as<Reduce>();
  if (!given->combiner) return e;
  const PrimExpr always = bool_imm(true), inside = domain_of(given->axis);
  bool has_changed = false;
  auto simple = [&](const PrimExpr& condition, const PrimExpr& part) {
    PrimExpr out = under(condition, part);
    has_changed = has_changed || !out.same_as(part);
    return out;
  };
  auto all = [&](const PrimExpr& condition, const Array<PrimExpr>& parts) {
    Array<PrimExpr> out;
    for (const PrimExpr& part : parts) out.push_back(simple(condition, part));
    return out;
  };
  Reduce reduce(*given);
  reduce.source = all(inside, given->source);
  reduce.init = all(always, given->init);
  reduce.condition = simple(inside, given->condition);
  keep_needed(&reduce);
  size_t index = static_cast<size_t>(reduce.value_index);
  if (reduce.axis.empty()) {
    PrimExpr start = loops::reduction_start(&reduce)[index];
    PrimExpr value = reduce.init.empty() ? reduce.source[index] : loops::reduction_step(&reduce, reduce.init)[index];
    return under(always, is_one(reduce.condition) ? value : make_select(reduce.condition, value, start));
  }
  return has_changed || !reduce.combiner.same_as(given->combiner) ? PrimExpr(make(std::move(reduce))) : e;
}

[[maybe_unused]] const bool reductions = (arith::node_simplifiers().push_back({&Reduce::info, simplify_reduce}), true);

}  // namespace
}  // namespace tessera
