#pragma once
// Expressions evaluated on numbers: the judge of everything arith says.

#include <optional>
#include <unordered_map>

#include "arith/kind.h"

namespace tessera::arith {

using Point = std::unordered_map<const VarNode*, int64_t>;

/// The value of `e` at `at`; nothing where it divides by zero.
inline std::optional<int64_t> value_at(const PrimExpr& e, const Point& at) {
  Kind kind = kind_of(e);
  if (is_binary(kind)) {
    auto a = value_at(as_binary(e)->a, at), b = value_at(as_binary(e)->b, at);
    if (!a || !b) return {};
    return evaluate(kind, *a, *b);
  }
  switch (kind) {
    case Kind::IntImm: return static_cast<const IntImm*>(e.get())->value;
    case Kind::Var: return at.at(static_cast<const VarNode*>(e.get()));
    case Kind::Not: {
      auto a = value_at(static_cast<const Not*>(e.get())->a, at);
      return a ? std::optional<int64_t>(!*a) : a;
    }
    case Kind::Select: {
      const auto* node = static_cast<const Select*>(e.get());
      auto c = value_at(node->condition, at), t = value_at(node->true_value, at), f = value_at(node->false_value, at);
      if (!c || !t || !f) return {};
      return *c ? t : f;
    }
    case Kind::Cast: return value_at(static_cast<const Cast*>(e.get())->value, at);
    default: ICHECK(false) << "the judge cannot evaluate " << e->type_key();
  }
  return {};
}

}  // namespace tessera::arith
