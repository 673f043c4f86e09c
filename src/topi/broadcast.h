#pragma once
// Functions of two operands whose shapes are broadcast to each other, as NumPy does.

#include "topi/operand.h"

namespace tessera::topi {

/// The common shape, or a ValueError that names the dimension where the shapes disagree. Where one extent is symbolic
/// and the other a constant above 1, the constant wins; two symbolic extents give their maximum.
Array<PrimExpr> broadcast_shape(const Array<PrimExpr>& a, const Array<PrimExpr>& b);

/// Where element `indices` of the broadcast shape lies in a tensor of shape `shape`.
Array<PrimExpr> broadcast_indices(const Array<PrimExpr>& indices, const Array<PrimExpr>& common,
                                  const Array<PrimExpr>& shape);

te::Tensor broadcast_to(const te::Tensor& data, const Array<PrimExpr>& shape, const String& name = "T_broadcast_to",
                        const String& tag = kBroadcast);

/// Applies `body` element by element; two numbers give a number.
Operand broadcast(const Operand& a, const Operand& b, const std::function<PrimExpr(PrimExpr, PrimExpr)>& body,
                  const String& name);

}  // namespace tessera::topi
