#include "schedule/accumulation.h"

#include <cmath>

#include "ir/expr_equal.h"
#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "schedule/refusal.h"

namespace tessera::schedule {
namespace {

std::vector<const BufferStore*> stores_of(const Stmt& stmt) {
  std::vector<const BufferStore*> out;
  if (auto* store = stmt.as<BufferStore>()) out.push_back(store);
  if (auto* seq = stmt.as<SeqStmt>())
    for (const Stmt& part : seq->seq) {
      out.push_back(part.as<BufferStore>());
      if (!out.back()) return {};
    }
  return out;
}

bool is_current(const PrimExpr& e, const BufferStore* store) {
  auto* load = e.as<BufferLoad>();
  if (!load || !load->buffer.same_as(store->buffer)) return false;
  for (size_t i = 0; i < load->indices.size(); ++i)
    if (!expr_equal(load->indices[i], store->indices[i])) return false;
  return true;
}

/// What the value takes in; empty where it does not combine the current value with anything.
PrimExpr element_of(const PrimExpr& value, const BufferStore* store) {
  bool is_op = value.as<Add>() || value.as<Mul>() || value.as<Min>() || value.as<Max>();
  if (auto* op = value.as<BinaryNode>(); op && is_op && is_current(op->a, store)) return op->b;
  auto* choice = value.as<Select>();
  if (choice && is_current(choice->true_value, store)) return choice->false_value;
  if (choice && is_current(choice->false_value, store)) return choice->true_value;
  return PrimExpr();
}

/// Partial results all begin with the init, so it must not count: 0 of a sum, 1 of a product, and so on.
void require_identity(const BlockNode* block, const PrimExpr& step, const PrimExpr& init) {
  DataType dtype = init.dtype();
  PrimExpr identity = step.as<Add>()   ? make_zero(dtype)
                      : step.as<Mul>() ? make_const(dtype, 1)
                      : step.as<Min>() ? max_value(dtype)
                                       : min_value(dtype);
  auto* number = init.as<FloatImm>();
  bool is_infinite = (step.as<Min>() || step.as<Max>()) && number && std::isinf(number->value);
  if (!expr_equal(init, identity) && !is_infinite)
    throw Refusal(block) << "block " << quoted(block->name_hint) << " begins with " << init
                         << ", which is not the identity of its reduction, so that partial results would count it "
                         << "more than once";
}

}  // namespace

std::vector<Accumulated> accumulation_of(const BlockNode* block) {
  Map<Var, PrimExpr> named;
  Stmt body = block->body;
  while (auto* let = body.as<LetStmt>()) {
    named.set(let->var, substitute(let->value, named));
    body = let->body;
  }
  std::vector<const BufferStore*> stores = stores_of(body), inits = stores_of(block->init);
  std::vector<Accumulated> out;
  for (const BufferStore* store : stores) {
    PrimExpr value = substitute(store->value, named);
    PrimExpr element = element_of(value, store);
    bool is_alone = stores.size() == 1;
    if (!element || (value.as<Select>() != nullptr) == is_alone || (!is_alone && as_int(element))) break;
    bool is_unclear = false;
    walk(element, [&](const BufferLoad* load) {
      for (const BufferStore* other : stores) is_unclear |= load->buffer.same_as(other->buffer);
    });
    for (const Accumulated& other : out) is_unclear |= expr_equal(other.element, element);  // not told apart
    if (is_unclear) break;
    out.push_back({store->buffer, store->indices, value, element});
  }
  if (out.empty() || out.size() != stores.size() || inits.size() != stores.size())
    throw Error(ScheduleError) << "block " << quoted(block->name_hint)
                               << " does not accumulate in a known way: by one sum, product, minimum or maximum, or by "
                                  "choosing between its results and new values all at once";
  if (out.size() == 1) require_identity(block, out[0].value, inits[0]->value);
  return out;
}

Stmt with_elements(const std::vector<Accumulated>& results, const Array<PrimExpr>& elements) {
  if (results.size() == 1) {
    const PrimExpr& value = results[0].value;
    const PrimExpr& current = value.as<BinaryNode>()->a;
    PrimExpr total = value.as<Add>()   ? current + elements[0]
                     : value.as<Mul>() ? current * elements[0]
                     : value.as<Min>() ? min(current, elements[0])
                                       : max(current, elements[0]);
    return make(BufferStore{.buffer = results[0].buffer, .value = total, .indices = results[0].indices});
  }
  // All values are worked out before any is stored: each may depend on what the others were.
  std::vector<Stmt> stores;
  std::vector<Var> names;
  for (const Accumulated& result : results) {
    names.push_back(make_var("v_" + result.buffer->name.str(), result.value.dtype()));
    stores.push_back(make(BufferStore{.buffer = result.buffer, .value = names.back(), .indices = result.indices}));
  }
  Stmt body = sequence(stores);
  for (size_t i = results.size(); i-- > 0;) {
    PrimExpr value = rewrite(results[i].value, [&](Rewriter& self, const PrimExprNode* node) -> PrimExpr {
      for (size_t j = 0; j < results.size(); ++j)
        if (expr_equal(PrimExpr(node), results[j].element)) return elements[j];
      return self.children(node);
    });
    body = make(LetStmt{.var = names[i], .value = value, .body = body});
  }
  return body;
}

InitLoops init_loops(const BlockNode* block, const Array<PrimExpr>& values, const PrimExpr& predicate,
                     const std::vector<const For*>& loops) {
  std::vector<bool> is_kept, is_reduced;
  for (const For* loop : loops) {
    bool in_spatial = false, in_reduction = false;
    for (size_t i = 0; i < values.size(); ++i)
      if (uses_var(values[i], loop->loop_var))
        (block->iter_vars[i]->iter_type == IterType::CommReduce ? in_reduction : in_spatial) = true;
    is_kept.push_back(in_spatial);
    is_reduced.push_back(in_reduction && !in_spatial);
  }
  InitLoops out{{}, bool_imm(true)};
  std::vector<PrimExpr> conditions{predicate};
  while (!conditions.empty()) {
    PrimExpr condition = conditions.back();
    conditions.pop_back();
    if (auto* both = condition.as<And>()) {
      conditions.push_back(both->b);
      conditions.push_back(both->a);
      continue;
    }
    bool of_reduction = false, of_others = false;
    for (size_t i = 0; i < loops.size(); ++i)
      if (uses_var(condition, loops[i]->loop_var)) (is_reduced[i] ? of_reduction : of_others) = true;
    if (of_reduction && of_others)
      throw Error(ScheduleError) << "the condition " << condition << " of block " << quoted(block->name_hint)
                                 << " ties loops of its reduction axes to others, so its init cannot stand apart";
    if (of_reduction) continue;
    out.predicate = logical_and(out.predicate, condition);
    for (size_t i = 0; i < loops.size(); ++i)
      if (uses_var(condition, loops[i]->loop_var)) is_kept[i] = true;
  }
  for (size_t i = 0; i < loops.size(); ++i)
    if (is_kept[i]) out.loops.push_back(loops[i]);
  return out;
}

}  // namespace tessera::schedule
