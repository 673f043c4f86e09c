#include "frontend/paddle/pir_names.h"

#include <string_view>

namespace tessera::paddle {
namespace {

struct Row {
  const char *pir, *op, *inputs, *outputs, *attributes;  // slots with spaces between them, attributes as "pir=name"
};

// In the order of PIR's names. Operators of one or two inputs X and Y, whose names are the same in both, need no row.
constexpr Row kRows[] = {
    {"add", "elementwise_add", "X Y", "Out", ""},
    {"add_n", "sum", "X", "Out", ""},
    {"addmm", "addmm", "Input X Y", "Out", "alpha=Alpha beta=Beta"},
    {"all", "reduce_all", "X dim", "Out", "axis=dim keepdim=keep_dim"},
    {"any", "reduce_any", "X dim", "Out", "axis=dim keepdim=keep_dim"},
    {"arange", "range", "Start End Step", "Out", ""},
    {"argmax", "arg_max", "X axis", "Out", ""},
    {"argmin", "arg_min", "X axis", "Out", ""},
    {"argsort", "argsort", "X", "Out Indices", ""},
    {"assign_out", "assign", "X Output", "Out", ""},
    {"assign_value", "assign_value", "Output", "Out", ""},
    {"batch_norm", "batch_norm", "X Mean Variance Scale Bias",
     "Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace", "data_format=data_layout"},
    {"bicubic_interp", "bicubic_interp_v2", "X OutSize SizeTensor Scale", "Out", "data_format=data_layout"},
    {"bilinear_interp", "bilinear_interp_v2", "X OutSize SizeTensor Scale", "Out", "data_format=data_layout"},
    {"box_coder", "box_coder", "PriorBox PriorBoxVar TargetBox", "OutputBox", ""},
    {"cast", "cast", "X", "Out", "dtype=out_dtype"},
    {"clip", "clip", "X Min Max", "Out", ""},
    {"concat", "concat", "X AxisTensor", "Out", ""},
    {"conv2d", "conv2d", "Input Filter", "Output", ""},
    {"conv2d_transpose", "conv2d_transpose", "Input Filter output_size", "Output", ""},
    {"conv2d_transpose_bias", "conv2d_transpose", "Input Filter Bias output_size", "Output", ""},
    {"conv3d", "conv3d", "Input Filter", "Output", ""},
    {"conv3d_transpose", "conv3d_transpose", "Input Filter", "Output", ""},
    {"cumsum", "cumsum", "X axis", "Out", ""},
    {"depthwise_conv2d", "depthwise_conv2d", "Input Filter", "Output", ""},
    {"depthwise_conv2d_transpose", "depthwise_conv2d_transpose", "Input Filter output_size", "Output", ""},
    {"dequantize_linear", "dequantize_linear", "X Scale ZeroPoint", "Y", ""},
    {"divide", "elementwise_div", "X Y", "Out", ""},
    {"dropout", "dropout", "X Seed dropout_prob", "Out Mask", "mode=dropout_implementation"},
    {"einsum", "einsum", "Operands", "Out", ""},
    {"elementwise_pow", "elementwise_pow", "X Y", "Out", ""},
    {"embedding", "lookup_table_v2", "Ids W", "Out", ""},
    {"expand", "expand_v2", "X Shape", "Out", ""},
    {"expand_as", "expand_as_v2", "X Y", "Out", ""},
    {"flash_attn", "flash_attn", "q k v fixed_seed_offset attn_mask", "out softmax softmax_lse seed_offset", ""},
    {"flatten", "flatten_contiguous_range", "X", "Out XShape", ""},
    {"flip", "flip", "X", "Out", ""},
    {"floor_divide", "elementwise_floordiv", "X Y", "Out", ""},
    {"fmax", "elementwise_fmax", "X Y", "Out", ""},
    {"fmin", "elementwise_fmin", "X Y", "Out", ""},
    {"full", "fill_constant", "", "Out", ""},
    {"full_batch_size_like", "fill_constant_batch_size_like", "Input", "Out", ""},
    {"full_int_array", "assign_value", "", "Out", "value=values"},
    {"full_like", "fill_any_like", "X value", "Out", ""},
    {"full_with_tensor", "fill_constant", "ValueTensor ShapeTensor", "Out", ""},
    {"gather", "gather", "X Index Axis", "Out", ""},
    {"gather_nd", "gather_nd", "X Index", "Out", ""},
    {"grid_sample", "grid_sampler", "X Grid", "Output", ""},
    {"group_norm", "group_norm", "X Scale Bias", "Y Mean Variance", "data_format=data_layout"},
    {"hardshrink", "hard_shrink", "X", "Out", ""},
    {"hardsigmoid", "hard_sigmoid", "X", "Out", ""},
    {"hardswish", "hard_swish", "X", "Out", ""},
    {"hardtanh", "brelu", "X", "Out", ""},
    {"increment", "increment", "X", "Out", "value=step"},
    {"index_select", "index_select", "X Index", "Out", "axis=dim"},
    {"instance_norm", "instance_norm", "X Scale Bias", "Y SavedMean SavedVariance", ""},
    {"isfinite", "isfinite_v2", "X", "Out", ""},
    {"isinf", "isinf_v2", "X", "Out", ""},
    {"isnan", "isnan_v2", "X", "Out", ""},
    {"layer_norm", "layer_norm", "X Scale Bias", "Y Mean Variance", ""},
    {"leaky_relu", "leaky_relu", "X", "Out", "negative_slope=alpha"},
    {"linspace", "linspace", "Start Stop Num", "Out", ""},
    {"matmul", "matmul_v2", "X Y", "Out", "transpose_x=trans_x transpose_y=trans_y"},
    {"max", "reduce_max", "X dim", "Out", "keepdim=keep_dim"},
    {"max_pool2d_with_index", "max_pool2d_with_index", "X", "Out Mask", "kernel_size=ksize"},
    {"max_pool3d_with_index", "max_pool3d_with_index", "X", "Out Mask", "kernel_size=ksize"},
    {"maximum", "elementwise_max", "X Y", "Out", ""},
    {"mean", "reduce_mean", "X dim", "Out", "keepdim=keep_dim axis=dim"},
    {"meshgrid", "meshgrid", "X", "Out", ""},
    {"min", "reduce_min", "X dim", "Out", "keepdim=keep_dim"},
    {"minimum", "elementwise_min", "X Y", "Out", ""},
    {"multiclass_nms3", "multiclass_nms3", "BBoxes Scores RoisNum", "Out Index NmsRoisNum", ""},
    {"multiply", "elementwise_mul", "X Y", "Out", ""},
    {"mv", "mv", "X Vec", "Out", ""},
    {"nearest_interp", "nearest_interp_v2", "X OutSize SizeTensor Scale", "Out", "data_format=data_layout"},
    {"nonzero", "where_index", "Condition", "Out", ""},
    {"numel", "size", "Input", "Out", ""},
    {"one_hot", "one_hot_v2", "X depth_tensor", "Out", ""},
    {"pad", "pad", "X", "Out", ""},
    {"pad3d", "pad3d", "X Paddings", "Out", "pad_value=value"},
    {"pool2d", "pool2d", "X ksize", "Out", ""},
    {"pool3d", "pool3d", "X", "Out", "kernel_size=ksize"},
    {"pow", "pow", "X", "Out", "y=factor"},
    {"prelu", "prelu", "X Alpha", "Out", ""},
    {"prod", "reduce_prod", "X dim", "Out", "keepdim=keep_dim"},
    {"quantize_linear", "quantize_linear", "X Scale ZeroPoint", "Y", ""},
    {"remainder", "elementwise_mod", "X Y", "Out", ""},
    {"reshape", "reshape2", "X Shape", "Out XShape", ""},
    {"rnn", "rnn", "Input PreState WeightList SequenceLength DropoutState", "Out DropoutState State Reserve", ""},
    {"roi_align", "roi_align", "X ROIs RoisNum", "Out", ""},
    {"scale", "scale", "X ScaleTensor", "Out", ""},
    {"scatter", "scatter", "X Ids Updates", "Out", ""},
    {"scatter_nd_add", "scatter_nd_add", "X Index Updates", "Out", ""},
    {"shape", "shape", "Input", "Out", ""},
    {"shape64", "shape64", "Input", "Out", ""},
    {"share_data", "assign", "X", "Out", ""},
    {"slice", "slice", "Input StartsTensor EndsTensor", "Out", ""},
    {"split", "split", "X sections AxisTensor", "Out", ""},
    {"split_with_num", "split", "X AxisTensor", "Out", ""},
    {"squeeze", "squeeze2", "X axes", "Out XShape", "axis=axes"},
    {"stack", "stack", "X", "Y", ""},
    {"strided_slice", "strided_slice", "Input StartsTensor EndsTensor StridesTensor", "Out", ""},
    {"subtract", "elementwise_sub", "X Y", "Out", ""},
    {"sum", "reduce_sum", "X dim", "Out", "keepdim=keep_dim dtype=out_dtype"},
    {"sync_batch_norm", "batch_norm", "X Mean Variance Scale Bias",
     "Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace", "data_format=data_layout"},
    {"take_along_axis", "take_along_axis", "Input Index", "Result", "axis=Axis"},
    {"tile", "tile", "X repeat_times", "Out", ""},
    {"topk", "top_k_v2", "X K", "Out Indices", ""},
    {"transpose", "transpose2", "X", "Out XShape", "perm=axis"},
    {"tril", "tril", "X", "Out", ""},
    {"triu", "triu", "X", "Out", ""},
    {"unbind", "unbind", "X", "Out", ""},
    {"unsqueeze", "unsqueeze2", "X axes", "Out XShape", "axis=axes"},
    {"unstack", "unstack", "X", "Y", ""},
    {"where", "where", "Condition X Y", "Out", ""},
    {"yolo_box", "yolo_box", "X ImgSize", "Boxes Scores", ""},
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    out.emplace_back(text.substr(0, space));
    text = space == text.npos ? std::string_view() : text.substr(space + 1);
  }
  return out;
}

std::unordered_map<std::string, PirName> table() {
  std::unordered_map<std::string, PirName> out;
  for (const Row& row : kRows) {
    PirName name{row.op, words(row.inputs), words(row.outputs), {}};
    for (const std::string& pair : words(row.attributes)) {
      const size_t middle = pair.find('=');
      name.attributes.emplace(pair.substr(0, middle), pair.substr(middle + 1));
    }
    out.emplace(row.pir, std::move(name));
  }
  return out;
}

}  // namespace

PirName pir_name(const std::string& name) {
  static const std::unordered_map<std::string, PirName> names = table();
  // One that ends in "_" writes into its first argument, which nothing else reads afterwards.
  const std::string plain = name.size() > 1 && name.back() == '_' ? name.substr(0, name.size() - 1) : name;
  auto found = names.find(plain);
  return found == names.end() ? PirName{plain, {"X", "Y"}, {"Out"}, {}} : found->second;
}

}  // namespace tessera::paddle
