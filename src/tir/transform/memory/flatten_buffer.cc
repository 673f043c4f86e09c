// Every access becomes an offset into flat memory.
//
//   realize P[0:8, 0:16]:  P[i, j] = A[i, j]     =>     allocate P[128]:  P[i*16 + j] = A[i*64 + j]
//
// Takes realised buffers (what TE lowers to), allocated and declared buffers (what blocks lower to) and parameters.
// Afterwards buffers have one dimension (one per axis separator more), bool lies in memory as int8, the parameters'
// flat views are in buffer_map and what callers pass in preflattened_buffer_map. A flat function stays as it is.

#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/flat_buffer.h"
#include "tir/transform/function/arg_binder.h"
#include "tir/transform/memory/aligned_strides.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// How accesses to a buffer are rewritten: first moved by -mins into `shaped`, then laid out flat.
struct Layout {
  Buffer shaped, flat;
  Array<PrimExpr> mins;  // empty: none
};

/// `view` stands for a part of `source`, beginning at `begins`.
struct View {
  Buffer source;
  Array<PrimExpr> begins;
};

class Flattener {
 public:
  Flattener(const PrimFunc& function, bool create_bound_attributes)
      : function_(function), create_bound_attributes_(create_bound_attributes) {
    rewriter_.share_results(false);  // what a view stands for depends on where it is used
    rewriter_.on([this](const VarNode* var) -> PrimExpr { return on_var(var); });
    rewriter_.on([this](const BufferLoad* load) -> PrimExpr { return on_load(load); });
    rewriter_.on([this](const Call* call) -> PrimExpr { return on_call(call); });
    rewriter_.on([this](const BufferStore* store) -> Stmt { return on_store(store); });
    rewriter_.on([this](const BufferRealize* realize) -> Stmt { return on_realize(realize); });
    rewriter_.on([this](const Allocate* allocate) -> Stmt { return on_allocate(allocate); });
    rewriter_.on([this](const AllocateConst* allocate) -> Stmt { return on_allocate_const(allocate); });
    rewriter_.on([this](const DeclBuffer* decl) -> Stmt { return rewriter_(decl->body); });
    rewriter_.on([this](const AttrStmt* attr) -> Stmt { return on_attr(attr); });
    rewriter_.on([this](const For* loop) -> Stmt { return on_loop(loop); });
    rewriter_.on([this](const BlockNode* block) -> Stmt { return on_block(block); });
  }

  PrimFunc run() {
    find_separated();
    PrimFuncNode out(*function_.get());
    for (const auto& [param, buffer] : function_->buffer_map) {
      if (function_->preflattened_buffer_map.count(param)) {
        layouts_[buffer.get()] = {buffer, buffer, {}};  // flat already
        is_flat_.insert(buffer.get());
        continue;
      }
      const Layout& layout = layouts_[buffer.get()] = plain_layout(buffer);
      out.buffer_map.set(param, layout.flat);
      out.preflattened_buffer_map.set(param, buffer);
    }
    out.body = rewriter_(function_->body);
    return make(std::move(out));
  }

 private:
  /// Memory whose buffers have axis separators keeps its physical dimensions.
  void find_separated() {
    auto look = [this](const Buffer& buffer) {
      if (!buffer->axis_separators.empty()) separated_.emplace(buffer->data.get(), buffer);
    };
    walk(
        function_->body, [&](const BufferLoad* load) { look(load->buffer); },
        [&](const BufferStore* store) { look(store->buffer); });
  }

  static Layout plain_layout(const Buffer& buffer) { return {buffer, flat_buffer(buffer), {}}; }

  const Layout& layout_of(const Buffer& buffer) {
    auto it = layouts_.find(buffer.get());
    if (it != layouts_.end()) return it->second;
    keep_.push_back(buffer);
    return layouts_[buffer.get()] = plain_layout(buffer);
  }

  /// The buffer and indices behind any views.
  std::pair<Buffer, Array<PrimExpr>> resolve(Buffer buffer, Array<PrimExpr> indices) {
    for (auto it = views_.find(buffer.get()); it != views_.end(); it = views_.find(buffer.get())) {
      const View& view = it->second;
      size_t extra = view.begins.size() - indices.size();
      Array<PrimExpr> moved;
      for (size_t i = 0; i < view.begins.size(); ++i)
        moved.push_back(i < extra ? view.begins[i] : view.begins[i] + indices[i - extra]);
      indices = moved;
      buffer = view.source;
    }
    return {buffer, indices};
  }

