#pragma once
// Shapes as converters of several families write them.

#include "frontend/common/node_context.h"

namespace tessera::tensorflow {

using frontend::Expr;
using frontend::NodeContext;

/// `x` in the shape that a vector of integers says, of which one may be -1; 0 is an extent of 0.
Expr reshaped(const NodeContext& in, const Expr& x, const Expr& shape);
/// The shape as a vector, a constant where it is fixed.
Expr shape_value(const NodeContext& in, const Expr& x, DataType dtype);
Expr reversed(const Expr& x, int axis);
/// A tensor full of a scalar, of the shape that a vector of integers says.
Expr full_of(const NodeContext& in, const Expr& scalar, const Expr& shape);
/// Numbers from `start` to before `stop` in steps, scalars of one type.
Expr range_of(const NodeContext& in, const Expr& start, const Expr& stop, const Expr& step);

}  // namespace tessera::tensorflow
