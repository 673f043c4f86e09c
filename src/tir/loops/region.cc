#include "tir/loops/region.h"

#include <unordered_map>

#include "ir/prim_ops.h"
#include "ir/rewrite.h"

namespace tessera::loops {
namespace {

class Accesses {
 public:
  /// Parents are visited first, so that A[I[i]] counts A before I.
  void add(const ObjectRef& root) {
    pre_order(root, [&](const Object* node) {
      if (auto* loop = cast_or_null<For>(node)) {
        inner_[loop->loop_var.get()] = Interval::of(make_range(loop->min, loop->extent));
        analyzer_.bind(loop->loop_var, make_range(loop->min, loop->extent), true);
      } else if (auto* load = cast_or_null<BufferLoad>(node)) {
        touch(&reads_, load->buffer, load->indices);
      } else if (auto* store = cast_or_null<BufferStore>(node)) {
        touch(&writes_, store->buffer, store->indices);
      }
      return true;
    });
  }

  BlockRegions result(bool updates) {
    BlockRegions out;
    for (const Entry& entry : writes_) out.writes.push_back(region(entry));
    for (const Entry& entry : reads_) {
      bool is_written = false;
      for (const Entry& other : writes_) is_written = is_written || other.buffer.same_as(entry.buffer);
      if (!(updates && is_written)) out.reads.push_back(region(entry));
    }
    return out;
  }

 private:
  struct Entry {
    Buffer buffer;
    std::vector<Interval> box;
  };

  void touch(std::vector<Entry>* entries, const Buffer& buffer, const Array<PrimExpr>& indices) {
    IntervalOf of = [&](const VarNode* var) -> const Interval* {
      auto it = inner_.find(var);
      return it == inner_.end() ? nullptr : &it->second;
    };
    std::vector<Interval> box;
    for (const PrimExpr& index : indices) box.push_back(eval_interval(index, of, analyzer_));
    for (Entry& entry : *entries) {
      if (!entry.buffer.same_as(buffer)) continue;
      for (size_t i = 0; i < box.size(); ++i) entry.box[i] = hull(entry.box[i], box[i], analyzer_);
      return;
    }
    entries->push_back({buffer, box});
  }

  BufferRegion region(const Entry& entry) {
    Array<Range> ranges;
    for (size_t i = 0; i < entry.box.size(); ++i) {
      PrimExpr extent = entry.buffer->shape[i];
      ranges.push_back(cover(entry.box[i], make_range(make_zero(extent.dtype()), extent), analyzer_));
    }
    return make(BufferRegionNode{.buffer = entry.buffer, .region = ranges});
  }

  std::unordered_map<const VarNode*, Interval> inner_;
  std::vector<Entry> reads_, writes_;
  arith::Analyzer analyzer_;
};

}  // namespace

BlockRegions block_regions(const BlockNode& block) {
  Accesses accesses;
  if (block.init) accesses.add(block.init);
  accesses.add(block.body);
  return accesses.result(block.init.defined());
}

}  // namespace tessera::loops
