#pragma once
// The node that is being converted, as what importers share sees it: how errors call it, and what is known of
// expressions while importing.

#include <optional>
#include <string>

#include "frontend/common/ints.h"
#include "frontend/errors.h"
#include "relay/expr.h"

namespace tessera::frontend {

using relay::Expr;

class NodeContext {
 public:
  virtual ~NodeContext() = default;
  /// Operator and node as a user of the file knows them: "Conv (stem/conv1)".
  virtual std::string title() const = 0;
  /// An input of the model and its axis of this extent, where it is that of one.
  virtual std::optional<std::pair<Expr, int>> input_of(const PrimExpr&) const { return std::nullopt; }

  DataType dtype(const Expr& expr) const;
  size_t rank(const Expr& expr) const;
  Array<PrimExpr> shape(const Expr& expr) const;
  /// The dimensions after batch and channels; an error where those are missing.
  size_t spatial(const Expr& expr) const;
  std::optional<std::vector<int64_t>> fixed_shape(const Expr& expr) const;
  /// The shape; an error that says what needs it where it is not fixed.
  Ints static_shape(const Expr& expr, const char* what) const;
  /// The same of one axis; the others may be dynamic.
  int64_t static_extent(const Expr& expr, int axis, const char* what) const;
  /// The contents, where they depend on constants alone.
  std::optional<NDArray> constant(const Expr& expr) const;
  std::optional<std::vector<int64_t>> constant_ints(const Expr& expr) const;
  std::optional<double> constant_number(const Expr& expr) const;
  /// The same where they are needed while importing; the error names the inputs of the model that they depend on, so that
  /// a caller who knows those can give them.
  Ints needed_ints(const Expr& expr, const std::string& what) const;
  /// A negative axis counted from the end; an error outside the rank.
  int axis(int64_t given, size_t rank) const;

  [[noreturn]] void unsupported(const std::string& what) const;
  /// `what` of an expression must be known while importing.
  [[noreturn]] void unknown(const std::string& what, const Expr& expr) const;
  [[noreturn]] void invalid(const std::string& what) const;
};

}  // namespace tessera::frontend