  struct Access {
    Buffer flat;
    Array<PrimExpr> indices;
    bool is_bool;
  };
  Access flatten(const Buffer& original, const Array<PrimExpr>& original_indices) {
    auto [buffer, indices] = resolve(original, rewriter_(original_indices));
    const Layout& layout = layout_of(buffer);
    note_bound(layout);
    bool is_bool = buffer->dtype.is_bool() && !layout.flat->dtype.is_bool();
    if (is_flat_.count(buffer.get())) return {buffer, indices, false};
    if (!layout.mins.empty()) {
      Array<PrimExpr> moved;
      for (size_t i = 0; i < indices.size(); ++i) moved.push_back(indices[i] - layout.mins[i]);
      indices = moved;
    }
    Array<PrimExpr> offsets;
    for (const PrimExpr& offset : flat_indices(layout.shaped, indices)) offsets.push_back(analyzer_.simplify(offset));
    return {layout.flat, offsets, is_bool};
  }

  PrimExpr on_var(const VarNode* var) {
    auto it = defs_.find(var);
    return it == defs_.end() ? PrimExpr(var) : it->second;
  }

  PrimExpr on_load(const BufferLoad* load) {
    Access access = flatten(load->buffer, load->indices);
    PrimExpr out = make_load(access.flat, access.indices);
    return access.is_bool ? cast(load->dtype, out) : out;
  }

  /// An address is that of the memory, also where a boolean lies there as a byte.
  PrimExpr on_call(const Call* call) {
    auto* load = builtin::is(call, builtin::address_of()) ? call->args[0].as<BufferLoad>() : nullptr;
    if (!load) return rewriter_.children(call);
    Access access = flatten(load->buffer, load->indices);
    return make_call(call->dtype, builtin::address_of(), {make_load(access.flat, access.indices)});
  }

  Stmt on_store(const BufferStore* store) {
    std::vector<std::pair<Var, Array<PrimExpr>>> outer_bounds = std::move(bounds_);
    bounds_.clear();
    PrimExpr value = rewriter_(store->value);
    Access access = flatten(store->buffer, store->indices);
    if (access.is_bool) value = cast(DataType::Int(8, value.dtype().lanes), value);
    Stmt out = make(BufferStore{.buffer = access.flat, .value = value, .indices = access.indices});
    for (const auto& [data, shape] : bounds_)
      out = make(AttrStmt{.node = data,
                          .attr_key = attr::kBufferBound,
                          .value = make_call(DataType::Handle(), "tir.tvm_tuple", shape),
                          .body = out});
    bounds_ = std::move(outer_bounds);
    return out;
  }

  void note_bound(const Layout& layout) {
    if (!create_bound_attributes_) return;
    PrimExpr size = make_const(layout.flat->index_dtype(), 1);
    for (const PrimExpr& extent : layout.flat->shape) size = size * extent;
    bounds_.push_back({layout.flat->data, {size}});
  }

  Stmt on_realize(const BufferRealize* realize) {
    const Buffer& buffer = realize->buffer;
    auto known = layouts_.find(buffer.get());
    if (known != layouts_.end() && is_parameter(buffer)) return rewriter_(realize->body);
    BufferNode shaped(*buffer.get());
    Layout layout;
    shaped.shape = {};
    for (const Range& range : realize->bounds) {
      shaped.shape.push_back(analyzer_.simplify(rewriter_(range->extent)));
      layout.mins.push_back(rewriter_(range->min));
    }
    if (shaped.shape.empty()) layout.mins = {};
    shaped.strides = aligned_strides(shaped.shape, aligns_[buffer.get()], analyzer_);
    shaped.data = memory_of(buffer);
    shaped.data_alignment = small_alignment(shaped);
    layout.shaped = make(std::move(shaped));
    layout.flat = flat_buffer(layout.shaped);
    Array<PrimExpr> extents;
    for (const PrimExpr& extent : layout.flat->shape) extents.push_back(analyzer_.simplify(extent));
    layout.flat = with(layout.flat, &BufferNode::shape, extents);
    keep_.push_back(buffer);
    layouts_[buffer.get()] = layout;
    Stmt body = rewriter_(realize->body);
    layouts_.erase(buffer.get());
    return make(Allocate{.buffer_var = layout.flat->data,
                         .dtype = layout.flat->dtype,
                         .extents = extents,
                         .condition = rewriter_(realize->condition),
                         .body = body});
  }

  /// A pointer of its own for each allocation, with the scope spelled out.
  Var memory_of(const Buffer& buffer) {
    auto* type = buffer->data->type_annotation.as<PointerType>();
    if (!type || !type->storage_scope.empty()) return buffer->data;
    auto* element = type->element_type.as<PrimType>();
    Var memory = make_var(buffer->data->name, pointer_type(element ? element->dtype : buffer->dtype, "global"));
    kept_vars_.push_back(buffer->data);
    defs_[buffer->data.get()] = memory;
    return memory;
  }

