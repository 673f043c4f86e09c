#include "runtime/device_api.h"

#include <array>
#include <atomic>

#include "runtime/cpu/workspace_pool.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

// All types behind RPC share the last slot.
constexpr int kSlots = 65;
std::array<std::atomic<DeviceAPI*>, kSlots> apis{};

int slot_of(int type) {
  if (type >= kRpcSessionMask) return kSlots - 1;
  return type >= 0 && type < kSlots - 1 ? type : -1;
}

}  // namespace

void* DeviceAPI::alloc_in_scope(DLDevice device, std::span<const int64_t> shape, DataType dtype,
                                const std::string& scope) {
  if (!scope.empty() && scope != "global")
    throw Error(ValueError) << "device " << device_text(device) << " has no memory scope \"" << scope
                            << "\"; it has only \"global\"";
  return alloc(device, tensor_bytes(shape, dtype), kAllocAlignment, dtype);
}

void* DeviceAPI::alloc_workspace(DLDevice device, size_t bytes) {
  return WorkspacePool::of_thread(device.device_type).alloc(this, device, bytes);
}

void DeviceAPI::free_workspace(DLDevice device, void* data) {
  WorkspacePool::of_thread(device.device_type).free(device, data);
}

void register_device_api(int type, DeviceAPI* api) {
  int slot = slot_of(type);
  ICHECK(slot >= 0) << "device type " << type << " is out of range";
  apis[static_cast<size_t>(slot)].store(api, std::memory_order_release);
}

DeviceAPI* find_device_api(int type) {
  int slot = slot_of(type);
  return slot < 0 ? nullptr : apis[static_cast<size_t>(slot)].load(std::memory_order_acquire);
}

DeviceAPI* get_device_api(DLDevice device) {
  if (DeviceAPI* api = find_device_api(device.device_type)) return api;
  Error error(RuntimeError);
  error << "Device API " << device_type_name(device.device_type) << " is not enabled: this build knows ";
  bool first = true;
  for (const std::string& kind : device_kinds()) error << (std::exchange(first, false) ? "" : ", ") << kind;
  throw error;
}

std::vector<std::string> device_kinds() {
  std::vector<std::string> names;
  for (int type = 0; type < kSlots - 1; ++type)
    if (find_device_api(type)) names.push_back(device_type_name(type));
  return names;
}

namespace {

/// A device that cannot be there does not exist: asking so is no error.
Any get_device_attr(DLDevice device, int attr) {
  auto what = static_cast<DeviceAttr>(attr);
  if (what == DeviceAttr::Exist) {
    DeviceAPI* api = find_device_api(device.device_type);
    return api ? api->get_attr(device, what) : Any(0);
  }
  return get_device_api(device)->get_attr(device, what);
}

Stream create_stream(DLDevice device) { return get_device_api(device)->create_stream(device); }
void free_stream(DLDevice device, Stream stream) { get_device_api(device)->free_stream(device, stream); }
void set_stream(DLDevice device, Stream stream) { get_device_api(device)->set_stream(device, stream); }
void sync(DLDevice device, Stream stream) { get_device_api(device)->sync(device, stream); }

Globals device_api_globals{
    {"runtime.GetDeviceAttr", get_device_attr},
    {"runtime.DeviceCreateStream", create_stream},
    {"runtime.DeviceFreeStream", free_stream},
    {"runtime.DeviceSetStream", set_stream},
    {"runtime.DeviceSync", sync},
    {"__tvm_set_device",
     [](int type, int id) {
       DLDevice device = make_device(type, id);
       get_device_api(device)->set_device(device);
     }},
};

}  // namespace
}  // namespace tessera
