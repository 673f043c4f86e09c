#pragma once
// Scratch memory that kernels ask for on every call: kept per thread and device, so a steady state allocates nothing.

#include <vector>

#include "runtime/device_api.h"

namespace tessera {

class WorkspacePool {
 public:
  WorkspacePool() = default;
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;
  ~WorkspacePool();

  /// The calling thread's pool for a device type.
  static WorkspacePool& of_thread(int device_type);

  void* alloc(DeviceAPI* api, DLDevice device, size_t bytes);
  /// `data` must come from this pool; anything else is an error.
  void free(DLDevice device, void* data);

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  struct OfDevice {
    DeviceAPI* api = nullptr;
    DLDevice device{};
    std::vector<Block> idle;  // by size, smallest first
    std::vector<Block> used;  // in order of allocation; usually freed from the back
  };
  OfDevice& of(int device_id);
  std::vector<OfDevice> devices_;
};

}  // namespace tessera
