#pragma once
// Integer expressions over the extents of a kernel's arguments as shape programs.

#include "ir/prim/expr.h"
#include "ir/tensor_type.h"
#include "runtime/vm/shape_program.h"

namespace tessera::relay {

/// Where each shape variable is found: extent `dim` of argument `arg`.
struct ExtentSource {
  uint32_t arg, dim;
};
using ExtentSources = std::unordered_map<const Object*, ExtentSource>;

class ShapeProgramBuilder {
 public:
  /// `sources` must outlive the builder.
  ShapeProgramBuilder(std::string name, std::vector<uint32_t> ranks, const ExtentSources& sources);

  /// The step that computes `expr`; shared parts are computed once. False where it is not integer arithmetic.
  bool add(const PrimExpr& expr, uint32_t* step);
  uint32_t extent(ExtentSource source);
  uint32_t constant(int64_t value);
  void check(uint32_t step, std::string message) { program_.checks.push_back({step, std::move(message)}); }
  uint32_t binary(vm::ShapeOp op, uint32_t a, uint32_t b) { return emit({op, a, b, 0, 0}); }
  vm::ShapeProgram take(std::vector<uint32_t> result);

 private:
  uint32_t emit(const vm::ShapeStep& step);

  vm::ShapeProgram program_;
  const ExtentSources& sources_;
  std::unordered_map<const Object*, uint32_t> done_;
};

}  // namespace tessera::relay
