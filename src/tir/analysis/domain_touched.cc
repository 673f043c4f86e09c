#include "tir/analysis/domain_touched.h"

#include "arith/int_set.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/expr.h"

namespace tessera {

Array<Range> domain_touched(const Stmt& body, const Buffer& buffer, bool consider_loads, bool consider_stores) {
  // Loops are met after the accesses inside them, so all are gathered first.
  arith::SetOfVar domains;
  std::vector<Array<PrimExpr>> accesses;
  walk(
      body,
      [&](const For* loop) { domains.set(loop->loop_var, arith::IntSet::from_min_extent(loop->min, loop->extent)); },
      [&](const BufferLoad* load) {
        if (consider_loads && load->buffer.same_as(buffer)) accesses.push_back(load->indices);
      },
      [&](const BufferStore* store) {
        if (consider_stores && store->buffer.same_as(buffer)) accesses.push_back(store->indices);
      });
  Array<Range> out;
  if (accesses.empty()) return out;
  for (size_t axis = 0; axis < accesses[0].size(); ++axis) {
    Array<arith::IntSet> sets;
    for (const Array<PrimExpr>& indices : accesses) sets.push_back(arith::eval_set(indices[axis], domains));
    Range range = arith::union_sets(sets).cover_range(nullptr);
    if (!range.defined())
      throw Error(ValueError) << "index " << axis << " of buffer " << buffer->name.str()
                              << " has no bounds: it is not made of loop variables only";
    out.push_back(range);
  }
  return out;
}

namespace {
Globals domain_touched_globals{{"arith.DomainTouched", domain_touched}};
}  // namespace
}  // namespace tessera
