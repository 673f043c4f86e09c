#include "topi/cpu/part_copies.h"

#include <algorithm>
#include <optional>
#include <set>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/block_access.h"
#include "tir/remap.h"

namespace tessera::topi {
namespace {

constexpr size_t kMaxParts = 1024;
constexpr int64_t kMinRun = 16;  // elements that lie together in a part, below which vectors of choices are as good

/// `var >= bound`, or its opposite.
struct Choice {
  const VarNode* var;
  int64_t bound;
  bool is_below;  // var < bound
};

/// x + c as (x, c) for a variable x.
std::optional<std::pair<const VarNode*, int64_t>> var_and_offset(const PrimExpr& e) {
  if (auto* var = e.as<VarNode>()) return {{var, 0}};
  if (auto* sum = e.as<Add>())
    if (sum->a.as<VarNode>() && as_int(sum->b)) return {{sum->a.as<VarNode>(), *as_int(sum->b)}};
  if (auto* sum = e.as<Sub>())
    if (sum->a.as<VarNode>() && as_int(sum->b)) return {{sum->a.as<VarNode>(), -*as_int(sum->b)}};
  return std::nullopt;
}

std::optional<Choice> as_choice(const PrimExpr& condition) {
  auto by = [](const PrimExpr& a, const PrimExpr& b, int64_t more, bool is_below) -> std::optional<Choice> {
    auto sum = var_and_offset(a);
    if (!sum || !as_int(b)) return std::nullopt;
    return Choice{sum->first, *as_int(b) - sum->second + more, is_below};
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

/// The axis that most choices are about, and where they change.
struct Partition {
  size_t axis = 0;
  std::vector<int64_t> bounds;  // with 0 and the extent of the axis
};

std::optional<Partition> partition_of(const BlockNode* block) {
  std::vector<std::set<int64_t>> bounds(block->iter_vars.size());
  walk(block->body, [&](const Call* call) {
    if (!builtin::is(call, builtin::if_then_else())) return;
    std::optional<Choice> choice = as_choice(call->args[0]);
    for (size_t i = 0; choice && i < bounds.size(); ++i) {
      const int64_t* extent = as_int(block->iter_vars[i]->dom->extent);
      if (choice->var == block->iter_vars[i]->var.get() && extent && choice->bound > 0 && choice->bound < *extent)
        bounds[i].insert(choice->bound);
    }
  });
  auto most =
      std::max_element(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  if (most == bounds.end() || most->empty() || most->size() >= kMaxParts) return std::nullopt;
  Partition out;
  out.axis = static_cast<size_t>(most - bounds.begin());
  out.bounds.push_back(0);
  out.bounds.insert(out.bounds.end(), most->begin(), most->end());
  out.bounds.push_back(*as_int(block->iter_vars[out.axis]->dom->extent));
  return out;
}

/// The body where the axis is in [begin, end) and counts from there.
Stmt body_of_part(const BlockNode* block, const Var& axis, const Var& inside, int64_t begin, int64_t end) {
  Rewriter choose;
  choose.on([&](Rewriter& self, const Call* call) -> PrimExpr {
    std::optional<Choice> choice =
        builtin::is(call, builtin::if_then_else()) ? as_choice(call->args[0]) : std::optional<Choice>();
    if (!choice || choice->var != axis.get()) return self.children(call);
    if (begin >= choice->bound) return self(call->args[choice->is_below ? 2 : 1]);
    if (end <= choice->bound) return self(call->args[choice->is_below ? 1 : 2]);
    return self.children(call);
  });
  Stmt chosen = choose(block->body);
  PrimExpr moved = begin == 0 ? PrimExpr(inside) : inside + int_imm(inside->dtype, begin);
  Stmt body = substitute_all(chosen, Map<Var, PrimExpr>{{axis, moved}});
  arith::Analyzer analyzer;
  for (const IterVar& iter : block->iter_vars)
    if (!iter->var.same_as(axis)) analyzer.bind(iter->var, iter->dom);
  analyzer.bind(inside, make_range(make_zero(inside->dtype), int_imm(inside->dtype, end - begin)));
  return rewrite(body, [&](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    BufferLoad copy(*load);
    copy.indices = {};
    for (const PrimExpr& index : load->indices) copy.indices.push_back(analyzer.simplify(self(index)));
    return make(std::move(copy));
  });
}

Stmt nest_of_part(const schedule::Cursor& cursor, const Partition& partition, size_t part) {
  const BlockNode* block = cursor.block();
  int64_t begin = partition.bounds[part], end = partition.bounds[part + 1];
  const IterVar& axis = block->iter_vars[partition.axis];
  Map<Var, PrimExpr> renamed;  // every nest has variables of its own
  Array<IterVar> iters;
  Var inside;
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    const IterVar& iter = block->iter_vars[i];
    Var var = make_var(iter->var->name, iter->var->dtype);
    if (i == partition.axis) inside = var;
    else renamed.set(iter->var, var);
    Range dom = i == partition.axis ? make_range(make_zero(var->dtype), int_imm(var->dtype, end - begin)) : iter->dom;
    iters.push_back(make_iter_var(dom, var, IterType::DataPar));
  }
  BlockNode copy(*block);
  copy.iter_vars = iters;
  copy.body = substitute_all(body_of_part(block, axis->var, inside, begin, end), renamed);
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
    if (i == partition.axis) loop.extent = int_imm(loop.extent.dtype(), end - begin);
    out = make(std::move(loop));
  }
  return out;
}

}  // namespace

std::vector<Stmt> part_copies(const schedule::Cursor& cursor) {
  std::optional<Partition> partition = plain_extents(cursor).empty() ? std::nullopt : partition_of(cursor.block());
  if (!partition) return {};
  int64_t run = partition->bounds.back() / static_cast<int64_t>(partition->bounds.size() - 1);
  std::vector<const For*> loops = cursor.loops();
  for (size_t i = partition->axis + 1; i < loops.size(); ++i) run *= *as_int(loops[i]->extent);
  if (run < kMinRun) return {};
  std::vector<Stmt> out;
  for (size_t part = 0; part + 1 < partition->bounds.size(); ++part)
    out.push_back(nest_of_part(cursor, *partition, part));
  return out;
}

}  // namespace tessera::topi
