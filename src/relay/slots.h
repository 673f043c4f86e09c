#pragma once
// What Relay knows of an operator beside its types: the slots of the operator table this room owns, under the names
// v0.10 users know.

#include <optional>

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

/// How elements of the first argument reach the result of an operator that computes nothing and adds none of its own.
enum class Moves : int32_t {
  None = 0,      // it computes
  View = 1,      // all of them in row-major order, under another shape
  Permute = 2,   // all of them in another order, which attributes and types give
  Slice = 3,     // some of them, which attributes and types give
  Repeat = 4,    // some of them several times, as attributes and types say
  Gather = 5,    // those that the values of other arguments name
  Extremum = 6,  // the greatest or least of each window: increasing functions may be applied before or after
};
inline constexpr const char* kMoves = "TElementMoves";

/// What an operator with ReduceAttrs makes of all elements along axes, or one with GlobalPool2DAttrs of those of an image.
enum class Reduction : int32_t {
  None = 0,  // something else
  Sum = 1,
  Product = 2,
  Max = 3,
  Min = 4,
  Mean = 5,
  Variance = 6,  // around its second argument
};
inline constexpr const char* kReduction = "TReduction";

/// f(a, b) = f(b, a), and patterns match both orders.
inline constexpr const char* kIsCommutative = "TIsCommutative";
/// The number e with f(x, e) = x, and f(e, x) = x where it is commutative.
inline constexpr const char* kNeutralElement = "TNeutralElement";
/// The number that all elements of the result are.
inline constexpr const char* kFillValue = "TFillValue";
/// Nothing but the order of the elements of its argument decides the result.
inline constexpr const char* kSeesOrderOnly = "TSeesOrderOnly";

/// What ToMixedPrecision does with an operator: it computes in the narrow type, or if an argument is narrow, or in float32.
enum class Precision : int32_t { Always = 0, Follow = 1, Never = 2 };
/// As a PackedFunc: (call, narrow type) -> [Precision, accumulation type, result type].
inline constexpr const char* kMixedPrecision = "FTVMMixedPrecisionConversionType";

/// True where a call on wider floats gives the same numbers, rounded less, and false where it looks at bits or element types.
/// Operators without this slot say it by how they fuse.
inline constexpr const char* kIsNumeric = "TIsNumeric";
/// Arithmetic for each element of the first result, for analyses; by the pattern of fusion where it is not set.
inline constexpr const char* kFlopsPerElement = "TFlopsPerElement";
/// f(s * x) = s * f(x) for s > 0.
inline constexpr const char* kKeepsPositiveScale = "TKeepsPositiveScale";
/// A layer with (data, weight) whose weight may be of 16 bits where the target widens it as it is read.
inline constexpr const char* kTakesNarrowWeight = "TTakesNarrowWeight";

/// Where the channels of a layer with (data, weight) lie: a scale of the data's or the result's can be taken in by the weight.
struct LayerChannels {
  int data, result;           // axes
  int weight_in, weight_out;  // axes of the weight; weight_in is weight_out where channels are kept apart
  int weight_rank;
  // where channels lie in blocks (NCHW16c, OIHW16i16o), the axes within a block; -1 where they do not
  int data_block = -1, result_block = -1;
  int weight_in_block = -1, weight_out_block = -1;
};
/// Nothing where channels lie in groups.
/// As a PackedFunc: (call) -> an array of the first five numbers or of all nine, or None.
using ChannelsOf = std::optional<LayerChannels> (*)(const Call* call);
inline constexpr const char* kLayerChannels = "FLayerChannels";

/// The name of an operator that computes the same quicker and less exactly.
inline constexpr const char* kFastForm = "TFastForm";

/// The call with what constant arguments say as attributes (DynamicToStatic), or null where it stays as it is.
/// As a PackedFunc: (call) -> expression or None.
using StaticForm = std::function<Expr(const Call* call)>;
inline constexpr const char* kStaticForm = "FStaticForm";
/// The call of an operator that takes shape or element type from one of its arguments, with those of its result, `type`, as
/// attributes (SimplifyExpr). As a PackedFunc: (call, type) -> expression or None.
using ConcreteForm = Expr (*)(const Call* call, const TensorType& type);
inline constexpr const char* kConcreteForm = "FConcreteForm";
/// The call, of a tuple its first field, when a model is run and not trained (SimplifyInference); `args` are its arguments as
/// they are now. As a PackedFunc: (call, args) -> expression or None.
using InferenceForm = std::function<Expr(const Call* call, const Array<Expr>& args)>;
inline constexpr const char* kInferenceForm = "FInferenceForm";

/// The call's result on tensors of the host, those of tuples one after the other, by a loop of the compiler; null where it has
/// none for the attributes or types. A result may share the memory of an argument.
/// As a PackedFunc: (call, tensors) -> NDArray or None.
using Evaluate = std::function<NDArray(const Call* call, const std::vector<NDArray>& args)>;
inline constexpr const char* kEvaluate = "FEvaluate";

/// Built-in records fill slots that users fill too at this level, below the usual one: what users say comes first.
inline constexpr int kBuiltInLevel = 5;

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
/// How the called operator moves elements; None for calls of functions.
Moves moves_of(const Call* call);
/// What the called operator makes of elements along axes; None for calls of functions.
Reduction reduction_of(const Call* call);
/// Where a layer's channels lie; nothing for other calls.
std::optional<LayerChannels> layer_channels(const Call* call);
/// All of the first argument or some of it, each element where attributes and types say, perhaps several times.
bool moves_by_index(const Call* call);

}  // namespace tessera::relay
