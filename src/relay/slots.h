#pragma once
// What Relay knows of an operator beside its types: the slots of the operator table this room owns, under the names
// v0.10 users know.

#include "relay/expr.h"
#include "te/tensor.h"

namespace tessera::relay {

/// How an operator may be fused with its neighbours; a larger number restricts more.
enum class Fusion : int32_t {
  Elementwise = 0,
  Broadcast = 1,
  Injective = 2,
  Reduction = 3,
  OutputElementwise = 4,  // complex inside, but its output may take element-wise operators along
  Tuple = 7,
  Opaque = 8,
};
inline constexpr const char* kFusion = "TOpPattern";
inline constexpr const char* kIsStateful = "TOpIsStateful";
inline constexpr const char* kNonComputational = "TNonComputational";

/// The tensors of a call from those of its arguments; a tuple argument gives all its fields, in order.
/// As a PackedFunc: (attrs, inputs, out_type) -> tensors.
using Compute = std::function<Array<te::Tensor>(const Attrs&, const Array<te::Tensor>&, const Type&)>;
inline constexpr const char* kCompute = "FTVMCompute";

/// Gradients of a call's arguments from the gradient of its value. As a PackedFunc: (call, gradient) -> expressions.
using Gradient = std::function<Array<Expr>(const Expr& call, const Expr& gradient)>;
inline constexpr const char* kGradient = "FPrimalGradient";

/// The shapes of a call's results as int64 tensors, one per result, each with as many elements as the result has
/// dimensions. As a PackedFunc: (attrs, inputs, out_ndims) -> tensors. An input is the argument itself where the flag of
/// that argument in kShapeDataDependent (an array of integers; one flag counts for all) is set, else the argument's shape
/// as an int64 tensor; a tuple argument gives all its fields. Operators without this slot have shapes that follow from
/// their type rule.
using ShapeFunc =
    std::function<Array<te::Tensor>(const Attrs&, const Array<te::Tensor>& inputs, const Array<PrimExpr>& out_ndims)>;
inline constexpr const char* kShapeFunc = "FShapeFunc";
inline constexpr const char* kShapeDataDependent = "TShapeDataDependent";

/// How a call of `op` may be fused; Opaque where the operator does not say.
Fusion fusion_of(const Op& op);

}  // namespace tessera::relay
