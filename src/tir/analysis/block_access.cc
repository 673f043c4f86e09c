#include "tir/analysis/block_access.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/loops/interval.h"

namespace tessera {
namespace {

using loops::Interval;

/// The box around all accesses of one kind, buffer by buffer.
class Regions {
 public:
  void add(const Buffer& buffer, loops::Box box, arith::Analyzer& analyzer) {
    for (auto& [known, all] : boxes_)
      if (known.same_as(buffer)) return loops::widen(&all, box, analyzer);
    boxes_.emplace_back(buffer, std::move(box));
  }

  template <class Keep>
  Array<BufferRegion> collect(arith::Analyzer& analyzer, Keep keep) const {
    Array<BufferRegion> out;
    for (const auto& [buffer, box] : boxes_) {
      if (!keep(buffer.get())) continue;
      Array<Range> region;
      for (size_t i = 0; i < box.size(); ++i) {
        Range whole = make_range(make_zero(buffer->shape[i].dtype()), buffer->shape[i]);
        region.push_back(loops::cover(box[i], whole, analyzer));
      }
      out.push_back(make(BufferRegionNode{.buffer = buffer, .region = region}));
    }
    return out;
  }

 private:
  std::vector<std::pair<Buffer, loops::Box>> boxes_;
};

class Detector {
 public:
  explicit Detector(const BufferAt& buffer_at) : buffer_at_(buffer_at) {}

  void visit(const ObjectRef& root) {
    pre_order(root, [&](const Object* node) { return enter(node); });
  }

  BlockAccess result(const BlockNode* block) {
    auto all = [](const BufferNode*) { return true; };
    BlockAccess out;
    out.writes = writes_.collect(analyzer_, all);
    out.opaque = opaque_.collect(analyzer_, all);
    out.reads = reads_.collect(analyzer_, [&](const BufferNode* buffer) {
      if (!block->init) return true;
      for (const BufferRegion& write : out.writes)
        if (write->buffer.get() == buffer) return false;
      return true;
    });
    return out;
  }

 private:
  bool enter(const Object* node) {
    if (auto* loop = cast_or_null<For>(node)) {
      domains_[loop->loop_var.get()] = {interval(loop->min).min, interval(loop->min + loop->extent - 1).max};
    } else if (auto* let = cast_or_null<LetStmt>(node)) {
      domains_[let->var.get()] = interval(let->value);
    } else if (auto* let = cast_or_null<Let>(node)) {
      domains_[let->var.get()] = interval(let->value);
    } else if (auto* load = cast_or_null<BufferLoad>(node)) {
      access(&reads_, load->buffer, load->indices);
    } else if (auto* store = cast_or_null<BufferStore>(node)) {
      access(&writes_, store->buffer, store->indices);
    } else if (auto* call = cast_or_null<Call>(node)) {
      pointers(call);
    } else if (auto* realize = cast_or_null<BlockRealize>(node)) {
      nested(realize);
      return false;
    }
    return true;
  }

  Interval interval(const PrimExpr& e) { return loops::eval_interval(e, domains_, analyzer_); }

  void access(Regions* regions, const Buffer& buffer, const Array<PrimExpr>& indices) {
    if (!buffer_at_(buffer->data)) return;
    loops::Box box;
    for (const PrimExpr& index : indices) box.push_back(index_interval(index));
    regions->add(buffer, std::move(box), analyzer_);
  }

  /// A vector index covers all its lanes.
  Interval index_interval(const PrimExpr& index) {
    auto* ramp = index.as<Ramp>();
    if (!ramp) return interval(index);
    Interval first = interval(ramp->base), last = interval(ramp->base + ramp->stride * (ramp->lanes - 1));
    return loops::hull(first, last, analyzer_);
  }

  /// A block inside stands for what it says it touches.
  void nested(const BlockRealize* realize) {
    const BlockNode* block = realize->block.get();
    for (size_t i = 0; i < block->iter_vars.size(); ++i)
      domains_[block->iter_vars[i]->var.get()] = interval(realize->iter_values[i]);
    auto add = [&](Regions* regions, const Array<BufferRegion>& touched) {
      for (const BufferRegion& region : touched) {
        if (!buffer_at_(region->buffer->data)) continue;
        loops::Box box;
        for (const Range& range : region->region)
          box.push_back({interval(range->min).min, interval(range->min + range->extent - 1).max});
        regions->add(region->buffer, std::move(box), analyzer_);
      }
    };
    add(&reads_, block->reads);
    add(&writes_, block->writes);
  }

  /// The address of a buffer given away: what is done with it cannot be seen.
  void pointers(const Call* call) {
    for (const PrimExpr& arg : call->args) {
      auto* var = arg.as<VarNode>();
      Buffer buffer = var && var->type_annotation.as<PointerType>() ? buffer_at_(Var(var)) : nullptr;
      if (buffer) opaque_.add(buffer, loops::Box(buffer->shape.size(), Interval::everything()), analyzer_);
    }
  }

