// dyn.reshape, expand_dims, squeeze, strided_slice, topk: numbers that say which elements go where are arguments.

#include "ir/prim_ops.h"
#include "op/dyn/shapes.h"
#include "op/records.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "topi/program.h"
#include "topi/search.h"
#include "topi/slice.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::DynExpandDimsAttrs;
using relay::ReshapeAttrs;
using relay::SqueezeAttrs;
using relay::StridedSliceAttrs;
using relay::TopkAttrs;
using topi::Buffers;
using topi::Cell;

const DataType kInt = DataType::Int(64);
PrimExpr int64(int64_t value) { return make_const(kInt, value); }

Tensors reshape(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::reshape(in[0], tensor_of(out)->shape)};
}

bool reshape_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  query.result(TensorType(any_shape(vector_length(query, 1, "newshape")), data->dtype));
  return true;
}

/// The numbers of newshape in order: an extent, 0 (and -2) for the input's next, -1 for what is left, -3 for the product
/// of the input's next two.
Tensors reshape_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ndims) {
  bool allowzero = attrs.as<ReshapeAttrs>()->allowzero;
  PrimExpr have = in[0]->shape[0];
  te::Tensor wanted = shape_vector(*as_int(ndims[0]), [&](int64_t i) { return int64_at(in[1], i); });
  return topi::program(
      "reshape_shape", {in[0], wanted}, {{wanted->shape, kInt}}, [&](const Buffers& from, const Buffers& out) {
        return topi::with_memory(kInt, 4, [&](const Buffer& memory) {
          Cell next(memory, 0), open(memory, 1), before(memory, 2), after(memory, 3);
          PrimExpr last = max(cast(kInt, have) - int64(1), int64(0));
          auto input = [&](const PrimExpr& at) { return make_load(from[0], {min(at, last)}); };
          Stmt each = topi::loop(wanted->shape[0], [&](const PrimExpr& i) {
            PrimExpr number = make_load(from[1], {i});
            auto give = [&](const PrimExpr& extent, int used) {
              return sequence({topi::store(out[0], extent, {i}), after.set(after() * extent), next.add(used)});
            };
            PrimExpr is_plain = allowzero ? number >= int64(0) : number > int64(0);
            PrimExpr is_join = equal(number, int64(-3)), is_open = equal(number, int64(-1));
            return topi::when(
                is_plain, give(number, 1),
                topi::when(
                    is_open, sequence({topi::store(out[0], int64(1), {i}), open.set(i), next.add(1)}),
                    topi::when(is_join, give(input(next()) * input(next() + int64(1)), 2), give(input(next()), 1))));
          });
          Stmt count =
              topi::loop(have, [&](const PrimExpr& i) { return before.set(before() * make_load(from[0], {i})); });
          Stmt fill = topi::when(open() >= int64(0), topi::store(out[0], floordiv(before(), max(after(), int64(1))),
                                                                 {cast(DataType::Int(32), open())}));
          return sequence(
              {next.set(int64(0)), open.set(int64(-1)), before.set(int64(1)), after.set(int64(1)), each, count, fill});
        });
      });
}

bool expand_dims_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  require_integers(query, 1, "axis");
  query.result(TensorType(any_shape(rank_of(data) + query.attrs_as<DynExpandDimsAttrs>()->num_newaxis), data->dtype));
  return true;
}

Tensors expand_dims_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ndims) {
  int64_t rank = *as_int(ndims[0]), added = attrs.as<DynExpandDimsAttrs>()->num_newaxis, have = rank - added;
  PrimExpr given = int64_of(in[1]), axis = select(given < int64(0), given + int64(have + 1), given);
  return {shape_vector(rank, [&](int64_t i) {
    PrimExpr before = i < have ? int64_at(in[0], i) : int64(1),
             behind = i >= added ? int64_at(in[0], i - added) : int64(1);
    PrimExpr is_new = logical_and(int64(i) >= axis, int64(i) < axis + int64(added));
    return select(int64(i) < axis, before, select(is_new, int64(1), behind));
  })};
}

bool squeeze_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  int64_t gone = vector_length(query, 1, "axes");
  if (gone > rank_of(data))
    throw Error(TypeError) << gone << " dimensions cannot be taken from " << to_text(query.type(0));
  query.result(TensorType(any_shape(rank_of(data) - gone), data->dtype));
  return true;
}

Tensors squeeze_shape(const Attrs&, const Tensors& in, const Array<PrimExpr>& ndims) {
  int64_t rank = *as_int(ndims[0]), have = *as_int(in[0]->shape[0]), gone = *as_int(in[1]->shape[0]);
  auto is_gone = [&](int64_t dimension) {
    PrimExpr out = bool_imm(false);
    for (int64_t i = 0; i < gone; ++i) {
      PrimExpr axis = int64_at(in[1], i);
      out = logical_or(out, logical_or(equal(axis, int64(dimension)), equal(axis, int64(dimension - have))));
    }
    return out;
  };
  PrimExpr kept = int64(0);  // how many dimensions before this one stay
  std::vector<PrimExpr> extents(static_cast<size_t>(rank), int64(1));
  for (int64_t d = 0; d < have; ++d) {
    for (int64_t i = 0; i < rank; ++i) {
      PrimExpr is_this = logical_and(logical_not(is_gone(d)), equal(kept, int64(i)));
      extents[i] = select(is_this, int64_at(in[0], d), extents[i]);
    }
    kept = kept + select(is_gone(d), int64(0), int64(1));
  }
  return {shape_vector(rank, [&](int64_t i) { return extents[i]; })};
}

