#pragma once
// The element type of a value or tensor: code, bits and vector lanes, in DLPack's layout.

#include <dlpack/dlpack.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

struct DataType {
  enum Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kHandle = 3, kBFloat = 4, kCustom = 129 };

  uint8_t code = kHandle;
  uint8_t bits = 0;
  uint16_t lanes = 0;

  constexpr DataType() = default;  // void
  constexpr DataType(int code, int bits, int lanes = 1)
      : code(static_cast<uint8_t>(code)), bits(static_cast<uint8_t>(bits)), lanes(static_cast<uint16_t>(lanes)) {}
  constexpr explicit DataType(DLDataType d) : code(d.code), bits(d.bits), lanes(d.lanes) {}
  /// Reads "float32", "int8x4", "bool", "bfloat16", "handle", "void", ...; throws on anything else.
  explicit DataType(std::string_view text);

  static constexpr DataType Int(int bits, int lanes = 1) { return {kInt, bits, lanes}; }
  static constexpr DataType UInt(int bits, int lanes = 1) { return {kUInt, bits, lanes}; }
  static constexpr DataType Float(int bits, int lanes = 1) { return {kFloat, bits, lanes}; }
  static constexpr DataType BFloat(int bits, int lanes = 1) { return {kBFloat, bits, lanes}; }
  static constexpr DataType Bool(int lanes = 1) { return {kUInt, 1, lanes}; }
  static constexpr DataType Handle() { return {kHandle, 64, 1}; }
  static constexpr DataType Void() { return {}; }

  constexpr bool is_int() const { return code == kInt; }
  constexpr bool is_uint() const { return code == kUInt; }  // bool included
  constexpr bool is_bool() const { return code == kUInt && bits == 1; }
  constexpr bool is_integral() const { return is_int() || is_uint(); }
  constexpr bool is_float() const { return code == kFloat; }
  constexpr bool is_bfloat() const { return code == kBFloat; }
  constexpr bool is_floating() const { return is_float() || is_bfloat(); }
  constexpr bool is_handle() const { return code == kHandle && bits != 0; }
  constexpr bool is_void() const { return code == kHandle && bits == 0; }
  constexpr bool is_vector() const { return lanes > 1; }
  constexpr bool is_scalar() const { return lanes == 1; }

  /// Bytes of one scalar element in memory; bool and sub-byte types take a whole byte.
  constexpr int bytes() const { return (bits + 7) / 8; }
  constexpr DataType element() const { return {code, bits, 1}; }
  constexpr DataType with_lanes(int n) const { return {code, bits, n}; }
  constexpr DataType with_bits(int n) const { return {code, n, lanes}; }

  constexpr operator DLDataType() const { return {code, bits, lanes}; }
  constexpr bool operator==(const DataType&) const = default;
  std::string str() const;
};

inline std::string to_text(DataType dtype) { return dtype.str(); }

}  // namespace tessera
