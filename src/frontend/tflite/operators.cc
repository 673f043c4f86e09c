// Operators that TensorFlow has too, by another name or with inputs in another form.

#include "frontend/common/parts.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/quantize.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tflite {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// A constant integer vector or scalar as an input of a converter that takes attributes as inputs.
Value number(int64_t value) { return make_constant(int_scalar(value, DataType::Int(32))); }

Values softmax(Node& in) {
  const double beta = in.number("beta", 1);
  Expr x = beta == 1 ? in[0] : multiply(in[0], make_scalar(beta, in.dtype(in[0])));
  return {softmax_of(x, -1)};
}

/// The shape stands in the second input or, in old files, in the options.
Values reshape_op(Node& in) {
  if (in.has(1)) return as("Reshape")(in);
  Node whole = in.with_inputs({in.value(0), Value(make_ints(in.integers("new_shape")))});
  return as("Reshape")(whole);
}

Values cast_op(Node& in) {  // files of some writers leave the type out
  Node whole = in;
  whole.with("DstT", Attribute::of_type(in.output_type(0)));
  return as("Cast")(whole);
}

Values arg_reduction(Node& in, const char* op) {
  Node whole = in;
  whole.with("output_type", Attribute::of_type(in.output_type(0)));
  return as(op)(whole);
}

Values l2_normalization(Node& in) {
  const auto last = static_cast<int64_t>(in.rank(in[0])) - 1;
  Expr out = call_op("nn.l2_normalize", {in[0]}, make_attrs<L2NormalizeAttrs>([&](auto& attrs) {
                       attrs.eps = 1e-12;
                       attrs.axis = int_array({last});
                     }));
  return {activated(in, out, in.integer("activation", 0))};
}

Values round_op(Node& in) { return {round_to_even(in[0])}; }

Values embedding_lookup(Node& in) {  // indices come first
  Node whole = in.with_inputs({in.value(1), in.value(0), number(0)});
  return as("GatherV2")(whole);
}

Values bucketize(Node& in) {
  std::vector<double> bounds = in.numbers("boundaries");
  Expr sorted = numbers_of(bounds, {static_cast<int64_t>(bounds.size())}, DataType::Float(32));
  Node whole = in.with_inputs({Value(sorted), Value(cast_if_needed(in, in[0], DataType::Float(32)))});
  return as("UpperBound")(whole);
}

/// A border of a quantised tensor is what stands for 0.
Values pad(Node& in) {
  if (in.has(2)) {
    const Quantization &value = in.quantized_input(2), &to = in.quantized_output(0);
    Expr filler = in.is_quantized() ? requantized(in, in[2], value, to, in.output_type(0)) : in[2];
    Node whole = in.with_inputs({in.value(0), in.value(1), Value(filler)});
    return as("PadV2")(whole);
  }
  const Quantization& q = in.quantized_input(0);
  if (!q.is_given()) return as("Pad")(in);
  Node whole =
      in.with_inputs({in.value(0), in.value(1), Value(make_scalar(static_cast<double>(q.zero[0]), in.dtype(in[0])))});
  return as("PadV2")(whole);
}

Values space_to_batch(Node& in) {
  const Quantization& q = in.quantized_input(0);
  if (!q.is_given()) return as("SpaceToBatchND")(in);
  Node whole = in;
  whole.with("pad_value", Attribute::of(q.zero[0]));
  return as("SpaceToBatchND")(whole);
}

Values dynamic_update_slice(Node& in) {
  Ints shape = in.static_shape(in[1], "the update of a slice"),
       whole = in.static_shape(in[0], "a tensor that is updated");
  Ints begin = in.ints(2, "where the update goes");
  std::vector<int64_t> before(shape.size()), after(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    begin[i] = std::clamp<int64_t>(begin[i], 0, whole[i] - shape[i]);
    before[i] = begin[i], after[i] = whole[i] - shape[i] - begin[i];
    if (after[i] < 0) in.invalid("the update is larger than the tensor");
  }
  const DataType dtype = in.dtype(in[0]);
  Expr ones = pad_with(filled(1, shape, DataType::Int(32)), before, after, 0);
  return {where(equal(ones, make_scalar(1, DataType::Int(32))),
                pad_with(cast_if_needed(in, in[1], dtype), before, after, 0), in[0])};
}

