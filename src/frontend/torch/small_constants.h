#pragma once
// Masks and tables that a program writes part by part from constants: computed while importing, as long chains of parts in parts are
// slow to compile.

#include "frontend/common/node_context.h"

namespace tessera::torch {

/// The elements of a small constant, or of a tensor full of one number; nothing for all else.
std::optional<NDArray> small_constant(const relay::Expr& expr);
/// `base` with what `part` has at [begin, begin + extent of part) of an axis.
NDArray with_part(const NDArray& base, const NDArray& part, int axis, int64_t begin);
/// [begin, end) of an axis.
NDArray part_of(const NDArray& base, int axis, int64_t begin, int64_t end);

}  // namespace tessera::torch
