#include "relay/let_list.h"

#include <atomic>

#include "relay/make.h"

namespace tessera::relay {

Var fresh_local(const Expr& like) {
  static std::atomic<int64_t> count{0};
  Var var = make_local("x_" + std::to_string(count++));
  if (like) var->checked_type_ = like->checked_type_;
  return var;
}

Expr LetList::wrap(Expr body) {
  for (size_t i = lets_.size(); i-- > 0;) {
    Expr let = make_let(lets_[i].first, lets_[i].second, body);
    let->checked_type_ = body->checked_type_;
    body = std::move(let);
  }
  lets_.clear();
  return body;
}

}  // namespace tessera::relay
