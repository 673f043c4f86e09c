// A block's buffer keeps only the region that is used while it exists.
//
//   for i: { block: alloc P[16, 16]; for j: P[i, j] = ...; ... = P[i, j] }   =>   alloc P[1, 16]; P[0, j] = ...
//
// The region is the hull of all accesses over the loops inside the allocation, and over the threads that share it, with
// the guards around them taken into account where they bound an index directly. Also lays out buffers by their "buffer_dim_align" annotations.

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/loops/interval.h"
#include "tir/threads.h"
#include "tir/transform/memory/aligned_strides.h"
#include "tir/transform/passes.h"
#include "tir/transform/simplify/simplify.h"

namespace tessera {
namespace {

class Compactor {
 public:
  Compactor() {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const BlockNode* op) -> Stmt { return on_block(op); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      auto [buffer, indices] = moved(op->buffer, rewriter_(op->indices));
      return make_load(buffer, indices);
    });
    on.on([this](const BufferStore* op) -> Stmt {
      PrimExpr value = rewriter_(op->value);
      auto [buffer, indices] = moved(op->buffer, rewriter_(op->indices));
      return make(BufferStore{.buffer = buffer, .value = value, .indices = indices});
    });
    on.on([this](const BufferRegionNode* op) -> BufferRegion { return on_region(op); });
    on.on([this](const For* op) -> Stmt {
      Range range = make_range(op->min, op->extent);
      analyzer_.bind(op->loop_var, range, true);
      std::string tag = op->kind == LoopKind::ThreadBinding ? op->thread_binding->thread_tag.str() : "";
      if (!tag.starts_with("blockIdx") && !tag.starts_with("threadIdx")) return rewriter_.children(op);
      threads_.push_back({tag, op->loop_var.get(), range});
      Stmt out = rewriter_.children(op);
      threads_.pop_back();
      return out;
    });
    on.on([this](const AttrStmt* op) -> Stmt {
      auto* axis = op->node.as<IterVarNode>();
      if (!axis || op->attr_key != attr::kThreadExtent) return rewriter_.children(op);
      Range threads = make_range(make_zero(op->value.dtype()), op->value);
      analyzer_.bind(axis->var, threads, true);
      threads_.push_back({axis->thread_tag.str(), axis->var.get(), threads});
      Stmt out = rewriter_.children(op);
      threads_.pop_back();
      return out;
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  struct Compact {
    Buffer original, buffer;
    Array<PrimExpr> mins;
  };

  struct Threads {
    std::string tag;
    const VarNode* var;
    Range range;
  };

  /// What a block does with one of its buffers.
  struct Use {
    Buffer buffer;
    std::string scope;
    loops::Box region;       // empty: not touched
    bool is_opaque = false;  // its address is taken
    std::vector<DimAlign> aligns;
  };

  Stmt on_block(const BlockNode* op) {
    BlockNode out(*op);
    out.alloc_buffers = {};
    std::vector<Use> uses;
    for (const Buffer& buffer : op->alloc_buffers) uses.push_back({.buffer = buffer, .scope = buffer->scope()});
    if (!uses.empty()) find_uses(op, &uses);
    for (const Use& use : uses) out.alloc_buffers.push_back(compact(use));
    out.annotations.erase(attr::kBufferDimAlignAnnotation);
    return rewriter_.children(make(std::move(out)).get());
  }

  Buffer compact(const Use& use) {
    const Buffer& buffer = use.buffer;
    bool is_known = !use.is_opaque && !use.region.empty();
    BufferNode node(*buffer.get());
    Array<PrimExpr> mins;
    for (size_t i = 0; i < buffer->shape.size(); ++i) {
      Range whole = make_range(make_zero(buffer->shape[i].dtype()), buffer->shape[i]);
      Range used = is_known ? clipped(loops::cover(use.region[i], whole, analyzer_), whole) : whole;
      node.shape.set(i, used->extent);
      mins.push_back(used->min);
    }
    node.strides = aligned_strides(node.shape, use.aligns, analyzer_);
    Compact out{buffer, make(std::move(node)), mins};
    compacts_[buffer.get()] = out;
    return out.buffer;
  }

  static bool reads_memory(const PrimExpr& expr) {
    bool found = false;
    walk(expr, [&](const BufferLoad*) { found = true; });
    return found;
  }

  /// A region larger than the buffer, or of unknown size, is the buffer; so is one at an index that is read from
  /// memory, which is not known yet where the buffer begins to exist.
  Range clipped(const Range& used, const Range& whole) {
    if (reads_memory(used->min) || reads_memory(used->extent)) return whole;
    if (!as_int(used->extent)) return is_const(whole->extent) ? whole : used;
    const int64_t *extent = as_int(used->extent), *limit = as_int(whole->extent);
    if (limit && *extent >= *limit) return whole;
    return *extent < 1 ? whole : used;
  }

  /// Looks through the block once for all its buffers.
  void find_uses(const BlockNode* block, std::vector<Use>* uses) {
    std::unordered_map<const BufferNode*, Use*> of_buffer;
    std::unordered_multimap<const VarNode*, Use*> of_memory;
    for (Use& use : *uses) {
      of_buffer[use.buffer.get()] = &use;
      of_memory.emplace(use.buffer->data.get(), &use);
    }
    auto find = [&](const Buffer& buffer) -> Use* {
      auto it = of_buffer.find(buffer.get());
      return it == of_buffer.end() ? nullptr : it->second;
    };
    auto take_address = [&](const VarNode* memory) {
      for (auto [it, end] = of_memory.equal_range(memory); it != end; ++it) it->second->is_opaque = true;
    };
    Scopes scopes(threads_, analyzer_);
    auto touch = [&](const Buffer& buffer, const Array<PrimExpr>& indices) {
      if (Use* use = find(buffer)) add(indices, scopes, use);
      else take_address(buffer->data.get());  // the same memory in another shape
    };
    pre_order(block->body, [&](const Object* node) {
      if (auto* loop = cast_or_null<For>(node)) scopes.add(loop);
      if (auto* let = cast_or_null<LetStmt>(node)) scopes.add(let);
      if (auto* load = cast_or_null<BufferLoad>(node)) touch(load->buffer, load->indices);
      if (auto* store = cast_or_null<BufferStore>(node)) touch(store->buffer, store->indices);
      if (auto* inside = cast_or_null<BlockNode>(node)) {
        for (const MatchBufferRegion& match : inside->match_buffers)
          if (Use* use = find(match->source->buffer)) add_view(match->source->region, scopes, use);
        note_aligns(inside, find);
      }
      if (auto* var = cast_or_null<VarNode>(node)) take_address(var);
      return true;
    });
  }

  /// The intervals of variables inside a block, as memory of a scope sees them: threads that share it count as loops.
  class Scopes {
   public:
    Scopes(const std::vector<Threads>& threads, arith::Analyzer& analyzer) : analyzer_(analyzer) {
      for (const Threads& each : threads) threads_.emplace_back(each, loops::Interval::of(each.range));
    }
    void add(const For* loop) {
      loops_[loop->loop_var.get()] = loops::Interval::of(make_range(loop->min, loop->extent));
    }
    void add(const LetStmt* let) { lets_[let->var.get()] = let->value; }

    loops::Interval between(const PrimExpr& first, const PrimExpr& last, const std::string& scope) {
      return loops::hull(eval(first, scope), eval(last, scope), analyzer_);
    }
    loops::Interval eval(const PrimExpr& e, const std::string& scope) {
      return loops::eval_interval(e, [&](const VarNode* var) { return bound_of(var, scope); }, analyzer_);
    }

   private:
    const loops::Interval* bound_of(const VarNode* var, const std::string& scope) {
      if (auto loop = loops_.find(var); loop != loops_.end()) return &loop->second;
      for (const auto& [threads, interval] : threads_)
        if (threads.var == var && spans_threads(storage_rank(scope), threads.tag)) return &interval;
      auto let = lets_.find(var);
      if (let == lets_.end()) return nullptr;
      auto [known, is_new] = values_[scope].try_emplace(var);
      if (is_new) {
        loops::Interval value = eval(let->second, scope);
        values_[scope][var] = value;
      }
      return &values_[scope][var];
    }

    arith::Analyzer& analyzer_;
    std::vector<std::pair<Threads, loops::Interval>> threads_;
    loops::VarIntervals loops_;
    std::unordered_map<const VarNode*, PrimExpr> lets_;
    std::unordered_map<std::string, loops::VarIntervals> values_;  // of lets, by scope
  };

  void add(const Array<PrimExpr>& indices, Scopes& scopes, Use* use) {
    loops::Box here;
    for (const PrimExpr& index : indices) {
      auto* ramp = index.as<Ramp>();
      if (!ramp) here.push_back(scopes.eval(index, use->scope));
      else
        here.push_back(scopes.between(
            ramp->base, ramp->base + ramp->stride * make_const(ramp->base.dtype(), ramp->lanes - 1), use->scope));
    }
    loops::widen(&use->region, here, analyzer_);
  }

  void add_view(const Array<Range>& ranges, Scopes& scopes, Use* use) {
    loops::Box here;
    for (const Range& range : ranges)
      here.push_back(
          scopes.between(range->min, range->min + range->extent - make_const(range->min.dtype(), 1), use->scope));
    loops::widen(&use->region, here, analyzer_);
  }

  /// "buffer_dim_align" of a block that writes: tuples (index of the write, axis, factor, offset).
  static void note_aligns(const BlockNode* block, const std::function<Use*(const Buffer&)>& find) {
    ObjectRef given = block->annotations.get_or_null(attr::kBufferDimAlignAnnotation);
    auto* tuples = given ? given.as<ArrayNode>() : nullptr;
    if (!tuples) return;
    for (const ObjectRef& item : tuples->items) {
      auto* tuple = item.as<ArrayNode>();
      int64_t values[4] = {};
      for (size_t i = 0; tuple && i < 4 && i < tuple->items.size(); ++i)
        number_boxes.unbox_int(tuple->items[i].get(), &values[i]);
      if (static_cast<size_t>(values[0]) >= block->writes.size()) continue;
      if (Use* use = find(block->writes[static_cast<size_t>(values[0])]->buffer))
        use->aligns.push_back({values[1], values[2], values[3]});
    }
  }

  std::pair<Buffer, Array<PrimExpr>> moved(const Buffer& buffer, Array<PrimExpr> indices) {
    auto it = compacts_.find(buffer.get());
    if (it == compacts_.end()) return {buffer, indices};
    for (size_t i = 0; i < indices.size(); ++i) {
      PrimExpr min = it->second.mins[i];
      if (indices[i].dtype().lanes > 1) min = make_broadcast(min, indices[i].dtype().lanes);
      indices.set(i, analyzer_.simplify(indices[i] - min));
    }
    return {it->second.buffer, indices};
  }

  BufferRegion on_region(const BufferRegionNode* op) {
    auto it = compacts_.find(op->buffer.get());
    if (it == compacts_.end()) return BufferRegion(op);
    Array<Range> region;
    for (size_t i = 0; i < op->region.size(); ++i)
      region.push_back(make_range(analyzer_.simplify(op->region[i]->min - it->second.mins[i]), op->region[i]->extent));
    return make(BufferRegionNode{.buffer = it->second.buffer, .region = region});
  }

  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::vector<Threads> threads_;  // around the block at hand
  std::unordered_map<const BufferNode*, Compact> compacts_;
};

}  // namespace

PrimFunc compact_buffer_allocation(const PrimFunc& function) {
  return is_from_te(function) ? function : with_body(function, Compactor()(function->body));
}

}  // namespace tessera
