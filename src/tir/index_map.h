#pragma once
// Where elements of a buffer go when its layout changes.

#include "tir/expr.h"

namespace tessera {

/// Element `initial_indices` goes to `final_indices`.
struct IndexMapNode : Object {
  Array<Var> initial_indices;
  Array<PrimExpr> final_indices;
  ObjectRef inverse_index_map;  // an IndexMap given by the user, or empty
  static constexpr NodeInfo info{"tir.IndexMap", &Object::info};
  static void fields(auto f) {
    f("initial_indices", &IndexMapNode::initial_indices, Binds);
    f("final_indices", &IndexMapNode::final_indices);
    f("inverse_index_map", &IndexMapNode::inverse_index_map, Ignored | Optional);
  }
};
using IndexMap = Ref<IndexMapNode>;

IndexMap make_index_map(Array<Var> initial_indices, Array<PrimExpr> final_indices, ObjectRef inverse = nullptr);

/// Where the element at `indices` goes, simplified.
Array<PrimExpr> map_indices(const IndexMap& map, const Array<PrimExpr>& indices);
/// What the elements of a rectangle cover after the map.
Array<Range> map_ranges(const IndexMap& map, const Array<Range>& ranges);
Array<PrimExpr> map_shape(const IndexMap& map, const Array<PrimExpr>& shape);

/// The way back of a map over `ranges`. `padding` holds where an index after the map belongs to no element.
struct InverseMap {
  IndexMap map;
  PrimExpr padding;
};
/// For a map that fills every index; a RuntimeError for any other.
IndexMap inverse_map(const IndexMap& map, const Array<Range>& ranges);
/// For a map that may leave indices unused; a RuntimeError where elements are lost.
InverseMap non_surjective_inverse_map(const IndexMap& map, const Array<Range>& ranges);

/// True when both are shown to send every index to the same one.
bool is_equivalent(const IndexMap& a, const IndexMap& b);

}  // namespace tessera
