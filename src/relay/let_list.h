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

/// Calls `build` with a new list and puts what it pushed around its answer.
template <class F>
Expr with_lets(F&& build) {
  LetList lets;
  Expr body = build(lets);
  return lets.wrap(std::move(body));
}

}  // namespace tessera::relay
