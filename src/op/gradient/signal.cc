// Gradients of Fourier transforms and determinants.

#include <cmath>
#include <numbers>

#include "op/gradient/expansion.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/signal.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using namespace relay;
using Call = relay::Call;

/// The transform back, but for the factor 1 / n, which the inverse has.
Exprs fft_gradient(const Call* call, const Expr& grad) {
  bool is_inverse = call->attrs_as<FftAttrs>()->inverse;
  auto* data = arg_type(call, 0);
  Expr back = call_op("fft", {grad}, make_attrs<FftAttrs>([&](auto& a) { a.inverse = !is_inverse; }));
  Expr count = extent_of(call->args[0], rank_of(data) - 2, data->dtype);
  return {is_inverse ? divide(back, count) : multiply(back, count)};
}

/// Windows of the signals, each sample times its factor, times the matrix of waves.
Exprs stft_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<StftAttrs>();
  auto *data = arg_type(call, 0), *result = tensor_of(checked_type(Expr(call)));
  const int64_t length = known_extent(arg_type(call, 1), 0), windows = known_extent(result, 2),
                frequencies = known_extent(result, 1), first = (attrs->n_fft - length) / 2;
  std::vector<int64_t> indices, turns;
  for (int64_t i = 0; i < windows; ++i)
    for (int64_t k = 0; k < length; ++k) indices.push_back(i * attrs->hop_length + first + k);
  for (int64_t f = 0; f < frequencies; ++f)
    for (int64_t k = 0; k < length; ++k) turns.push_back(f * (first + k) % attrs->n_fft);
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    Expr numbers = reshape(make_ints(indices), {extent(windows), extent(length)});
    Expr samples = multiply(taken(args[0], numbers, 1), cast(args[1], data->dtype));  // (rows, windows, length)
    Expr angles =
        multiply(cast(make_ints(turns), data->dtype), make_scalar(2 * std::numbers::pi / attrs->n_fft, data->dtype));
    auto times = [&](const Expr& wave) {
      Expr matrix = reshape(wave, {extent(frequencies), extent(length)});
      return call_op("nn.dense", {samples, matrix}, make_attrs<DenseAttrs>([](auto&) {}));
    };
    Expr parts = stack({times(call_op("cos", {angles})), negative(times(call_op("sin", {angles})))}, 3);
    Expr out = transpose(parts, {extent(0), extent(2), extent(1), extent(3)});
    return attrs->normalized ? multiply(out, make_scalar(1 / std::sqrt(attrs->n_fft), data->dtype)) : out;
  });
}

/// The cofactors: of each element the determinant of what is left without its row and column, with signs in turn. They are
/// right for matrices that cannot be inverted, too.
Exprs determinant_gradient(const Call* call, const Expr& grad) {
  auto* data = arg_type(call, 0);
  const int rank = rank_of(data);
  const int64_t n = known_extent(data, static_cast<size_t>(rank) - 1);
  if (n <= 1) return {n ? reshape_like(grad, call->args[0]) : zeros_like(call->args[0])};
  std::vector<int64_t> others, signs;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k) {
      if (k != i) others.push_back(k);
      signs.push_back((i + k) % 2 ? -1 : 1);
    }
  Expr without = reshape(make_ints(others), {extent(n), extent(n - 1)});
  Expr minors = taken(taken(call->args[0], without, rank - 1), without, rank - 2);  // (..., i, rows, j, columns)
  Array<PrimExpr> order;
  for (int i = 0; i < rank - 1; ++i) order.push_back(extent(i));
  for (int i : {rank, rank - 1, rank + 1}) order.push_back(extent(i));
  Expr cofactors = multiply(call_op("determinant", {transpose(minors, order)}),
                            reshape(cast(make_ints(signs), data->dtype), {extent(n), extent(n)}));
  return {multiply(expand_dims(grad, rank - 2, 2), cofactors)};
}

}  // namespace

static void signal_gradients() {
  set_gradients({
      {"fft", fft_gradient},
      {"stft", stft_gradient},
      {"determinant", determinant_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily signal_gradient_family{signal_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op
