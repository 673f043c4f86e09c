#pragma once
// Kernels whose extents are known only at run time: compiled once with variables for them, and the shapes of their
// results computed before each call.

#include "relay/expr.h"
#include "runtime/vm/shape_program.h"
#include "tir/function.h"

namespace tessera::relay {

/// The parameters of a primitive function have shape variables for their dynamic extents (with_plain_extents), and type
/// inference says the rest: the result's extents are expressions over them, and what the type rules had to assume on
/// the way (equal extents, broadcast ones) are conditions to check. Where a result's shape follows from values or from
/// what an operator says itself (the slot FShapeFunc), its shape function is a kernel of its own.
struct DynamicKernel {
  Function function;                     // with its types in terms of shape variables: what is compiled
  std::vector<vm::ShapeProgram> shapes;  // of each result; none where `shape_kernel` is there
  PrimFunc shape_kernel;                 // int64 shapes from arguments, or from their shapes
  std::vector<bool> by_value;            // which the shape kernel takes, by tensor
};

/// True when an extent in the types of the function's parameters or of its result is not a number.
bool is_dynamic(const Function& primitive);

/// `primitive` has numbers or variables for all extents of its parameters; `name` is used in messages. An error that names the operator when nothing says what a result's shape is.
DynamicKernel make_dynamic(const Function& primitive, const std::string& name);

}  // namespace tessera::relay
