// Constants inside functions move to the module's attribute "constants"; equal ones are kept once.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "runtime/ndarray.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

constexpr const char* kConstants = "constants";

}  // namespace

IRModule extract_prim_func_constants(const IRModule& mod) {
  Array<NDArray> constants;
  if (ObjectRef known = mod->attrs.get_attr(kConstants)) constants = Array<NDArray>(known.as<ArrayNode>());
  auto index_of = [&](const NDArray& data) {
    for (size_t i = 0; i < constants.size(); ++i)
      if (structural_equal(constants[i], data)) return static_cast<int64_t>(i);
    constants.push_back(data);
    return static_cast<int64_t>(constants.size() - 1);
  };
  IRModule out = map_bodies(mod, [&](const Stmt& body) {
    return rewrite(body, [&](Rewriter& self, const AllocateConst* op) -> Stmt {
      AllocateConst now(*self.children(op).get());
      if (op->data) now.irmod_storage_idx = make_const(DataType::Int(32), index_of(downcast<NDArray>(op->data)));
      return make(std::move(now));
    });
  });
  if (!constants.empty()) out.edit()->attrs = out->attrs.with(kConstants, constants);
  return out;
}

}  // namespace tessera
