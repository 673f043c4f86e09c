#include "topi/cpu/part_copies.h"

#include <algorithm>
#include <optional>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/block_access.h"
#include "tir/remap.h"
#include "topi/cpu/borders.h"

namespace tessera::topi {
namespace {

constexpr size_t kMaxParts = 1024;
constexpr int64_t kMinRun = 16;  // elements that lie together in a part, below which vectors of choices are as good

/// `var >= bound`, or its opposite.
struct Choice {
  const VarNode* var;
  PrimExpr bound;
  bool is_below;  // var < bound
};

/// The axis of the block that an expression adds something to which has no axis in it: x + c as (x, c).
std::optional<std::pair<const VarNode*, PrimExpr>> axis_and_offset(const PrimExpr& e, const BlockNode* block) {
  auto is_axis = [&](const VarNode* var) {
    return std::any_of(block->iter_vars.begin(), block->iter_vars.end(),
                       [&](const IterVar& iter) { return iter->var.get() == var; });
  };
  auto alone = [&](const PrimExpr& a, const PrimExpr& offset) -> std::optional<std::pair<const VarNode*, PrimExpr>> {
    auto* var = a.as<VarNode>();
    if (!var || !is_axis(var) || uses_var(offset, is_axis)) return std::nullopt;
    return {{var, offset}};
  };
  if (e.as<VarNode>()) return alone(e, make_zero(e.dtype()));
  if (auto* sum = e.as<Add>()) return alone(sum->a, sum->b);
  if (auto* sum = e.as<Sub>()) return alone(sum->a, make_zero(e.dtype()) - sum->b);
  return std::nullopt;
}

std::optional<Choice> as_choice(const PrimExpr& condition, const BlockNode* block) {
  auto by = [&](const PrimExpr& a, const PrimExpr& b, int more, bool is_below) -> std::optional<Choice> {
    auto sum = axis_and_offset(a, block);
    if (!sum) return std::nullopt;
    bool reads = uses_var(b, [&](const VarNode* var) {
      return std::any_of(block->iter_vars.begin(), block->iter_vars.end(),
                         [&](const IterVar& iter) { return iter->var.get() == var; });
    });
    walk(b, [&](const BufferLoad*) { reads = true; });
    if (reads) return std::nullopt;
    return Choice{sum->first, arith::Analyzer().simplify(b - sum->second + make_const(b.dtype(), more)), is_below};
  };
  if (auto* op = condition.as<GE>()) return by(op->a, op->b, 0, false);
  if (auto* op = condition.as<GT>()) return by(op->a, op->b, 1, false);
  if (auto* op = condition.as<LT>()) return by(op->a, op->b, 0, true);
  if (auto* op = condition.as<LE>()) {
    if (auto swapped = by(op->b, op->a, 0, false)) return swapped;  // c <= x
    return by(op->a, op->b, 1, true);
  }
  return std::nullopt;
}

/// Knows that extents of the tensors a block reads are not negative.
class Extents {
 public:
  explicit Extents(const BlockNode* block) {
    walk(block->body, [&](const BufferLoad* load) {
      for (const PrimExpr& extent : load->buffer->shape)
        if (extent.as<VarNode>()) analyzer_.update(downcast<Var>(extent), arith::IntBound{.min = 0});
    });
  }
  bool is_at_most(const PrimExpr& a, const PrimExpr& b) { return analyzer_.can_prove(a <= b); }
  bool is_equal(const PrimExpr& a, const PrimExpr& b) { return analyzer_.can_prove_equal(a, b); }

