// tvm_access_ptr(type, data, offset, extent, mode) becomes the address of an element.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

PrimExpr address_at(const Var& data, DataType dtype, PrimExpr offset) {
  if (dtype.lanes > 1) {
    offset = offset * make_const(offset.dtype(), dtype.lanes);
    offset = make_ramp(offset, make_const(offset.dtype(), 1), dtype.lanes);
  }
  BufferNode node;
  node.data = data;
  node.dtype = dtype.element();
  node.shape = {(dtype.lanes > 1 ? offset.as<Ramp>()->base : offset) + 1};
  node.elem_offset = make_zero(node.shape[0].dtype());
  node.name = data->name;
  return make_call(DataType::Handle(), builtin::address_of(), {make_load(make(std::move(node)), {offset})});
}

}  // namespace

Stmt lower_device_storage_access_info(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const Call* op) -> PrimExpr {
    Ref<Call> out = self.children(op);
    if (!builtin::is(op, builtin::tvm_access_ptr())) return out;
    return address_at(downcast<Var>(out->args[1]), out->args[0].dtype(), out->args[2]);
  });
}

}  // namespace tessera
