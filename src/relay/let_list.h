#pragma once
// A chain of lets as it grows: values are pushed in the order of their evaluation and put around a body at the end.

#include <utility>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// A variable of a name that no other fresh variable has: x_0, x_1, ... Its type is that of `like`, where it is known.
Var fresh_local(const Expr& like = nullptr);

class LetList {
 public:
  /// Names the value; the answer is its variable.
  Var push(Expr value) {
    Var var = fresh_local(value);
    return push(var, std::move(value));
  }
  Var push(Var var, Expr value) {
    lets_.emplace_back(var, std::move(value));
    return var;
  }
  size_t size() const { return lets_.size(); }
  /// The lets around `body`; the list is empty afterwards.
  Expr wrap(Expr body);

 private:
  std::vector<std::pair<Var, Expr>> lets_;
};

/// Goes along a chain of lets in a loop, however long it is: `new_value` gives the new value of one, or nothing where the let
/// is dropped; those that stay are put around what `new_body` makes of the end of the chain.
template <class Value, class Body>
Expr rewrite_lets(const Let* first, Value&& new_value, Body&& new_body) {
  std::vector<std::pair<const Let*, Expr>> kept;
  Expr end(first);
  while (auto* let = end.as<Let>()) {
    if (Expr value = new_value(let); value.defined()) kept.emplace_back(let, std::move(value));
    end = let->body;
  }
  Expr body = new_body(end);
  for (size_t i = kept.size(); i-- > 0;) {
    Let copy(*kept[i].first);
    copy.value = std::move(kept[i].second);
    copy.body = std::move(body);
    body = make(std::move(copy));
  }
  return body;
}

/// Calls `build` with a new list and puts what it pushed around its answer.
template <class F>
Expr with_lets(F&& build) {
  LetList lets;
  Expr body = build(lets);
  return lets.wrap(std::move(body));
}

}  // namespace tessera::relay
