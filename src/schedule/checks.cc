#include "schedule/checks.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/unfuse.h"
#include "schedule/why_not.h"
#include "tir/threads.h"

namespace tessera::schedule {
namespace {

/// True when another block of the same scope writes one of this block's outputs.
bool has_rival(const Cursor& cursor) {
  const BlockRealize* scope = cursor.scope();
  if (!scope) return false;
  bool has = false;
  for_each_block(scope->block->body, [&](const BlockNode* other) {
    if (other == cursor.block()) return;
    for (const BufferRegion& write : cursor.block()->writes) has |= writes_buffer(other, write->buffer);
  });
  return has;
}

}  // namespace

bool reads_buffer(const BlockNode* block, const Buffer& buffer) {
  for (const BufferRegion& read : block->reads)
    if (read->buffer.same_as(buffer)) return true;
  return false;
}

bool writes_buffer(const BlockNode* block, const Buffer& buffer) {
  for (const BufferRegion& write : block->writes)
    if (write->buffer.same_as(buffer)) return true;
  return false;
}

bool is_complete(const Cursor& cursor, std::string* why_not) {
  const BlockNode* block = cursor.block();
  for (const IterVar& iter : block->iter_vars)
    if (iter->iter_type != IterType::DataPar)
      return fail(why_not, "its axis " + iter->var->name.str() + " is not spatial");
  for (const BufferRegion& write : block->writes)
    if (reads_buffer(block, write->buffer))
      return fail(why_not, "it reads " + write->buffer->name.str() + ", which it writes");
  if (has_rival(cursor)) return fail(why_not, "another block writes the same buffer");
  return true;
}

bool is_reduction(const Cursor& cursor, std::string* why_not) {
  const BlockNode* block = cursor.block();
  if (!block->init) return fail(why_not, "it has no init");
  for (const IterVar& iter : block->iter_vars) {
    if (iter->iter_type == IterType::DataPar) continue;
    if (iter->iter_type != IterType::CommReduce)
      return fail(why_not, "its axis " + iter->var->name.str() + " is neither spatial nor a reduction");
    for (const BufferRegion& write : block->writes)
      for (const Range& range : write->region)
        if (uses_var(range->min, iter->var))
          return fail(why_not, "its reduction axis " + iter->var->name.str() + " indexes what it writes");
  }
  if (has_rival(cursor)) return fail(why_not, "another block writes the same buffer");
  return true;
}

bool are_digits(const Cursor& cursor, const Map<Var, Range>& loops, arith::IterMapLevel level) {
  const Array<PrimExpr>& values = cursor.realize()->iter_values;
  auto is_map = [&](const Array<PrimExpr>& digits, const Map<Var, Range>& domains, const PrimExpr& guard) {
    arith::Analyzer analyzer;
    return !arith::detect_iter_map(digits, domains, guard, level, &analyzer)->indices.empty();
  };
  // The guard may be needed to see the digits, or be one that the analysis does not know.
  const PrimExpr& guard = cursor.realize()->predicate;
  if (values.empty() || is_map(values, loops, guard)) return true;
  if (!is_one(guard) && is_map(values, loops, bool_imm(true))) return true;
  auto [digits, domains] = unfuse(values, loops);
  return is_map(digits, domains, bool_imm(true));
}

bool has_affine_bindings(const Cursor& cursor) {
  return are_digits(cursor, loop_domains(cursor), arith::IterMapLevel::Surjective);
}

void require_known_block(const Cursor& cursor) {
  std::string not_complete, not_reduction;
  const String& name = cursor.block()->name_hint;
  if (!is_complete(cursor, &not_complete) && !is_reduction(cursor, &not_reduction))
    throw Error(ScheduleError) << "block " << quoted(name) << " is neither complete (" << not_complete
                               << ") nor a reduction (" << not_reduction << ")";
  // Iterations of a complete block write the same however often they run; sums must not be added up twice.
  if (cursor.block()->init && !has_affine_bindings(cursor))
    throw Error(ScheduleError) << "the bindings of block " << quoted(name)
                               << " are not digits of the loops around it: " << loop_names(cursor.loops());
}

void require_scope(const String& scope) {
  if (!is_storage_scope(scope))
    throw Error(ScheduleError) << "The input storage scope " << quoted(scope) << " is invalid";
}

Buffer buffer_at(const BlockNode* block, int index, bool is_write) {
  const Array<BufferRegion>& regions = is_write ? block->writes : block->reads;
  if (index < 0 || static_cast<size_t>(index) >= regions.size())
    throw Error(ScheduleError) << "block " << quoted(block->name_hint) << " has " << regions.size()
                               << (is_write ? " write" : " read") << " regions, so there is none of index " << index;
  return regions[static_cast<size_t>(index)]->buffer;
}

bool is_output(const Cursor& cursor) {
  const BlockRealize* scope = cursor.scope();
  if (!scope) return true;
  for (const BufferRegion& write : cursor.block()->writes) {
    bool is_local = false;
    for (const Buffer& buffer : scope->block->alloc_buffers) is_local |= buffer.same_as(write->buffer);
    if (!is_local) return true;
  }
  return false;
}

size_t require_loop_around(const Cursor& cursor, const LoopRef& loop) {
  std::vector<const For*> loops = cursor.loops();
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i]->loop_var.same_as(loop.var)) return i;
  throw Error(ScheduleError) << "no loop " << quoted(loop.var->name) << " around block "
                             << quoted(cursor.block()->name_hint) << "; its loops are " << loop_names(loops);
}

void require_own_loops(const Cursor& cursor) {
  const BlockNode* block = cursor.block();
  std::vector<const For*> loops = cursor.loops();
  auto reject = [&](const std::string& why) {
    throw Error(ScheduleError) << "each axis of block " << quoted(block->name_hint)
                               << " must be bound to a loop of its own, with nothing else in the loops; " << why;
  };
  for (size_t i = 0; i < loops.size(); ++i) {
    const Object* inside = i + 1 < loops.size() ? static_cast<const Object*>(loops[i + 1]) : cursor.realize();
    if (static_cast<const Object*>(loops[i]->body.get()) != inside)
      reject("loop " + loops[i]->loop_var->name.str() + " has more inside");
    auto is_bound = [&](const PrimExpr& value) { return value.same_as(loops[i]->loop_var); };
    if (std::count_if(cursor.realize()->iter_values.begin(), cursor.realize()->iter_values.end(), is_bound) != 1)
      reject("loop " + loops[i]->loop_var->name.str() + " is not bound to one axis");
  }
  if (loops.size() != block->iter_vars.size())
    reject("it has " + std::to_string(block->iter_vars.size()) + " axes and " + std::to_string(loops.size()) +
           " loops");
  if (!is_one(cursor.realize()->predicate)) reject("it is guarded by a condition");
}

}  // namespace tessera::schedule