bool strided_slice_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  for (int i = 0; i < 4; ++i)
    if (!query.tensor(i)) return false;
  const char* names[] = {"data", "begin", "end", "strides"};
  int64_t count = 0;
  for (int i = 1; i < 4; ++i) count = std::max(count, vector_length(query, i, names[i]));
  if (count > rank_of(data))
    throw Error(TypeError) << "a slice has " << count << " places for " << to_text(query.type(0));
  Array<PrimExpr> shape = data->shape;
  for (int64_t i = 0; i < count; ++i) shape.set(i, any_extent());
  query.result(TensorType(shape, data->dtype));
  return true;
}

/// The slice of dimension `i`, of `size` elements, from tensors of places.
topi::SliceAxis slice_at(const Attrs& attrs, const Tensors& in, int64_t i, const PrimExpr& size) {
  auto number = [&](const te::Tensor& list) {
    return i < *as_int(list->shape[0]) ? cast(size.dtype(), int64_at(list, i)) : PrimExpr();
  };
  bool is_size = attrs.as<StridedSliceAttrs>()->slice_mode == "size";
  return topi::slice_axis(size, number(in[1]), number(in[2]), number(in[3]), is_size);
}

Tensors strided_slice_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ndims) {
  return {
      shape_vector(*as_int(ndims[0]), [&](int64_t i) { return slice_at(attrs, in, i, int64_at(in[0], i)).extent; })};
}

Tensors strided_slice(const Attrs& attrs, const Tensors& in, const Type& out) {
  return {topi::compute(
      tensor_of(out)->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source;
        for (size_t i = 0; i < at.size(); ++i) {
          topi::SliceAxis slice = slice_at(attrs, in, static_cast<int64_t>(i), in[0]->shape[i]);
          source.push_back(at[i] * slice.stride + slice.begin);
        }
        return te::load(in[0], source);
      },
      "T_strided_slice", topi::kInjective)};
}

bool topk_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  auto* attrs = query.attrs_as<TopkAttrs>();
  require_integers(query, 1, "k");
  Array<PrimExpr> shape = data->shape;
  shape.set(normal_axis(attrs->axis, rank_of(data)), any_extent());
  query.result(topk_result(query, shape, attrs->ret_type, attrs->dtype));
  return true;
}

Tensors topk_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ndims) {
  int64_t rank = *as_int(ndims[0]), axis = normal_axis(attrs.as<TopkAttrs>()->axis, static_cast<int>(rank));
  Tensors out;
  for (size_t k = 0; k < ndims.size(); ++k)
    out.push_back(shape_vector(rank, [&](int64_t i) {
      PrimExpr extent = int64_at(in[0], i), wanted = int64_of(in[1]);
      return i != axis ? extent : select(wanted < int64(1), extent, wanted);
    }));
  return out;
}

Tensors topk(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<TopkAttrs>();
  int axis = normal_axis(attrs->axis, rank_of(in[0]));
  auto* tuple = out.as<TupleType>();
  PrimExpr count = tensor_of(tuple ? tuple->fields_[0] : out)->shape[axis];
  return topi::topk(in[0], count, axis, attrs->ret_type, attrs->is_ascend, attrs->dtype);
}

}  // namespace

void dyn_reshape_records() {
  OpRecord("dyn.reshape")
      .doc("The same elements in row-major order under another shape.")
      .attrs<ReshapeAttrs>()
      .input("data", "the input")
      .input("newshape", "the shape")
      .support_level(3)
      .type("DynamicReshape", reshape_type)
      .fusion(Fusion::Injective)
      .compute(reshape)
      .shape({0, 1}, reshape_shape);
  OpRecord("dyn.expand_dims")
      .doc("New dimensions of extent 1.")
      .input("data", "the input")
      .input("axis", "where")
      .support_level(3)
      .type("DynamicExpandDims", expand_dims_type)
      .fusion(Fusion::Injective)
      .compute(reshape)
      .shape({0, 1}, expand_dims_shape);
  OpRecord("dyn.squeeze")
      .doc("Without dimensions of extent 1.")
      .attrs<SqueezeAttrs>()
      .input("data", "the input")
      .input("axes", "which")
      .support_level(3)
      .type("DynamicSqueeze", squeeze_type)
      .fusion(Fusion::Injective)
      .compute(reshape)
      .shape({0, 1}, squeeze_shape);
  OpRecord("dyn.strided_slice")
      .doc("A part of a tensor, as Python's slices mean it.")
      .attrs<StridedSliceAttrs>()
      .input("data", "the input")
      .input("begin", "where it begins")
      .input("end", "where it ends")
      .input("strides", "its steps")
      .input("slice_mode", "how the end is counted: an attribute")
      .takes(4)
      .support_level(4)
      .type("StridedSlice", strided_slice_type)
      .fusion(Fusion::Injective)
      .compute(strided_slice)
      .shape({0, 1, 1, 1}, strided_slice_shape);
  OpRecord("dyn.topk")
      .doc("The greatest or least elements along an axis, their places, or both.")
      .attrs<TopkAttrs>()
      .input("data", "the input")
      .input("k", "how many")
      .support_level(6)
      .type("DynTopK", topk_type)
      .fusion(Fusion::Opaque)
      .compute(topk)
      .shape({0, 1}, topk_shape);
}

}  // namespace tessera::op
