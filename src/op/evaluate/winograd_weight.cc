// nn.contrib_conv2d_winograd_weight_transform

#include "op/evaluate/evaluate.h"
#include "op/evaluate/loops.h"
#include "relay/attrs/conv.h"
#include "topi/nn/winograd_filter.h"

namespace tessera::op {
namespace {

constexpr int kTaps = topi::kWinogradTaps, kMaxSide = 6;

/// u[a * side + b] = (G w G^T)[a][b] of the filter w[3][3].
void transform(int tile, const float* w, float* u) {
  auto times = [](double factor, float x) { return static_cast<float>(factor) * x; };
  const int side = tile + kTaps - 1;
  float rows[kTaps][kMaxSide];  // of each column of w, G times it
  for (int column = 0; column < kTaps; ++column) {
    const float taps[kTaps] = {w[column], w[kTaps + column], w[2 * kTaps + column]};
    topi::winograd_filter(tile, taps, rows[column], times);
  }
  for (int a = 0; a < side; ++a) {
    const float taps[kTaps] = {rows[0][a], rows[1][a], rows[2][a]};
    topi::winograd_filter(tile, taps, u + a * side, times);
  }
}

}  // namespace

NDArray evaluate_winograd_weight(const relay::Call* call, const std::vector<NDArray>& args) {
  const int tile = call->attrs.as<relay::ConvWinogradWeightTransformAttrs>()->tile_size;
  const NDArray& weight = args[0];
  if ((tile != 2 && tile != 4) || weight.dtype() != DataType::Float(32) || weight.shape().size() != 4 ||
      weight.shape()[2] != kTaps || weight.shape()[3] != kTaps)
    return nullptr;
  NDArray out = result_of(call);
  const int64_t outs = weight.shape()[0], ins = weight.shape()[1];
  const int count = (tile + kTaps - 1) * (tile + kTaps - 1);
  const float* from = weight.data<float>();
  float* to = out.data<float>();
  in_chunks(outs, ins * count, [&](int64_t first, int64_t last) {
    float values[kMaxSide * kMaxSide];
    for (int64_t filter = first * ins; filter < last * ins; ++filter) {
      transform(tile, from + filter * kTaps * kTaps, values);
      for (int i = 0; i < count; ++i) to[i * outs * ins + filter] = values[i];
    }
  });
  return out;
}

}  // namespace tessera::op
