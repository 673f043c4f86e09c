#include "tir/loops/accumulation.h"

#include <cmath>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::loops {
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

bool is_operator(const PrimExpr& value) {
  return value.as<Add>() || value.as<Mul>() || value.as<Min>() || value.as<Max>();
}

/// `element op C` as `C op element`; other values as they are.
PrimExpr current_first(const PrimExpr& value, const BufferStore* store) {
  auto* op = value.as<BinaryNode>();
  if (!op || !is_operator(value) || is_current(op->a, store) || !is_current(op->b, store)) return value;
  BinaryNode* swapped = static_cast<BinaryNode*>(value->type()->copy(value.get()));
  std::swap(swapped->a, swapped->b);
  return PrimExpr(swapped);
}

const BufferStore* store_to(const Buffer& buffer, const std::vector<const BufferStore*>& stores) {
  for (const BufferStore* store : stores)
    if (store->buffer.same_as(buffer)) return store;
  return nullptr;
}

/// What the value takes in; empty where it does not combine the current value with anything.
PrimExpr element_of(const PrimExpr& value, const BufferStore* store) {
  if (auto* op = value.as<BinaryNode>(); op && is_operator(value) && is_current(op->a, store)) return op->b;
  auto* choice = value.as<Select>();
  if (choice && is_current(choice->true_value, store)) return choice->false_value;
  if (choice && is_current(choice->false_value, store)) return choice->true_value;
  return PrimExpr();
}

}  // namespace

std::vector<Accumulated> match_accumulation(const BlockNode* block) {
  Map<Var, PrimExpr> named;
  Stmt body = block->body;
  while (auto* let = body.as<LetStmt>()) {
    named.set(let->var, substitute(let->value, named));
    body = let->body;
  }
  std::vector<const BufferStore*> stores = stores_of(body), inits = stores_of(block->init);
  if (inits.size() != stores.size()) return {};
  std::vector<Accumulated> out;
  for (const BufferStore* store : stores) {
    PrimExpr value = current_first(substitute(store->value, named), store);
    PrimExpr element = element_of(value, store);
    const BufferStore* init = store_to(store->buffer, inits);
    bool is_alone = stores.size() == 1;
    if (!init || !element || (value.as<Select>() != nullptr) == is_alone || (!is_alone && as_int(element))) return {};
    bool is_unclear = false;
    walk(element, [&](const BufferLoad* load) { is_unclear |= store_to(load->buffer, stores) != nullptr; });
    for (const Accumulated& other : out) is_unclear |= expr_equal(other.element, element);  // not told apart
    if (is_unclear) return {};
    out.push_back({store->buffer, store->indices, value, element, init->value});
  }
  return out;
}

bool begins_with_identity(const Accumulated& result) {
  const PrimExpr &step = result.value, &init = result.init;
  DataType dtype = init.dtype();
  PrimExpr identity = step.as<Add>()   ? make_zero(dtype)
                      : step.as<Mul>() ? make_const(dtype, 1)
                      : step.as<Min>() ? max_value(dtype)
                                       : min_value(dtype);
  auto* number = init.as<FloatImm>();
  bool is_infinite = (step.as<Min>() || step.as<Max>()) && number && std::isinf(number->value);
  return expr_equal(init, identity) || is_infinite;
}

Array<PrimExpr> combined(const std::vector<Accumulated>& results, const Array<PrimExpr>& current,
                         const Array<PrimExpr>& elements) {
  Array<PrimExpr> out;
  for (const Accumulated& result : results)
    out.push_back(rewrite(result.value, [&](Rewriter& self, const PrimExprNode* node) -> PrimExpr {
      PrimExpr e(node);
      auto* load = e.as<BufferLoad>();
      for (size_t i = 0; i < results.size(); ++i) {
        if (expr_equal(e, results[i].element)) return elements[i];
        if (load && load->buffer.same_as(results[i].buffer)) return current[i];
      }
      return self.children(node);
    }));
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

}  // namespace tessera::loops
