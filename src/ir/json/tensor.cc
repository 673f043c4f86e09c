#include "ir/json/tensor.h"

#include <array>
#include <cstring>

namespace tessera {
namespace {

constexpr uint64_t kMagic = 0xDD5E40F096B4A13Full;
constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

template <class T>
void put(std::string* out, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out->append(raw, sizeof(T));
}

/// Takes values off the front; running out is an error.
struct ByteTaker {
  std::string_view bytes;

  template <class T>
  T take() {
    if (bytes.size() < sizeof(T)) throw Error(ValueError) << "a saved tensor ends too early";
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    bytes.remove_prefix(sizeof(T));
    return value;
  }
};

std::array<int8_t, 256> decoding_table() {
  std::array<int8_t, 256> table;
  table.fill(-1);
  for (int i = 0; i < 64; ++i) table[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  return table;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= count ? kAlphabet[(word >> (18 - 6 * k)) & 63] : '=';
  }
  return out;
}

std::string from_base64(std::string_view text) {
  static const std::array<int8_t, 256> table = decoding_table();
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t word = 0;
  int bits = 0;
  size_t padding = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    int8_t value = table[static_cast<uint8_t>(c)];
    if (value < 0 || padding > 0) throw Error(ValueError) << "a saved tensor is not base64 text";
    word = word << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>((word >> bits) & 255);
    }
  }
  if (padding > 2) throw Error(ValueError) << "a saved tensor is not base64 text";
  return out;
}

std::string tensor_to_base64(const NDArray& tensor) {
  NDArray host = tensor.device().device_type == kDLCPU ? tensor : tensor.copy_to(cpu());
  DataType dtype = host.dtype();
  std::string out;
  put<uint64_t>(&out, kMagic);
  put<uint64_t>(&out, 0);
  put<int32_t>(&out, kDLCPU);
  put<int32_t>(&out, 0);
  put<int32_t>(&out, static_cast<int32_t>(host.shape().size()));
  put<uint8_t>(&out, dtype.code);
  put<uint8_t>(&out, dtype.bits);
  put<uint16_t>(&out, dtype.lanes);
  for (int64_t extent : host.shape()) put<int64_t>(&out, extent);
  std::string data(host.bytes(), '\0');
  host.copy_to_bytes(data.data(), data.size());
  put<int64_t>(&out, static_cast<int64_t>(data.size()));
  return to_base64(out + data);
}

NDArray tensor_from_base64(std::string_view text) {
  std::string bytes = from_base64(text);
  ByteTaker in{bytes};
  if (in.take<uint64_t>() != kMagic)
    throw Error(ValueError) << "a saved tensor does not begin with the mark of tensors";
  in.take<uint64_t>();
  in.take<int32_t>();  // device type and number: whatever it was, it is read into main memory
  in.take<int32_t>();
  int32_t ndim = in.take<int32_t>();
  if (ndim < 0 || static_cast<size_t>(ndim) > in.bytes.size() / sizeof(int64_t))
    throw Error(ValueError) << "a saved tensor has " << ndim << " dimensions, more than its bytes can hold";
  auto code = in.take<uint8_t>();
  auto bits = in.take<uint8_t>();
  auto lanes = in.take<uint16_t>();
  DataType dtype(code, bits, lanes);
  bool is_known = code <= DataType::kBFloat && bits > 0 && bits <= 64 && lanes > 0;
  if (!is_known) throw Error(ValueError) << "a saved tensor has elements of an unknown type";
  std::vector<int64_t> shape(static_cast<size_t>(ndim));
  for (int64_t& extent : shape) extent = in.take<int64_t>();
  size_t wanted = tensor_bytes(shape, dtype);  // checks the shape
  auto stated = in.take<int64_t>();
  if (stated < 0 || static_cast<size_t>(stated) != wanted || in.bytes.size() != wanted)
    throw Error(ValueError) << "a saved tensor of shape " << shape_text(shape) << " needs " << wanted
                            << " bytes and has " << in.bytes.size();
  NDArray tensor = NDArray::empty(shape, dtype);
  tensor.copy_from_bytes(in.bytes.data(), in.bytes.size());
  return tensor;
}

}  // namespace tessera
