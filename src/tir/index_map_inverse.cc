// The way back of an index map: its indices are read as digits of the initial ones (arith/iter_map/iter_map.h), and each initial
// index is put together again from its digits wherever they went.

#include <algorithm>

#include "arith/iter_map/iter_map.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/index_map.h"

namespace tessera {
namespace {

[[noreturn]] void not_invertible(const IndexMap& map, const std::string& why) {
  throw Error(RuntimeError) << map << " has no inverse: " << why;
}

Map<Var, Range> initial_domains(const IndexMap& map, const Array<Range>& ranges) {
  if (ranges.size() != map->initial_indices.size())
    throw Error(RuntimeError) << "an index map of " << map->initial_indices.size() << " indices was given "
                              << ranges.size() << " extents";
  Map<Var, Range> out;
  for (size_t i = 0; i < ranges.size(); ++i) out.set(map->initial_indices[i], ranges[i]);
  return out;
}

/// Throws where an element is not found again. Elements are tried, because proofs give up on padded sums of indices:
/// neighbours show lost lower digits, and elements far apart lost upper ones.
void check_leads_back(const IndexMap& map, const Array<Range>& ranges, const IndexMap& back) {
  constexpr int64_t kTried = 32;
  for (size_t i = 0; i < ranges.size(); ++i) {
    auto* extent = as_int(ranges[i]->extent);
    if (!extent) continue;
    for (int64_t t = 0; t < std::min(2 * kTried, *extent); ++t) {
      int64_t at = t < kTried ? t : (t - kTried + 1) * (*extent - 1) / kTried;
      Array<PrimExpr> element;
      for (const Range& range : ranges) element.push_back(range->min);
      element.set(i, ranges[i]->min + make_const(ranges[i]->min.dtype(), at));
      if (!is_zero(arith::Analyzer().simplify(map_indices(back, map_indices(map, element))[i] - element[i])))
        not_invertible(map, "index " + map->initial_indices[i]->name.str() + " is not found again");
    }
  }
}

/// The inverse where `level` holds between the elements and the indices after the map.
InverseMap invert(const IndexMap& map, const Array<Range>& ranges, arith::IterMapLevel level) {
  arith::Analyzer analyzer;
  Map<Var, Range> domains = initial_domains(map, ranges);
  arith::IterMapResult found = arith::detect_iter_map(map->final_indices, domains, bool_imm(true), level, &analyzer,
                                                      /*simplify_trivial_iterators=*/false);
  if (found->indices.size() != map->final_indices.size())
    not_invertible(map,
                   found->errors.empty() ? "its indices are not digits of the initial ones" : found->errors[0].str());
  Array<Var> outputs;
  Array<Range> covered = map_ranges(map, ranges);
  for (size_t k = 0; k < map->final_indices.size(); ++k) {
    outputs.push_back(make_var(String("axis" + std::to_string(k)), map->final_indices[k].dtype()));
    analyzer.bind(outputs[k], covered[k]);
  }
  Map<Var, PrimExpr> values = arith::inverse_affine_iter_map(found->indices, outputs);
  Array<PrimExpr> back;
  for (const Var& var : map->initial_indices) {
    PrimExpr value = values.get_or_null(var);
    if (!value && is_one(domains[var]->extent)) value = domains[var]->min;
    if (!value) not_invertible(map, "index " + var->name.str() + " is lost");
    back.push_back(analyzer.simplify(value));
  }
  PrimExpr padding = found->padding_predicate ? found->padding_predicate : bool_imm(false);
  padding = analyzer.simplify(substitute(arith::normalize_iter_map_to_expr(padding), values), 10);
  IndexMap inverse = make_index_map(outputs, back);
  if (level != arith::IterMapLevel::Bijective) check_leads_back(map, ranges, inverse);
  return {inverse, padding};
}

}  // namespace

IndexMap inverse_map(const IndexMap& map, const Array<Range>& ranges) {
  if (auto* given = map->inverse_index_map.as<IndexMapNode>()) return IndexMap(given);
  return invert(map, ranges, arith::IterMapLevel::Bijective).map;
}

InverseMap non_surjective_inverse_map(const IndexMap& map, const Array<Range>& ranges) {
  return invert(map, ranges, arith::IterMapLevel::NoCheck);
}

namespace {

Globals index_map_inverse_globals{
    {"tir.IndexMapInverse", inverse_map},
    {"tir.IndexMapNonSurjectiveInverse",
     [](IndexMap map, Array<Range> ranges) {
       InverseMap found = non_surjective_inverse_map(map, ranges);
       return Array<ObjectRef>{found.map, found.padding};
     }},
};

}  // namespace
}  // namespace tessera
