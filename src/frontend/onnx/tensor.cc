#include "frontend/onnx/tensor.h"

#include <cstring>

#include "frontend/errors.h"
#include "frontend/onnx/external_data.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

struct TypeRow {
  const char* name;
  DataType dtype;                   // in memory; void: there is none
  int packed_bits = 0;              // in raw data, where elements are packed into bytes; 0: as in memory
  const char* minifloat = nullptr;  // the format, where bytes stand for floats
};

constexpr DataType kNone = DataType::Void(), kByte = DataType::UInt(8);

/// In the order of their numbers.
constexpr TypeRow kTypes[] = {
    {"undefined", kNone},
    {"float32", DataType::Float(32)},
    {"uint8", DataType::UInt(8)},
    {"int8", DataType::Int(8)},
    {"uint16", DataType::UInt(16)},
    {"int16", DataType::Int(16)},
    {"int32", DataType::Int(32)},
    {"int64", DataType::Int(64)},
    {"string", kNone},
    {"bool", DataType::Bool()},
    {"float16", DataType::Float(16)},
    {"float64", DataType::Float(64)},
    {"uint32", DataType::UInt(32)},
    {"uint64", DataType::UInt(64)},
    {"complex64", kNone},
    {"complex128", kNone},
    {"bfloat16", DataType::BFloat(16)},
    {"float8e4m3fn", kByte, 0, "float8_e4m3fn"},
    {"float8e4m3fnuz", kByte, 0, "float8_e4m3fnuz"},
    {"float8e5m2", kByte, 0, "float8_e5m2"},
    {"float8e5m2fnuz", kByte, 0, "float8_e5m2fnuz"},
    {"uint4", DataType::UInt(8), 4},
    {"int4", DataType::Int(8), 4},
    {"float4e2m1", kByte, 4, "float4_e2m1fn"},
    {"float8e8m0", kByte, 0, "float8_e8m0fnu"},
    {"uint2", DataType::UInt(8), 2},
    {"int2", DataType::Int(8), 2},
    {"float6e2m3", kByte, 6, "float6_e2m3fn"},
    {"float6e3m2", kByte, 6, "float6_e3m2fn"},
};

const TypeRow& row_of(ElementType type) {
  auto index = static_cast<size_t>(type);
  return index < std::size(kTypes) ? kTypes[index] : kTypes[0];
}

[[noreturn]] void wrong(const Tensor& tensor, const std::string& what) {
  throw Error(ValueError) << "tensor \"" << std::string(tensor.name) << "\": " << what;
}

void check_count(const Tensor& tensor, size_t have, size_t want, const char* what) {
  if (have != want)
    wrong(tensor, "the shape asks for " + std::to_string(want) + " " + what + ", the file has " + std::to_string(have));
}

/// Element i of values packed into bytes, low bits first.
int8_t unpacked(std::string_view bytes, size_t i, int bits, bool is_signed) {
  size_t at = i * static_cast<size_t>(bits), byte = at / 8;
  int window = static_cast<unsigned char>(bytes[byte]);
  if (byte + 1 < bytes.size()) window |= static_cast<unsigned char>(bytes[byte + 1]) << 8;
  int value = (window >> (at % 8)) & ((1 << bits) - 1);
  return static_cast<int8_t>(is_signed && value >> (bits - 1) ? value - (1 << bits) : value);
}

/// Elements given as numbers of a field.
template <class T>
void fill(const Tensor& tensor, const std::vector<T>& values, const NDArray& out) {
  check_count(tensor, values.size(), static_cast<size_t>(out.size()), "elements");
  DataType dtype = out.dtype();
  char* at = out.data<char>();
  bool holds_bits = dtype == DataType::Float(16) || dtype == DataType::BFloat(16);
  for (size_t i = 0; i < values.size(); ++i, at += dtype.bytes()) {
    if (holds_bits) write_int(DataType::UInt(16), static_cast<int64_t>(values[i]), at);
    else if constexpr (std::is_floating_point_v<T>) write_float(dtype, values[i], at);
    else write_int(dtype, static_cast<int64_t>(values[i]), at);
  }
}

void fill_packed(const Tensor& tensor, std::string_view raw, int bits, const NDArray& out) {
  auto count = static_cast<size_t>(out.size());
  check_count(tensor, raw.size(), (count * static_cast<size_t>(bits) + 7) / 8, "bytes");
  for (size_t i = 0; i < count; ++i) out.data<int8_t>()[i] = unpacked(raw, i, bits, out.dtype().code == DataType::kInt);
}

/// The data of a tensor that lies in a file of its own. Memory is taken after the file is seen to be as large.
NDArray from_external(const Tensor& tensor, const DataFolder& folder, DataType dtype, size_t bytes, int packed_bits) {
  NDArray out = nullptr;
  if (packed_bits) {
    std::string raw;
    size_t packed = (bytes * static_cast<size_t>(packed_bits) + 7) / 8;  // in memory an element takes a byte
    read_external(tensor, folder, packed, [&] {
      raw.resize(packed);
      return raw.data();
    });
    out = NDArray::empty(tensor.dims, dtype);
    fill_packed(tensor, raw, packed_bits, out);
  } else {
    read_external(tensor, folder, bytes, [&] {
      out = NDArray::empty(tensor.dims, dtype);
      return out.data<char>();
    });
  }
  return out;
}

}  // namespace

const char* element_name(ElementType type) { return row_of(type).name; }

DataType memory_type(ElementType type) {
  const TypeRow& row = row_of(type);
  if (row.dtype.is_void()) throw Error(OpNotImplemented) << "tensors of " << row.name << " are not supported";
  return row.dtype;
}

