// Memory in the tightly coupled memory of a Hexagon is asked of its device.
//
//   allocate A[128, 4] in "global.vtcm"    =>    let A = nd_mem_alloc_with_scope("global.vtcm", 2, [128, 4])

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {

Stmt lower_vtcm_alloc(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const Allocate* op) -> Stmt {
    auto* pointer = op->buffer_var->type_annotation.as<PointerType>();
    if (!pointer || std::string_view(pointer->storage_scope) != "global.vtcm") return self.children(op);
    PrimExpr shape = make_call(DataType::Handle(), builtin::tvm_stack_make_shape(), op->extents);
    PrimExpr rank = int_imm(DataType::Int(64), static_cast<int64_t>(op->extents.size()));
    PrimExpr memory = make_call(DataType::Handle(), builtin::nd_mem_alloc_with_scope(),
                                {string_imm(pointer->storage_scope), rank, shape});
    return make(LetStmt{.var = op->buffer_var, .value = memory, .body = self(op->body)});
  });
}

}  // namespace tessera
