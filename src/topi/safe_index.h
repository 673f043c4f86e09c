#pragma once
// Indices that come from data. Whatever they are, what is read or written by them lies inside its tensor.

#include <functional>

#include "ir/prim/ops.h"
#include "te/tensor.h"

namespace tessera::topi {

/// What an operator does with an index that is outside. `name` empty: the index is brought inside. Else: an IndexError that
/// names the operator so; negative indices count from the end.
struct IndexCheck {
  String name;
  explicit operator bool() const { return !name.empty(); }
};

/// The index in a signed type that holds it and the extent.
PrimExpr wide_index(const PrimExpr& index, const PrimExpr& extent);
/// The index itself where it is in [0, extent), else the last one: one comparison.
PrimExpr nearest_index(const PrimExpr& index, const PrimExpr& extent);

/// Makes the indices of one access safe, and knows where the access must not happen at all: tensors without elements, and
/// extents known at run time alone that do not fit each other.
class SafeAccess {
 public:
  explicit SafeAccess(IndexCheck check) : check_(std::move(check)) {}

  /// An index from data into an axis of `extent` elements.
  PrimExpr index(const PrimExpr& given, const PrimExpr& extent, int axis);
  /// The same without a check: one in [0, extent) already.
  PrimExpr bounded(const PrimExpr& index, const PrimExpr& extent);
  /// Elements of an axis of `extent` are also counted by a loop over `from`.
  void shares(const PrimExpr& from, const PrimExpr& extent, int axis);

  /// x[at]; 0 where it must not be read.
  PrimExpr load(const te::Tensor& x, const Array<PrimExpr>& at) const;
  /// Whether the access may happen; where it may not, asking reports what is wrong.
  PrimExpr is_possible() const;

 private:
  /// A condition and, where it does not hold, what is 0 there and reports why when it is computed.
  struct Guard {
    PrimExpr holds, report;  // empty: always, and nothing
    void require(const PrimExpr& condition) { holds = holds ? logical_and(holds, condition) : condition; }
    void add_report(const PrimExpr& checked);
    /// `value` under the guard, else what `other` makes of the report.
    PrimExpr protect(const PrimExpr& value, const std::function<PrimExpr(const PrimExpr& report)>& other) const;
  };
  PrimExpr checked(const PrimExpr& index, const PrimExpr& extent, int axis) const;

  IndexCheck check_;
  Guard fits_;          // extents to each other
  Guard has_elements_;  // where they fit: its reports may read by indices that are shared
};

}  // namespace tessera::topi