DataType element_type(ElementType type) {
  if (is_minifloat(type))
    throw Error(OpNotImplemented) << "tensors of " << element_name(type) << " are not supported here";
  return memory_type(type);
}

ElementType number_of(DataType dtype) {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].dtype == dtype && !kTypes[i].packed_bits && !kTypes[i].minifloat) return static_cast<ElementType>(i);
  throw Error(OpNotImplemented) << "ONNX has no tensors of " << to_text(dtype);
}

bool is_minifloat(ElementType type) { return row_of(type).minifloat != nullptr; }
const char* minifloat_name(ElementType type) { return row_of(type).minifloat; }
int small_bits(ElementType type) { return row_of(type).packed_bits; }

void set_raw(Tensor& tensor, const NDArray& bytes) {
  if (!bytes.defined() || bytes.dtype() != DataType::UInt(8) || bytes.device().device_type != kDLCPU)
    wrong(tensor, "its data is given as uint8 on the host");
  tensor.has_raw = true;
  tensor.raw = {bytes.data<char>(), bytes.bytes()};
  tensor.memory = bytes;
}

NDArray to_ndarray(const Tensor& tensor, const DataFolder& folder) {
  const TypeRow& row = row_of(tensor.type);
  DataType dtype = memory_type(tensor.type);
  if (tensor.dims.size() > kMaxRank)
    wrong(tensor, "it has " + std::to_string(tensor.dims.size()) + " dimensions; at most " + std::to_string(kMaxRank) +
                      " are supported");
  size_t bytes = tensor_bytes(tensor.dims, dtype);  // also rejects negative and overflowing shapes
  size_t held = tensor.has_raw ? tensor.raw.size() * (row.packed_bits ? 4 : 1)
                               : (tensor.floats.size() + tensor.int32s.size() + tensor.int64s.size() +
                                  tensor.uint64s.size() + tensor.doubles.size()) *
                                     8;
  if (!tensor.is_external && bytes > held + 8)  // before memory is taken for a forged shape
    wrong(tensor, "its shape is larger than what the file holds");
  if (tensor.is_external) return from_external(tensor, folder, dtype, bytes, row.packed_bits);
  if (tensor.memory.defined() && !row.packed_bits) {
    check_count(tensor, tensor.raw.size(), bytes, "bytes");
    return tensor.memory.view(tensor.dims, dtype);
  }
  NDArray out = NDArray::empty(tensor.dims, dtype);
  if (tensor.has_raw && row.packed_bits) {
    fill_packed(tensor, tensor.raw, row.packed_bits, out);
  } else if (tensor.has_raw) {
    check_count(tensor, tensor.raw.size(), bytes, "bytes");
    std::memcpy(out.data<char>(), tensor.raw.data(), bytes);
  } else if (!tensor.floats.empty()) {
    fill(tensor, tensor.floats, out);
  } else if (!tensor.int64s.empty()) {
    fill(tensor, tensor.int64s, out);
  } else if (!tensor.doubles.empty()) {
    fill(tensor, tensor.doubles, out);
  } else if (!tensor.uint64s.empty()) {
    fill(tensor, tensor.uint64s, out);
  } else if (row.packed_bits && row.packed_bits != 6 &&
             !tensor.int32s.empty()) {  // each number holds one byte of packed elements
    std::string raw;
    for (int32_t value : tensor.int32s) raw += static_cast<char>(value);
    fill_packed(tensor, raw, row.packed_bits, out);
  } else {
    fill(tensor, tensor.int32s, out);
  }
  return out;
}

std::vector<std::string> text_items(const Tensor& tensor) {
  size_t count = tensor_bytes(tensor.dims, DataType::UInt(8));
  check_count(tensor, tensor.strings.size(), count, "strings");
  return {tensor.strings.begin(), tensor.strings.end()};
}

NDArray to_ndarray(const SparseTensor& tensor, const DataFolder& folder) {
  element_type(tensor.values.type);  // rejects bytes that are no numbers
  NDArray values = to_ndarray(tensor.values, folder), indices = to_ndarray(tensor.indices, folder);
  constexpr size_t kMax = size_t{1} << 31;
  size_t bytes = tensor_bytes(tensor.dims, values.dtype());
  if (bytes > kMax) wrong(tensor.values, "filled up, the sparse tensor is larger than 2 GiB");
  NDArray out = NDArray::empty(tensor.dims, values.dtype());
  std::memset(out.data<char>(), 0, bytes);
  size_t rank = tensor.dims.size(), count = static_cast<size_t>(values.size());
  bool is_flat = indices.shape().size() == 1;
  if (indices.dtype() != DataType::Int(64)) wrong(tensor.indices, "indices of a sparse tensor are int64");
  check_count(tensor.indices, static_cast<size_t>(indices.size()), is_flat ? count : count * rank, "indices");
  const size_t width = values.dtype().bytes();
  for (size_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    if (is_flat) {
      offset = indices.data<int64_t>()[i];
    } else {
      for (size_t axis = 0; axis < rank; ++axis) {
        int64_t index = indices.data<int64_t>()[i * rank + axis];
        if (index < 0 || index >= tensor.dims[axis]) wrong(tensor.indices, "an index is out of range");
        offset = offset * tensor.dims[axis] + index;
      }
    }
    if (offset < 0 || offset >= out.size()) wrong(tensor.indices, "an index is out of range");
    std::memcpy(out.data<char>() + static_cast<size_t>(offset) * width, values.data<char>() + i * width, width);
  }
  return out;
}

}  // namespace tessera::onnx
