#pragma once
// Type rules that many operators share.

#include "relay/type/rule.h"
#include "te/tensor.h"

namespace tessera::relay {
struct ReduceAttrs;
}

namespace tessera::op {

using Tensors = Array<te::Tensor>;

inline int rank_of(const TensorTypeNode* type) { return static_cast<int>(type->shape.size()); }
inline int rank_of(const te::Tensor& tensor) { return static_cast<int>(tensor->shape.size()); }
inline const TensorTypeNode* tensor_of(const Type& type) { return type.as<TensorTypeNode>(); }

/// One tensor in, the same type out.
bool same_as_input(relay::TypeQuery& query);
/// One tensor in, bool of the same shape out.
bool bool_of_input(relay::TypeQuery& query);
/// Two tensors of one element type, broadcast to each other as NumPy does.
bool broadcast(relay::TypeQuery& query);
/// The same with bool elements out.
bool broadcast_compare(relay::TypeQuery& query);

/// The common shape; an extent Any stands against 1 or Any, and yields to a constant above 1.
Array<PrimExpr> broadcast_type_shape(const Array<PrimExpr>& a, const Array<PrimExpr>& b);
/// A tensor of one value for each of `extent` slices, as bias and scale are: checked, or concluded while it is unknown.
void per_slice_argument(relay::TypeQuery& query, int i, const char* name, const PrimExpr& extent, DataType dtype);
/// `change` of an extent; Any stays Any.
template <class F>
PrimExpr on_extent(const PrimExpr& extent, const F& change) {
  return relay::is_any(extent) ? extent : change(extent);
}
/// The product of extents from position `begin` on; Any when one is.
PrimExpr extent_product(const Array<PrimExpr>& shape, size_t begin = 0);
/// A TypeError unless the tensor has one dimension for each of the layout's.
void check_rank(const relay::TypeQuery& query, int i, const char* name, const String& layout);
/// The first numbers and the second numbers of pairs, as borders are written: (before, after) for each dimension.
std::pair<Array<PrimExpr>, Array<PrimExpr>> split_pairs(const Array<Array<PrimExpr>>& pairs);
/// The type of a tuple of values of these types.
Type tuple_type(Array<Type> fields);
/// Any where one of the extents is, else what `extent()` says.
template <class F>
PrimExpr unless_any(std::initializer_list<PrimExpr> extents, F extent) {
  for (const PrimExpr& e : extents)
    if (relay::is_any(e)) return e;
  return extent();
}
/// The extent that stands for both of two that must be equal; a constant is preferred. Empty when they differ.
PrimExpr common_extent(const PrimExpr& a, const PrimExpr& b);
/// The axes that a reduction of a tensor of `rank` dimensions reduces, rising.
std::vector<int> reduce_axes_of(const relay::ReduceAttrs* attrs, int rank);
/// An extent that is known only at run time.
PrimExpr any_extent();
/// The type of topk's result: values, indices or both of `shape`.
Type topk_result(const relay::TypeQuery& query, const Array<PrimExpr>& shape, const String& what, DataType dtype);
/// The value of an integer attribute that must be a constant.
int64_t constant_of(const PrimExpr& value, const char* name);
/// A TypeError unless argument `i` holds integers.
void require_integers(const relay::TypeQuery& query, int i, const char* name);
/// A TypeError unless argument `i` has `rank` dimensions.
void require_rank(const relay::TypeQuery& query, int i, const char* name, int rank);
/// `axis` counted from the front; a TypeError when it is not in [-rank, rank).
int normal_axis(int64_t axis, int rank);

}  // namespace tessera::op
