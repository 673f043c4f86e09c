#include "tune/meta_schedule/analysis.h"

#include <thread>

#include "ir/builtin.h"
#include "ir/op.h"
#include "ir/rewrite.h"
#include "schedule/checks.h"
#include "tir/threads.h"

namespace tessera::meta_schedule {

bool has_block(const Schedule& sch, const RV& block) {
  try {
    sch->cursor(block);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool is_root(const Cursor& block) { return block.scope() == nullptr; }

bool is_spatial(const BlockNode* block) {
  for (const IterVar& iter : block->iter_vars)
    if (iter->iter_type != IterType::DataPar) return false;
  return true;
}

bool is_spatial_function(const Schedule& sch, const RV& block) {
  GlobalVar function = sch->block(block).function;
  bool is_all = true;
  for (const Cursor& each : schedule::all_blocks(sch->state.function(function)->body, function))
    is_all &= is_root(each) || is_spatial(each.block());
  return is_all;
}

bool has_trivial_bindings(const Cursor& block) {
  std::vector<const For*> loops = block.loops();
  const Array<PrimExpr>& values = block.realize()->iter_values;
  if (loops.size() != values.size()) return false;
  for (size_t i = 0; i < loops.size(); ++i)
    if (!values[i].same_as(loops[i]->loop_var)) return false;
  return true;
}

bool needs_multi_level_tiling(const Cursor& cursor) {
  const BlockNode* block = cursor.block();
  if (block->writes.size() != 1 || block->reads.empty() || is_spatial(block) || !has_trivial_bindings(cursor))
    return false;
  std::vector<Var> spatial;  // axes of one iteration index nothing and count for nothing
  for (const IterVar& iter : block->iter_vars)
    if (iter->iter_type == IterType::DataPar && !is_one(iter->dom->extent)) spatial.push_back(iter->var);
  std::unordered_set<const Object*> seen;
  int unused = 0;
  for (const BufferRegion& read : block->reads) {
    if (!seen.insert(read->buffer.get()).second) return false;
    if (read->buffer.same_as(block->writes[0]->buffer)) continue;
    std::unordered_set<const Object*> used;
    for (const Range& range : read->region) {
      if (!as_int(range->extent)) return false;
      walk(range->min, [&](const VarNode* var) { used.insert(var); });
    }
    for (const Var& var : spatial) unused += !used.count(var.get());
  }
  return unused >= 1;
}

bool needs_shared_reduction(const Cursor& cursor, int64_t max_spatial, int64_t min_reduction) {
  const BlockNode* block = cursor.block();
  if (block->writes.size() != 1 || !schedule::is_reduction(cursor) || !has_trivial_bindings(cursor)) return false;
  std::vector<const For*> loops = cursor.loops();
  int64_t spatial = 1, reduction = 1;
  bool reduces = false;
  for (size_t i = 0; i < loops.size(); ++i) {
    IterType type = loop_type(loops[i], cursor.function);
    if (type != IterType::DataPar && type != IterType::CommReduce) return false;
    reduces |= type == IterType::CommReduce;
    const Stmt& body = loops[i]->body;
    bool is_chain = i + 1 < loops.size() ? body.get() == loops[i + 1] : body.as<BlockRealize>() == cursor.realize();
    auto extent = loop_extent(loops[i]);
    if (!is_chain || !extent) return false;
    (type == IterType::CommReduce ? reduction : spatial) *= *extent;
  }
  if (!reduces) return false;
  if (needs_multi_level_tiling(cursor)) return spatial < reduction && spatial <= max_spatial;
  return reduction > 1 && reduction > min_reduction;
}

namespace {

/// The variable of `v`, `v + c`, `v - c` or `c + v`; `is_shifted` tells those apart.
const VarNode* shifted_var(const PrimExpr& index, bool* is_shifted) {
  *is_shifted = false;
  if (auto* var = index.as<VarNode>()) return var;
  *is_shifted = true;
  auto of = [](const PrimExpr& a, const PrimExpr& b) { return as_int(b) ? a.as<VarNode>() : nullptr; };
  if (auto* add = index.as<Add>()) return of(add->a, add->b) ? of(add->a, add->b) : of(add->b, add->a);
  if (auto* sub = index.as<Sub>()) return of(sub->a, sub->b);
  return nullptr;
}

}  // namespace

ReadPattern read_pattern(const BufferRegion& read, const BufferRegion& write) {
  std::unordered_map<const Object*, int> position;
  for (size_t i = 0; i < write->region.size(); ++i) {
    if (!as_int(write->region[i]->extent) || !write->region[i]->min.as<VarNode>()) return {};
    position.emplace(write->region[i]->min.get(), static_cast<int>(i));
  }
  ReadPattern out{true, true, true, true, true, true};
  std::vector<int> times(write->region.size(), 0);
  int last = -1;
  for (const Range& range : read->region) {
    if (!as_int(range->extent)) return {};
    if (as_int(range->min)) {
      out.no_const_read = false;
      continue;
    }
    bool is_shifted;
    const VarNode* var = shifted_var(range->min, &is_shifted);
    if (!var || !position.count(var)) return {};
    if (is_shifted) out.no_shift_read = false;
    int at = position[var];
    ++times[static_cast<size_t>(at)];
    if (last > at) out.ordered = false;
    last = at;
  }
  for (int count : times) {
    out.surjective &= count > 0;
    out.injective &= count < 2;
  }
  return out;
}

bool is_write_cache(const BlockNode* block) {
  if (block->writes.size() != 1) return false;
  for (const BufferRegion& read : block->reads) {
    ReadPattern pattern = read_pattern(read, block->writes[0]);
    if (!pattern.injective || !pattern.ordered || !pattern.no_const_read || !pattern.no_shift_read) return false;
  }
  return true;
}

IterType loop_type(const For* loop, const GlobalVar& function) {
  bool spatial = false, reduces = false, other = false;
  for (const Cursor& below : schedule::blocks_below(loop->body, function))
    for (size_t i = 0; i < below.block()->iter_vars.size(); ++i) {
      if (!uses_var(below.realize()->iter_values[i], loop->loop_var)) continue;
      IterType type = below.block()->iter_vars[i]->iter_type;
      spatial |= type == IterType::DataPar;
      reduces |= type == IterType::CommReduce;
      other |= type != IterType::DataPar && type != IterType::CommReduce;
    }
  if (other || (spatial && reduces)) return IterType::Opaque;
  return reduces ? IterType::CommReduce : IterType::DataPar;
}

std::optional<int64_t> loop_extent(const For* loop) {
  const int64_t* extent = as_int(loop->extent);
  return extent ? std::optional(*extent) : std::nullopt;
}

namespace {
std::string_view thread_of(const For* loop) {
  return loop->thread_binding ? std::string_view(loop->thread_binding->thread_tag) : std::string_view();
}
}  // namespace

bool is_block_index(const For* loop) { return thread_of(loop).starts_with("blockIdx"); }
bool is_thread_index(const For* loop) { return thread_of(loop).starts_with("threadIdx"); }

ObjectRef note_of(const BlockNode* block, const char* key) { return block->annotations.get_or_null(String(key)); }

std::optional<int64_t> int_note(const BlockNode* block, const char* key) {
  auto* number = note_of(block, key).as<IntImm>();
  return number ? std::optional(number->value) : std::nullopt;
}

bool has_op(const Stmt& stmt, const std::unordered_set<std::string>& ops) {
  bool found = false;
  walk(stmt, [&](const Call* call) {
    auto* op = call->op.as<OpNode>();
    found |= op && ops.count(op->name.str());
  });
  return found;
}

bool has_condition(const BlockRealize* root) {
  bool found = false;
  walk(
      Stmt(root), [&](const BlockRealize* realize) { found |= !is_one(realize->predicate); },
      [&](const IfThenElse*) { found = true; }, [&](const Select*) { found = true; },
      [&](const Call* call) { found |= builtin::is(call, builtin::if_then_else()); });
  return found;
}

bool is_possible(const Schedule& sch, const std::function<void(State&)>& primitive) {
  State trial = sch->state.copy();
  try {
    primitive(trial);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ScheduleError) throw;
    return false;
  }
}

FusedReduction fuse_reduction(const Traced& sch, const RV& block) {
  RVs loops = sch.get_loops(block), spatial, reduction;
  GlobalVar function = sch.sch()->block(block).function;
  for (const RV& loop : loops)
    (loop_type(sch.find(loop).loop(), function) == IterType::CommReduce ? reduction : spatial).push_back(loop);
  RVs order = spatial;
  for (const RV& loop : reduction) order.push_back(loop);
  bool is_ordered = true;
  for (size_t i = 0; i < loops.size(); ++i) is_ordered &= loops[i].same_as(order[i]);
  if (!is_ordered) sch.reorder(order);
  RV fused = reduction.size() > 1 ? sch.fuse(reduction) : reduction[0];
  return {fused, static_cast<int>(spatial.size())};
}

int64_t core_count(const Target& target) {
  int64_t cores = target ? target.int_option("num-cores", -1) : -1;
  return cores > 0 ? cores : std::max<int64_t>(1, std::thread::hardware_concurrency());
}

}  // namespace tessera::meta_schedule
