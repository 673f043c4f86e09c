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
  /// While it lives, that pool is another one: work that is recorded keeps its workspaces. For devices other than CPUs.
  class Instead {
   public:
    Instead(int device_type, WorkspacePool& pool);
    ~Instead();
    Instead(const Instead&) = delete;
    Instead& operator=(const Instead&) = delete;

   private:
    int device_type_;
    WorkspacePool* before_;
  };
  /// Gives back what is idle.
  void clear();
  /// How often the pool has taken memory of a device.
  size_t times_taken() const { return times_taken_; }

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
  size_t times_taken_ = 0;
};

}  // namespace tessera
