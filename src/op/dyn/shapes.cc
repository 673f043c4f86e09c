#include "op/dyn/shapes.h"

#include "ir/prim/ops.h"
#include "topi/elementwise.h"
#include "topi/operand.h"

namespace tessera::op {

Array<PrimExpr> any_shape(int64_t rank) {
  Array<PrimExpr> out;
  for (int64_t i = 0; i < rank; ++i) out.push_back(any_extent());
  return out;
}

int64_t vector_length(const TypeQuery& query, int i, const char* name) {
  require_integers(query, i, name);
  require_rank(query, i, name, 1);
  const int64_t* length = as_int(query.tensor(i)->shape[0]);
  if (!length)
    throw Error(TypeError) << name << " is " << to_text(query.type(i))
                           << ": how many numbers it has must be known, since it says the number of dimensions";
  constexpr int64_t kMaxDimensions = 64;
  if (*length > kMaxDimensions)
    throw Error(TypeError) << name << " is " << to_text(query.type(i)) << ", one number for each dimension; at most "
                           << kMaxDimensions << " are supported";
  return *length;
}

PrimExpr int64_at(const te::Tensor& vector, int64_t i) {
  return cast(DataType::Int(64), te::load(vector, {PrimExpr(static_cast<int>(i))}));
}

te::Tensor shape_vector(int64_t rank, const std::function<PrimExpr(int64_t)>& extent) {
  return topi::compute(
      {PrimExpr(static_cast<int>(rank))}, "ax",
      [&](const Array<PrimExpr>& at) {
        PrimExpr out = make_const(DataType::Int(64), 0);
        for (int64_t i = 0; i < rank; ++i)
          out = if_then_else(equal(at[0], PrimExpr(static_cast<int>(i))), cast(DataType::Int(64), extent(i)), out);
        return out;
      },
      "shape", "");
}

Tensors host_shapes(const char* function, const Tensors& in, const Array<PrimExpr>& ranks,
                    const std::vector<topi::PackedArgument>& further) {
  std::vector<topi::Result> results;
  for (const PrimExpr& rank : ranks) results.push_back({{rank}, DataType::Int(64)});
  Tensors values;  // bfloat16 is stored as integers, which is what the function would see
  for (const te::Tensor& tensor : in)
    values.push_back(tensor->dtype.is_bfloat() ? topi::cast(tensor, DataType::Float(32)) : tensor);
  return topi::program("shape", values, results, [&](const topi::Buffers& from, const topi::Buffers& out) {
    std::vector<topi::PackedArgument> args(from.begin(), from.end());
    args.insert(args.end(), out.begin(), out.end());
    args.insert(args.end(), further.begin(), further.end());
    return topi::call_function(function, args);
  });
}

}  // namespace tessera::op
