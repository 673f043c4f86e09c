#pragma once
// Types that no machine computes with are kept in memory and in variables as others: bfloat16 as 16-bit words, custom types
// as unsigned integers of their size.

#include <functional>

#include "ir/rewrite.h"
#include "tir/function.h"

namespace tessera {

/// Rewrites a function so that every buffer, allocation, variable and value of a type is of `stored(type)`. Operators
/// on such values are for handlers that the user of this class adds to `rewriter`; those it adds replace its own.
class Retype {
 public:
  explicit Retype(std::function<DataType(DataType)> stored);
  Retype(const Retype&) = delete;
  Retype& operator=(const Retype&) = delete;

  Rewriter rewriter;
  DataType stored(DataType dtype) const { return stored_(dtype); }

  PrimFunc operator()(const PrimFunc& function);
  /// True when something in the function has a type that is stored as another.
  bool applies_to(const PrimFunc& function) const;

 private:
  Var renamed(const Var& var);
  Buffer lowered(const Buffer& buffer);

  std::function<DataType(DataType)> stored_;
  std::unordered_map<const VarNode*, std::pair<Var, Var>> vars_;
  std::unordered_map<const BufferNode*, std::pair<Buffer, Buffer>> buffers_;
};

}  // namespace tessera
