#pragma once
// The transform of three taps of a filter, for expressions and for numbers.

namespace tessera::topi {

inline constexpr int kWinogradKernelSize = 3;

/// out = G w for tiles of 2 or 4 results: `tile` + 2 values. `times(c, x)` is c * x.
template <class Value, class Times>
void winograd_filter(int tile, const Value* w, Value* out, const Times& times) {
  Value ends = w[0] + w[2];
  if (tile == 2) {
    out[0] = w[0];
    out[1] = times(0.5, ends + w[1]);
    out[2] = times(0.5, ends - w[1]);
    out[3] = w[2];
    return;
  }
  Value wide = times(1.0 / 24, w[0]) + times(1.0 / 6, w[2]), middle = times(1.0 / 12, w[1]);
  out[0] = times(0.25, w[0]);
  out[1] = times(-1.0 / 6, ends + w[1]);
  out[2] = times(-1.0 / 6, ends - w[1]);
  out[3] = wide + middle;
  out[4] = wide - middle;
  out[5] = w[2];
}

}  // namespace tessera::topi
