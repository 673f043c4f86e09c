#include "runtime/rpc/wire.h"

#include "runtime/containers.h"
#include "runtime/module/module.h"
#include "runtime/ndarray.h"

namespace tessera::rpc {
namespace {

enum class Tag : uint8_t { Null, Int, Float, Str, Bytes, DType, Device, Shape, Function, Module, Tensor };
constexpr size_t kMaxDimensions = 64;

void write_tag(ByteWriter& out, Tag tag) { out.write(static_cast<uint8_t>(tag)); }

void write_object(ByteWriter& out, const Object* object, const AnyView& value, const std::string& what) {
  if (auto* text = cast_or_null<StringNode>(object)) {
    write_tag(out, Tag::Str);
    out.write(text->text);
  } else if (auto* bytes = cast_or_null<BytesNode>(object)) {
    write_tag(out, Tag::Bytes);
    out.write(bytes->data);
  } else if (auto* shape = cast_or_null<ShapeTupleNode>(object)) {
    write_tag(out, Tag::Shape);
    write_shape(out, shape->values);
  } else {
    throw Error(TypeError) << what << " is " << value.type_name()
                           << ", which cannot travel by RPC; numbers, text, bytes, shapes, devices, and tensors, "
                              "functions and modules of the session can";
  }
}

void write_tensor(ByteWriter& out, const WireTensor& tensor) {
  write_tag(out, Tag::Tensor);
  out.write(tensor.handle);
  out.write(tensor.offset);
  write_device(out, tensor.device);
  write_dtype(out, tensor.dtype);
  write_shape(out, tensor.shape);
}

WireTensor read_tensor(ByteReader& in) {
  WireTensor out;
  out.handle = in.read<uint64_t>("handle");
  out.offset = in.read<uint64_t>("offset");
  out.device = read_device(in);
  out.dtype = read_dtype(in);
  out.shape = read_shape(in);
  return out;
}

}  // namespace

void write_device(ByteWriter& out, DLDevice device) {
  out.write(static_cast<int32_t>(device.device_type));
  out.write(static_cast<int32_t>(device.device_id));
}

DLDevice read_device(ByteReader& in) {
  auto type = in.read<int32_t>("device type");
  auto id = in.read<int32_t>("device number");
  if (type <= 0 || type >= kRpcSessionMask) in.fail("device type", "is " + std::to_string(type));
  return make_device(type, id);
}

void write_dtype(ByteWriter& out, DataType dtype) {
  out.write(uint8_t{dtype.code});
  out.write(uint8_t{dtype.bits});
  out.write(uint16_t{dtype.lanes});
}

DataType read_dtype(ByteReader& in) {
  auto code = in.read<uint8_t>("element type");
  auto bits = in.read<uint8_t>("bits");
  auto lanes = in.read<uint16_t>("lanes");
  return DataType(DLDataType{code, bits, lanes});
}

void write_shape(ByteWriter& out, std::span<const int64_t> shape) {
  out.write(uint64_t{shape.size()});
  out.raw(shape.data(), shape.size() * sizeof(int64_t));
}

std::vector<int64_t> read_shape(ByteReader& in) {
  size_t rank = in.read_count(sizeof(int64_t), "dimensions");
  if (rank > kMaxDimensions) in.fail("dimensions", "are " + std::to_string(rank));
  std::vector<int64_t> out(rank);
  for (int64_t& extent : out) extent = in.read<int64_t>("extent");
  return out;
}

void write_value(ByteWriter& out, const AnyView& value, WireObjects& objects, const std::string& what) {
  switch (value.code()) {
    case kTesseraNull: return write_tag(out, Tag::Null);
    case kTesseraInt: write_tag(out, Tag::Int); return out.write(value.raw().v_int64);
    case kTesseraFloat: write_tag(out, Tag::Float); return out.write(value.raw().v_float64);
    case kTesseraDataType: write_tag(out, Tag::DType); return write_dtype(out, value.to<DataType>());
    case kTesseraDevice:
      write_tag(out, Tag::Device);
      return write_device(out, objects.device_of(value.to<DLDevice>(), what));
    case kTesseraDLTensor:
    case kTesseraNDArray: return write_tensor(out, objects.tensor_of(value, what));
    case kTesseraFunction:
    case kTesseraModule:
      write_tag(out, value.code() == kTesseraModule ? Tag::Module : Tag::Function);
      return out.write(objects.handle_of(value, what));
    case kTesseraHandle:
      if (!value.raw().v_handle) return write_tag(out, Tag::Null);
      break;
    case kTesseraStr: write_tag(out, Tag::Str); return out.write(std::string_view(value.raw().v_str));
    case kTesseraBytes: {
      auto* bytes = static_cast<const TesseraByteArray*>(value.raw().v_handle);
      write_tag(out, Tag::Bytes);
      return out.write(std::string_view(bytes->data, bytes->size));
    }
    default: break;
  }
  write_object(out, value.object(), value, what);
}

Any read_value(ByteReader& in, WireObjects& objects) {
  auto tag = in.read<uint8_t>("kind of value");
  switch (static_cast<Tag>(tag)) {
    case Tag::Null: return {};
    case Tag::Int: return in.read<int64_t>("integer");
    case Tag::Float: return in.read<double>("number");
    case Tag::Str: return in.read_string("text");
    case Tag::Bytes: return Bytes(in.read_string("bytes"));
    case Tag::DType: return read_dtype(in);
    case Tag::Device: return objects.device(read_device(in));
    case Tag::Shape: return ShapeTuple(read_shape(in));
    case Tag::Function: return objects.function(in.read<uint64_t>("handle"));
    case Tag::Module: return objects.module(in.read<uint64_t>("handle"));
    case Tag::Tensor: return objects.tensor(read_tensor(in));
  }
  in.fail("kind of value", "is " + std::to_string(tag));
}

}  // namespace tessera::rpc
