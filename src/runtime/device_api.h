#pragma once
// What the runtime asks of a kind of device: memory, copies, streams, facts. One object per kind, made at start-up.

#include <vector>

#include "runtime/device.h"

namespace tessera {

/// Facts a device can be asked for; the numbers are v0.10's.
enum class DeviceAttr : int {
  Exist = 0,
  MaxThreadsPerBlock = 1,
  WarpSize = 2,
  MaxSharedMemoryPerBlock = 3,
  ComputeVersion = 4,
  DeviceName = 5,
  MaxClockRate = 6,
  MultiProcessorCount = 7,
  MaxThreadDimensions = 8,
  MaxRegistersPerBlock = 9,
  GcnArch = 10,
  ApiVersion = 11,
  DriverVersion = 12,
};

using Stream = TesseraStreamHandle;

/// Data starts at multiples of this; compiled code counts on it.
inline constexpr size_t kAllocAlignment = 64;

class DeviceAPI {
 public:
  virtual ~DeviceAPI() = default;

  /// Makes `device` the calling thread's current one, where the kind has such a notion.
  virtual void set_device(DLDevice) {}
  /// The fact, or null where the kind does not know it. `Exist` is always answered.
  virtual Any get_attr(DLDevice device, DeviceAttr attr) = 0;

  /// At least `bytes` bytes at a multiple of `alignment`; throws when there is no memory. Zero bytes are allowed.
  virtual void* alloc(DLDevice device, size_t bytes, size_t alignment, DataType hint) = 0;
  /// The same in a named memory of the device. The plain one is "" or "global".
  virtual void* alloc_in_scope(DLDevice device, std::span<const int64_t> shape, DataType dtype,
                               const std::string& scope);
  virtual void free(DLDevice device, void* data) = 0;

  /// Copies between contiguous tensors of equal size, of which at least one is on this kind of device.
  virtual void copy(const DLTensor* from, DLTensor* to, Stream stream) = 0;

  virtual Stream create_stream(DLDevice) { return nullptr; }
  virtual void free_stream(DLDevice, Stream) {}
  virtual void set_stream(DLDevice, Stream) {}
  /// Returns when all work given to the stream is done.
  virtual void sync(DLDevice device, Stream stream) = 0;
  /// Lets `to` wait for what is in `from` now.
  virtual void sync_streams(DLDevice, Stream /*from*/, Stream /*to*/) {}

  /// Scratch memory of one kernel call, freed in reverse order; comes from the calling thread's pool.
  void* alloc_workspace(DLDevice device, size_t bytes);
  void free_workspace(DLDevice device, void* data);
};

/// `api` serves devices of `type` from now on; it is never destroyed.
void register_device_api(int type, DeviceAPI* api);
/// Null when this build has no such kind.
DeviceAPI* find_device_api(int type);
/// The same, where absence is an error that names what is built in.
DeviceAPI* get_device_api(DLDevice device);
/// Names of the kinds that are built in.
std::vector<std::string> device_kinds();

/// For use at namespace scope in the source of a device kind.
template <class Api>
struct RegisterDevice {
  explicit RegisterDevice(int type) { register_device_api(type, new Api); }
};

}  // namespace tessera
