#include "runtime/vm/memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tessera::vm {

struct MemoryPool::Release {
  std::shared_ptr<MemoryPool> pool;
  size_t bytes;
  void operator()(void* data) const { pool->give(data, bytes); }
};

MemoryPool::~MemoryPool() {
  for (auto& [bytes, block] : kept_) api_->free(device_, block.data);
}

void* MemoryPool::take(size_t* bytes, bool replaces) {
  std::vector<void*> replaced;
  {
    std::lock_guard lock(mutex_);
    auto it = kept_.lower_bound(*bytes);
    if (it != kept_.end() && it->first / 2 < *bytes) {
      *bytes = it->first;
      used_bytes_ += *bytes;
      most_used_ = std::max(most_used_, used_bytes_);
      return give_up(it);
    }
    while (replaces && !kept_.empty() && (most_used_ < *bytes || used_bytes_ + kept_bytes_ > most_used_ - *bytes))
      replaced.push_back(give_up(kept_.begin()));
  }
  for (void* data : replaced) api_->free(device_, data);
  void* data = api_->alloc(device_, *bytes, kAllocAlignment, DataType::UInt(8));
  std::lock_guard lock(mutex_);
  used_bytes_ += *bytes;
  most_used_ = std::max(most_used_, used_bytes_);
  return data;
}

void* MemoryPool::give_up(std::multimap<size_t, Kept>::iterator block) {
  void* data = block->second.data;
  kept_bytes_ -= block->first;
  kept_.erase(block);
  return data;
}

void MemoryPool::give(void* data, size_t bytes) {
  std::vector<void*> freed;
  {
    std::lock_guard lock(mutex_);
    used_bytes_ -= bytes;
    if (!keeps_) {
      freed.push_back(data);
    } else {
      auto by_age = [](const auto& a, const auto& b) { return a.second.since < b.second.since; };
      while (kept_bytes_ + bytes > most_used_)
        freed.push_back(give_up(std::min_element(kept_.begin(), kept_.end(), by_age)));
      kept_.emplace(bytes, Kept{data, releases_++});
      kept_bytes_ += bytes;
    }
  }
  for (void* block : freed) api_->free(device_, block);
}

size_t MemoryPool::bytes() const {
  std::lock_guard lock(mutex_);
  return kept_bytes_ + used_bytes_;
}

std::shared_ptr<void> MemoryPool::allocate(size_t bytes, bool replaces) {
  bytes = std::max(bytes, kAllocAlignment);
  if (bytes <= SIZE_MAX - kAllocAlignment) bytes = (bytes + kAllocAlignment - 1) / kAllocAlignment * kAllocAlignment;
  void* data = take(&bytes, replaces);
  return std::shared_ptr<void>(data, Release{shared_from_this(), bytes});
}

double tensor_elements(std::span<const int64_t> shape) {
  double count = 1;
  for (int64_t extent : shape) count *= static_cast<double>(std::max<int64_t>(extent, 1));
  return count;
}

bool has_type(const DLTensor* tensor, std::span<const int64_t> shape, DataType dtype) {
  return DataType(tensor->dtype) == dtype && tensor->ndim == static_cast<int>(shape.size()) &&
         std::equal(shape.begin(), shape.end(), tensor->shape);
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

constexpr int64_t kFirstRows = 8;                  // for which there is room at first
constexpr size_t kMaxExpected = size_t(64) << 20;  // bytes that are taken at once for rows which may never come

/// Memory with room behind the rows in it: who appends to it takes what comes after `used`.
struct GrowingBlock {
  std::shared_ptr<void> memory;
  size_t bytes = 0;
  std::atomic<size_t> used = 0;
};
/// How a tensor holds on to such memory, and by which it is recognised.
struct GrowingRelease {
  std::shared_ptr<GrowingBlock> block;
  void operator()(void*) const {}
};

/// To byte `begin` of `to`. Of some devices memory is a handle, and an offset no part of it.
void copy_bytes(void* to, size_t begin, const DLTensor* from, size_t bytes, DLDevice device) {
  if (bytes == 0) return;
  if (device.device_type == kDLCPU && from->device.device_type == kDLCPU)
    return void(
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from->data) + from->byte_offset, bytes));
  auto count = static_cast<int64_t>(bytes);
  DLTensor source = *from, target{};
  source.dtype = target.dtype = DataType::UInt(8);
  source.ndim = target.ndim = 1;
  source.shape = target.shape = &count;
  source.strides = nullptr;
  target.data = to;
  target.device = device;
  target.byte_offset = begin;
  copy_tensor(&source, &target);
}

}  // namespace

NDArray append_row(MemoryPool& pool, const NDArrayNode* rows, const NDArrayNode* row, int64_t expected) {
  const DLTensor &all = rows->tensor, &one = row->tensor;
  const DataType dtype(one.dtype);
  bool fits = DataType(all.dtype) == dtype && all.ndim == one.ndim + 1 && is_contiguous(&all) && is_contiguous(&one);
  const int64_t count = fits ? all.shape[0] : 0;
  for (int i = 0; fits && count > 0 && i < one.ndim; ++i) fits = all.shape[i + 1] == one.shape[i];
  if (!fits)
    throw Error(ValueError) << "a loop collects values of one shape and element type: a row of " << describe(&all)
                            << " cannot be " << describe(&one);
  std::vector<int64_t> shape{count + 1};
  shape.insert(shape.end(), one.shape, one.shape + one.ndim);
  const size_t bytes = tensor_bytes({one.shape, static_cast<size_t>(one.ndim)}, dtype);
  const size_t begin = bytes * static_cast<size_t>(count);  // of tensors that exist
  auto* known = std::get_deleter<GrowingRelease>(rows->memory);
  std::shared_ptr<GrowingBlock> block = known ? known->block : nullptr;
  size_t used = begin;
  if (!block || all.byte_offset != 0 || all.data != block->memory.get() || bytes > block->bytes - begin ||
      !block->used.compare_exchange_strong(used, begin + bytes)) {
    int64_t room = std::max(2 * count, kFirstRows);
    if (expected > room && bytes > 0 && static_cast<size_t>(expected) <= kMaxExpected / bytes) room = expected;
    shape[0] = room;
    block = std::make_shared<GrowingBlock>();
    block->bytes = tensor_bytes(shape, dtype);
    block->memory = pool.allocate(block->bytes);
    block->used = begin + bytes;
    shape[0] = count + 1;
    copy_bytes(block->memory.get(), 0, &all, begin, pool.device());
  }
  void* data = block->memory.get();
  copy_bytes(data, begin, &one, bytes, pool.device());
  return tensor_at(std::shared_ptr<void>(data, GrowingRelease{block}), data, shape, dtype, pool.device());
}

}  // namespace tessera::vm
