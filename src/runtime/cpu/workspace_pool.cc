#include "runtime/cpu/workspace_pool.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera {
namespace {

constexpr size_t kPage = 4096;
constexpr int kMaxDeviceId = 1024;

/// Pools that stand in for those of the thread, by device type.
std::map<int, WorkspacePool*>& stand_ins() {
  thread_local std::map<int, WorkspacePool*> pools;
  return pools;
}

}  // namespace

WorkspacePool::~WorkspacePool() {
  for (OfDevice& pool : devices_)
    for (auto* list : {&pool.idle, &pool.used})
      for (const Block& block : *list) pool.api->free(pool.device, block.data);
}

WorkspacePool& WorkspacePool::of_thread(int device_type) {
  thread_local WorkspacePool of_cpu;
  if (device_type == kDLCPU) [[likely]]
    return of_cpu;
  if (auto it = stand_ins().find(device_type); it != stand_ins().end() && it->second) return *it->second;
  thread_local std::map<int, WorkspacePool> of_others;
  return of_others[device_type];
}

WorkspacePool::Instead::Instead(int device_type, WorkspacePool& pool)
    : device_type_(device_type), before_(std::exchange(stand_ins()[device_type], &pool)) {}

WorkspacePool::Instead::~Instead() { stand_ins()[device_type_] = before_; }

WorkspacePool::OfDevice& WorkspacePool::of(int device_id) {
  if (device_id < 0 || device_id >= kMaxDeviceId)
    throw Error(ValueError) << "device id " << device_id << " is out of range";
  if (static_cast<size_t>(device_id) >= devices_.size()) devices_.resize(static_cast<size_t>(device_id) + 1);
  return devices_[static_cast<size_t>(device_id)];
}

void* WorkspacePool::alloc(DeviceAPI* api, DLDevice device, size_t bytes) {
  OfDevice& pool = of(device.device_id);
  pool.api = api;
  pool.device = device;
  if (bytes > SIZE_MAX - kPage) throw Error(ValueError) << "a workspace of " << bytes << " bytes cannot be";
  bytes = std::max(kPage, (bytes + kPage - 1) / kPage * kPage);
  auto fits = std::lower_bound(pool.idle.begin(), pool.idle.end(), bytes,
                               [](const Block& block, size_t wanted) { return block.bytes < wanted; });
  Block block{};
  if (fits != pool.idle.end()) {
    block = *fits;
    pool.idle.erase(fits);
  } else {
    // The largest idle block is too small: give it back, so that a growing demand does not keep every step of it.
    if (!pool.idle.empty()) {
      api->free(device, pool.idle.back().data);
      pool.idle.pop_back();
    }
    ++times_taken_;
    block = {api->alloc(device, bytes, kAllocAlignment, DataType::Void()), bytes};
  }
  pool.used.push_back(block);
  return block.data;
}

void WorkspacePool::clear() {
  for (OfDevice& pool : devices_) {
    for (const Block& block : pool.idle) pool.api->free(pool.device, block.data);
    pool.idle.clear();
  }
}

void WorkspacePool::free(DLDevice device, void* data) {
  OfDevice& pool = of(device.device_id);
  auto found = std::find_if(pool.used.rbegin(), pool.used.rend(), [&](const Block& b) { return b.data == data; });
  if (found == pool.used.rend())
    throw Error(ValueError) << "free of a workspace on " << device_text(device) << " that this thread did not allocate";
  Block block = *found;
  pool.used.erase(std::next(found).base());
  auto position = std::lower_bound(pool.idle.begin(), pool.idle.end(), block.bytes,
                                   [](const Block& b, size_t bytes) { return b.bytes < bytes; });
  pool.idle.insert(position, block);
}

}  // namespace tessera
