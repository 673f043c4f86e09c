#pragma once
// What the records of quantised operators share.

#include <optional>
#include <string_view>

#include "op/record.h"
#include "relay/graph_environment.h"

namespace tessera::op {

/// How a quantised operator is written in plain ones: (call's attributes, its arguments, the types of those and of the
/// result, what the graph is compiled for). The slot FTVMQnnCanonicalize.
using Canonicalize = relay::GraphRule<Attrs, Array<Expr>, Array<Type>>;
inline constexpr const char* kCanonicalize = "FTVMQnnCanonicalize";
inline constexpr const char* kQnnLegalize = "FTVMQnnLegalize";  // the same, before; for a target where it likes
/// What an operator is on integers that the target multiplies quickly (qnn.transform.Legalize; relay.build has kernels for all).
inline constexpr const char* kQnnTargetForm = "TQnnTargetForm";
/// Whether code is for a CPU with an instruction set of that name, as LLVM calls it; whether the target names the CPU.
bool has_feature(const relay::GraphEnvironment& environment, std::string_view feature);
bool names_cpu(const relay::GraphEnvironment& environment);
Any canonicalization(const char* name, const Canonicalize& rule);

/// The least and the greatest value of an integer type.
struct IntegerRange {
  double low, high;
};
IntegerRange integer_range(DataType dtype);

/// A TypeError unless arguments `scale` and `zero` are a scale (floats) and a zero point (int32): numbers, or vectors with an
/// element for each index along `axis` of `shape`. False while their types are not known.
/// Where the number of elements is known at run time only, one is as good as one for each index if `may_be_one`.
bool check_affine(TypeQuery& query, int scale, int zero, const Array<PrimExpr>& shape, int axis,
                  bool may_be_one = false);

/// A scale or zero point as it meets a tensor of `rank` dimensions: a vector gets dimensions of 1 behind it.
Expr along_axis(const Expr& part, const Type& type, int axis, size_t rank);

/// The number of a constant of one element; nothing for anything else.
std::optional<double> number_of(const Expr& expr);
/// Scale and zero point of integers, as expressions with their types.
struct AffineArgs {
  Expr scale, zero;
  Type scale_type, zero_type;
};
/// The real numbers that integers stand for, and back, in plain operators; `rank` is that of the tensor.
Expr real_of(const Expr& x, const AffineArgs& from, int axis, size_t rank);
Expr integers_of(const Expr& x, const AffineArgs& to, int axis, size_t rank, DataType dtype, bool to_even);

/// Integers of one scale and zero point as int32 of another: cast(round((x - zero) * scale / to scale)) + to zero, not
/// yet clipped to a range. Steps that change nothing are left out.
struct Requantize {
  AffineArgs from, to;
  int axis = -1;
  String rounding = "None", compute_dtype = "None";
};
Expr requantized(const Expr& x, const Type& type, const Requantize& how, const relay::GraphEnvironment& environment);
/// Clipped to the range of `dtype`.
Expr narrowed(const Expr& x, DataType dtype);

}  // namespace tessera::op
