// The messages of caffe.proto that are read. Numbers are facts of the format.

#include "frontend/caffe/caffe.h"

namespace tessera::caffe {
namespace {

using enum Proto;
constexpr bool kRepeated = true;

const ProtoMessage kShape{"BlobShape", {{1, "dim", Integer, kRepeated}}};
const ProtoMessage kBlob{"BlobProto",
                         {{1, "num", Integer},
                          {2, "channels", Integer},
                          {3, "height", Integer},
                          {4, "width", Integer},
                          {5, "data", Floats},
                          {6, "diff"},
                          {7, "shape", Message, false, &kShape},
                          {8, "double_data", Doubles},
                          {9, "double_diff"}}};
const ProtoMessage kRule{"NetStateRule",
                         {{1, "phase", Enum, false, nullptr, {{0, "TRAIN"}, {1, "TEST"}}},
                          {2, "min_level", Integer},
                          {3, "max_level", Integer},
                          {4, "stage", Text, kRepeated},
                          {5, "not_stage", Text, kRepeated}}};
const ProtoMessage kArgMax{"ArgMaxParameter",
                           {{1, "out_max_val", Integer}, {2, "top_k", Integer}, {3, "axis", Integer}}};
const ProtoMessage kBatchNorm{
    "BatchNormParameter",
    {{1, "use_global_stats", Integer}, {2, "moving_average_fraction"}, {3, "eps", Real}, {7, "scale_bias", Integer}}};
const ProtoMessage kBias{"BiasParameter", {{1, "axis", Integer}, {2, "num_axes", Integer}, {3, "filler"}}};
const ProtoMessage kConcat{"ConcatParameter", {{1, "concat_dim", Integer}, {2, "axis", Integer}}};
const ProtoMessage kConvolution{"ConvolutionParameter",
                                {{1, "num_output", Integer},
                                 {2, "bias_term", Integer},
                                 {3, "pad", Integer, kRepeated},
                                 {4, "kernel_size", Integer, kRepeated},
                                 {5, "group", Integer},
                                 {6, "stride", Integer, kRepeated},
                                 {7, "weight_filler"},
                                 {8, "bias_filler"},
                                 {9, "pad_h", Integer},
                                 {10, "pad_w", Integer},
                                 {11, "kernel_h", Integer},
                                 {12, "kernel_w", Integer},
                                 {13, "stride_h", Integer},
                                 {14, "stride_w", Integer},
                                 {15, "engine"},
                                 {16, "axis", Integer},
                                 {17, "force_nd_im2col"},
                                 {18, "dilation", Integer, kRepeated}}};
const ProtoMessage kCrop{"CropParameter", {{1, "axis", Integer}, {2, "offset", Integer, kRepeated}}};
const ProtoMessage kEltwise{"EltwiseParameter",
                            {{1, "operation", Enum, false, nullptr, {{0, "PROD"}, {1, "SUM"}, {2, "MAX"}}},
                             {2, "coeff", Real, kRepeated},
                             {3, "stable_prod_grad"}}};
const std::vector<std::pair<int, const char*>> kBoxCodes{{1, "CORNER"}, {2, "CENTER_SIZE"}, {3, "CORNER_SIZE"}};
const ProtoMessage kSuppression{"NonMaximumSuppressionParameter",
                                {{1, "nms_threshold", Real}, {2, "top_k", Integer}, {3, "eta", Real}}};
const ProtoMessage kDetectionOutput{"DetectionOutputParameter",
                                    {{1, "num_classes", Integer},
                                     {2, "share_location", Integer},
                                     {3, "background_label_id", Integer},
                                     {4, "nms_param", Message, false, &kSuppression},
                                     {5, "save_output_param"},
                                     {6, "code_type", Enum, false, nullptr, kBoxCodes},
                                     {7, "keep_top_k", Integer},
                                     {8, "variance_encoded_in_target", Integer},
                                     {9, "confidence_threshold", Real},
                                     {10, "normalized_bbox", Integer}}};
const ProtoMessage kElu{"ELUParameter", {{1, "alpha", Real}}};
const ProtoMessage kEmbed{"EmbedParameter",
                          {{1, "num_output", Integer},
                           {2, "input_dim", Integer},
                           {3, "bias_term", Integer},
                           {4, "weight_filler"},
                           {5, "bias_filler"}}};
const ProtoMessage kExp{"ExpParameter", {{1, "base", Real}, {2, "scale", Real}, {3, "shift", Real}}};
const ProtoMessage kFlatten{"FlattenParameter", {{1, "axis", Integer}, {2, "end_axis", Integer}}};
const ProtoMessage kInnerProduct{"InnerProductParameter",
                                 {{1, "num_output", Integer},
                                  {2, "bias_term", Integer},
                                  {3, "weight_filler"},
                                  {4, "bias_filler"},
                                  {5, "axis", Integer},
                                  {6, "transpose", Integer}}};
const ProtoMessage kInput{"InputParameter", {{1, "shape", Message, kRepeated, &kShape}}};
const ProtoMessage kLog{"LogParameter", {{1, "base", Real}, {2, "scale", Real}, {3, "shift", Real}}};
const ProtoMessage kLrn{"LRNParameter",
                        {{1, "local_size", Integer},
                         {2, "alpha", Real},
                         {3, "beta", Real},
                         {4, "norm_region", Enum, false, nullptr, {{0, "ACROSS_CHANNELS"}, {1, "WITHIN_CHANNEL"}}},
                         {5, "k", Real},
                         {6, "engine"}}};
const ProtoMessage kMvn{"MVNParameter",
                        {{1, "normalize_variance", Integer}, {2, "across_channels", Integer}, {3, "eps", Real}}};
const ProtoMessage kNormalize{
    "NormalizeBBoxParameter",
    {{1, "across_spatial", Integer}, {2, "scale_filler"}, {3, "channel_shared", Integer}, {4, "eps", Real}}};
const ProtoMessage kPermute{"PermuteParameter", {{1, "order", Integer, kRepeated}}};
const ProtoMessage kPooling{"PoolingParameter",
                            {{1, "pool", Enum, false, nullptr, {{0, "MAX"}, {1, "AVE"}, {2, "STOCHASTIC"}}},
                             {2, "kernel_size", Integer},
                             {3, "stride", Integer},
                             {4, "pad", Integer},
                             {5, "kernel_h", Integer},
                             {6, "kernel_w", Integer},
                             {7, "stride_h", Integer},
                             {8, "stride_w", Integer},
                             {9, "pad_h", Integer},
                             {10, "pad_w", Integer},
                             {11, "engine"},
                             {12, "global_pooling", Integer},
                             {13, "round_mode", Enum, false, nullptr, {{0, "CEIL"}, {1, "FLOOR"}}},
                             {0, "ceil_mode", Integer}}};
const ProtoMessage kPower{"PowerParameter", {{1, "power", Real}, {2, "scale", Real}, {3, "shift", Real}}};
const ProtoMessage kPRelu{"PReLUParameter", {{1, "filler"}, {2, "channel_shared", Integer}}};
const ProtoMessage kPriorBox{"PriorBoxParameter",
                             {{1, "min_size", Real, kRepeated},
                              {2, "max_size", Real, kRepeated},
                              {3, "aspect_ratio", Real, kRepeated},
                              {4, "flip", Integer},
                              {5, "clip", Integer},
                              {6, "variance", Real, kRepeated},
                              {7, "img_size", Integer},
                              {8, "img_h", Integer},
                              {9, "img_w", Integer},
                              {10, "step", Real},
                              {11, "step_h", Real},
                              {12, "step_w", Real},
                              {13, "offset", Real}}};
const ProtoMessage kReduction{
    "ReductionParameter",
    {{1, "operation", Enum, false, nullptr, {{1, "SUM"}, {2, "ASUM"}, {3, "SUMSQ"}, {4, "MEAN"}}},
     {2, "axis", Integer},
     {3, "coeff", Real}}};
const ProtoMessage kRelu{"ReLUParameter", {{1, "negative_slope", Real}, {2, "engine"}}};
const ProtoMessage kReshape{"ReshapeParameter",
                            {{1, "shape", Message, false, &kShape}, {2, "axis", Integer}, {3, "num_axes", Integer}}};
const ProtoMessage kScale{
    "ScaleParameter",
    {{1, "axis", Integer}, {2, "num_axes", Integer}, {3, "filler"}, {4, "bias_term", Integer}, {5, "bias_filler"}}};
const ProtoMessage kSlice{"SliceParameter",
                          {{1, "slice_dim", Integer}, {2, "slice_point", Integer, kRepeated}, {3, "axis", Integer}}};
const ProtoMessage kSoftmax{"SoftmaxParameter", {{1, "engine"}, {2, "axis", Integer}}};
const ProtoMessage kThreshold{"ThresholdParameter", {{1, "threshold", Real}}};
const ProtoMessage kTile{"TileParameter", {{1, "axis", Integer}, {2, "tiles", Integer}}};

const ProtoMessage kLayer{"LayerParameter",
                          {{1, "name", Text},
                           {2, "type", Text},
                           {3, "bottom", Text, kRepeated},
                           {4, "top", Text, kRepeated},
                           {7, "blobs", Message, kRepeated, &kBlob},
                           {8, "include", Message, kRepeated, &kRule},
                           {9, "exclude", Message, kRepeated, &kRule},
                           {103, "argmax_param", Message, false, &kArgMax},
                           {104, "concat_param", Message, false, &kConcat},
                           {106, "convolution_param", Message, false, &kConvolution},
                           {110, "eltwise_param", Message, false, &kEltwise},
                           {111, "exp_param", Message, false, &kExp},
                           {117, "inner_product_param", Message, false, &kInnerProduct},
                           {118, "lrn_param", Message, false, &kLrn},
                           {120, "mvn_param", Message, false, &kMvn},
                           {121, "pooling_param", Message, false, &kPooling},
                           {122, "power_param", Message, false, &kPower},
                           {123, "relu_param", Message, false, &kRelu},
                           {125, "softmax_param", Message, false, &kSoftmax},
                           {126, "slice_param", Message, false, &kSlice},
                           {128, "threshold_param", Message, false, &kThreshold},
                           {131, "prelu_param", Message, false, &kPRelu},
                           {133, "reshape_param", Message, false, &kReshape},
                           {134, "log_param", Message, false, &kLog},
                           {135, "flatten_param", Message, false, &kFlatten},
                           {136, "reduction_param", Message, false, &kReduction},
                           {137, "embed_param", Message, false, &kEmbed},
                           {138, "tile_param", Message, false, &kTile},
                           {139, "batch_norm_param", Message, false, &kBatchNorm},
                           {140, "elu_param", Message, false, &kElu},
                           {141, "bias_param", Message, false, &kBias},
                           {142, "scale_param", Message, false, &kScale},
                           {143, "input_param", Message, false, &kInput},
                           {144, "crop_param", Message, false, &kCrop},
                           // of OpenCV's proto
                           {147, "detection_output_param", Message, false, &kDetectionOutput},
                           {148, "permute_param", Message, false, &kPermute},
                           {149, "norm_param", Message, false, &kNormalize},
                           {150, "prior_box_param", Message, false, &kPriorBox},
                           // of the proto for SSD
                           {202, "permute_param", Message, false, &kPermute},
                           {203, "prior_box_param", Message, false, &kPriorBox},
                           {204, "detection_output_param", Message, false, &kDetectionOutput},
                           {206, "norm_param", Message, false, &kNormalize}},
                          true};

const std::vector<std::pair<int, const char*>> kOldTypes{{35, "ABSVAL"},
                                                         {1, "ACCURACY"},
                                                         {30, "ARGMAX"},
                                                         {2, "BNLL"},
                                                         {3, "CONCAT"},
                                                         {37, "CONTRASTIVE_LOSS"},
                                                         {4, "CONVOLUTION"},
                                                         {5, "DATA"},
                                                         {39, "DECONVOLUTION"},
                                                         {6, "DROPOUT"},
                                                         {32, "DUMMY_DATA"},
                                                         {7, "EUCLIDEAN_LOSS"},
                                                         {25, "ELTWISE"},
                                                         {38, "EXP"},
                                                         {8, "FLATTEN"},
                                                         {9, "HDF5_DATA"},
                                                         {10, "HDF5_OUTPUT"},
                                                         {28, "HINGE_LOSS"},
                                                         {11, "IM2COL"},
                                                         {12, "IMAGE_DATA"},
                                                         {13, "INFOGAIN_LOSS"},
                                                         {14, "INNER_PRODUCT"},
                                                         {15, "LRN"},
                                                         {29, "MEMORY_DATA"},
                                                         {16, "MULTINOMIAL_LOGISTIC_LOSS"},
                                                         {34, "MVN"},
                                                         {17, "POOLING"},
                                                         {26, "POWER"},
                                                         {18, "RELU"},
                                                         {19, "SIGMOID"},
                                                         {27, "SIGMOID_CROSS_ENTROPY_LOSS"},
                                                         {36, "SILENCE"},
                                                         {20, "SOFTMAX"},
                                                         {21, "SOFTMAX_LOSS"},
                                                         {22, "SPLIT"},
                                                         {33, "SLICE"},
                                                         {23, "TANH"},
                                                         {24, "WINDOW_DATA"},
                                                         {31, "THRESHOLD"}};

const ProtoMessage kOldLayer{"V1LayerParameter",
                             {{2, "bottom", Text, kRepeated},
                              {3, "top", Text, kRepeated},
                              {4, "name", Text},
                              {5, "type", Enum, false, nullptr, kOldTypes},
                              {6, "blobs", Message, kRepeated, &kBlob},
                              {9, "concat_param", Message, false, &kConcat},
                              {10, "convolution_param", Message, false, &kConvolution},
                              {17, "inner_product_param", Message, false, &kInnerProduct},
                              {18, "lrn_param", Message, false, &kLrn},
                              {19, "pooling_param", Message, false, &kPooling},
                              {21, "power_param", Message, false, &kPower},
                              {23, "argmax_param", Message, false, &kArgMax},
                              {24, "eltwise_param", Message, false, &kEltwise},
                              {25, "threshold_param", Message, false, &kThreshold},
                              {30, "relu_param", Message, false, &kRelu},
                              {31, "slice_param", Message, false, &kSlice},
                              {32, "include", Message, kRepeated, &kRule},
                              {33, "exclude", Message, kRepeated, &kRule},
                              {34, "mvn_param", Message, false, &kMvn},
                              {39, "softmax_param", Message, false, &kSoftmax},
                              {41, "exp_param", Message, false, &kExp}},
                             true};

const ProtoMessage kNet{"NetParameter",
                        {{1, "name", Text},
                         {2, "layers", Message, kRepeated, &kOldLayer},
                         {3, "input", Text, kRepeated},
                         {4, "input_dim", Integer, kRepeated},
                         {5, "force_backward"},
                         {6, "state"},
                         {7, "debug_info"},
                         {8, "input_shape", Message, kRepeated, &kShape},
                         {100, "layer", Message, kRepeated, &kLayer}}};

}  // namespace

const ProtoMessage& net_message() { return kNet; }

std::string type_of_old_layer(const std::string& type) {
  static const std::unordered_map<std::string, std::string> names{{"ABSVAL", "AbsVal"},
                                                                  {"ARGMAX", "ArgMax"},
                                                                  {"BNLL", "BNLL"},
                                                                  {"CONCAT", "Concat"},
                                                                  {"CONVOLUTION", "Convolution"},
                                                                  {"DECONVOLUTION", "Deconvolution"},
                                                                  {"DROPOUT", "Dropout"},
                                                                  {"ELTWISE", "Eltwise"},
                                                                  {"EXP", "Exp"},
                                                                  {"FLATTEN", "Flatten"},
                                                                  {"INNER_PRODUCT", "InnerProduct"},
                                                                  {"LRN", "LRN"},
                                                                  {"MVN", "MVN"},
                                                                  {"POOLING", "Pooling"},
                                                                  {"POWER", "Power"},
                                                                  {"RELU", "ReLU"},
                                                                  {"SIGMOID", "Sigmoid"},
                                                                  {"SILENCE", "Silence"},
                                                                  {"SLICE", "Slice"},
                                                                  {"SOFTMAX", "Softmax"},
                                                                  {"SPLIT", "Split"},
                                                                  {"TANH", "TanH"},
                                                                  {"THRESHOLD", "Threshold"}};
  auto found = names.find(type);
  return found == names.end() ? type : found->second;
}

}  // namespace tessera::caffe
