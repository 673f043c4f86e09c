#pragma once
// Which variables a statement needs from outside, and which threads it launches.

#include "tir/function.h"

namespace tessera {

struct VarUse {
  std::vector<Var> undefined;            // used, but defined by nothing inside; in order of first use
  std::vector<IterVar> thread_axes;      // of thread_extent attributes, each variable once, outermost first
  std::vector<PrimExpr> thread_extents;  // of thread_axes
};

/// `defined` are taken as known. Pointers of buffers that are accessed count as used; their shapes do not.
VarUse find_var_use(const Stmt& stmt, const std::vector<Var>& defined = {});
VarUse find_var_use(const PrimExpr& e, const std::vector<Var>& defined = {});

}  // namespace tessera