Converter argument_of(const char* op) {
  return [op](Node& in) { return arg_reduction(in, op); };
}

}  // namespace

Rows plain_rows() {
  constexpr Quantized kFloats = Quantized::AsFloats, kTable = Quantized::ByTable, kMoves = Quantized::Moves;
  return {
      {101, "ABS", kTable, as("Abs")},
      {106, "ADD_N", kFloats, as("AddN")},
      {56, "ARG_MAX", kMoves, argument_of("ArgMax")},
      {79, "ARG_MIN", kMoves, argument_of("ArgMin")},
      {156, "ATAN2", kFloats, as("Atan2")},
      {37, "BATCH_TO_SPACE_ND", kMoves, as("BatchToSpaceND")},
      {159, "BITCAST", kMoves,
       [](Node& in) {
         Node whole = in;
         whole.with("type", Attribute::of_type(in.output_type(0)));
         return as("Bitcast")(whole);
       }},
      {160, "BITWISE_XOR", kMoves, as("BitwiseXor")},
      {145, "BROADCAST_ARGS", kMoves, as("BroadcastArgs")},
      {130, "BROADCAST_TO", kMoves, as("BroadcastTo")},
      {147, "BUCKETIZE", kFloats, bucketize},
      {53, "CAST", kFloats, cast_op},
      {104, "CEIL", kTable, as("Ceil")},
      {108, "COS", kTable, as("Cos")},
      {128, "CUMSUM", kFloats, as("Cumsum")},
      {124, "DENSIFY", kMoves, as("Identity")},
      {5, "DEPTH_TO_SPACE", kMoves, as("DepthToSpace")},
      {151, "DYNAMIC_UPDATE_SLICE", kMoves, dynamic_update_slice},
      {111, "ELU", kTable, as("Elu")},
      {7, "EMBEDDING_LOOKUP", kMoves, embedding_lookup},
      {71, "EQUAL", kFloats, as("Equal")},
      {47, "EXP", kTable, as("Exp")},
      {70, "EXPAND_DIMS", kMoves, as("ExpandDims")},
      {80, "FAKE_QUANT", kFloats, as("FakeQuantWithMinMaxArgs")},
      {94, "FILL", kMoves, as("Fill")},
      {8, "FLOOR", kTable, as("Floor")},
      {90, "FLOOR_DIV", kFloats, as("FloorDiv")},
      {95, "FLOOR_MOD", kFloats, as("FloorMod")},
      {36, "GATHER", kMoves, as("Gather")},
      {107, "GATHER_ND", kMoves, as("GatherNd")},
      {150, "GELU", kTable,
       [](Node& in) {
         Node whole = in;
         whole.with("approximate", Attribute::of(in.integer("approximate", 0)));
         return as("Gelu")(whole);
       }},
      {61, "GREATER", kFloats, as("Greater")},
      {62, "GREATER_EQUAL", kFloats, as("GreaterEqual")},
      {117, "HARD_SWISH", kTable, as("HardSwish")},
      {11, "L2_NORMALIZATION", kFloats, l2_normalization},
      {98, "LEAKY_RELU", kTable, as("LeakyRelu")},
      {58, "LESS", kFloats, as("Less")},
      {63, "LESS_EQUAL", kFloats, as("LessEqual")},
      {13, "LOCAL_RESPONSE_NORMALIZATION", kFloats, as("LRN")},
      {73, "LOG", kTable, as("Log")},
      {86, "LOGICAL_AND", kMoves, as("LogicalAnd")},
      {87, "LOGICAL_NOT", kMoves, as("LogicalNot")},
      {84, "LOGICAL_OR", kMoves, as("LogicalOr")},
      {14, "LOGISTIC", kTable, as("Sigmoid")},
      {50, "LOG_SOFTMAX", kFloats, as("LogSoftmax")},
      {113, "MATRIX_DIAG", kMoves, as("MatrixDiag")},
      {115, "MATRIX_SET_DIAG", kMoves, as("MatrixSetDiag")},
      {55, "MAXIMUM", kMoves, as("Maximum")},
      {57, "MINIMUM", kMoves, as("Minimum")},
      {100, "MIRROR_PAD", kMoves, as("MirrorPad")},
      {59, "NEG", kTable, as("Neg")},
      {120, "NON_MAX_SUPPRESSION_V4", kFloats, as("NonMaxSuppressionPadded")},
      {121, "NON_MAX_SUPPRESSION_V5", kFloats, as("NonMaxSuppressionPadded")},
      {72, "NOT_EQUAL", kFloats, as("NotEqual")},
      {85, "ONE_HOT", kMoves, as("OneHot")},
      {83, "PACK", kMoves, as("Pack")},
      {34, "PAD", Quantized::ByItself, pad},
      {60, "PADV2", Quantized::ByItself, pad},
      {78, "POW", kFloats, as("Pow")},
      {54, "PRELU", kFloats, as("PRelu")},
      {146, "RANDOM_STANDARD_NORMAL", kMoves, as("RandomStandardNormal")},
      {148, "RANDOM_UNIFORM", kMoves, as("RandomUniform")},
      {96, "RANGE", kMoves, as("Range")},
      {110, "RANK", kMoves, as("Rank")},
      {140, "REDUCE_ALL", kMoves, as("All")},
      {91, "REDUCE_ANY", kMoves, as("Any")},
      {82, "REDUCE_MAX", kMoves, as("Max")},
      {89, "REDUCE_MIN", kMoves, as("Min")},
      {81, "REDUCE_PROD", kFloats, as("Prod")},
      {22, "RESHAPE", kMoves, reshape_op},
      {23, "RESIZE_BILINEAR", kFloats, as("ResizeBilinear")},
      {97, "RESIZE_NEAREST_NEIGHBOR", kMoves, as("ResizeNearestNeighbor")},
      {112, "REVERSE_SEQUENCE", kMoves, as("ReverseSequence")},
      {105, "REVERSE_V2", kMoves, as("ReverseV2")},
      {161, "RIGHT_SHIFT", kMoves, as("RightShift")},
      {116, "ROUND", kTable, round_op},
      {76, "RSQRT", kTable, as("Rsqrt")},
      {122, "SCATTER_ND", kMoves, as("ScatterNd")},
      {125, "SEGMENT_SUM", kFloats, as("SegmentSum")},
      {64, "SELECT", kMoves, as("Select")},
      {123, "SELECT_V2", kMoves, as("SelectV2")},
      {77, "SHAPE", kMoves, as("Shape")},
      {158, "SIGN", kTable, as("Sign")},
      {66, "SIN", kTable, as("Sin")},
      {65, "SLICE", kMoves, as("Slice")},
      {25, "SOFTMAX", kFloats, softmax},
      {38, "SPACE_TO_BATCH_ND", Quantized::ByItself, space_to_batch},
      {26, "SPACE_TO_DEPTH", kMoves, as("SpaceToDepth")},
      {68, "SPARSE_TO_DENSE", kMoves, as("SparseToDense")},
      {49, "SPLIT", kMoves, as("Split")},
      {102, "SPLIT_V", kMoves, as("SplitV")},
      {75, "SQRT", kTable, as("Sqrt")},
      {92, "SQUARE", kTable, as("Square")},
      {99, "SQUARED_DIFFERENCE", kFloats, as("SquaredDifference")},
      {43, "SQUEEZE", kMoves, as("Squeeze")},
      {45, "STRIDED_SLICE", kMoves, as("StridedSlice")},
      {28, "TANH", kTable, as("Tanh")},
      {69, "TILE", kMoves, as("Tile")},
      {48, "TOPK_V2", kMoves, as("TopKV2")},
      {39, "TRANSPOSE", kMoves, as("Transpose")},
      {103, "UNIQUE", kMoves, as("Unique")},
      {88, "UNPACK", kMoves, as("Unpack")},
      {154, "UNSORTED_SEGMENT_MAX", kFloats, as("UnsortedSegmentMax")},
      {157, "UNSORTED_SEGMENT_MIN", kFloats, as("UnsortedSegmentMin")},
      {153, "UNSORTED_SEGMENT_PROD", kFloats, as("UnsortedSegmentProd")},
      {155, "UNSORTED_SEGMENT_SUM", kFloats, as("UnsortedSegmentSum")},
      {109, "WHERE", kMoves, as("Where")},
      {93, "ZEROS_LIKE", kFloats, as("ZerosLike")},
  };
}

}  // namespace tessera::tflite