  const BufferAt& buffer_at_;
  arith::Analyzer analyzer_;
  loops::VarIntervals domains_;
  Regions reads_, writes_, opaque_;
};

constexpr const char* kDetectAccess = "tir.script_parsing_detect_access";

/// Every buffer of a function by its data pointer.
std::unordered_map<const VarNode*, Buffer> all_buffers(const PrimFunc& function, const Array<Buffer>& more) {
  std::unordered_map<const VarNode*, Buffer> out;
  auto add = [&](const Buffer& buffer) { out.emplace(buffer->data.get(), buffer); };
  for (const auto& [_, buffer] : function->buffer_map) add(buffer);
  for (const Buffer& buffer : more) add(buffer);
  walk(function->body, [&](const BlockNode* block) {
    for (const Buffer& buffer : block->alloc_buffers) add(buffer);
    for (const MatchBufferRegion& match : block->match_buffers) add(match->buffer);
  });
  return out;
}

Block complete_block(const Block& block, const std::unordered_map<const VarNode*, Buffer>& buffers) {
  ObjectRef mask_value = block->annotations.get_or_null(kDetectAccess);
  if (!mask_value) return block;
  auto mask = Any::of_object(mask_value.get()).to<int64_t>();
  std::unordered_set<const VarNode*> own;
  for (const Buffer& buffer : block->alloc_buffers) own.insert(buffer->data.get());
  for (const MatchBufferRegion& match : block->match_buffers) own.insert(match->buffer->data.get());
  BlockAccess access = block_access(block.get(), [&](const Var& data) {
    auto it = buffers.find(data.get());
    return it == buffers.end() || own.count(data.get()) ? Buffer() : it->second;
  });
  if (!access.opaque.empty())
    throw Error(ValueError) << "block " << quoted(block->name_hint) << " gives away the address of buffer "
                            << access.opaque[0]->buffer->name << ": say what it touches with T.reads and T.writes";
  BlockNode copy(*block.get());
  if (mask & 1) copy.reads = access.reads;
  if (mask & 2) copy.writes = access.writes;
  copy.annotations.erase(kDetectAccess);
  return make(std::move(copy));
}

bool contains_block(const Stmt& body) {
  bool found = false;
  pre_order(body, [&](const Object* node) {
    found = found || node->is_a(BlockNode::info);
    return !found;
  });
  return found;
}

}  // namespace

BlockAccess block_access(const BlockNode* block, const BufferAt& buffer_at) {
  Detector detector(buffer_at);
  for (const MatchBufferRegion& match : block->match_buffers) detector.visit(match->source);
  if (block->init) detector.visit(block->init);
  detector.visit(block->body);
  return detector.result(block);
}

PrimFunc complete_script(const PrimFunc& function, const Array<Buffer>& root_allocations, bool is_printed,
                         const ObjectRef& root_name) {
  auto buffers = all_buffers(function, root_allocations);
  Stmt body = rewrite(function->body, [&](Rewriter& self, const BlockNode* block) -> Stmt {
    return complete_block(self.children(block), buffers);
  });
  auto* realize = body.as<BlockRealize>();
  bool has_root = realize && realize->iter_values.empty();
  bool wants_root = is_printed ? root_name.defined() : !has_root && contains_block(body);
  if (wants_root || !root_allocations.empty()) {
    BlockNode root;
    root.name_hint = root_name ? downcast<String>(root_name) : String("root");
    root.body = body;
    root.alloc_buffers = root_allocations;
    BlockRealize whole;
    whole.predicate = bool_imm(true);
    whole.block = make(std::move(root));
    body = make(std::move(whole));
  }
  return with_body(function, body);
}

namespace {

Array<ObjectRef> access_lists(const Block& block, bool with_opaque, const Map<Var, Buffer>& buffers) {
  BlockAccess access = block_access(block.get(), [&](const Var& data) { return buffers.get_or_null(data); });
  Array<ObjectRef> out{access.reads, access.writes};
  if (with_opaque) out.push_back(access.opaque);
  return out;
}

Globals block_access_globals{
    {"tir.ScriptComplete",
     [](PrimFunc function, Array<Buffer> root_allocations, bool is_printed, AnyView root_name) {
       return complete_script(function, root_allocations, is_printed, box(root_name));
     }},
    {"tir.analysis.GetBlockAccessRegion",
     [](Block block, Map<Var, Buffer> buffers) { return access_lists(block, true, buffers); }},
    {"tir.analysis.GetBlockReadWriteRegion",
     [](Block block, Map<Var, Buffer> buffers) { return access_lists(block, false, buffers); }},
};

}  // namespace
}  // namespace tessera
