#include "frontend/coreml/weights.h"

#include "frontend/common/parts.h"
#include "frontend/graph/protobuf.h"
#include "runtime/function/element.h"

namespace tessera::coreml {
namespace {

using namespace frontend;  // NOLINT: what importers share is their language

constexpr int64_t kMaxSize = int64_t{1} << 40;

NDArray of_size(int64_t size) { return NDArray::empty(std::vector<int64_t>{size}, DataType::Float(32)); }

NDArray from_halves(const std::string& bytes, const std::string& owner) {
  if (bytes.size() % 2) throw Error(ValueError) << owner << ": numbers of 16 bits have an odd number of bytes";
  NDArray out = of_size(static_cast<int64_t>(bytes.size() / 2));
  for (int64_t i = 0; i < out.size(); ++i)
    out.data<float>()[i] = static_cast<float>(read_float(DataType::Float(16), bytes.data() + 2 * i));
  return out;
}

/// Integers of so many bits, the first one in the high bits of the first byte.
class Bits {
 public:
  Bits(const std::string& bytes, int64_t bits) : bytes_(bytes), bits_(bits) {}
  int64_t operator[](int64_t i) const {
    int64_t out = 0;
    for (int64_t bit = i * bits_; bit < (i + 1) * bits_; ++bit)
      out = out << 1 | ((static_cast<unsigned char>(bytes_[static_cast<size_t>(bit / 8)]) >> (7 - bit % 8)) & 1);
    return out;
  }

 private:
  const std::string& bytes_;
  int64_t bits_;
};

/// One number for all, or one for each channel.
float of_channel(const NDArray& numbers, int64_t channel, float otherwise) {
  if (!numbers || numbers.size() == 0) return otherwise;
  return numbers.data<float>()[numbers.size() == 1 ? 0 : channel];
}

NDArray from_integers(const Fields& weights, const std::vector<int64_t>& shape, size_t channel_axis,
                      const std::string& owner) {
  const int64_t count = product_of(shape), channels = channel_axis < shape.size() ? shape[channel_axis] : 1;
  const Fields quantization = weights.object("quantization");
  const int64_t bits = quantization.integer("numberOfBits", 0);
  if (bits < 1 || bits > 8)
    throw Error(OpNotImplemented) << owner << ": weights of " << bits << " bits; 1 to 8 are supported";
  const std::string raw = weights.text("rawValue");
  if (static_cast<int64_t>(raw.size()) != (count * bits + 7) / 8)
    throw Error(ValueError) << owner << " has " << raw.size() << " bytes; " << count << " numbers of " << bits
                            << " bits need " << (count * bits + 7) / 8;
  const Bits integers(raw, bits);
  NDArray out = of_size(count);
  if (quantization.has("table")) {
    NDArray table = numbers_array(quantization.object("table"), "floatValue");
    if (!table || table.size() != int64_t{1} << bits)
      throw Error(ValueError) << owner << ": a table of " << (int64_t{1} << bits) << " numbers is needed";
    for (int64_t i = 0; i < count; ++i) out.data<float>()[i] = table.data<float>()[integers[i]];
    return out;
  }
  const Fields linear = quantization.object("linear");
  NDArray scale = numbers_array(linear, "scale"), bias = numbers_array(linear, "bias");
  for (const NDArray& numbers : {scale, bias})
    if (numbers && numbers.size() > 1 && numbers.size() != channels)
      throw Error(ValueError) << owner << " has " << numbers.size() << " scales or biases for " << channels
                              << " channels";
  int64_t inner = 1;  // elements of one channel that lie side by side
  for (size_t i = channel_axis + 1; i < shape.size(); ++i) inner *= shape[i];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t channel = i / inner % channels;
    out.data<float>()[i] =
        of_channel(scale, channel, 1) * static_cast<float>(integers[i]) + of_channel(bias, channel, 0);
  }
  return out;
}

}  // namespace

NDArray read_weights(const Fields& weights, const std::vector<int64_t>* shape, size_t channel_axis,
                     const std::string& owner) {
  int64_t wanted = 1;
  if (shape)
    for (int64_t extent : *shape) {
      if (extent < 0 || (extent && wanted > kMaxSize / extent))
        throw Error(ValueError) << owner << " has an impossible shape";
      wanted *= extent;
    }
  NDArray out = numbers_array(weights, "floatValue");
  if (!out && weights.has("float16Value")) out = from_halves(weights.text("float16Value"), owner);
  if (!out && weights.has("int8RawValue"))
    throw Error(OpNotImplemented) << owner << ": weights for data that is quantized at run time";
  if (!out && weights.has("rawValue")) {
    const auto bytes = static_cast<int64_t>(weights.text("rawValue").size());
    const int64_t bits = weights.object("quantization").integer("numberOfBits", 8);
    out = from_integers(weights, shape ? *shape : std::vector<int64_t>{bits > 0 ? bytes * 8 / bits : 0}, channel_axis,
                        owner);
  }
  if (!out) out = of_size(0);
  if (!shape) return out;
  if (out.size() != wanted)
    throw Error(ValueError) << owner << " has " << out.size() << " numbers; its shape says " << wanted;
  return out.view(*shape, DataType::Float(32));
}

}  // namespace tessera::coreml
