#pragma once
// Unknown types, what is learned about them, and the questions that wait for it.

#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// Holes are IncompleteTypes; `unify` fills them. Linear in the number of questions as long as each is asked again only
/// when a hole it waits for was filled.
class TypeSolver {
 public:
  static Type hole(TypeKind kind = TypeKind::Type) { return make(IncompleteType{.kind = kind}); }

  /// The type with every filled hole replaced by what it became.
  Type resolve(const Type& type);
  /// Only the outermost hole followed.
  Type head(Type type) const;
  /// Makes both sides one type and returns it; extents of which one is Any become Any. A TypeError when they differ.
  Type unify(const Type& a, const Type& b);

  /// Answers now or later: `answer` returns false while too little is known of `about`, and is asked again when a hole
  /// in there is filled.
  void ask(std::vector<Type> about, std::function<bool()> answer);
  /// Asks until nothing moves any more. What is not answered then leaves holes behind.
  void solve();

 private:
  struct Question {
    std::vector<Type> about;
    std::function<bool()> answer;
    bool done = false;
  };
  void fill(const Type& hole, const Type& type);
  void attempt(size_t question);
  /// A polymorphic function's type with a hole for each parameter but the first `kept`.
  Type instance_of(const FuncType* func, size_t kept);
  PrimExpr unify_extent(const PrimExpr& a, const PrimExpr& b);
  [[noreturn]] void differ(const Type& a, const Type& b);

  std::unordered_map<const Object*, std::pair<Type, Type>> filled_;  // the hole itself is kept alive
  std::unordered_map<const Object*, std::vector<size_t>> waiting_;
  std::vector<Question> questions_;
  std::deque<size_t> due_;
};

/// `type` with its type variables replaced.
Type substitute_types(const Type& type, const std::unordered_map<const Object*, Type>& by);
/// The holes in `type` in the order they stand there.
void collect_holes(const Type& type, std::vector<Type>* out);

}  // namespace tessera::relay