  /// Arrays smaller than their alignment are aligned to their size.
  static int small_alignment(const BufferNode& buffer) {
    int64_t bytes = buffer.dtype.bytes() * buffer.dtype.lanes;
    for (const PrimExpr& extent : buffer.shape) {
      const int64_t* value = as_int(extent);
      if (!value || __builtin_mul_overflow(bytes, *value, &bytes)) return buffer.data_alignment;
    }
    int align = buffer.data_alignment;
    while (align > bytes && align > 1) align /= 2;
    return align;
  }

  bool is_parameter(const Buffer& buffer) const {
    for (const auto& [param, mapped] : function_->buffer_map)
      if (mapped.same_as(buffer)) return true;
    return false;
  }

  Stmt on_allocate(const Allocate* allocate) {
    Allocate out(*allocate);
    if (out.dtype.is_bool()) out.dtype = DataType::Int(8, out.dtype.lanes);
    auto separated = separated_.find(allocate->buffer_var.get());
    if (separated != separated_.end()) {
      // one extent for each physical dimension
      if (allocate->extents.size() == separated->second->shape.size()) {
        Buffer flat = flat_buffer(with(separated->second, &BufferNode::shape, allocate->extents));
        out.extents = {};
        for (const PrimExpr& extent : flat->shape) out.extents.push_back(analyzer_.simplify(extent));
      }
    } else if (allocate->extents.size() > 1) {
      PrimExpr size = allocate->extents[0];
      for (size_t i = 1; i < allocate->extents.size(); ++i) size = size * allocate->extents[i];
      out.extents = {analyzer_.simplify(size)};
    } else if (allocate->extents.empty()) {
      out.extents = {int_imm(DataType::Int(32), 1)};
    }
    out.body = rewriter_(allocate->body);
    return make(std::move(out));
  }

  /// Buffers of blocks are flat where they are allocated, and so is what blocks say of their accesses.
  Stmt on_block(const BlockNode* block) {
    BlockNode out(*block);
    for (size_t i = 0; i < out.alloc_buffers.size(); ++i) {
      const Buffer& buffer = block->alloc_buffers[i];
      Buffer flat = flat_buffer(buffer);
      Array<PrimExpr> extents;
      for (const PrimExpr& extent : flat->shape) extents.push_back(analyzer_.simplify(extent));
      flat = with(flat, &BufferNode::shape, extents);
      keep_.push_back(buffer);
      layouts_[buffer.get()] = {buffer, flat, {}};
      out.alloc_buffers.set(i, flat);
    }
    out.reads = flat_regions(block->reads);
    out.writes = flat_regions(block->writes);
    if (block->init) out.init = rewriter_(block->init);
    out.body = rewriter_(block->body);
    return make(std::move(out));
  }

  /// From the offset of the first element of each region to that of its last.
  Array<BufferRegion> flat_regions(const Array<BufferRegion>& regions) {
    Array<BufferRegion> out;
    for (const BufferRegion& region : regions) {
      const Layout layout = layout_of(region->buffer);
      if (is_flat_.count(region->buffer.get())) {
        out.push_back(region);
        continue;
      }
      Array<PrimExpr> first, last;
      for (const Range& range : region->region) {
        first.push_back(rewriter_(range->min));
        last.push_back(rewriter_(range->min + range->extent - make_const(range->extent.dtype(), 1)));
      }
      Array<PrimExpr> begin = flat_indices(layout.shaped, first), end = flat_indices(layout.shaped, last);
      Array<Range> ranges;
      for (size_t i = 0; i < begin.size(); ++i) {
        PrimExpr extent = analyzer_.simplify(end[i] + make_const(end[i].dtype(), 1) - begin[i]);
        ranges.push_back(make_range(analyzer_.simplify(begin[i]), extent));
      }
      out.push_back(make(BufferRegionNode{.buffer = layout.flat, .region = ranges}));
    }
    return out;
  }

  Stmt on_allocate_const(const AllocateConst* allocate) {
    AllocateConst out(*allocate);
    PrimExpr size = make_const(DataType::Int(32), 1);
    for (const PrimExpr& extent : allocate->extents) size = size * extent;
    out.extents = {size};
    out.body = rewriter_(allocate->body);
    return make(std::move(out));
  }

