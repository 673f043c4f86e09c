#pragma once
// Shapes computed at run time: a straight line of integer operations over the extents of the arguments.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <dlpack/dlpack.h>

namespace tessera::vm {

/// Operations on 64-bit integers; each step's value is named by its index. Division by zero is an error.
enum class ShapeOp : uint8_t {
  Constant,  // imm
  Extent,    // extent b of argument a
  Add,       // a + b, and so on
  Sub,
  Mul,
  FloorDiv,
  FloorMod,
  TruncDiv,
  TruncMod,
  Min,
  Max,
  EQ,
  NE,
  LT,
  LE,
  And,
  Or,
  Not,     // of a
  Select,  // a ? b : c
};
inline constexpr int kNumShapeOps = 19;

struct ShapeStep {
  ShapeOp op = ShapeOp::Constant;
  uint32_t a = 0, b = 0, c = 0;  // earlier steps, but for Extent
  int64_t imm = 0;
};

/// What must hold between the extents of the arguments: `step` is not zero. `message` says it in words.
struct ShapeCheck {
  uint32_t step = 0;
  std::string message;
};

struct ShapeProgram {
  std::string name;             // of the kernel it serves, for messages
  std::vector<uint32_t> ranks;  // of the arguments
  std::vector<ShapeStep> steps;
  std::vector<ShapeCheck> checks;
  std::vector<uint32_t> result;  // a step for each extent

  /// An empty text when every step looks back only and inside, else what is wrong.
  std::string problem() const;
  /// The shape; an error that says which argument or check failed. `scratch` saves allocations between calls.
  std::vector<int64_t> run(std::span<const DLTensor* const> args, std::vector<int64_t>& scratch) const;
};

std::string_view shape_op_name(ShapeOp op);

}  // namespace tessera::vm
