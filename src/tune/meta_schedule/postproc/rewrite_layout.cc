#include "ir/rewrite.h"
#include "schedule/tensorize/auto_tensorize.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/postproc/postprocs.h"

namespace tessera::meta_schedule {
namespace {

/// The one block that reads the buffer, and which of its reads it is.
struct Reader {
  Cursor block;
  size_t read = 0;
  int count = 0;
};

Reader reader_of(const Schedule& sch, const Buffer& buffer) {
  Reader out;
  for (const Cursor& block : blocks_of_module(sch)) {
    if (is_root(block)) continue;
    for (size_t i = 0; i < block.block()->reads.size(); ++i)
      if (block.block()->reads[i]->buffer.same_as(buffer)) {
        out.block = block;
        out.read = i;
        ++out.count;
      }
  }
  return out;
}

/// The map that orders the elements as the loops around read them; empty where there is none.
IndexMap order_of_reads(const Reader& reader, const Buffer& buffer) {
  Map<Var, PrimExpr> bindings;
  const BlockRealize* realize = reader.block.realize();
  for (size_t i = 0; i < realize->iter_values.size(); ++i)
    bindings.set(realize->block->iter_vars[i]->var, realize->iter_values[i]);
  Array<PrimExpr> indices;
  for (const Range& range : realize->block->reads[reader.read]->region) {
    if (!is_one(range->extent)) return {};
    indices.push_back(substitute(range->min, bindings));
  }
  Array<Stmt> loops;
  for (const For* loop : reader.block.loops()) loops.push_back(Stmt(loop));
  return downcast<IndexMap>(schedule::suggest_index_map(buffer, indices, loops, realize->predicate));
}

}  // namespace

bool RewriteLayoutNode::apply(const Schedule& sch) {
  Traced traced(sch);
  for (const auto& [var, function] : sch->state.mod().sorted_functions()) {
    auto* program = function.as<PrimFuncNode>();
    if (!program || !program->attrs.defined()) continue;
    auto* free = program->attrs->dict.get_or_null(String(note::kLayoutFree)).as<ArrayNode>();
    if (!free) continue;
    for (const ObjectRef& item : free->items) {
      auto* index = item.as<IntImm>();
      if (!index || index->value < 0 || index->value >= static_cast<int64_t>(program->params.size()))
        throw Error(ValueError) << note::kLayoutFree << " has indices of parameters, not " << to_text(item);
      Buffer buffer = program->buffer_map.get_or_null(program->params[static_cast<size_t>(index->value)]);
      Reader reader = buffer ? reader_of(sch, buffer) : Reader();
      if (reader.count != 1) continue;
      IndexMap map = order_of_reads(reader, buffer);
      if (!map) continue;
      // What the caller passes keeps its layout: a copy in the new one is made first, and noted as to be made while compiling.
      RV block = block_named_as(traced, reader.block);
      RV copy = traced.cache_read(block, static_cast<int>(reader.read), "global", {block});
      traced.transform_layout(copy, 0, true, map);
      traced.annotate(copy, "meta_schedule.layout_rewrite_preproc", PrimExpr(1));
    }
  }
  return true;
}

}  // namespace tessera::meta_schedule
