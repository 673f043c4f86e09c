#pragma once
// Relay expressions that converters of several families write.

#include "frontend/common/node_context.h"

namespace tessera::frontend {

bool is_float(DataType dtype);

/// A constant of the given shape; values are rounded to the type.
Expr numbers_of(const std::vector<double>& values, const std::vector<int64_t>& shape, DataType dtype);
/// A tensor of a fixed shape full of one number.
Expr filled(double value, const std::vector<int64_t>& shape, DataType dtype);
/// Elements at `indices` of one axis.
Expr take(Expr x, Expr indices, int axis);
/// From `begin` to before `end` of one axis.
Expr slice(Expr x, int axis, int64_t begin, int64_t end, int64_t stride = 1);
/// A border of one number, so many elements before and after each dimension.
Expr pad_with(Expr x, const std::vector<int64_t>& before, const std::vector<int64_t>& after, double value);
/// The shape at run time, as int64.
Expr shape_at_run_time(Expr x);
/// One extent as an int64 number; a constant where it is known.
Expr extent_at_run_time(const NodeContext& in, const Expr& x, int axis);
Expr reshape_to(Expr x, const std::vector<int64_t>& shape);
Expr cast_if_needed(const NodeContext& in, Expr x, DataType dtype);
/// The nearest whole number, the even one when halfway.
Expr round_to_even(Expr x);
Expr repeat(Expr x, int count, int axis);
/// The matmul as NumPy has it: operands of any ranks, leading dimensions broadcast to each other.
Expr matmul_like_numpy(const NodeContext& in, Expr a, Expr b, DataType out_dtype = DataType::Void());
/// Of fp16 and bf16 each step is rounded as the standard's own function does, and sums are wide.
Expr softmax_of(Expr x, int axis);
/// Indices of all elements of a shape, the last dimension fastest.
std::vector<std::vector<int64_t>> indices_of(const std::vector<int64_t>& shape);
int64_t product_of(const std::vector<int64_t>& extents);

}  // namespace tessera::frontend
