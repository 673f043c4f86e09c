#include "tir/transform/memory/device_memory.h"

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "runtime/device.h"

namespace tessera {

Stmt call_device_memory(const LetStmt* let, const PrimExpr& device_type, const PrimExpr& device_id) {
  auto* call = let->value.as<Call>();
  if (!builtin::is(call, builtin::nd_mem_alloc_with_scope())) return nullptr;
  auto* pointer = let->var->type_annotation.as<PointerType>();
  auto* element = pointer ? pointer->element_type.as<PrimType>() : nullptr;
  const int64_t* type = device_type ? as_int(device_type) : nullptr;
  if (!type || !device_id || !element || call->args.empty())
    throw Error(ValueError) << "LowerTVMBuiltin: the device or the type of memory " << let->var->name
                            << " is not known here; run MakePackedAPI first";
  const DataType int32 = DataType::Int(32);
  std::string prefix = "device_api." + device_type_name(static_cast<int>(*type)) + ".";
  Array<PrimExpr> args{string_imm(prefix + "alloc_nd"), device_type, device_id, int_imm(int32, element->dtype.code),
                       int_imm(int32, element->dtype.bits)};
  for (const PrimExpr& arg : call->args) args.push_back(arg);
  PrimExpr give_back = make_call(int32, builtin::tvm_call_packed(),
                                 {string_imm(prefix + "free_nd"), device_type, device_id, call->args[0], let->var});
  Stmt fail = evaluate(make_call(int32, builtin::tvm_throw_last_error(), {}));
  PrimExpr is_null = make_call(DataType::Bool(), builtin::isnullptr(), {let->var});
  Stmt body = sequence({make(IfThenElse{.condition = is_null, .then_case = fail}), let->body, evaluate(give_back)});
  PrimExpr take = make_call(let->var->dtype, builtin::tvm_call_packed(), args);
  return make(LetStmt{.var = let->var, .value = take, .body = body});
}

}  // namespace tessera
