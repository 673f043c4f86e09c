#include "schedule/layout.h"

#include <unordered_set>

#include "arith/int_set.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/rebuffer.h"

namespace tessera::schedule {
namespace {

class Relayout {
 public:
  Relayout(const Buffer& old, const Buffer& fresh, const IndexMap& map) : old_(old), fresh_(fresh), map_(map) {
    rewriter_.on([this](Rewriter& self, const For* loop) -> Stmt {
      loops_.push_back(loop);
      Stmt out = self.children(loop);
      loops_.pop_back();
      return out;
    });
    rewriter_.on([this](Rewriter& self, const BlockRealize* realize) -> Stmt {
      if (!mentions(realize, old_)) return Stmt(realize);
      for (const For* loop : loops_)
        if (bound_.insert(loop).second) analyzer_.bind(loop->loop_var, range_of(loop));
      return self.children(realize);
    });
    rewriter_.on([this](Rewriter& self, const BlockNode* node) -> Block {
      for (const IterVar& iter : node->iter_vars) analyzer_.bind(iter->var, iter->dom);
      for (const MatchBufferRegion& match : node->match_buffers)
        if (map_ && match->source->buffer.same_as(old_))
          throw Error(ScheduleError) << "block " << quoted(node->name_hint) << " sees " << old_->name
                                     << " through match_buffer as " << match->buffer->name
                                     << ", a view that the new layout would tear apart";
      BlockNode block(*self.children(node));
      for (size_t i = 0; i < block.alloc_buffers.size(); ++i)
        if (block.alloc_buffers[i].same_as(old_)) block.alloc_buffers.set(i, fresh_);
      return make(std::move(block));
    });
    rewriter_.on([this](Rewriter& self, const BufferLoad* node) -> PrimExpr {
      auto load = self.children(node);
      return load->buffer.same_as(old_) ? make_load(fresh_, mapped(load->indices)) : PrimExpr(load.get());
    });
    rewriter_.on([this](Rewriter& self, const BufferStore* node) -> Stmt {
      auto store = self.children(node);
      if (!store->buffer.same_as(old_)) return store;
      return make(BufferStore{.buffer = fresh_, .value = store->value, .indices = mapped(store->indices)});
    });
    rewriter_.on([this](Rewriter& self, const BufferRegionNode* node) -> BufferRegion {
      auto region = self.children(node);
      if (!region->buffer.same_as(old_)) return region;
      return make(BufferRegionNode{.buffer = fresh_, .region = mapped(region->region)});
    });
    rewriter_.on([this](const VarNode* var) -> PrimExpr {
      if (var == old_->data.get() && map_)
        throw Error(ScheduleError) << "the address of " << old_->name
                                   << " is taken, so its elements must stay where they are";
      return var == old_->data.get() ? PrimExpr(fresh_->data) : PrimExpr(var);
    });
  }

  Stmt operator()(const Stmt& stmt) { return rewriter_(stmt); }

 private:
  Array<PrimExpr> mapped(const Array<PrimExpr>& indices) {
    if (!map_) return indices;
    Map<Var, PrimExpr> values;
    for (size_t i = 0; i < indices.size(); ++i)
      values.set(map_->initial_indices[i], cast(map_->initial_indices[i]->dtype, indices[i]));
    Array<PrimExpr> out;
    for (const PrimExpr& index : map_->final_indices) out.push_back(analyzer_.simplify(substitute(index, values)));
    return out;
  }

  Array<Range> mapped(const Array<Range>& region) {
    if (!map_) return region;
    Array<PrimExpr> point;
    for (const Range& range : region)
      if (is_one(range->extent)) point.push_back(range->min);
    Array<Range> out;
    if (point.size() == region.size()) {
      for (const PrimExpr& index : mapped(point)) out.push_back(make_range(index, make_const(index.dtype(), 1)));
      return out;
    }
    arith::SetOfVar domains;
    for (size_t i = 0; i < region.size(); ++i) {
      DataType dtype = map_->initial_indices[i]->dtype;
      domains.set(map_->initial_indices[i],
                  arith::IntSet::from_min_extent(cast(dtype, region[i]->min), cast(dtype, region[i]->extent)));
    }
    for (size_t i = 0; i < map_->final_indices.size(); ++i) {
      arith::IntSet set = arith::eval_set(map_->final_indices[i], domains, &analyzer_);
      const PrimExpr length = fresh_->shape[i];
      bool is_known = set.has_lower_bound() && set.has_upper_bound();
      PrimExpr first = is_known ? analyzer_.simplify(set.min()) : make_zero(length.dtype());
      out.push_back(make_range(first, is_known ? analyzer_.simplify(set.max() - first + 1) : length));
    }
    return out;
  }

