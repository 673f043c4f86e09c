// Operators that a function of the host computes: Fourier transforms, determinants, rows that differ.

#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/signal.h"
#include "topi/program.h"

namespace tessera::op {
namespace {

using relay::FftAttrs;
using relay::UniqueRowsAttrs;

bool fft_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  if (rank_of(data) < 2 || !relay::may_equal(data->shape.back(), PrimExpr(2)))
    throw Error(TypeError) << "data must be (..., n, 2), real and imaginary parts, but is " << to_text(query.type(0));
  if (data->dtype != DataType::Float(32) && data->dtype != DataType::Float(64))
    throw Error(TypeError) << "data must be float32 or float64, but is " << to_text(query.type(0));
  query.result(query.type(0));
  return true;
}

bool determinant_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  int rank = rank_of(data);
  if (rank < 2 || !relay::may_equal(data->shape[rank - 1], data->shape[rank - 2]) || !data->dtype.is_floating())
    throw Error(TypeError) << "data must be (..., n, n) of floats, but is " << to_text(query.type(0));
  query.result(TensorType(Array<PrimExpr>(data->shape.begin(), data->shape.end() - 2), data->dtype));
  return true;
}

bool unique_rows_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  require_rank(query, 0, "data", 2);
  Type indices = TensorType({data->shape[0]}, DataType::Int(64));
  query.result(tuple_type({indices, indices, indices, TensorType({PrimExpr(1)}, DataType::Int(64))}));
  return true;
}

}  // namespace

static void host_records() {
  OpRecord("fft")
      .doc(
          "The Fourier transform of complex numbers (..., n, 2) along the dimension of n; the inverse is divided by n.")
      .attrs<FftAttrs>()
      .input("data", "real and imaginary parts")
      .support_level(10)
      .type("Fft", fft_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        bool is_inverse = attrs.as<FftAttrs>()->inverse;
        return topi::program("fft_cpu", in, {{in[0]->shape, in[0]->dtype}},
                             [&](const topi::Buffers& from, const topi::Buffers& to) {
                               return topi::call_function("tessera.fft", {from[0], to[0], bool_imm(is_inverse)});
                             });
      });
  OpRecord("determinant")
      .doc("The determinants of matrices (..., n, n).")
      .input("data", "the matrices")
      .support_level(10)
      .type("Determinant", determinant_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs&, const Tensors& in, const Type& out) {
        return topi::program("determinant_cpu", in, {{tensor_of(out)->shape, in[0]->dtype}},
                             [&](const topi::Buffers& from, const topi::Buffers& to) {
                               return topi::call_function("tessera.determinant", {from[0], to[0]});
                             });
      });
  OpRecord("unique_rows")
      .doc("Rows that differ: first indices, where each row went, how often each is there, and how many there are.")
      .attrs<UniqueRowsAttrs>()
      .input("data", "the rows")
      .support_level(10)
      .type("UniqueRows", unique_rows_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        topi::Result indices{{in[0]->shape[0]}, DataType::Int(64)}, one{{PrimExpr(1)}, DataType::Int(64)};
        bool is_sorted = attrs.as<UniqueRowsAttrs>()->sorted;
        return topi::program("unique_rows_cpu", in, {indices, indices, indices, one},
                             [&](const topi::Buffers& from, const topi::Buffers& to) {
                               return topi::call_function("tessera.sort.unique_rows",
                                                          {from[0], to[0], to[1], to[2], to[3], bool_imm(is_sorted)});
                             });
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily host_family{host_records};

}  // namespace tessera::op
