// A Prefetch statement becomes prefetch instructions, one for each row of the region.
//
//   prefetch A[i+1, 0:16]     =>     for p in range(1): prefetch(&A[i+1+p, 0], read, 3, data)

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "tir/transform/pass.h"

namespace tessera {
namespace {

Stmt lower_prefetch(const Prefetch* prefetch) {
  const Buffer& buffer = prefetch->buffer;
  size_t outer = prefetch->bounds.empty() ? 0 : prefetch->bounds.size() - 1;
  Array<PrimExpr> indices;
  std::vector<Var> vars;
  for (size_t axis = 0; axis < prefetch->bounds.size(); ++axis) {
    const Range& range = prefetch->bounds[axis];
    if (axis >= outer) {
      indices.push_back(range->min);
      continue;
    }
    Var var = make_var("prefetch." + buffer->name.str() + "." + std::to_string(axis), range->extent.dtype());
    vars.push_back(var);
    indices.push_back(range->min + var);
  }
  PrimExpr address = make_call(DataType::Handle(), "tir.address_of", {make_load(buffer, indices)});
  Stmt out = evaluate(make_call(buffer->dtype, "tir.prefetch", {address, 0, 3, 1}));
  for (size_t axis = vars.size(); axis-- > 0;) {
    PrimExpr extent = prefetch->bounds[axis]->extent;
    out = make(For{.loop_var = vars[axis], .min = make_zero(extent.dtype()), .extent = extent, .body = out});
  }
  return out;
}

Stmt inject_prefetch(const Stmt& body) {
  return rewrite(body, [](const Prefetch* prefetch) -> Stmt { return lower_prefetch(prefetch); });
}

static Globals globals{
    {"tir.transform.InjectPrefetch", [] { return body_pass("tir.InjectPrefetch", inject_prefetch); }},
};

}  // namespace
}  // namespace tessera