  Buffer old_, fresh_;
  IndexMap map_;
  std::vector<const For*> loops_;         // around, outermost first
  std::unordered_set<const For*> bound_;  // those that the analyzer knows
  arith::Analyzer analyzer_;
  Rewriter rewriter_;
};

}  // namespace

void change_layout(State& state, const Cursor& cursor, const Buffer& old, const Buffer& fresh, const IndexMap& map) {
  Relayout relayout(old, fresh, map);
  for (const Stmt& stmt : cursor.path)
    if (auto* realize = stmt.as<BlockRealize>())
      for (const Buffer& allocated : realize->block->alloc_buffers)
        if (allocated.same_as(old)) return state.replace(cursor.function, stmt, relayout(stmt));
  PrimFunc function = state.function(cursor.function);
  for (const auto& [param, buffer] : function->buffer_map) {
    if (!buffer.same_as(old)) continue;
    PrimFuncNode changed(*function);
    changed.buffer_map.set(param, fresh);
    changed.body = relayout(function->body);
    return state.set_function(cursor.function, make(std::move(changed)));
  }
  throw Error(ScheduleError) << "buffer " << old->name << " is a view made by match_buffer: neither a parameter nor "
                             << "allocated by a block around";
}

Block with_simple_indices(const Block& block, arith::Analyzer& analyzer) {
  auto simplified = [&](const Array<PrimExpr>& indices) {
    Array<PrimExpr> out;
    for (const PrimExpr& index : indices) out.push_back(analyzer.simplify(index));
    return out;
  };
  return rewrite(
      block,
      [&](Rewriter& self, const BufferLoad* node) -> PrimExpr {
        auto load = self.children(node);
        return make_load(load->buffer, simplified(load->indices));
      },
      [&](Rewriter& self, const BufferStore* node) -> Stmt {
        auto store = self.children(node);
        return with(store, &BufferStore::indices, simplified(store->indices));
      },
      [&](const BufferRegionNode* region) -> BufferRegion {
        Array<Range> box;
        for (const Range& range : region->region)
          box.push_back(make_range(analyzer.simplify(range->min), analyzer.simplify(range->extent)));
        return with(region, &BufferRegionNode::region, box);
      });
}

IndexMap with_index_dtypes(const IndexMap& map, const std::vector<DataType>& dtypes) {
  bool is_same = true;
  Map<Var, PrimExpr> vars;
  Array<Var> initial;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const Var var = map->initial_indices[i];
    is_same &= var->dtype == dtypes[i];
    initial.push_back(make_var(var->name, dtypes[i]));
    vars.set(var, initial.back());
  }
  if (is_same) return map;
  Rewriter rewriter([&](const VarNode* var) -> PrimExpr {
    PrimExpr value = vars.get_or_null(Var(var));
    return value ? value : PrimExpr(var);
  });
  auto rebuild = [&rewriter]<class T>(const T*, auto build) {
    rewriter.on([build](Rewriter& self, const T* node) -> PrimExpr { return build(self(node->a), self(node->b)); });
  };
  rebuild(static_cast<const Add*>(nullptr), [](PrimExpr a, PrimExpr b) { return a + b; });
  rebuild(static_cast<const Sub*>(nullptr), [](PrimExpr a, PrimExpr b) { return a - b; });
  rebuild(static_cast<const Mul*>(nullptr), [](PrimExpr a, PrimExpr b) { return a * b; });
  rebuild(static_cast<const FloorDiv*>(nullptr), [](PrimExpr a, PrimExpr b) { return floordiv(a, b); });
  rebuild(static_cast<const FloorMod*>(nullptr), [](PrimExpr a, PrimExpr b) { return floormod(a, b); });
  rebuild(static_cast<const Min*>(nullptr), [](PrimExpr a, PrimExpr b) { return min(a, b); });
  rebuild(static_cast<const Max*>(nullptr), [](PrimExpr a, PrimExpr b) { return max(a, b); });
  Array<PrimExpr> final_indices;
  for (const PrimExpr& index : map->final_indices) final_indices.push_back(rewriter(index));
  return make_index_map(initial, final_indices, map->inverse_index_map);
}

}  // namespace tessera::schedule
