#include "op/rules.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "relay/attrs/reduce.h"
#include "tir/layout.h"

namespace tessera::op {

using relay::assume;
using relay::is_any;
using relay::may_equal;
using relay::TypeQuery;

bool same_as_input(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  query.result(query.type(0));
  return true;
}

bool bool_of_input(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.result(TensorType(data->shape, DataType::Bool()));
  return true;
}

namespace {

/// The extent that two extents above 1, or of unknown size, are both broadcast to; empty when they certainly differ.
/// An unknown one that may be 1 yields to the other.
PrimExpr broadcast_extent(const PrimExpr& x, const PrimExpr& y) {
  if (as_int(x) && as_int(y)) return *as_int(x) == *as_int(y) ? x : PrimExpr();
  arith::Analyzer analyzer;
  if (analyzer.can_prove_equal(x, y)) return as_int(y) ? y : x;
  PrimExpr x_is_one = equal(x, PrimExpr(1)), y_is_one = equal(y, PrimExpr(1)), same = equal(x, y);
  if (as_int(x)) return assume(logical_or(same, y_is_one)), x;
  if (as_int(y)) return assume(logical_or(same, x_is_one)), y;
  assume(logical_or(same, logical_or(x_is_one, y_is_one)));
  return select(x_is_one, y, x);
}

}  // namespace

Array<PrimExpr> broadcast_type_shape(const Array<PrimExpr>& a, const Array<PrimExpr>& b) {
  size_t rank = std::max(a.size(), b.size());
  std::vector<PrimExpr> out;
  for (size_t i = 0; i < rank; ++i) {
    size_t back = rank - i;
    PrimExpr x = back <= a.size() ? a[a.size() - back] : PrimExpr(1);
    PrimExpr y = back <= b.size() ? b[b.size() - back] : PrimExpr(1);
    if (back > a.size() || is_one(x)) out.push_back(y);
    else if (back > b.size() || is_one(y)) out.push_back(x);
    else if (is_any(x) || is_any(y)) out.push_back(is_any(x) ? y : x);
    else if (out.push_back(broadcast_extent(x, y)); out.back()) continue;
    else
      throw Error(TypeError) << "the shapes " << to_text(a) << " and " << to_text(b)
                             << " cannot be broadcast together: " << x << " and " << y << " differ and neither is 1";
  }
  return out;
}

namespace {

bool broadcast_to(TypeQuery& query, bool compares) {
  auto *lhs = query.tensor(0), *rhs = query.tensor(1);
  if (!lhs || !rhs) return false;
  if (lhs->dtype != rhs->dtype)
    throw Error(TypeError) << "the element types " << to_text(lhs->dtype) << " and " << to_text(rhs->dtype)
                           << " differ; cast one of the tensors";
  DataType dtype = compares ? DataType::Bool() : lhs->dtype;
  query.result(TensorType(broadcast_type_shape(lhs->shape, rhs->shape), dtype));
  return true;
}

}  // namespace

bool broadcast(TypeQuery& query) { return broadcast_to(query, false); }
bool broadcast_compare(TypeQuery& query) { return broadcast_to(query, true); }

void per_slice_argument(TypeQuery& query, int i, const char* name, const PrimExpr& extent, DataType dtype) {
  auto* given = query.tensor(i);
  if (!given) return query.argument(i, TensorType({extent}, dtype));
  if (given->shape.size() != 1 || !may_equal(given->shape[0], extent))
    throw Error(TypeError) << name << " must be one value for each of the " << extent << " slices of data, but is "
                           << to_text(query.type(i));
  if (given->dtype != dtype)
    throw Error(TypeError) << name << " is of " << to_text(given->dtype) << ", but data is of " << to_text(dtype)
                           << "; cast one of the tensors";
}

PrimExpr extent_product(const Array<PrimExpr>& shape, size_t begin) {
  PrimExpr out = begin < shape.size() ? shape[begin] : PrimExpr(1);
  for (size_t i = begin + 1; i < shape.size() && !is_any(out); ++i) out = is_any(shape[i]) ? shape[i] : out * shape[i];
  return out;
}

void check_rank(const TypeQuery& query, int i, const char* name, const String& layout) {
  if (query.tensor(i)->shape.size() != make_layout(layout)->axes.size())
    throw Error(TypeError) << name << " is " << to_text(query.type(i)) << ", but its layout is " << layout;
}

std::pair<Array<PrimExpr>, Array<PrimExpr>> split_pairs(const Array<Array<PrimExpr>>& pairs) {
  Array<PrimExpr> first, second;
  for (const Array<PrimExpr>& pair : pairs) {
    first.push_back(pair[0]);
    second.push_back(pair[1]);
  }
  return {first, second};
}

Type tuple_type(Array<Type> fields) {
  TupleType out;
  out.fields_ = std::move(fields);
  return make(std::move(out));
}

int normal_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw Error(TypeError) << "axis " << axis << " is out of range for a tensor of " << rank << " dimensions";
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

PrimExpr common_extent(const PrimExpr& a, const PrimExpr& b) {
  if (is_any(a)) return b;
  if (is_any(b)) return a;
  if (!may_equal(a, b)) return PrimExpr();
  return as_int(a) ? a : b;
}

std::vector<int> reduce_axes_of(const relay::ReduceAttrs* attrs, int rank) {
  bool is_given = attrs->axis.defined();
  std::vector<bool> chosen(static_cast<size_t>(rank));
  if (is_given)
    for (const PrimExpr& axis : attrs->axis) chosen[normal_axis(*as_int(axis), rank)] = true;
  bool all = !attrs->exclude && (!is_given || attrs->axis.empty());
  std::vector<int> out;
  for (int i = 0; i < rank; ++i)
    if (all || (is_given && chosen[i] != attrs->exclude)) out.push_back(i);
  return out;
}

PrimExpr any_extent() {
  AnyDim any;
  any.dtype = DataType::Int(32);
  return make(std::move(any));
}

int64_t constant_of(const PrimExpr& value, const char* name) {
  const int64_t* number = value ? as_int(value) : nullptr;
  if (!number) throw Error(TypeError) << name << " must be a constant integer";
  return *number;
}

void require_integers(const TypeQuery& query, int i, const char* name) {
  DataType dtype = query.tensor(i)->dtype;
  if (!dtype.is_int() && !dtype.is_uint())
    throw Error(TypeError) << name << " must be integers, but is " << to_text(query.type(i));
}

void require_rank(const TypeQuery& query, int i, const char* name, int rank) {
  if (rank_of(query.tensor(i)) != rank)
    throw Error(TypeError) << name << " must have " << rank << (rank == 1 ? " dimension" : " dimensions") << ", but is "
                           << to_text(query.type(i));
}

}  // namespace tessera::op
