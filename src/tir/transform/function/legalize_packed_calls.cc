// Pointers that are passed to a function of the same module through the packed convention become tensors, as the function
// expects them.
//
//   tvm_call_cpacked("f", A, context)    =>    tvm_call_cpacked("f", tvm_stack_make_array(A, [16], ...), context)
//
// where parameter 0 of f is a buffer of shape (16,). Arguments that are tensors already stay.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

PrimExpr tensor_of(const PrimExpr& data, const Buffer& buffer) {
  PrimExpr shape = make_call(DataType::Handle(), builtin::tvm_stack_make_shape(), buffer->shape);
  PrimExpr no_strides = make_call(DataType::Handle(), builtin::reinterpret(), {int_imm(DataType::UInt(64), 0)});
  PrimExpr rank = int_imm(DataType::UInt(32), static_cast<int64_t>(buffer->shape.size()));
  return make_call(DataType::Handle(), builtin::tvm_stack_make_array(),
                   {data, shape, no_strides, rank, make_const(buffer->dtype, int64_t{0}), buffer->elem_offset});
}

PrimExpr legalize(const Ref<Call>& call, const IRModule& mod) {
  auto* name = call->args.empty() ? nullptr : call->args[0].as<StringImm>();
  GlobalVar var = name ? mod.find_global_var(name->value) : GlobalVar();
  auto callee = var ? downcast_or_null<PrimFunc>(mod->functions[var]) : PrimFunc();
  if (!callee) return call;
  Array<PrimExpr> args{call->args[0]};
  for (size_t i = 1; i < call->args.size(); ++i) {
    PrimExpr arg = call->args[i];
    if (i - 1 < callee->params.size() && arg.as<VarNode>()) {
      const Var& param = callee->params[i - 1];
      Buffer buffer = callee->preflattened_buffer_map.get_or_null(param);
      if (!buffer) buffer = callee->buffer_map.get_or_null(param);
      if (buffer) arg = tensor_of(arg, buffer);
    }
    args.push_back(arg);
  }
  return make_call(call->dtype, call->op, args);
}

}  // namespace

Stmt legalize_packed_calls(const Stmt& body, const IRModule& mod) {
  return rewrite(body, [&](Rewriter& self, const Call* op) -> PrimExpr {
    Ref<Call> out = self.children(op);
    bool is_packed = builtin::is(op, builtin::tvm_call_cpacked()) || builtin::is(op, builtin::tvm_call_packed());
    return is_packed ? legalize(out, mod) : PrimExpr(out);
  });
}

}  // namespace tessera
