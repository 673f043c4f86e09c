#pragma once
// What frames of a session hold: a code, and values. Functions, modules and memory stay where they are; what travels is a
// handle, a number that the server gave out and looks up again. Nothing read from a frame is believed.

#include "base/any.h"
#include "runtime/byte_stream.h"
#include "runtime/packed_func.h"

namespace tessera::rpc {

/// The first byte of a frame. The numbers are v0.10's.
enum class Code : uint8_t {
  Shutdown = 1,
  CallFunc = 3,                // handle, count, values
  Return = 4,                  // value
  Exception = 5,               // kind, message
  CopyFromRemote = 6,          // handle, offset, bytes      => bytes
  CopyToRemote = 7,            // handle, offset, contents
  GetGlobalFunc = 9,           // name                       => function or null
  FreeHandle = 10,             // handle; not answered
  DevSetDevice = 11,           // device
  DevGetAttr = 12,             // device, attribute          => value
  DevAllocData = 13,           // device, bytes              => handle
  DevStreamSync = 15,          // device
  CopyAmongRemote = 16,        // handle, offset, handle, offset, bytes
  DevAllocDataWithScope = 17,  // device, shape, dtype, scope => handle
};

using Handle = uint64_t;

/// A tensor as it travels: where its memory is, and what lies there.
struct WireTensor {
  Handle handle = 0;
  uint64_t offset = 0;
  DLDevice device{};
  DataType dtype;
  std::vector<int64_t> shape;
};

/// How one side of a session writes and reads what does not travel itself.
class WireObjects {
 public:
  virtual ~WireObjects() = default;
  /// The handle of a function or a module; `what` names the value in messages.
  virtual Handle handle_of(const AnyView& value, const std::string& what) = 0;
  virtual WireTensor tensor_of(const AnyView& value, const std::string& what) = 0;
  virtual DLDevice device_of(DLDevice device, const std::string& what) = 0;
  virtual Any function(Handle handle) = 0;
  virtual Any module(Handle handle) = 0;
  virtual Any tensor(const WireTensor& tensor) = 0;
  virtual Any device(DLDevice device) = 0;
};

/// Values: null, numbers, strings, bytes, element types, devices, shapes; functions, modules and tensors by handle. Others
/// are a TypeError that names `what`.
void write_value(ByteWriter& out, const AnyView& value, WireObjects& objects, const std::string& what);
Any read_value(ByteReader& in, WireObjects& objects);

void write_device(ByteWriter& out, DLDevice device);
DLDevice read_device(ByteReader& in);
void write_dtype(ByteWriter& out, DataType dtype);
DataType read_dtype(ByteReader& in);
void write_shape(ByteWriter& out, std::span<const int64_t> shape);
std::vector<int64_t> read_shape(ByteReader& in);

inline ByteWriter frame_of(Code code) {
  ByteWriter out;
  out.write(static_cast<uint8_t>(code));
  return out;
}

}  // namespace tessera::rpc
