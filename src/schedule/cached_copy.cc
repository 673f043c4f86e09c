#include "schedule/cached_copy.h"

#include "ir/prim/ops.h"
#include "schedule/checks.h"
#include "schedule/insert.h"
#include "schedule/rebuffer.h"
#include "schedule/scope.h"

namespace tessera::schedule {

Stmt copy_nest(const Buffer& source, const Buffer& target, const String& name, const Array<Range>& region) {
  Array<Range> whole;
  for (const PrimExpr& length : source->shape) whole.push_back(make_range(make_zero(length.dtype()), length));
  return make_nest(
      region,
      [&](const Array<PrimExpr>& axes) {
        return BlockNode{
            .reads = {point_region(source, axes)},
            .writes = {point_region(target, axes)},
            .name_hint = name,
            .body = make(BufferStore{.buffer = target, .value = make_load(source, axes), .indices = axes})};
      },
      nullptr, whole);
}

Site site_behind(const Cursor& producer, const std::vector<Cursor>& consumers, const BlockRealize* scope) {
  Site site;
  size_t depth = 0;
  std::vector<const For*> loops = producer.loops();
  for (const Cursor& consumer : consumers) depth = std::max(depth, common_loops(producer, consumer).size());
  if (depth > 0) site.loop = loops[depth - 1];
  site.position = position_of(statements_of(site.loop ? site.loop->body : scope->block->body), producer.block()) + 1;
  return site;
}

std::vector<const For*> loops_inside(const Cursor& cursor, const Site& site) {
  std::vector<const For*> loops = cursor.loops();
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i] == site.loop) return {loops.begin() + static_cast<long>(i) + 1, loops.end()};
  return loops;
}

void insert_copy(State& state, const GlobalVar& function, const BlockRealize* scope, const Site& site, const Stmt& nest,
                 const Buffer& extra, const std::function<Stmt(const BlockRealize*)>& change) {
  auto with_nest = [&](const Stmt& body) {
    std::vector<Stmt> parts = statements_of(body);
    for (Stmt& part : parts) part = map_blocks(part, change);
    parts.insert(parts.begin() + static_cast<long>(site.position), nest);
    return sequence(parts);
  };
  auto at_site = [&](const Stmt& stmt) -> Stmt {
    if (auto* realize = stmt.as<BlockRealize>()) return change(realize);
    auto* loop = stmt.as<For>();
    return loop && loop == site.loop ? Stmt(with(loop, &For::body, with_nest(loop->body))) : Stmt();
  };
  BlockNode block(*scope->block);
  block.body = site.loop ? map_statements(block.body, at_site) : with_nest(block.body);
  block.alloc_buffers.push_back(extra);
  state.replace(function, Stmt(scope), with(scope, &BlockRealize::block, make(std::move(block))));
}

void bind_axes_around(const Cursor& cursor, arith::Analyzer& analyzer) {
  for (const Stmt& stmt : cursor.path)
    if (auto* outer = stmt.as<BlockRealize>(); outer && outer != cursor.realize())
      for (const IterVar& iter : outer->block->iter_vars) analyzer.bind(iter->var, iter->dom);
}

void bind_outside(const Cursor& cursor, const Site& site, arith::Analyzer& analyzer) {
  size_t inside = loops_inside(cursor, site).size();
  std::vector<const For*> loops = cursor.loops();
  for (size_t i = 0; i + inside < loops.size(); ++i) analyzer.bind(loops[i]->loop_var, range_of(loops[i]));
}

bool are_covered(const State& state, const GlobalVar& function, const std::vector<Cursor>& consumers) {
  for (const Cursor& consumer : consumers)
    if (!is_region_covered(state.find(State::ref(function, consumer.block())))) return false;
  return true;
}

void require_covered(const State& state, const BlockRef& copy, bool before) {
  std::string why_not;
  if (before && !is_covered_around(state.find(copy), &why_not))
    throw Error(ScheduleError) << "there is no position for a copy: " << why_not;
}

}  // namespace tessera::schedule
