#include "schedule/insert.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::schedule {

const BlockRealize* require_scope_of(const Cursor& cursor) {
  if (const BlockRealize* scope = cursor.scope()) return scope;
  throw Error(ScheduleError) << "The root block " << quoted(cursor.block()->name_hint)
                             << " stands in no scope; take a block inside it";
}

std::vector<Stmt> statements_of(const Stmt& body) {
  if (auto* seq = body.as<SeqStmt>()) return seq->seq.vec();
  return {body};
}

bool contains(const Stmt& stmt, const BlockNode* block) {
  bool is_found = false;
  visit_statements(stmt, [&](const Path& path) {
    if (auto* realize = cast_or_null<BlockRealize>(path.back())) is_found |= realize->block.get() == block;
    return !is_found;
  });
  return is_found;
}

size_t position_of(const std::vector<Stmt>& parts, const BlockNode* inside) {
  for (size_t i = 0; i < parts.size(); ++i)
    if (contains(parts[i], inside)) return i;
  ICHECK(false) << "the block stands in its scope";
  return 0;
}

void set_scope_body(State& state, const GlobalVar& function, const BlockRealize* scope, const std::vector<Stmt>& parts,
                    const std::vector<Buffer>& extra) {
  BlockNode block(*scope->block);
  block.body = sequence(parts);
  for (const Buffer& buffer : extra) block.alloc_buffers.push_back(buffer);
  state.replace(function, Stmt(scope), with(scope, &BlockRealize::block, make(std::move(block))));
}

Stmt make_nest(const Array<Range>& region, const std::function<BlockNode(const Array<PrimExpr>& axes)>& build,
               const OfIndices& predicate, const Array<Range>& domains, const std::vector<IterType>& types) {
  Array<IterVar> iters;
  Array<PrimExpr> axes, values;
  std::vector<Var> loops;
  for (size_t i = 0; i < region.size(); ++i) {
    DataType dtype = region[i]->extent.dtype();
    loops.push_back(make_var("ax" + std::to_string(i), dtype));
    Var var = make_var("v" + std::to_string(i), dtype);
    IterType type = types.empty() ? IterType::DataPar : types[i];
    iters.push_back(make_iter_var(domains.empty() ? region[i] : domains[i], var, type));
    axes.push_back(var);
    values.push_back(is_zero(region[i]->min) ? PrimExpr(loops[i]) : region[i]->min + loops[i]);
  }
  BlockNode block = build(axes);
  block.iter_vars = iters;
  Stmt nest = make(BlockRealize{.iter_values = values,
                                .predicate = predicate ? predicate(values) : bool_imm(true),
                                .block = make(std::move(block))});
  for (size_t i = region.size(); i-- > 0;)
    nest =
        make(For{.loop_var = loops[i], .min = make_zero(loops[i]->dtype), .extent = region[i]->extent, .body = nest});
  return nest;
}

Stmt renamed_loops(const std::vector<const For*>& loops, const Map<Var, PrimExpr>& vars, Stmt body) {
  for (size_t i = loops.size(); i-- > 0;) {
    For loop(*loops[i]);
    loop.loop_var = downcast<Var>(vars[loop.loop_var]);
    loop.min = substitute(loop.min, vars);
    loop.extent = substitute(loop.extent, vars);
    loop.body = std::move(body);
    body = make(std::move(loop));
  }
  return body;
}

const BlockNode* block_of(const Stmt& nest) {
  Stmt inside = nest;
  while (auto* loop = inside.as<For>()) inside = loop->body;
  return inside.as<BlockRealize>()->block.get();
}

BufferRegion point_region(const Buffer& buffer, const Array<PrimExpr>& indices) {
  Array<Range> region;
  for (const PrimExpr& index : indices) region.push_back(make_range(index, make_const(index.dtype(), 1)));
  return make(BufferRegionNode{.buffer = buffer, .region = region});
}

}  // namespace tessera::schedule
