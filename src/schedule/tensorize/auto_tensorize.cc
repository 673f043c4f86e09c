#include "schedule/tensorize/auto_tensorize.h"

#include <map>
#include <set>

#include "base/stack.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/analysis/deep_equal.h"

namespace tessera::schedule {
namespace {

/// Compares what a block and a description compute, whatever the indices: which buffers stand for which.
class Comparison {
 public:
  Map<Buffer, Buffer> buffers;                                          // the block's, to the description's
  std::unordered_map<const BufferNode*, Array<PrimExpr>> ours, theirs;  // indices, by the description's buffer

  bool operator()(const BufferStore* a, const BufferStore* b) {
    return same_access(a->buffer, a->indices, b->buffer, b->indices) && same(a->value, b->value);
  }

 private:
  bool same(const PrimExpr& a, const PrimExpr& b) {
    return on_enough_stack([&] { return same_parts(a, b); });
  }

  bool same_parts(const PrimExpr& a, const PrimExpr& b) {
    if (a->type() != b->type() || a.dtype() != b.dtype()) return false;
    if (auto* load = a.as<BufferLoad>()) {
      auto* other = b.as<BufferLoad>();
      return same_access(load->buffer, load->indices, other->buffer, other->indices);
    }
    if (auto* binary = a.as<BinaryNode>()) {
      auto* other = b.as<BinaryNode>();
      return same(binary->a, other->a) && same(binary->b, other->b);
    }
    if (auto* conversion = a.as<Cast>()) return same(conversion->value, b.as<Cast>()->value);
    if (auto* call = a.as<Call>()) {
      auto* other = b.as<Call>();
      if (!call->op.same_as(other->op) || call->args.size() != other->args.size()) return false;
      for (size_t i = 0; i < call->args.size(); ++i)
        if (!same(call->args[i], other->args[i])) return false;
      return true;
    }
    if (auto* choice = a.as<Select>()) {
      auto* other = b.as<Select>();
      return same(choice->condition, other->condition) && same(choice->true_value, other->true_value) &&
             same(choice->false_value, other->false_value);
    }
    return is_const(a) && deep_equal(a, b);
  }

  /// A buffer stands for one other, and is touched at the same index wherever it is.
  bool same_access(const Buffer& a, const Array<PrimExpr>& at, const Buffer& b, const Array<PrimExpr>& other) {
    if (a->dtype != b->dtype) return false;
    if (Buffer known = buffers.get_or_null(a)) {
      return known.same_as(b) && same_indices(ours.at(b.get()), at) && same_indices(theirs.at(b.get()), other);
    }
    if (ours.count(b.get())) return false;
    buffers.set(a, b);
    ours[b.get()] = at;
    theirs[b.get()] = other;
    return true;
  }

  static bool same_indices(const Array<PrimExpr>& a, const Array<PrimExpr>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (!deep_equal(a[i], b[i])) return false;
    return a.size() == b.size();
  }
};

/// The buffers, by the description's, whose indices an axis occurs in.
using Signature = std::set<const BufferNode*>;

Signature signature(const IterVar& axis, const std::unordered_map<const BufferNode*, Array<PrimExpr>>& indices) {
  Signature out;
  for (const auto& [buffer, at] : indices)
    if (uses_var(at, axis->var)) out.insert(buffer);
  return out;
}

/// `axes` as the digits of one number.
PrimExpr fused_axis(const std::vector<IterVar>& axes, const std::vector<Var>& vars) {
  PrimExpr out = vars[0];
  for (size_t i = 1; i < axes.size(); ++i) out = out * axes[i]->dom->extent + vars[i];
  return out;
}

/// An axis of the description stands for all axes of the block that occur in the same buffers: those of a convolution's
/// rows and columns in the input and the result, say, for the rows of a matmul. Axes of extent 1 and those that
/// occur in other buffers (a batch: in all of them) stay in front.
IndexMap propose(const Array<IterVar>& lhs, const Array<IterVar>& rhs, const Comparison& match) {
  struct Group {
    IterVar target;
    std::vector<IterVar> axes;
    std::vector<Var> vars;
  };
  std::map<Signature, Group> groups;
  for (const IterVar& axis : rhs)
    if (!groups.try_emplace(signature(axis, match.theirs), Group{axis, {}, {}}).second) return nullptr;
  Array<Var> vars;
  Array<PrimExpr> out;
  for (const IterVar& axis : lhs) {
    Var var = make_var(axis->var->name, axis->var->dtype);
    vars.push_back(var);
    auto group = groups.find(signature(axis, match.ours));
    bool is_mapped = group != groups.end() && !is_one(axis->dom->extent);
    if (is_mapped && group->second.target->iter_type != axis->iter_type) return nullptr;
    if (!is_mapped) {
      out.push_back(var);
      continue;
    }
    group->second.axes.push_back(axis);
    group->second.vars.push_back(var);
  }
  bool any = false;
  for (const IterVar& axis : rhs) {
    const Group& group = groups.at(signature(axis, match.theirs));
    if (group.axes.empty()) continue;
    out.push_back(fused_axis(group.axes, group.vars));
    any = true;
  }
  return any ? make_index_map(vars, out) : nullptr;
}

}  // namespace

AutoTensorizeMappingInfo auto_tensorize_mapping_info(const Schedule& sch, const ObjectRef& rv, const PrimFunc& desc) {
  const BlockRealize *realize = sch->state.find(sch->block(rv)).realize(), *inner = nullptr;
  loops_of(desc, &inner);
  auto* ours = realize->block->body.as<BufferStore>();
  auto* theirs = inner ? inner->block->body.as<BufferStore>() : nullptr;
  Comparison match;
  if (!ours || !theirs || !match(ours, theirs)) return nullptr;
  IndexMap map = propose(realize->block->iter_vars, inner->block->iter_vars, match);
  if (!map) return nullptr;
  AutoTensorizeMappingInfoNode out;
  out.mappings = {map};
  out.lhs_buffer_map = match.buffers;
  for (const auto& [lhs, rhs] : match.buffers) out.rhs_indices.set(rhs, match.theirs.at(rhs.get()));
  out.lhs_iters = realize->block->iter_vars;
  out.rhs_iters = inner->block->iter_vars;
  return make(std::move(out));
}

namespace {

Globals auto_tensorize_globals{{"tir.schedule.GetAutoTensorizeMappingInfo", auto_tensorize_mapping_info}};

}  // namespace
}  // namespace tessera::schedule
