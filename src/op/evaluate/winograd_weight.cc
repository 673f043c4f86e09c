// nn.contrib_conv2d_winograd_weight_transform and nn.contrib_conv3d_winograd_weight_transform

#include <algorithm>

#include "ir/prim/ops.h"
#include "op/evaluate/evaluate.h"
#include "op/evaluate/loops.h"
#include "relay/attrs/conv.h"
#include "topi/nn/winograd_filter.h"

namespace tessera::op {
namespace {

constexpr int kTaps = topi::kWinogradKernelSize;

/// A dense tensor of numbers.
struct Values {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

int64_t count_of(const std::vector<int64_t>& shape, size_t first, size_t last) {
  int64_t out = 1;
  for (size_t i = first; i < last; ++i) out *= shape[i];
  return out;
}

/// G times the three elements of a filter along `axis`.
Values transformed(int tile, const Values& in, size_t axis) {
  auto times = [](double factor, float x) { return static_cast<float>(factor) * x; };
  const int side = tile + kTaps - 1;
  Values out{in.shape, {}};
  out.shape[axis] = side;
  const int64_t inner = count_of(in.shape, axis + 1, in.shape.size()), outer = count_of(in.shape, 0, axis);
  out.values.resize(static_cast<size_t>(outer * side * inner));
  std::vector<float> u(static_cast<size_t>(side));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      const float* w = in.values.data() + o * kTaps * inner + i;
      const float taps[kTaps] = {w[0], w[inner], w[2 * inner]};
      topi::winograd_filter(tile, taps, u.data(), times);
      for (int k = 0; k < side; ++k)
        out.values[static_cast<size_t>((o * side + k) * inner + i)] = u[static_cast<size_t>(k)];
    }
  return out;
}

/// The axes in the order of the result: those that are transformed, then the others.
std::vector<size_t> ordered(const std::vector<size_t>& axes, size_t spatial) {
  std::vector<size_t> out = axes;
  for (size_t axis = 0; axis < spatial; ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) out.push_back(axis);
  return out;
}

}  // namespace

NDArray evaluate_winograd_weight(const relay::Call* call, const std::vector<NDArray>& args) {
  auto* attrs = call->attrs.as<relay::ConvWinogradWeightTransformAttrs>();
  const int tile = attrs->tile_size;
  const NDArray& weight = args[0];
  const std::vector<int64_t> shape(weight.shape().begin(), weight.shape().end());
  const size_t spatial = shape.size() - 2;
  if ((tile != 2 && tile != 4) || weight.dtype() != DataType::Float(32) || (spatial != 2 && attrs->axes.empty()))
    return nullptr;
  std::vector<size_t> axes;
  for (const PrimExpr& axis : attrs->axes.empty() ? Array<PrimExpr>{0, 1} : attrs->axes) {
    axes.push_back(static_cast<size_t>(*as_int(axis)));
    if (shape[2 + axes.back()] != kTaps) return nullptr;
  }
  const std::vector<size_t> order = ordered(axes, spatial);
  NDArray out = result_of(call);
  const int64_t outs = shape[0], ins = shape[1], size = count_of(shape, 1, shape.size());
  const float* from = weight.data<float>();
  float* to = out.data<float>();
  in_chunks(outs, size, [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o) {
      Values values{{shape.begin() + 1, shape.end()}, std::vector<float>(from + o * size, from + (o + 1) * size)};
      for (size_t axis : axes) values = transformed(tile, values, 1 + axis);
      const std::vector<int64_t> strides = row_major(values.shape);
      std::vector<CopyLoop> loops{{ins, 1, strides[0]}};
      int64_t apart = outs * ins;
      for (size_t i = order.size(); i-- > 0; apart *= values.shape[1 + order[i]])
        loops.push_back({values.shape[1 + order[i]], apart, strides[1 + order[i]]});
      copy_elements(loops, sizeof(float), values.values.data(), to + o * ins);
    }
  });
  return out;
}

}  // namespace tessera::op