  Stmt on_attr(const AttrStmt* attr) {
    if (attr->attr_key == attr::kBufferDimAlign) return on_dim_align(attr);
    if (attr->attr_key == attr::kBufferBindScope) return on_bind(attr);
    AttrStmt out(*attr);
    out.value = rewriter_(attr->value);
    out.body = rewriter_(attr->body);
    if (Buffer buffer = downcast_or_null<Buffer>(attr->node); buffer && attr->attr_key == attr::kDoubleBufferScope)
      out.node = on_var(buffer->data.get());
    else if (buffer && layouts_.count(buffer.get()))
      out.node = with(buffer, &BufferNode::shape, layouts_.at(buffer.get()).shaped->shape);
    else if (Var var = downcast_or_null<Var>(attr->node)) out.node = on_var(var.get());
    return make(std::move(out));
  }

  Stmt on_dim_align(const AttrStmt* attr) {
    Buffer buffer = downcast<Buffer>(attr->node);
    const Array<PrimExpr>& tuple = attr->value.as<Call>()->args;
    keep_.push_back(buffer);
    std::vector<DimAlign>& aligns = aligns_[buffer.get()];
    std::erase_if(aligns, [&](const DimAlign& align) { return align.axis == *as_int(tuple[0]); });
    aligns.push_back({*as_int(tuple[0]), *as_int(tuple[1]), *as_int(tuple[2])});
    return rewriter_(attr->body);
  }

  /// Inside, the first buffer is a view of the given region of the second.
  Stmt on_bind(const AttrStmt* attr) {
    auto pair = downcast<Array<ObjectRef>>(attr->node);
    Buffer view = downcast<Buffer>(pair[0]), named = downcast<Buffer>(pair[1]);
    Array<PrimExpr> tuple = rewriter_(attr->value.as<Call>()->args);
    Array<PrimExpr> begins, extents;
    for (size_t i = 0; i + 1 < tuple.size(); i += 2) {
      begins.push_back(tuple[i]);
      extents.push_back(analyzer_.simplify(tuple[i + 1]));
    }
    auto [source, at] = resolve(named, begins);
    const Layout& layout = layout_of(source);

    BufferNode slice(*layout.shaped.get());
    Array<PrimExpr> local = at;
    for (size_t i = 0; i < layout.mins.size(); ++i) local.set(i, at[i] - layout.mins[i]);
    slice.elem_offset = analyzer_.simplify(flat_indices(layout.shaped, local)[0]);
    if (slice.strides.empty()) slice.strides = compact_strides(slice.shape);
    slice.shape = extents;
    slice.dtype = layout.shaped->dtype;

    std::unordered_map<const VarNode*, PrimExpr> defs;
    ArgBinder binder(&defs);
    binder.bind_buffer(view, make(std::move(slice)), view->name.str(), true);
    auto outer_defs = defs_;
    auto outer_views = views_;
    for (const auto& [var, value] : defs) defs_[var] = value;
    for (const Var& var : binder.defined()) kept_vars_.push_back(var);
    keep_.push_back(view);
    views_[view.get()] = {named, begins};
    Stmt body = rewriter_(attr->body);
    defs_ = std::move(outer_defs);
    views_ = std::move(outer_views);
    return merge_nest(binder.asserts(), body);
  }

  Stmt on_loop(const For* loop) {
    PrimExpr min = rewriter_(loop->min), extent = rewriter_(loop->extent);
    analyzer_.bind(loop->loop_var, make_range(min, extent), true);
    For out(*loop);
    out.min = min;
    out.extent = extent;
    out.body = rewriter_(loop->body);
    return make(std::move(out));
  }

  PrimFunc function_;
  bool create_bound_attributes_;
  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::unordered_map<const BufferNode*, Layout> layouts_;
  std::unordered_map<const BufferNode*, View> views_;
  std::unordered_map<const BufferNode*, std::vector<DimAlign>> aligns_;
  std::unordered_map<const VarNode*, PrimExpr> defs_;  // variables of views
  std::unordered_set<const BufferNode*> is_flat_;
  std::unordered_map<const VarNode*, Buffer> separated_;
  std::vector<Buffer> keep_;  // alive as long as they are keys
  std::vector<Var> kept_vars_;
  std::vector<std::pair<Var, Array<PrimExpr>>> bounds_;  // buffers met while visiting a store
};

}  // namespace

PrimFunc flatten_buffer(const PrimFunc& function) {
  return is_from_te(function) ? function : Flattener(function, false).run();
}

/// The same for functions from TE, with bounds noted for InstrumentBoundCheckers when asked for.
PrimFunc storage_flatten(const PrimFunc& function, int /*cache_line_size*/, bool create_bound_attributes) {
  return is_from_te(function) ? Flattener(function, create_bound_attributes).run() : function;
}

}  // namespace tessera
