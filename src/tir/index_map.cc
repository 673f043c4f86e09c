#include "tir/index_map.h"

#include "arith/int_set.h"
#include "ir/prim/ops.h"
#include "ir/repr.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

void check_count(const IndexMap& map, size_t given, const char* what) {
  if (given != map->initial_indices.size())
    throw Error(RuntimeError) << "an index map of " << map->initial_indices.size() << " indices was given " << given
                              << " " << what;
}

}  // namespace

IndexMap make_index_map(Array<Var> initial_indices, Array<PrimExpr> final_indices, ObjectRef inverse) {
  return make(IndexMapNode{.initial_indices = std::move(initial_indices),
                           .final_indices = std::move(final_indices),
                           .inverse_index_map = std::move(inverse)});
}

Array<PrimExpr> map_indices(const IndexMap& map, const Array<PrimExpr>& indices) {
  check_count(map, indices.size(), "indices");
  Map<Var, PrimExpr> values;
  for (size_t i = 0; i < indices.size(); ++i) values.set(map->initial_indices[i], indices[i]);
  arith::Analyzer analyzer;
  Array<PrimExpr> out;
  for (const PrimExpr& index : map->final_indices) out.push_back(analyzer.simplify(substitute(index, values)));
  return out;
}

Array<PrimExpr> map_shape(const IndexMap& map, const Array<PrimExpr>& shape) {
  Array<Range> ranges;
  for (const PrimExpr& extent : shape) ranges.push_back(make_range(make_zero(extent.dtype()), extent));
  Array<PrimExpr> out;
  for (const Range& range : map_ranges(map, ranges)) out.push_back(range->extent);
  return out;
}

Array<Range> map_ranges(const IndexMap& map, const Array<Range>& ranges) {
  check_count(map, ranges.size(), "ranges");
  arith::Analyzer analyzer;
  arith::SetOfVar domains;
  for (size_t i = 0; i < ranges.size(); ++i) {
    analyzer.bind(map->initial_indices[i], ranges[i]);
    domains.set(map->initial_indices[i], arith::IntSet::from_range(ranges[i]));
  }
  Array<Range> out;
  for (const PrimExpr& index : map->final_indices) {
    arith::IntSet set = arith::eval_set(index, domains, &analyzer);
    if (!set.has_lower_bound() || !set.has_upper_bound())
      throw Error(RuntimeError) << "cannot find the extent of " << index << " after the index map";
    out.push_back(make_range(set.min(), analyzer.simplify(set.max() - set.min() + 1)));
  }
  return out;
}

bool is_equivalent(const IndexMap& a, const IndexMap& b) {
  if (a->initial_indices.size() != b->initial_indices.size() || a->final_indices.size() != b->final_indices.size())
    return false;
  Map<Var, PrimExpr> renamed;
  for (size_t i = 0; i < a->initial_indices.size(); ++i) renamed.set(b->initial_indices[i], a->initial_indices[i]);
  arith::Analyzer analyzer;
  for (size_t i = 0; i < a->final_indices.size(); ++i)
    if (!analyzer.can_prove_equal(a->final_indices[i], substitute(b->final_indices[i], renamed))) return false;
  return true;
}

namespace {

register_types<IndexMapNode> index_map_types;

ReprRows index_map_text{[](ReprPrinter& p, const IndexMapNode* map) {
  p << "index_map(lambda ";
  p.list(map->initial_indices) << ": (";
  p.list(map->final_indices) << "))";
}};

Globals index_map_globals{
    {"tir.IndexMap", [](Array<Var> initial, Array<PrimExpr> final_indices,
                        ObjectRef inverse) { return make_index_map(initial, final_indices, inverse); }},
    {"tir.IndexMapMapIndices", map_indices},
    {"tir.IndexMapIsEquivalentTo", is_equivalent},
    {"tir.IndexMapMapShape",
     [](IndexMap map, Array<Range> ranges) {
       Array<PrimExpr> out;
       for (const Range& range : map_ranges(map, ranges)) out.push_back(range->extent);
       return out;
     }},
};

}  // namespace
}  // namespace tessera
