#include "runtime/vm/memory.h"

#include <algorithm>

namespace tessera::vm {

struct MemoryPool::Release {
  std::shared_ptr<MemoryPool> pool;
  size_t bytes;
  void operator()(void* data) const { pool->give(data, bytes); }
};

MemoryPool::~MemoryPool() {
  for (auto& [bytes, data] : kept_) api_->free(device_, data);
}

void* MemoryPool::take(size_t* bytes) {
  {
    std::lock_guard lock(mutex_);
    auto it = kept_.lower_bound(*bytes);
    if (it != kept_.end() && it->first / 2 < *bytes) {
      void* data = it->second;
      *bytes = it->first;
      kept_bytes_ -= *bytes;
      used_bytes_ += *bytes;
      most_used_ = std::max(most_used_, used_bytes_);
      kept_.erase(it);
      return data;
    }
  }
  void* data = api_->alloc(device_, *bytes, kAllocAlignment, DataType::UInt(8));
  std::lock_guard lock(mutex_);
  used_bytes_ += *bytes;
  most_used_ = std::max(most_used_, used_bytes_);
  return data;
}

void MemoryPool::give(void* data, size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    used_bytes_ -= bytes;
    if (keeps_ && kept_bytes_ + bytes <= most_used_) {
      kept_.emplace(bytes, data);
      kept_bytes_ += bytes;
      return;
    }
  }
  api_->free(device_, data);
}

size_t MemoryPool::bytes() const {
  std::lock_guard lock(mutex_);
  return kept_bytes_ + used_bytes_;
}

std::shared_ptr<void> MemoryPool::allocate(size_t bytes) {
  bytes = std::max(bytes, kAllocAlignment);
  if (bytes <= SIZE_MAX - kAllocAlignment) bytes = (bytes + kAllocAlignment - 1) / kAllocAlignment * kAllocAlignment;
  void* data = take(&bytes);
  return std::shared_ptr<void>(data, Release{shared_from_this(), bytes});
}

NDArray tensor_at(std::shared_ptr<void> memory, void* data, std::span<const int64_t> shape, DataType dtype,
                  DLDevice device) {
  auto* node = new NDArrayNode;
  node->type_ = &type_of<NDArrayNode>;
  NDArray out(node);
  node->shape.assign(shape.begin(), shape.end());
  node->tensor = {.data = data,
                  .device = device,
                  .ndim = static_cast<int>(shape.size()),
                  .dtype = dtype,
                  .shape = node->shape.data(),
                  .strides = nullptr,
                  .byte_offset = 0};
  node->memory = std::move(memory);
  return out;
}

NDArray make_tensor(MemoryPool& pool, std::span<const int64_t> shape, DataType dtype) {
  std::shared_ptr<void> memory = pool.allocate(tensor_bytes(shape, dtype));
  void* data = memory.get();
  return tensor_at(std::move(memory), data, shape, dtype, pool.device());
}

namespace {
register_types<StorageNode> memory_types;
}

}  // namespace tessera::vm
