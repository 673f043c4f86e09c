#include "tir/analysis/block_access.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/loops/conditions.h"
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

  void add_all(const Regions& more, arith::Analyzer& analyzer) {
    for (const auto& [buffer, box] : more.boxes_) add(buffer, box, analyzer);
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

  /// Accesses through `match->buffer` are accesses of its source from now on.
  void look_through(const MatchBufferRegion& match) {
    visit(match->source);
    matches_[match->buffer->data.get()] = match;
  }

  /// Opaque accesses as reads and writes too.
  void count_opaque() {
    reads_.add_all(opaque_, analyzer_);
    writes_.add_all(opaque_, analyzer_);
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
      if (is_call(call, "tir.if_then_else")) return branches(call->args[0], call->args[1], call->args[2]), false;
      return !access_pointer(call);
    } else if (auto* var = cast_or_null<VarNode>(node)) {
      if (var->type_annotation.as<PointerType>()) touch_all(&opaque_, Var(var));
    } else if (auto* realize = cast_or_null<BlockRealize>(node)) {
      nested(realize);
      return false;
    } else if (auto* branch = cast_or_null<IfThenElse>(node)) {
      branches(branch->condition, branch->then_case, branch->else_case);
      return false;
    }
    return true;
  }

  /// Each way is gone only where its condition holds.
  void branches(const PrimExpr& condition, const ObjectRef& then_way, const ObjectRef& else_way) {
    visit(condition);
    loops::VarIntervals before = domains_;
    for (const PrimExpr& part : loops::conjuncts(condition)) narrow(part, true);
    visit(then_way);
    domains_ = before;
    std::vector<PrimExpr> parts = loops::conjuncts(condition);
    if (parts.size() == 1) narrow(parts[0], false);
    if (else_way) visit(else_way);
    domains_ = before;
  }

  /// A comparison of a loop variable bounds it.
  void narrow(const PrimExpr& condition, bool holds) {
    if (is_call(condition, "tir.likely")) return narrow(condition.as<Call>()->args[0], holds);
    if (auto* no = condition.as<Not>()) return narrow(no->a, !holds);
    auto* compare = condition.as<BinaryNode>();
    if (!compare || !compare->a.dtype().is_int()) return;
    bool is_less = condition.as<LT>() || condition.as<LE>(), is_greater = condition.as<GT>() || condition.as<GE>();
    if (!is_less && !is_greater) return;
    bool is_strict = condition.as<LT>() || condition.as<GT>();
    // a < b fails where b <= a
    PrimExpr low = is_less == holds ? compare->a : compare->b, high = is_less == holds ? compare->b : compare->a;
    PrimExpr gap = make_const(low.dtype(), is_strict == holds ? 1 : 0);
    if (Interval* of = domain_of(low)) {
      PrimExpr last = interval(high).max;
      if (last) keep(of, {of->min, analyzer_.simplify(last - gap)});
    }
    if (Interval* of = domain_of(high)) {
      PrimExpr first = interval(low).min;
      if (first) keep(of, {analyzer_.simplify(first + gap), of->max});
    }
  }

  /// The smaller of two intervals, unless nothing would be left: then it does not matter what a way that is never gone
  /// touches.
  void keep(Interval* of, const Interval& narrower) {
    bool is_narrower = analyzer_.can_prove(narrower.min >= of->min) && analyzer_.can_prove(narrower.max <= of->max);
    if (is_narrower && !analyzer_.can_prove(narrower.max < narrower.min)) *of = narrower;
  }

  Interval* domain_of(const PrimExpr& e) {
    auto it = domains_.find(e.as<VarNode>());
    return it == domains_.end() || !it->second.is_bounded() ? nullptr : &it->second;
  }

  Interval interval(const PrimExpr& e) { return loops::eval_interval(e, domains_, analyzer_); }

  void access(Regions* regions, const Buffer& buffer, const Array<PrimExpr>& indices) {
    loops::Box box;
    for (const PrimExpr& index : indices) box.push_back(index_interval(index));
    touch(regions, buffer, std::move(box));
  }

  void touch(Regions* regions, const Buffer& buffer, loops::Box box) {
    auto match = matches_.find(buffer->data.get());
    if (match != matches_.end()) return touch(regions, match->second->source->buffer, in_source(match->second, box));
    if (buffer_at_(buffer->data)) regions->add(buffer, std::move(box), analyzer_);
  }

  void touch_all(Regions* regions, const Var& data) {
    auto match = matches_.find(data.get());
    Buffer buffer = match != matches_.end() ? match->second->buffer : buffer_at_(data);
    if (buffer) touch(regions, buffer, loops::Box(buffer->shape.size(), Interval::everything()));
  }

  /// A box of a matched buffer as a box of the buffer it is a part of. Leading dimensions that it has lost are points.
  loops::Box in_source(const MatchBufferRegion& match, const loops::Box& box) {
    const Array<Range>& source = match->source->region;
    size_t lost = source.size() >= box.size() ? source.size() - box.size() : source.size();
    loops::Box out;
    for (size_t i = 0; i < source.size(); ++i) {
      Interval whole{interval(source[i]->min).min, interval(source[i]->min + source[i]->extent - 1).max};
      if (i >= lost && box[i - lost].is_bounded() && whole.is_bounded())
        whole = {whole.min + box[i - lost].min, interval(source[i]->min).max + box[i - lost].max};
      out.push_back(whole);
    }
    return out;
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
        loops::Box box;
        for (const Range& range : region->region)
          box.push_back(is_one(range->extent)
                            ? interval(range->min)
                            : Interval{interval(range->min).min, interval(range->min + range->extent - 1).max});
        touch(regions, region->buffer, std::move(box));
      }
    };
    add(&reads_, block->reads);
    add(&writes_, block->writes);
  }

  /// `access_ptr` says what is done at the address: 1 read, 2 written. Any other use of an address (a variable) is opaque.
  bool access_pointer(const Call* call) {
    if (!is_call(call, "tir.tvm_access_ptr") || call->args.size() != 5) return false;
    auto* data = call->args[1].as<VarNode>();
    const int64_t* mask = as_int(call->args[4]);
    if (!data || !mask) return false;
    Regions* regions[] = {nullptr, &reads_, &writes_, &opaque_};
    if (Regions* used = regions[*mask & 3]) touch_all(used, Var(data));
    visit(call->args[2]);
    visit(call->args[3]);
    return true;
  }

  const BufferAt& buffer_at_;
  arith::Analyzer analyzer_;
  loops::VarIntervals domains_;
  Regions reads_, writes_, opaque_;
  std::unordered_map<const VarNode*, MatchBufferRegion> matches_;
};

Detector detect(const BlockNode* block, const BufferAt& buffer_at) {
  Detector detector(buffer_at);
  for (const MatchBufferRegion& match : block->match_buffers) detector.look_through(match);
  if (block->init) detector.visit(block->init);
  detector.visit(block->body);
  return detector;
}

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
  return detect(block, buffer_at).result(block);
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
  BufferAt buffer_at = [&](const Var& data) { return buffers.get_or_null(data); };
  Detector detector = detect(block.get(), buffer_at);
  if (!with_opaque) detector.count_opaque();
  BlockAccess access = detector.result(block.get());
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
