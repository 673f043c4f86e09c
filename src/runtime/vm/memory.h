#pragma once
// Memory of one virtual machine: blocks that were freed are kept and used again.

#include <map>
#include <memory>
#include <mutex>

#include "runtime/ndarray.h"

namespace tessera::vm {

/// Tensors may outlive the machine and die on other threads. Kept blocks are at most as many bytes as were ever in use
/// at once, and those that were freed last; a request takes the smallest kept block that is less than twice as large.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /// `keeps` false: every block goes back to the device at once.
  MemoryPool(DLDevice device, bool keeps) : api_(get_device_api(device)), device_(device), keeps_(keeps) {}
  ~MemoryPool();

  /// `replaces`: where this takes new memory, cached blocks go back to the device as far as all would be more than was ever in use at
  /// once: a piece for many tensors comes instead of blocks for each.
  std::shared_ptr<void> allocate(size_t bytes, bool replaces = false);
  DLDevice device() const { return device_; }
  /// In use or kept.
  size_t bytes() const;

 private:
  struct Release;
  struct Kept {
    void* data;
    uint64_t since;  // number of its release
  };
  void* take(size_t* bytes, bool replaces);
  void give(void* data, size_t bytes);
  void* give_up(std::multimap<size_t, Kept>::iterator block);

  DeviceAPI* api_;
  DLDevice device_;
  bool keeps_;
  mutable std::mutex mutex_;
  std::multimap<size_t, Kept> kept_;
  uint64_t releases_ = 0;
  size_t kept_bytes_ = 0, used_bytes_ = 0, most_used_ = 0;
};

/// How many elements a shape has, an extent of 0 counted as 1: no overflow, however large extents are.
double tensor_elements(std::span<const int64_t> shape);
bool has_type(const DLTensor* tensor, std::span<const int64_t> shape, DataType dtype);

/// A row-major tensor at `data`, which `memory` keeps alive.
NDArray tensor_at(std::shared_ptr<void> memory, void* data, std::span<const int64_t> shape, DataType dtype,
                  DLDevice device);
NDArray make_tensor(MemoryPool& pool, std::span<const int64_t> shape, DataType dtype);

/// `rows` with `row` as one more: their memory is used again where it has room behind the last of all rows that were ever appended there, so that
/// tensors which are fewer of the rows keep what they are. Else they are copied to memory for twice as many, or for `expected` ones.
/// Without rows the shape is that of `row`.
NDArray append_row(MemoryPool& pool, const NDArrayNode* rows, const NDArrayNode* row, int64_t expected);

/// A piece of memory for several tensors.
struct StorageNode : Object {
  std::shared_ptr<void> memory;
  size_t bytes = 0;
  DLDevice device{};
  static constexpr NodeInfo info{"vm.Storage", &Object::info, Role::Identity};
  static void fields(auto) {}
};

}  // namespace tessera::vm
