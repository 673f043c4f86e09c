#pragma once
// Where the tensors of a function's frame lie in one piece of memory, remembered by the extents of its arguments.

#include <deque>

#include "runtime/containers.h"
#include "runtime/ndarray.h"
#include "runtime/vm/frame_layout.h"

namespace tessera::vm {

/// What a call with arguments of certain extents found out, for the next one of these. Offsets do not change once made: frames
/// that run count on them.
struct FramePlan {
  static constexpr size_t kUnknown = ~size_t{0};
  struct Slot {
    size_t bytes = kUnknown;   // what the allocation asked for
    size_t offset = kUnknown;  // where it lies; unknown: somewhere else, by itself
    NDArray tensor;            // used again where nobody holds it
  };
  std::vector<Slot> slots;
  std::vector<ObjectRef> shapes;  // of ShapeFunc instructions; null until computed
  size_t bytes = 0;               // of the piece of memory
  bool has_news = false;          // sizes that were not known when offsets were made

  /// A plan of the same sizes that has an offset for them all.
  std::shared_ptr<FramePlan> with_offsets(const FrameLayout& layout) const;
};

/// Offsets at multiples of kAllocAlignment for tensors that are alive from `made_at` to `last_use`, by best fit among what is free
/// then; slots of unknown size are passed over. Returns the bytes of all, or kUnknown where they do not fit into memory's addresses.
size_t plan_offsets(const FrameLayout& layout, std::span<FramePlan::Slot> slots);

/// The plans of one function. The first call of a shape learns the sizes, the second gives them offsets; of more than kMaxShapes the one
/// that was not used for longest is forgotten. For one machine, that is for one thread at a time.
class FramePlans {
 public:
  static constexpr size_t kMaxShapes = 32;

  explicit FramePlans(FrameLayout layout) : layout_(std::move(layout)) {}

  const FrameLayout& layout() const { return layout_; }
  /// The plan for such arguments, of which `tensor_of(i)` gives the i-th, or null; null where nothing is to plan.
  template <class F>
  std::shared_ptr<FramePlan> find(F&& tensor_of) {
    if (layout_.is_empty()) return nullptr;
    key_.clear();
    for (uint32_t param : layout_.params) {
      const NDArrayNode* tensor = tensor_of(param);
      if (!tensor) return nullptr;
      key_.push_back(tensor->tensor.ndim);
      key_.insert(key_.end(), tensor->tensor.shape, tensor->tensor.shape + tensor->tensor.ndim);
    }
    return find_key();
  }
  size_t size() const { return known_.size(); }

 private:
  struct Known {
    std::vector<int64_t> key;
    std::shared_ptr<FramePlan> plan;
  };
  std::shared_ptr<FramePlan> find_key();

  FrameLayout layout_;
  std::deque<Known> known_;  // the last one used first
  std::vector<int64_t> key_;
};

}  // namespace tessera::vm
