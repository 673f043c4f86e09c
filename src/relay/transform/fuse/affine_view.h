#pragma once
// Float tensors of which the integers that stand for them are known, for passes that compute with the integers.

#include <optional>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// value = scale * (data - zero). One scale for all, or one for each index along `axis`; one zero point for all.
struct AffineView {
  Expr data;  // integers
  DataType dtype;
  std::vector<float> scale;
  double zero = 0;
  int axis = -1;  // -1: one scale

  bool has_one_scale() const { return scale.size() == 1; }
};

/// The numbers of a constant on the host; nothing for anything else.
std::optional<std::vector<float>> constant_floats(const Expr& expr);
/// A constant of float32; without dimensions for one number.
Expr float_constant(const std::vector<float>& values);

/// What the arguments (data, scale, zero point) of qnn.quantize or qnn.dequantize say, of a tensor of integers of `dtype` and
/// `rank` dimensions; nothing where scale or zero point are no constants, or zero points differ.
std::optional<AffineView> affine_view(const Array<Expr>& args, DataType dtype, int axis, size_t rank);

/// The view of what a call makes of its first argument of that view, where the call only moves or selects elements (reshape,
/// transpose, the maximum of windows); nothing for other calls. `type` is that of the argument.
std::optional<AffineView> moved_view(const Call* call, const AffineView& view, const Type& type);

/// The sums over all axes of a weight of int8 but one, times a factor, as int32: a constant where the weight is one.
Expr channel_sums(const Expr& weight, int channel, size_t rank, int64_t factor);

/// int8 as uint8 and back: 128 more, 128 less.
Expr as_unsigned(const Expr& x);
Expr as_signed(const Expr& x);

}  // namespace tessera::relay
