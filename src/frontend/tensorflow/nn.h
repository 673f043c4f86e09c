#pragma once
// Windows over channels-last images, as TensorFlow and TFLite have them.

#include "frontend/tensorflow/operation.h"

namespace tessera::tensorflow {

/// Windows over one to three spatial dimensions.
struct Windows {
  Ints kernel, strides, dilations;  // of each spatial dimension
  std::string padding = "VALID";    // or "SAME", or "EXPLICIT" with `pads`
  Ints pads;                        // begins, then ends
  bool channels_first = false;
  size_t spatial() const { return kernel.size(); }
};

/// Zero points and scales of data and filter, where both are integers that stand for real numbers; sums are int32 then.
struct QuantizedArgs {
  Expr data_zero, filter_zero, data_scale, filter_scale;
};
/// `filter`: the spatial dimensions, the channels of a group, those of the result (HWIO).
Expr convolution_of(Operation& in, const Expr& data, const Expr& filter, Windows windows, int64_t groups,
                    const QuantizedArgs* integers = nullptr);
/// (h, w, channels, multiplier) as the weight of a convolution with a group for each channel.
Expr depthwise_filter(const NodeContext& in, const Expr& filter);
/// The gradient of a convolution by its data, for an image of `out` spatial extents; filter (h, w, out, in).
Expr transposed_convolution(Operation& in, const Expr& data, const Expr& filter, const Ints& out,
                            const Windows& windows, const QuantizedArgs* integers = nullptr);
/// The padding of windows over `extents`: begins, then ends.
Ints padding_of(const NodeContext& in, const Windows& windows, const Ints& extents);
enum class Pool { Max, Average };
Expr pool_of(Operation& in, const Expr& data, Pool kind, Windows windows);
/// x + bias along the channels.
Expr with_bias(const Expr& x, const Expr& bias, int axis);

}  // namespace tessera::tensorflow
