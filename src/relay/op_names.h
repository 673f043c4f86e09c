#pragma once
// Names of the operators that passes, the parser and builders write or match themselves. What is true of several operators
// is a slot of the operator table (relay/slots.h), not a list of names.

namespace tessera::relay::ops {

inline constexpr const char* add = "add";
inline constexpr const char* append = "append";
inline constexpr const char* broadcast_to = "broadcast_to";
inline constexpr const char* broadcast_to_like = "broadcast_to_like";
inline constexpr const char* cast = "cast";
inline constexpr const char* clip = "clip";
inline constexpr const char* collapse_sum_like = "collapse_sum_like";
inline constexpr const char* concatenate = "concatenate";
inline constexpr const char* contrib_reverse_reshape = "contrib_reverse_reshape";
inline constexpr const char* device_copy = "device_copy";
inline constexpr const char* divide = "divide";
inline constexpr const char* equal = "equal";
inline constexpr const char* erf = "erf";
inline constexpr const char* exp = "exp";
inline constexpr const char* expand_dims = "expand_dims";
inline constexpr const char* full = "full";
inline constexpr const char* full_like = "full_like";
inline constexpr const char* greater = "greater";
inline constexpr const char* greater_equal = "greater_equal";
inline constexpr const char* layout_transform = "layout_transform";
inline constexpr const char* less = "less";
inline constexpr const char* less_equal = "less_equal";
inline constexpr const char* log = "log";
inline constexpr const char* max = "max";
inline constexpr const char* maximum = "maximum";
inline constexpr const char* mean = "mean";
inline constexpr const char* minimum = "minimum";
inline constexpr const char* multiply = "multiply";
inline constexpr const char* ndarray_size = "ndarray_size";
inline constexpr const char* negative = "negative";
inline constexpr const char* not_equal = "not_equal";
inline constexpr const char* on_device = "on_device";
inline constexpr const char* ones_like = "ones_like";
inline constexpr const char* power = "power";
inline constexpr const char* reshape = "reshape";
inline constexpr const char* reshape_like = "reshape_like";
inline constexpr const char* round = "round";
inline constexpr const char* round_to_even = "round_to_even";
inline constexpr const char* rsqrt = "rsqrt";
inline constexpr const char* shape_of = "shape_of";
inline constexpr const char* sigmoid = "sigmoid";
inline constexpr const char* split = "split";
inline constexpr const char* sqrt = "sqrt";
inline constexpr const char* squeeze = "squeeze";
inline constexpr const char* stack = "stack";
inline constexpr const char* strided_slice = "strided_slice";
inline constexpr const char* subtract = "subtract";
inline constexpr const char* sum = "sum";
inline constexpr const char* take = "take";
inline constexpr const char* tanh = "tanh";
inline constexpr const char* transpose = "transpose";
inline constexpr const char* where = "where";
inline constexpr const char* zeros_like = "zeros_like";

inline constexpr const char* batch_matmul = "nn.batch_matmul";
inline constexpr const char* batch_to_space_nd = "nn.batch_to_space_nd";
inline constexpr const char* bias_add = "nn.bias_add";
inline constexpr const char* conv2d = "nn.conv2d";
inline constexpr const char* conv2d_transpose = "nn.conv2d_transpose";
inline constexpr const char* dense = "nn.dense";
inline constexpr const char* matmul = "nn.matmul";
inline constexpr const char* pad = "nn.pad";
inline constexpr const char* recurrent = "nn.recurrent";
inline constexpr const char* matmul_nbits = "nn.matmul_nbits";
inline constexpr const char* relu = "nn.relu";
inline constexpr const char* softmax = "nn.softmax";
inline constexpr const char* space_to_batch_nd = "nn.space_to_batch_nd";

inline constexpr const char* qnn_conv2d = "qnn.conv2d";
inline constexpr const char* qnn_dequantize = "qnn.dequantize";
inline constexpr const char* qnn_quantize = "qnn.quantize";
inline constexpr const char* qnn_requantize = "qnn.requantize";

inline constexpr const char* checkpoint = "annotation.checkpoint";
inline constexpr const char* compiler_begin = "annotation.compiler_begin";
inline constexpr const char* compiler_end = "annotation.compiler_end";
inline constexpr const char* stop_fusion = "annotation.stop_fusion";
inline constexpr const char* kill = "memory.kill";

}  // namespace tessera::relay::ops
