#pragma once
// Replacing variables in a whole program, the buffers that mention them included, and making definitions new.

#include <functional>
#include <unordered_map>

#include "ir/rewrite.h"
#include "tir/function.h"

namespace tessera {

/// Rewrites expressions, statements and functions with variables replaced. A buffer whose pointer, shape, strides or
/// offset mention a replaced variable is replaced by one new buffer wherever it is used.
class Remap {
 public:
  using Replace = std::function<PrimExpr(const Var&)>;  // an empty result keeps the variable

  explicit Remap(Replace replace);
  /// Every variable and buffer that the program defines becomes a new one of the same name.
  void renew_definitions() { renew_ = true; }

  template <class R>
  R operator()(const R& node) {
    return rewriter_(node);
  }
  Buffer operator()(const Buffer& buffer);
  PrimFunc operator()(const PrimFunc& function);

 private:
  /// The variable a definition introduces from now on.
  Var define(const Var& var);
  Buffer define(const Buffer& buffer);
  IterVar define(const IterVar& iter_var);
  Buffer mapped(const Buffer& buffer, bool is_definition);
  void add_statements();
  void add_definitions();
  void add_blocks();

  Replace replace_;
  bool renew_ = false;
  Rewriter rewriter_;
  std::unordered_map<const VarNode*, Var> new_vars_;
  std::unordered_map<const BufferNode*, std::pair<Buffer, Buffer>> buffers_;  // the key is kept alive
};

/// `root` with variables replaced, buffers that mention them included.
template <class R>
R substitute_all(const R& root, const Map<Var, PrimExpr>& values) {
  return Remap([values](const Var& var) { return values.get_or_null(var); })(root);
}

/// The function with all that it defines made new.
PrimFunc renew_definitions(const PrimFunc& function);

}  // namespace tessera
