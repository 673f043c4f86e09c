// The messages of Model.proto and NeuralNetwork.proto that are read. Numbers are facts of the format.

#include "frontend/coreml/coreml.h"

namespace tessera::coreml {
namespace {

using enum Proto;
constexpr bool kRepeated = true;

/// Layers without numbers, and those that nothing reads.
const ProtoMessage kNoFields{"layer", {}, true};
const ProtoMessage kLinearQuantization{"LinearQuantizationParams", {{1, "scale", Floats}, {2, "bias", Floats}}};
const ProtoMessage kLookUpTable{"LookUpTableQuantizationParams", {{1, "floatValue", Floats}}};
const ProtoMessage kQuantization{"QuantizationParams",
                                 {{1, "numberOfBits", Integer},
                                  {101, "linear", Message, false, &kLinearQuantization},
                                  {102, "table", Message, false, &kLookUpTable}}};
const ProtoMessage kWeights{"WeightParams",
                            {{1, "floatValue", Floats},
                             {2, "float16Value", Text},
                             {30, "rawValue", Text},
                             {31, "int8RawValue", Text},
                             {40, "quantization", Message, false, &kQuantization},
                             {50, "isUpdatable"}}};
const ProtoMessage kEdgeSizes{"EdgeSizes", {{1, "startEdgeSize", Integer}, {2, "endEdgeSize", Integer}}};
const ProtoMessage kBorderAmounts{"BorderAmounts", {{10, "borderAmounts", Message, kRepeated, &kEdgeSizes}}};
const ProtoMessage kValidPadding{"ValidPadding", {{1, "paddingAmounts", Message, false, &kBorderAmounts}}};
const ProtoMessage kSamePadding{
    "SamePadding", {{1, "asymmetryMode", Enum, false, nullptr, {{0, "BOTTOM_RIGHT_HEAVY"}, {1, "TOP_LEFT_HEAVY"}}}}};
const ProtoMessage kConvolution{"ConvolutionLayerParams",
                                {{1, "outputChannels", Integer},
                                 {2, "kernelChannels", Integer},
                                 {10, "nGroups", Integer},
                                 {20, "kernelSize", Integer, kRepeated},
                                 {30, "stride", Integer, kRepeated},
                                 {40, "dilationFactor", Integer, kRepeated},
                                 {50, "valid", Message, false, &kValidPadding},
                                 {51, "same", Message, false, &kSamePadding},
                                 {60, "isDeconvolution", Integer},
                                 {70, "hasBias", Integer},
                                 {90, "weights", Message, false, &kWeights},
                                 {91, "bias", Message, false, &kWeights},
                                 {100, "outputShape", Integer, kRepeated}}};
const ProtoMessage kValidCompletePadding{"ValidCompletePadding", {{10, "paddingAmounts", Integer, kRepeated}}};
const ProtoMessage kPooling{"PoolingLayerParams",
                            {{1, "type", Enum, false, nullptr, {{0, "MAX"}, {1, "AVERAGE"}, {2, "L2"}}},
                             {10, "kernelSize", Integer, kRepeated},
                             {20, "stride", Integer, kRepeated},
                             {30, "valid", Message, false, &kValidPadding},
                             {31, "same", Message, false, &kSamePadding},
                             {32, "includeLastPixel", Message, false, &kValidCompletePadding},
                             {50, "avgPoolExcludePadding", Integer},
                             {60, "globalPooling", Integer}}};
const ProtoMessage kActivationLinear{"ActivationLinear", {{1, "alpha", Real}, {2, "beta", Real}}};
const ProtoMessage kActivationLeakyReLU{"ActivationLeakyReLU", {{1, "alpha", Real}}};
const ProtoMessage kActivationThresholdedReLU{"ActivationThresholdedReLU", {{1, "alpha", Real}}};
const ProtoMessage kActivationPReLU{"ActivationPReLU", {{1, "alpha", Message, false, &kWeights}}};
const ProtoMessage kActivationScaledTanh{"ActivationScaledTanh", {{1, "alpha", Real}, {2, "beta", Real}}};
const ProtoMessage kActivationSigmoidHard{"ActivationSigmoidHard", {{1, "alpha", Real}, {2, "beta", Real}}};
const ProtoMessage kActivationELU{"ActivationELU", {{1, "alpha", Real}}};
const ProtoMessage kActivationParametricSoftplus{
    "ActivationParametricSoftplus", {{1, "alpha", Message, false, &kWeights}, {2, "beta", Message, false, &kWeights}}};
const ProtoMessage kActivation{"ActivationParams",
                               {{5, "linear", Message, false, &kActivationLinear},
                                {10, "ReLU", Message, false, &kNoFields},
                                {15, "leakyReLU", Message, false, &kActivationLeakyReLU},
                                {20, "thresholdedReLU", Message, false, &kActivationThresholdedReLU},
                                {25, "PReLU", Message, false, &kActivationPReLU},
                                {30, "tanh", Message, false, &kNoFields},
                                {31, "scaledTanh", Message, false, &kActivationScaledTanh},
                                {40, "sigmoid", Message, false, &kNoFields},
                                {41, "sigmoidHard", Message, false, &kActivationSigmoidHard},
                                {50, "ELU", Message, false, &kActivationELU},
                                {60, "softsign", Message, false, &kNoFields},
                                {70, "softplus", Message, false, &kNoFields},
                                {71, "parametricSoftplus", Message, false, &kActivationParametricSoftplus}}};
const ProtoMessage kInnerProduct{"InnerProductLayerParams",
                                 {{1, "inputChannels", Integer},
                                  {2, "outputChannels", Integer},
                                  {10, "hasBias", Integer},
                                  {20, "weights", Message, false, &kWeights},
                                  {21, "bias", Message, false, &kWeights},
                                  {22, "int8DynamicQuantize"}}};
const ProtoMessage kEmbedding{"EmbeddingLayerParams",
                              {{1, "inputDim", Integer},
                               {2, "outputChannels", Integer},
                               {10, "hasBias", Integer},
                               {20, "weights", Message, false, &kWeights},
                               {21, "bias", Message, false, &kWeights}}};
const ProtoMessage kBatchnorm{"BatchnormLayerParams",
                              {{1, "channels", Integer},
                               {5, "computeMeanVar", Integer},
                               {6, "instanceNormalization", Integer},
                               {10, "epsilon", Real},
                               {15, "gamma", Message, false, &kWeights},
                               {16, "beta", Message, false, &kWeights},
                               {17, "mean", Message, false, &kWeights},
                               {18, "variance", Message, false, &kWeights}}};
const ProtoMessage kMeanVarianceNormalize{
    "MeanVarianceNormalizeLayerParams",
    {{1, "acrossChannels", Integer}, {2, "normalizeVariance", Integer}, {3, "epsilon", Real}}};
const ProtoMessage kL2Normalize{"L2NormalizeLayerParams", {{1, "epsilon", Real}}};
const ProtoMessage kLRN{"LRNLayerParams",
                        {{1, "alpha", Real}, {2, "beta", Real}, {3, "localSize", Integer}, {4, "k", Real}}};
const ProtoMessage kCrop{"CropLayerParams",
                         {{1, "cropAmounts", Message, false, &kBorderAmounts}, {5, "offset", Integer, kRepeated}}};
const ProtoMessage kPaddingConstant{"PaddingConstant", {{1, "value", Real}}};
const ProtoMessage kPadding{"PaddingLayerParams",
                            {{1, "constant", Message, false, &kPaddingConstant},
                             {2, "reflection", Message, false, &kNoFields},
                             {3, "replication", Message, false, &kNoFields},
                             {10, "paddingAmounts", Message, false, &kBorderAmounts}}};
const ProtoMessage kUpsample{"UpsampleLayerParams",
                             {{1, "scalingFactor", Integer, kRepeated},
                              {7, "fractionalScalingFactor", Real, kRepeated},
                              {5, "mode", Enum, false, nullptr, {{0, "NN"}, {1, "BILINEAR"}}},
                              {6,
                               "linearUpsampleMode",
                               Enum,
                               false,
                               nullptr,
                               {{0, "DEFAULT"}, {1, "ALIGN_CORNERS_TRUE"}, {2, "ALIGN_CORNERS_FALSE"}}}}};
const ProtoMessage kSamplingMode{
    "SamplingMode",
    {{1,
      "samplingMethod",
      Enum,
      false,
      nullptr,
      {{0, "STRICT_ALIGN_ENDPOINTS_MODE"}, {1, "ALIGN_ENDPOINTS_MODE"}, {2, "UPSAMPLE_MODE"}, {3, "ROI_ALIGN_MODE"}}}}};
const ProtoMessage kResizeBilinear{
    "ResizeBilinearLayerParams", {{1, "targetSize", Integer, kRepeated}, {2, "mode", Message, false, &kSamplingMode}}};
const ProtoMessage kUnaryFunction{
    "UnaryFunctionLayerParams",
    {{1,
      "type",
      Enum,
      false,
      nullptr,
      {{0, "SQRT"}, {1, "RSQRT"}, {2, "INVERSE"}, {3, "POWER"}, {4, "EXP"}, {5, "LOG"}, {6, "ABS"}, {7, "THRESHOLD"}}},
     {2, "alpha", Real},
     {3, "epsilon", Real},
     {4, "shift", Real},
     {5, "scale", Real}}};
const ProtoMessage kAdd{"AddLayerParams", {{1, "alpha", Real}}};
const ProtoMessage kScale{"ScaleLayerParams",
                          {{1, "shapeScale", Integer, kRepeated},
                           {2, "scale", Message, false, &kWeights},
                           {3, "hasBias", Integer},
                           {4, "shapeBias", Integer, kRepeated},
                           {5, "bias", Message, false, &kWeights}}};
const ProtoMessage kBias{"BiasLayerParams", {{1, "shape", Integer, kRepeated}, {2, "bias", Message, false, &kWeights}}};
const ProtoMessage kDotProduct{"DotProductLayerParams", {{1, "cosineSimilarity", Integer}}};
const ProtoMessage kReduce{"ReduceLayerParams",
                           {{1,
                             "mode",
                             Enum,
                             false,
                             nullptr,
                             {{0, "SUM"},
                              {1, "AVG"},
                              {2, "PROD"},
                              {3, "LOGSUM"},
                              {4, "SUMSQUARE"},
                              {5, "L1"},
                              {6, "L2"},
                              {7, "MAX"},
                              {8, "MIN"},
                              {9, "ARGMAX"}}},
                            {2, "epsilon", Real},
                            {3, "axis", Enum, false, nullptr, {{0, "CHW"}, {1, "HW"}, {2, "C"}, {3, "H"}, {4, "W"}}}}};
const ProtoMessage kLoadConstant{"LoadConstantLayerParams",
                                 {{1, "shape", Integer, kRepeated}, {2, "data", Message, false, &kWeights}}};
const ProtoMessage kReshape{"ReshapeLayerParams",
                            {{1, "targetShape", Integer, kRepeated},
                             {2, "mode", Enum, false, nullptr, {{0, "CHANNEL_FIRST"}, {1, "CHANNEL_LAST"}}}}};
const ProtoMessage kFlatten{"FlattenLayerParams",
                            {{1, "mode", Enum, false, nullptr, {{0, "CHANNEL_FIRST"}, {1, "CHANNEL_LAST"}}}}};
const ProtoMessage kPermute{"PermuteLayerParams", {{1, "axis", Integer, kRepeated}}};
const ProtoMessage kConcat{"ConcatLayerParams", {{100, "sequenceConcat", Integer}}};
const ProtoMessage kSplit{"SplitLayerParams", {{1, "nOutputs", Integer}}};
const ProtoMessage kReorganizeData{
    "ReorganizeDataLayerParams",
    {{1, "mode", Enum, false, nullptr, {{0, "SPACE_TO_DEPTH"}, {1, "DEPTH_TO_SPACE"}, {2, "PIXEL_SHUFFLE"}}},
     {2, "blockSize", Integer}}};
const ProtoMessage kSlice{
    "SliceLayerParams",
    {{1, "startIndex", Integer},
     {2, "endIndex", Integer},
     {3, "stride", Integer},
     {4, "axis", Enum, false, nullptr, {{0, "CHANNEL_AXIS"}, {1, "HEIGHT_AXIS"}, {2, "WIDTH_AXIS"}}}}};
const ProtoMessage kClip{"ClipLayerParams", {{1, "minVal", Real}, {2, "maxVal", Real}}};
const ProtoMessage kGelu{
    "GeluLayerParams",
    {{1, "mode", Enum, false, nullptr, {{0, "EXACT"}, {1, "TANH_APPROXIMATION"}, {2, "SIGMOID_APPROXIMATION"}}}}};
const ProtoMessage kLessThan{"LessThanLayerParams", {{2, "alpha", Real}}};
const ProtoMessage kTile{"TileLayerParams", {{1, "reps", Integer, kRepeated}}};
const ProtoMessage kStack{"StackLayerParams", {{1, "axis", Integer}}};
const ProtoMessage kReverse{"ReverseLayerParams", {{1, "reverseDim", Integer, kRepeated}}};
const ProtoMessage kSplitND{"SplitNDLayerParams",
                            {{1, "axis", Integer}, {2, "numSplits", Integer}, {3, "splitSizes", Integer, kRepeated}}};
const ProtoMessage kConcatND{"ConcatNDLayerParams", {{1, "axis", Integer}, {2, "interleave", Integer}}};
const ProtoMessage kTranspose{"TransposeLayerParams", {{1, "axes", Integer, kRepeated}}};
const ProtoMessage kSliceStatic{"SliceStaticLayerParams",
                                {{1, "beginIds", Integer, kRepeated},
                                 {2, "beginMasks", Integer, kRepeated},
                                 {3, "endIds", Integer, kRepeated},
                                 {4, "endMasks", Integer, kRepeated},
                                 {5, "strides", Integer, kRepeated},
                                 {6, "squeezeMasks", Integer, kRepeated}}};
const ProtoMessage kTopK{"TopKLayerParams", {{1, "axis", Integer}, {2, "K", Integer}, {3, "useBottomK", Integer}}};
const ProtoMessage kArgMin{"ArgMinLayerParams", {{1, "axis", Integer}, {2, "removeDim", Integer}}};
const ProtoMessage kEmbeddingND{"EmbeddingNDLayerParams",
                                {{1, "vocabSize", Integer},
                                 {2, "embeddingSize", Integer},
                                 {3, "hasBias", Integer},
                                 {20, "weights", Message, false, &kWeights},
                                 {21, "bias", Message, false, &kWeights}}};
const ProtoMessage kBatchedMatMul{"BatchedMatMulLayerParams",
                                  {{1, "transposeA", Integer},
                                   {2, "transposeB", Integer},
                                   {5, "weightMatrixFirstDimension", Integer},
                                   {6, "weightMatrixSecondDimension", Integer},
                                   {7, "hasBias", Integer},
                                   {8, "weights", Message, false, &kWeights},
                                   {9, "bias", Message, false, &kWeights},
                                   {10, "int8DynamicQuantize"}}};
const ProtoMessage kLoadConstantND{"LoadConstantNDLayerParams",
                                   {{1, "shape", Integer, kRepeated}, {2, "data", Message, false, &kWeights}}};
const ProtoMessage kFillStatic{"FillStaticLayerParams", {{1, "value", Real}, {2, "targetShape", Integer, kRepeated}}};
const ProtoMessage kBroadcastToStatic{"BroadcastToStaticLayerParams", {{1, "targetShape", Integer, kRepeated}}};
const ProtoMessage kSqueeze{"SqueezeLayerParams", {{1, "axes", Integer, kRepeated}, {2, "squeezeAll", Integer}}};
const ProtoMessage kExpandDims{"ExpandDimsLayerParams", {{1, "axes", Integer, kRepeated}}};
const ProtoMessage kReshapeStatic{"ReshapeStaticLayerParams", {{1, "targetShape", Integer, kRepeated}}};
const ProtoMessage kConstantPadding{
    "ConstantPaddingLayerParams",
    {{1, "value", Real}, {2, "padAmounts", Integer, kRepeated}, {3, "padToGivenOutputSizeMode", Integer}}};
const ProtoMessage kReduceL1{"ReduceL1LayerParams",
                             {{1, "axes", Integer, kRepeated}, {2, "keepDims", Integer}, {3, "reduceAll", Integer}}};
const ProtoMessage kLayerNormalization{"LayerNormalizationLayerParams",
                                       {{1, "normalizedShape", Integer, kRepeated},
                                        {2, "eps", Real},
                                        {3, "gamma", Message, false, &kWeights},
                                        {4, "beta", Message, false, &kWeights}}};
const ProtoMessage kOneHot{
    "OneHotLayerParams",
    {{1, "oneHotVectorSize", Integer}, {2, "axis", Integer}, {3, "onValue", Real}, {4, "offValue", Real}}};
const ProtoMessage kCumSum{"CumSumLayerParams",
                           {{1, "axis", Integer}, {2, "excludeFinalSum", Integer}, {3, "reverse", Integer}}};
const ProtoMessage kClampedReLU{"ClampedReLULayerParams", {{1, "alpha", Real}, {2, "beta", Real}}};
const ProtoMessage kLayer{"NeuralNetworkLayer",
                          {{1, "name", Text},
                           {2, "input", Text, kRepeated},
                           {3, "output", Text, kRepeated},
                           {4, "inputTensor"},
                           {5, "outputTensor"},
                           {10, "isUpdatable"},
                           {100, "convolution", Message, false, &kConvolution},
                           {120, "pooling", Message, false, &kPooling},
                           {130, "activation", Message, false, &kActivation},
                           {140, "innerProduct", Message, false, &kInnerProduct},
                           {150, "embedding", Message, false, &kEmbedding},
                           {160, "batchnorm", Message, false, &kBatchnorm},
                           {165, "mvn", Message, false, &kMeanVarianceNormalize},
                           {170, "l2normalize", Message, false, &kL2Normalize},
                           {175, "softmax", Message, false, &kNoFields},
                           {180, "lrn", Message, false, &kLRN},
                           {190, "crop", Message, false, &kCrop},
                           {200, "padding", Message, false, &kPadding},
                           {210, "upsample", Message, false, &kUpsample},
                           {211, "resizeBilinear", Message, false, &kResizeBilinear},
                           {212, "cropResize", Message, false, &kNoFields},
                           {220, "unary", Message, false, &kUnaryFunction},
                           {230, "add", Message, false, &kAdd},
                           {231, "multiply", Message, false, &kAdd},
                           {240, "average", Message, false, &kNoFields},
                           {245, "scale", Message, false, &kScale},
                           {250, "bias", Message, false, &kBias},
                           {260, "max", Message, false, &kNoFields},
                           {261, "min", Message, false, &kNoFields},
                           {270, "dot", Message, false, &kDotProduct},
                           {280, "reduce", Message, false, &kReduce},
                           {290, "loadConstant", Message, false, &kLoadConstant},
                           {300, "reshape", Message, false, &kReshape},
                           {301, "flatten", Message, false, &kFlatten},
                           {310, "permute", Message, false, &kPermute},
                           {320, "concat", Message, false, &kConcat},
                           {330, "split", Message, false, &kSplit},
                           {340, "sequenceRepeat", Message, false, &kNoFields},
                           {345, "reorganizeData", Message, false, &kReorganizeData},
                           {350, "slice", Message, false, &kSlice},
                           {400, "simpleRecurrent", Message, false, &kNoFields},
                           {410, "gru", Message, false, &kNoFields},
                           {420, "uniDirectionalLSTM", Message, false, &kNoFields},
                           {430, "biDirectionalLSTM", Message, false, &kNoFields},
                           {500, "custom", Message, false, &kNoFields},
                           {600, "copy", Message, false, &kNoFields},
                           {605, "branch", Message, false, &kNoFields},
                           {615, "loop", Message, false, &kNoFields},
                           {620, "loopBreak", Message, false, &kNoFields},
                           {625, "loopContinue", Message, false, &kNoFields},
                           {635, "rangeStatic", Message, false, &kNoFields},
                           {640, "rangeDynamic", Message, false, &kNoFields},
                           {660, "clip", Message, false, &kClip},
                           {665, "ceil", Message, false, &kNoFields},
                           {670, "floor", Message, false, &kNoFields},
                           {680, "sign", Message, false, &kNoFields},
                           {685, "round", Message, false, &kNoFields},
                           {700, "exp2", Message, false, &kNoFields},
                           {710, "sin", Message, false, &kNoFields},
                           {715, "cos", Message, false, &kNoFields},
                           {720, "tan", Message, false, &kNoFields},
                           {730, "asin", Message, false, &kNoFields},
                           {735, "acos", Message, false, &kNoFields},
                           {740, "atan", Message, false, &kNoFields},
                           {750, "sinh", Message, false, &kNoFields},
                           {755, "cosh", Message, false, &kNoFields},
                           {760, "tanh", Message, false, &kNoFields},
                           {770, "asinh", Message, false, &kNoFields},
                           {775, "acosh", Message, false, &kNoFields},
                           {780, "atanh", Message, false, &kNoFields},
                           {790, "erf", Message, false, &kNoFields},
                           {795, "gelu", Message, false, &kGelu},
                           {815, "equal", Message, false, &kAdd},
                           {820, "notEqual", Message, false, &kAdd},
                           {825, "lessThan", Message, false, &kLessThan},
                           {827, "lessEqual", Message, false, &kLessThan},
                           {830, "greaterThan", Message, false, &kLessThan},
                           {832, "greaterEqual", Message, false, &kLessThan},
                           {840, "logicalOr", Message, false, &kNoFields},
                           {845, "logicalXor", Message, false, &kNoFields},
                           {850, "logicalNot", Message, false, &kNoFields},
                           {855, "logicalAnd", Message, false, &kNoFields},
                           {865, "modBroadcastable", Message, false, &kNoFields},
                           {870, "minBroadcastable", Message, false, &kNoFields},
                           {875, "maxBroadcastable", Message, false, &kNoFields},
                           {880, "addBroadcastable", Message, false, &kNoFields},
                           {885, "powBroadcastable", Message, false, &kNoFields},
                           {890, "divideBroadcastable", Message, false, &kNoFields},
                           {895, "floorDivBroadcastable", Message, false, &kNoFields},
                           {900, "multiplyBroadcastable", Message, false, &kNoFields},
                           {905, "subtractBroadcastable", Message, false, &kNoFields},
                           {920, "tile", Message, false, &kTile},
                           {925, "stack", Message, false, &kStack},
                           {930, "gather", Message, false, &kStack},
                           {935, "scatter", Message, false, &kNoFields},
                           {940, "gatherND", Message, false, &kNoFields},
                           {945, "scatterND", Message, false, &kNoFields},
                           {950, "softmaxND", Message, false, &kStack},
                           {952, "gatherAlongAxis", Message, false, &kNoFields},
                           {954, "scatterAlongAxis", Message, false, &kNoFields},
                           {960, "reverse", Message, false, &kReverse},
                           {965, "reverseSeq", Message, false, &kNoFields},
                           {975, "splitND", Message, false, &kSplitND},
                           {980, "concatND", Message, false, &kConcatND},
                           {985, "transpose", Message, false, &kTranspose},
                           {995, "sliceStatic", Message, false, &kSliceStatic},
                           {1000, "sliceDynamic", Message, false, &kNoFields},
                           {1005, "slidingWindows", Message, false, &kNoFields},
                           {1015, "topK", Message, false, &kTopK},
                           {1020, "argMin", Message, false, &kArgMin},
                           {1025, "argMax", Message, false, &kArgMin},
                           {1040, "embeddingND", Message, false, &kEmbeddingND},
                           {1045, "batchedMatmul", Message, false, &kBatchedMatMul},
                           {1065, "getShape", Message, false, &kNoFields},
                           {1070, "loadConstantND", Message, false, &kLoadConstantND},
                           {1080, "fillLike", Message, false, &kNoFields},
                           {1085, "fillStatic", Message, false, &kFillStatic},
                           {1090, "fillDynamic", Message, false, &kNoFields},
                           {1100, "broadcastToLike", Message, false, &kNoFields},
                           {1105, "broadcastToStatic", Message, false, &kBroadcastToStatic},
                           {1110, "broadcastToDynamic", Message, false, &kNoFields},
                           {1120, "squeeze", Message, false, &kSqueeze},
                           {1125, "expandDims", Message, false, &kExpandDims},
                           {1130, "flattenTo2D", Message, false, &kStack},
                           {1135, "reshapeLike", Message, false, &kNoFields},
                           {1140, "reshapeStatic", Message, false, &kReshapeStatic},
                           {1145, "reshapeDynamic", Message, false, &kNoFields},
                           {1150, "rankPreservingReshape", Message, false, &kReshapeStatic},
                           {1155, "constantPad", Message, false, &kConstantPadding},
                           {1170, "randomNormalLike", Message, false, &kNoFields},
                           {1175, "randomNormalStatic", Message, false, &kNoFields},
                           {1180, "randomNormalDynamic", Message, false, &kNoFields},
                           {1190, "randomUniformLike", Message, false, &kNoFields},
                           {1195, "randomUniformStatic", Message, false, &kNoFields},
                           {1200, "randomUniformDynamic", Message, false, &kNoFields},
                           {1210, "randomBernoulliLike", Message, false, &kNoFields},
                           {1215, "randomBernoulliStatic", Message, false, &kNoFields},
                           {1220, "randomBernoulliDynamic", Message, false, &kNoFields},
                           {1230, "categoricalDistribution", Message, false, &kNoFields},
                           {1250, "reduceL1", Message, false, &kReduceL1},
                           {1255, "reduceL2", Message, false, &kReduceL1},
                           {1260, "reduceMax", Message, false, &kReduceL1},
                           {1265, "reduceMin", Message, false, &kReduceL1},
                           {1270, "reduceSum", Message, false, &kReduceL1},
                           {1275, "reduceProd", Message, false, &kReduceL1},
                           {1280, "reduceMean", Message, false, &kReduceL1},
                           {1285, "reduceLogSum", Message, false, &kReduceL1},
                           {1290, "reduceSumSquare", Message, false, &kReduceL1},
                           {1295, "reduceLogSumExp", Message, false, &kReduceL1},
                           {1313, "whereNonZero", Message, false, &kNoFields},
                           {1315, "matrixBandPart", Message, false, &kNoFields},
                           {1320, "lowerTriangular", Message, false, &kNoFields},
                           {1325, "upperTriangular", Message, false, &kNoFields},
                           {1330, "whereBroadcastable", Message, false, &kNoFields},
                           {1350, "layerNormalization", Message, false, &kLayerNormalization},
                           {1400, "NonMaximumSuppression", Message, false, &kNoFields},
                           {1450, "oneHot", Message, false, &kOneHot},
                           {1455, "cumSum", Message, false, &kCumSum},
                           {1460, "clampedReLU", Message, false, &kClampedReLU},
                           {1461, "argSort", Message, false, &kNoFields},
                           {1465, "pooling3d", Message, false, &kNoFields},
                           {1466, "globalPooling3d", Message, false, &kNoFields},
                           {1470, "sliceBySize", Message, false, &kNoFields},
                           {1471, "convolution3d", Message, false, &kNoFields}}};

const ProtoMessage kScaler{"NeuralNetworkImageScaler",
                           {{10, "channelScale", Real},
                            {20, "blueBias", Real},
                            {21, "greenBias", Real},
                            {22, "redBias", Real},
                            {30, "grayBias", Real}}};
const ProtoMessage kMeanImage{"NeuralNetworkMeanImage", {{1, "meanImage", Floats}}};
const ProtoMessage kPreprocessing{"NeuralNetworkPreprocessing",
                                  {{1, "featureName", Text},
                                   {10, "scaler", Message, false, &kScaler},
                                   {11, "meanImage", Message, false, &kMeanImage}}};
const ProtoMessage kNetwork{"NeuralNetwork",
                            {{1, "layers", Message, kRepeated, &kLayer},
                             {2, "preprocessing", Message, kRepeated, &kPreprocessing},
                             {5, "arrayInputShapeMapping", Integer},
                             {6, "imageInputShapeMapping", Integer},
                             {10, "updateParams"},
                             {100, "stringClassLabels"},
                             {101, "int64ClassLabels"},
                             {200, "labelProbabilityLayerName", Text}}};
const ProtoMessage kArray{
    "ArrayFeatureType",
    {{1, "shape", Integer, kRepeated},
     {2,
      "dataType",
      Enum,
      false,
      nullptr,
      {{65552, "float16"}, {65568, "float32"}, {65600, "float64"}, {131080, "int8"}, {131104, "int32"}}},
     {21, "enumeratedShapes"},
     {31, "shapeRange"},
     {41, "intDefaultValue"},
     {51, "floatDefaultValue"},
     {61, "doubleDefaultValue"}}};
const ProtoMessage kImage{
    "ImageFeatureType",
    {{1, "width", Integer},
     {2, "height", Integer},
     {3, "colorSpace", Enum, false, nullptr, {{10, "GRAYSCALE"}, {20, "RGB"}, {30, "BGR"}, {40, "GRAYSCALE_FLOAT16"}}},
     {21, "enumeratedSizes"},
     {31, "imageSizeRange"}}};
const ProtoMessage kType{"FeatureType",
                         {{1, "int64Type"},
                          {2, "doubleType", Message, false, &kNoFields},
                          {3, "stringType"},
                          {4, "imageType", Message, false, &kImage},
                          {5, "multiArrayType", Message, false, &kArray},
                          {6, "dictionaryType", Message, false, &kNoFields},
                          {7, "sequenceType"},
                          {8, "stateType"},
                          {1000, "isOptional"}}};
const ProtoMessage kFeature{"FeatureDescription",
                            {{1, "name", Text}, {2, "shortDescription"}, {3, "type", Message, false, &kType}}};
const ProtoMessage kDescription{"ModelDescription",
                                {{1, "input", Message, kRepeated, &kFeature},
                                 {10, "output", Message, kRepeated, &kFeature},
                                 {11, "predictedFeatureName", Text},
                                 {12, "predictedProbabilitiesName", Text},
                                 {13, "state"},
                                 {20, "functions"},
                                 {21, "defaultFunctionName"},
                                 {50, "trainingInput"},
                                 {100, "metadata"}}};
/// Kinds of models other than neural networks are known by name only.
const ProtoMessage kModel{"Model",
                          {{1, "specificationVersion", Integer},
                           {2, "description", Message, false, &kDescription},
                           {10, "isUpdatable"},
                           {200, "pipelineClassifier", Message, false, &kNoFields},
                           {201, "pipelineRegressor", Message, false, &kNoFields},
                           {202, "pipeline", Message, false, &kNoFields},
                           {300, "glmRegressor", Message, false, &kNoFields},
                           {301, "supportVectorRegressor", Message, false, &kNoFields},
                           {302, "treeEnsembleRegressor", Message, false, &kNoFields},
                           {303, "neuralNetworkRegressor", Message, false, &kNetwork},
                           {304, "bayesianProbitRegressor", Message, false, &kNoFields},
                           {400, "glmClassifier", Message, false, &kNoFields},
                           {401, "supportVectorClassifier", Message, false, &kNoFields},
                           {402, "treeEnsembleClassifier", Message, false, &kNoFields},
                           {403, "neuralNetworkClassifier", Message, false, &kNetwork},
                           {404, "kNearestNeighborsClassifier", Message, false, &kNoFields},
                           {500, "neuralNetwork", Message, false, &kNetwork},
                           {501, "itemSimilarityRecommender", Message, false, &kNoFields},
                           {502, "mlProgram", Message, false, &kNoFields},
                           {555, "customModel", Message, false, &kNoFields},
                           {556, "linkedModel", Message, false, &kNoFields},
                           {560, "classConfidenceThresholding", Message, false, &kNoFields},
                           {600, "oneHotEncoder", Message, false, &kNoFields},
                           {601, "imputer", Message, false, &kNoFields},
                           {602, "featureVectorizer", Message, false, &kNoFields},
                           {603, "dictVectorizer", Message, false, &kNoFields},
                           {604, "scaler", Message, false, &kNoFields},
                           {606, "categoricalMapping", Message, false, &kNoFields},
                           {607, "normalizer", Message, false, &kNoFields},
                           {609, "arrayFeatureExtractor", Message, false, &kNoFields},
                           {610, "nonMaximumSuppression", Message, false, &kNoFields},
                           {900, "identity", Message, false, &kNoFields},
                           {2000, "textClassifier", Message, false, &kNoFields},
                           {2001, "wordTagger", Message, false, &kNoFields},
                           {2002, "visionFeaturePrint", Message, false, &kNoFields},
                           {2003, "soundAnalysisPreprocessing", Message, false, &kNoFields},
                           {2004, "gazetteer", Message, false, &kNoFields},
                           {2005, "wordEmbedding", Message, false, &kNoFields},
                           {2006, "audioFeaturePrint", Message, false, &kNoFields},
                           {3000, "serializedModel", Message, false, &kNoFields}}};

}  // namespace

const ProtoMessage& model_message() { return kModel; }
const ProtoMessage& layer_message() { return kLayer; }
const ProtoMessage& weights_message() { return kWeights; }

}  // namespace tessera::coreml
