// Random numbers. ONNX leaves their generator open; here it is NumPy's (the Mersenne Twister), and they are drawn while
// importing, so that every run sees the same ones. Multinomial, whose probabilities a run decides, draws from Threefry.

#include <cmath>
#include <random>

#include "frontend/common/parts.h"
#include "frontend/onnx/importer.h"
#include "relay/attrs/random.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

constexpr int64_t kMax = int64_t{1} << 28;  // elements of one tensor

class Generator {
 public:
  explicit Generator(uint32_t seed) : engine_(seed) {}
  /// From 0 to below 1, with 53 random bits.
  double uniform() {
    double high = engine_() >> 5, low = engine_() >> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }
  /// Marsaglia's polar method, which makes two at a time.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double x, y, square;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double factor = std::sqrt(-2 * std::log(square) / square);
    spare_ = factor * x;
    has_spare_ = true;
    return factor * y;
  }

 private:
  std::mt19937 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

template <class F>
NDArray drawn(Operation& in, const std::vector<int64_t>& shape, DataType dtype, F&& draw) {
  for (int64_t extent : shape)
    if (extent < 0) in.invalid("a negative extent");
  if (product_of(shape) > kMax) in.unsupported("more than " + std::to_string(kMax) + " random numbers");
  NDArray out = NDArray::empty(shape, dtype);
  for (int64_t i = 0; i < out.size(); ++i) write_float(dtype, draw(), out.data<char>() + i * int64_t(dtype.bytes()));
  return out;
}

/// The standard's seed is a float; exporters also write an integer.
uint32_t seed_of(Operation& in) {
  const Attribute* seed = in.find("seed");
  if (!seed) return std::random_device()();
  if (seed->kind == Attribute::Int) return static_cast<uint32_t>(seed->i);
  return static_cast<uint32_t>(static_cast<int64_t>(in.number("seed", 0)));
}

/// The shape and type of the attributes, or those of the input of an operator "...Like".
struct Drawn {
  std::vector<int64_t> shape;
  DataType dtype;
  explicit Drawn(Operation& in) {
    const bool is_like = in.size() > 0;
    if (is_like) shape = in.static_shape(in[0], "random numbers");
    else shape = in.integers("shape");
    const DataType given = is_like ? in.dtype(in[0]) : DataType::Float(32);
    dtype = in.has_attribute("dtype") ? element_type(static_cast<ElementType>(in.integer("dtype"))) : given;
  }
};

Values random_uniform(Operation& in) {
  Generator generator(seed_of(in));
  double low = in.number("low", 0), high = in.number("high", 1);
  Drawn out(in);
  return {make_constant(drawn(in, out.shape, out.dtype, [&] { return low + (high - low) * generator.uniform(); }))};
}

Values random_normal(Operation& in) {
  Generator generator(seed_of(in));
  double mean = in.number("mean", 0), scale = in.number("scale", 1);
  Drawn out(in);
  return {make_constant(drawn(in, out.shape, out.dtype, [&] { return mean + scale * generator.normal(); }))};
}

/// Classes drawn by rows of logarithms of their probabilities.
Values multinomial(Operation& in) {
  const int64_t words = 10;
  NDArray key =
      NDArray::empty(std::span(&words, 1), DataType::UInt(64));  // of Threefry: the seed, a counter, and where it is
  std::fill_n(key.data<uint64_t>(), words, 0);
  key.data<uint64_t>()[0] = seed_of(in);
  key.data<uint64_t>()[8] = uint64_t{1} << 63;
  const int64_t count = in.integer("sample_size", 1);
  if (count < 1 || count > kMax) in.invalid("sample_size is " + std::to_string(count));
  Expr weights = call_op("exp", {subtract(in[0], reduce("max", in[0], int_array({-1}), true))});
  Expr both =
      call_op("random.multinomial", {make_constant(key), weights},
              make_attrs<MultinomialAttrs>([&](auto& attrs) { attrs.num_samples = static_cast<int32_t>(count); }));
  DataType dtype = element_type(static_cast<ElementType>(in.integer("dtype", 6)));
  return {cast(make_get_item(both, 1), dtype)};
}

/// The values, and a mask of those that are kept: all at inference, a random choice in training.
Values dropout(Operation& in) {
  Expr x = in[0];
  bool is_training = false;
  double ratio = in.version() >= 12 ? 0.5 : 0;
  if (in.has(2)) {
    std::optional<double> known = in.constant_number(in[2]);
    if (!known) in.unknown("training_mode must be known", in[2]);
    is_training = *known != 0;
  }
  if (is_training && in.has(1)) {
    std::optional<double> known = in.constant_number(in[1]);
    if (!known) in.unknown("the ratio must be known", in[1]);
    ratio = *known;
  }
  if (!is_training || ratio == 0) {
    Expr kept = in.wants(1) ? ones_like(x) : x;
    return {x, in.version() >= 10 && in.wants(1) ? cast(kept, DataType::Bool()) : kept};
  }
  if (ratio < 0 || ratio >= 1) in.invalid("the ratio is at least 0 and less than 1");
  Generator generator(seed_of(in));
  DataType dtype = in.dtype(x);
  NDArray mask = drawn(in, in.static_shape(x, "training"), DataType::Bool(),
                       [&] { return generator.uniform() >= ratio ? 1.0 : 0.0; });
  Expr kept = make_constant(mask);
  return {multiply(multiply(x, cast(kept, dtype)), make_scalar(1 / (1 - ratio), dtype)), kept};
}

}  // namespace

Rows random_rows() {
  return {
      {"Dropout", 1, dropout},
      {"Multinomial", 7, multinomial},
      {"RandomNormal", 1, random_normal},
      {"RandomNormalLike", 1, random_normal},
      {"RandomUniform", 1, random_uniform},
      {"RandomUniformLike", 1, random_uniform},
  };
}

}  // namespace tessera::onnx
