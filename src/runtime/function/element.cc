#include "runtime/function/element.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera {
namespace {

double from_half(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                     : exponent == 31 ? (fraction ? std::nan("") : HUGE_VAL)
                                      : std::ldexp(fraction + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t to_half(double value) {
  auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return sign | 0x7e00;
  double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return sign | 0x7c00;
  // The value in units of the last place, which nearbyint rounds to even; a carry goes into the exponent by itself.
  int exponent = magnitude < std::ldexp(1.0, -14) ? -14 : std::ilogb(magnitude);
  auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<uint16_t>(sign | (units + static_cast<uint32_t>((exponent + 14) << 10)));
}

double from_bfloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t to_bfloat(double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// Calls `f` with a value of the type's C++ form; `false` for types without one.
template <class F>
bool with_type(DataType dtype, F&& f) {
  if (dtype.lanes != 1) return false;
  switch (dtype.code) {
    case DataType::kInt:
      switch (dtype.bits) {
        case 8: return f(int8_t{}), true;
        case 16: return f(int16_t{}), true;
        case 32: return f(int32_t{}), true;
        case 64: return f(int64_t{}), true;
      }
      return false;
    case DataType::kUInt:
      switch (dtype.bits) {
        case 1: return f(bool{}), true;
        case 8: return f(uint8_t{}), true;
        case 16: return f(uint16_t{}), true;
        case 32: return f(uint32_t{}), true;
        case 64: return f(uint64_t{}), true;
      }
      return false;
    case DataType::kFloat:
      if (dtype.bits == 32) return f(float{}), true;
      if (dtype.bits == 64) return f(double{}), true;
      return false;
  }
  return false;
}

bool is_half(DataType dtype) { return dtype == DataType::Float(16); }
bool is_bfloat(DataType dtype) { return dtype == DataType::BFloat(16); }

[[noreturn]] void no_elements(DataType dtype) {
  throw Error(TypeError) << "single elements of type " << to_text(dtype) << " cannot be read or written";
}

template <class T>
T load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
void store(T value, void* at) {
  std::memcpy(at, &value, sizeof(T));
}

template <class To>
To nearest(double value) {
  if constexpr (std::is_same_v<To, bool>) return value != 0;
  if constexpr (std::is_floating_point_v<To>) return static_cast<To>(value);
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<To>(std::nearbyint(value));
}

template <class R>
R read(DataType dtype, const void* at) {
  R out{};
  if (is_half(dtype)) return static_cast<R>(from_half(load<uint16_t>(at)));
  if (is_bfloat(dtype)) return static_cast<R>(from_bfloat(load<uint16_t>(at)));
  bool is_done = with_type(dtype, [&](auto kind) {
    if constexpr (std::is_same_v<decltype(kind), bool>) out = static_cast<R>(load<uint8_t>(at) != 0);
    else out = static_cast<R>(load<decltype(kind)>(at));
  });
  if (!is_done) no_elements(dtype);
  return out;
}

}  // namespace

double read_float(DataType dtype, const void* at) { return read<double>(dtype, at); }
int64_t read_int(DataType dtype, const void* at) { return read<int64_t>(dtype, at); }

void write_float(DataType dtype, double value, void* at) {
  if (is_half(dtype)) return store(to_half(value), at);
  if (is_bfloat(dtype)) return store(to_bfloat(value), at);
  if (!with_type(dtype, [&](auto kind) { store(nearest<decltype(kind)>(value), at); })) no_elements(dtype);
}

void write_int(DataType dtype, int64_t value, void* at) {
  if (dtype.code == DataType::kFloat || dtype.code == DataType::kBFloat)
    return write_float(dtype, static_cast<double>(value), at);
  if (!with_type(dtype, [&](auto kind) { store(static_cast<decltype(kind)>(value), at); })) no_elements(dtype);
}

NDArray float_scalar(double value, DataType dtype) {
  NDArray out = NDArray::empty({}, dtype);
  write_float(dtype, value, out.data<char>());
  return out;
}

NDArray int_scalar(int64_t value, DataType dtype) {
  NDArray out = NDArray::empty({}, dtype);
  write_int(dtype, value, out.data<char>());
  return out;
}

}  // namespace tessera
