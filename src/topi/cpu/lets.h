#pragma once
// Values by name in a program that is being written.

#include <utility>
#include <vector>

#include "tir/stmt.h"

namespace tessera::topi {

/// Values by name, so that what is used twice is computed once.
class Lets {
 public:
  PrimExpr operator()(const char* name, const PrimExpr& value) {
    Var var = make_var(name, value.dtype());
    values_.emplace_back(var, value);
    return var;
  }
  Stmt around(Stmt body) const {
    for (size_t i = values_.size(); i-- > 0;)
      body = make(LetStmt{.var = values_[i].first, .value = values_[i].second, .body = body});
    return body;
  }

 private:
  std::vector<std::pair<Var, PrimExpr>> values_;
};

}  // namespace tessera::topi