 private:
  arith::Analyzer analyzer_;
};

/// The axis that most choices are about, and where they change.
struct Partition {
  size_t axis = 0;
  std::vector<PrimExpr> bounds;  // in order, with 0 and the extent of the axis
};

/// Bounds inside of an axis, in order, each once; nothing where their order is not known.
std::optional<std::vector<PrimExpr>> in_order(const std::vector<PrimExpr>& bounds, const PrimExpr& extent,
                                              Extents& extents) {
  std::vector<PrimExpr> out;
  const PrimExpr zero = make_zero(extent.dtype());
  for (const PrimExpr& bound : bounds) {
    if (extents.is_at_most(bound, zero) || extents.is_at_most(extent, bound)) continue;
    if (!extents.is_at_most(zero, bound) || !extents.is_at_most(bound, extent)) return std::nullopt;
    size_t at = 0;
    while (at < out.size() && !extents.is_at_most(bound, out[at])) ++at;
    if (at < out.size() && extents.is_equal(bound, out[at])) continue;
    if (at > 0 && !extents.is_at_most(out[at - 1], bound)) return std::nullopt;
    out.insert(out.begin() + static_cast<long>(at), bound);
  }
  out.insert(out.begin(), zero);
  out.push_back(extent);
  return out;
}

std::optional<Partition> partition_of(const BlockNode* block, Extents& extents) {
  std::vector<std::vector<PrimExpr>> bounds(block->iter_vars.size());
  walk(block->body, [&](const Call* call) {
    if (!builtin::is(call, builtin::if_then_else())) return;
    std::optional<Choice> choice = as_choice(call->args[0], block);
    for (size_t i = 0; choice && i < bounds.size(); ++i)
      if (choice->var == block->iter_vars[i]->var.get() && bounds[i].size() < kMaxParts)
        bounds[i].push_back(choice->bound);
  });
  Partition out;
  for (size_t i = 0; i < bounds.size(); ++i) {
    auto found = in_order(bounds[i], block->iter_vars[i]->dom->extent, extents);
    if (found && found->size() > std::max<size_t>(out.bounds.size(), 2)) out = {i, *found};
  }
  return out.bounds.empty() || out.bounds.size() > kMaxParts ? std::nullopt : std::optional(out);
}

/// The body where the axis is in [begin, end) and counts from there.
Stmt body_of_part(const BlockNode* block, const Var& axis, const Var& inside, const PrimExpr& begin,
                  const PrimExpr& end, Extents& extents) {
  Rewriter choose;
  choose.on([&](Rewriter& self, const Call* call) -> PrimExpr {
    std::optional<Choice> choice =
        builtin::is(call, builtin::if_then_else()) ? as_choice(call->args[0], block) : std::optional<Choice>();
    if (!choice || choice->var != axis.get()) return self.children(call);
    if (extents.is_at_most(choice->bound, begin)) return self(call->args[choice->is_below ? 2 : 1]);
    if (extents.is_at_most(end, choice->bound)) return self(call->args[choice->is_below ? 1 : 2]);
    return self.children(call);
  });
  Stmt chosen = choose(block->body);
  PrimExpr moved = is_zero(begin) ? PrimExpr(inside) : inside + begin;
  Stmt body = substitute_all(chosen, Map<Var, PrimExpr>{{axis, moved}});
  arith::Analyzer analyzer;
  for (const IterVar& iter : block->iter_vars)
    if (!iter->var.same_as(axis)) analyzer.bind(iter->var, iter->dom);
  analyzer.bind(inside, make_range(make_zero(inside->dtype), analyzer.simplify(end - begin)));
  return rewrite(body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    BufferLoad copy(*load);
    copy.indices = {};
    for (const PrimExpr& index : load->indices) copy.indices.push_back(analyzer.simplify(self(index)));
    return make(std::move(copy));
  });
}

Stmt nest_of_part(const schedule::Cursor& cursor, const Partition& partition, size_t part, Extents& extents) {
  const BlockNode* block = cursor.block();
  const PrimExpr &begin = partition.bounds[part], &end = partition.bounds[part + 1];
  const PrimExpr count = arith::Analyzer().simplify(end - begin);
  const IterVar& axis = block->iter_vars[partition.axis];
  Map<Var, PrimExpr> renamed;  // every nest has variables of its own
  Array<IterVar> iters;
  Var inside;
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar& iter = block->iter_vars[i];
    Var var = make_var(iter->var->name, iter->var->dtype);
    if (i == partition.axis) inside = var;
    else renamed.set(iter->var, var);
    Range dom = i == partition.axis ? make_range(make_zero(var->dtype), count) : iter->dom;
    iters.push_back(make_iter_var(dom, var, IterType::DataPar));
  }
  BlockNode copy(*block);
  copy.iter_vars = iters;
  copy.body = substitute_all(body_of_part(block, axis->var, inside, begin, end, extents), renamed);
  copy.name_hint = String(block->name_hint.str() + "_part" + std::to_string(part));
  std::unordered_map<const VarNode*, Buffer> buffers;
  walk(copy.body, [&](const BufferLoad* load) { buffers.emplace(load->buffer->data.get(), load->buffer); });
  const Buffer& written = copy.body.as<BufferStore>()->buffer;
  buffers.emplace(written->data.get(), written);
  BlockAccess access = block_access(&copy, [&](const Var& data) {
    auto it = buffers.find(data.get());
    return it == buffers.end() ? Buffer() : it->second;
  });
  copy.reads = access.reads;
  copy.writes = access.writes;
  BlockRealize realize(*cursor.realize());
  realize.block = make(std::move(copy));
  realize.iter_values = {};
  std::vector<const For*> loops = cursor.loops();
  std::vector<Var> vars;
  for (const For* loop : loops) {
    vars.push_back(make_var(loop->loop_var->name, loop->loop_var->dtype));
    realize.iter_values.push_back(vars.back());
  }
  Stmt out = make(std::move(realize));
  for (size_t i = loops.size(); i-- > 0;) {
    For loop(*loops[i]);
    loop.loop_var = vars[i];
    loop.body = out;
    if (i == partition.axis) loop.extent = count;
    out = make(std::move(loop));
  }
  return out;
}

}  // namespace

std::vector<Stmt> part_copies(const schedule::Cursor& cursor) {
  if (plain_axes(cursor).empty()) return {};
  Extents extents(cursor.block());
  std::optional<Partition> partition = partition_of(cursor.block(), extents);
  if (!partition) return {};
  int64_t run = likely_extent(partition->bounds.back()) / static_cast<int64_t>(partition->bounds.size() - 1);
  std::vector<const For*> loops = cursor.loops();
  for (size_t i = partition->axis + 1; i < loops.size(); ++i) run *= likely_extent(loops[i]->extent);
  if (run < kMinRun) return {};
  std::vector<Stmt> out;
  for (size_t part = 0; part + 1 < partition->bounds.size(); ++part)
    out.push_back(nest_of_part(cursor, *partition, part, extents));
  return out;
}

}  // namespace tessera::topi
