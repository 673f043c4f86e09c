#pragma once
// Expressions with the types that were inferred for them.

#include <unordered_map>
#include <utility>
#include <vector>

#include "relay/type/inference.h"

namespace tessera::relay {

/// The same expressions with their types attached; those that have them already are kept, what is shared stays shared.
class Attach {
 public:
  explicit Attach(Inference& types) : types_(types) {}

  Expr operator()(const Expr& expr);
  /// Writes the types into the expressions that were given, too.
  void fill_given() const {
    for (const auto& [_, pair] : done_) pair.first->checked_type_ = pair.second->checked_type_;
  }

 private:
  template <class T>
  Array<T> all(const Array<T>& items) {
    Array<T> out = items;
    for (size_t i = 0; i < items.size(); ++i) {
      T item = downcast<T>((*this)(items[i]));
      if (!item.same_as(items[i])) out.set(i, item);
    }
    return out;
  }

  Type type_of(const Expr& expr);
  std::vector<Type> arg_types(const Call* call);
  static bool same_type(const Type& a, const Type& b);
  /// `after` with the type of `before`; the same object when it has that type already.
  Expr typed(const Expr& before, Expr after);
  Expr rebuild(const Expr& expr);
  static bool has_hole(const Type& type);
  Expr rebuild_match(const Match* match);
  Expr lets(const Expr& first);

  Inference& types_;
  std::unordered_map<const Object*, std::pair<Expr, Expr>> done_;
};

}  // namespace tessera::relay
