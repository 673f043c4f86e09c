// Calls of operators, of functions of the module and of functions outside.

#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

const std::unordered_map<std::string_view, CodeGen::Emitter>& CodeGen::emitters() {
  static const std::unordered_map<std::string_view, Emitter> table = {
      {"tir.call_extern", &CodeGen::call_extern},
      {"tir.call_pure_extern", &CodeGen::call_extern},
      {"tir.call_llvm_intrin", &CodeGen::call_llvm_intrin},
      {"tir.call_llvm_pure_intrin", &CodeGen::call_llvm_intrin},
      {"tir.tvm_call_packed_lowered", &CodeGen::call_packed},
      {"tir.tvm_call_cpacked_lowered", &CodeGen::call_c_packed},
      {"tir.tvm_call_trace_packed_lowered", &CodeGen::call_trace_packed},
      {"tir.tvm_struct_get", &CodeGen::struct_get},
      {"tir.tvm_struct_set", &CodeGen::struct_set},
      {"tir.tvm_stack_alloca", &CodeGen::stack_alloca},
      {"tir.tvm_throw_last_error", &CodeGen::throw_last_error},
      {"tir.tvm_static_handle", &CodeGen::static_handle},
      {"tir.tvm_access_ptr", &CodeGen::access_ptr},
      {"tir.address_of", &CodeGen::address_of},
      {"tir.masked_load", &CodeGen::masked_load},
      {"tir.masked_store", &CodeGen::masked_store},
      {"tir.ret", &CodeGen::return_value},
      {"tir.likely", &CodeGen::pass_through},
      {"tir.checked_index", &CodeGen::checked_index},
      {"tir.tvm_thread_invariant", &CodeGen::pass_through},
      {"tir.assume", &CodeGen::no_value},
      {"tir.tvm_storage_sync", &CodeGen::storage_sync},
      {"tir.tvm_warp_shuffle", &CodeGen::warp_call},
      {"tir.tvm_warp_shuffle_up", &CodeGen::warp_call},
      {"tir.tvm_warp_shuffle_down", &CodeGen::warp_call},
      {"tir.tvm_warp_activemask", &CodeGen::warp_call},
      {"tir.undef", &CodeGen::undefined},
      {"tir.if_then_else", &CodeGen::if_then_else},
      {"tir.reinterpret", &CodeGen::reinterpret_call},
      {"tir.reinterpret_lanes", &CodeGen::reinterpret_call},
      {"tir.rounded_to_bfloat", &CodeGen::rounded_to_bfloat},
      {"tir.isnullptr", &CodeGen::is_null},
      {"tir.isnan", &CodeGen::is_nan},
      {"tir.large_uint_imm", &CodeGen::large_uint},
      {"tir.bitwise_and", &CodeGen::bitwise},
      {"tir.bitwise_or", &CodeGen::bitwise},
      {"tir.bitwise_xor", &CodeGen::bitwise},
      {"tir.bitwise_not", &CodeGen::bitwise},
      {"tir.shift_left", &CodeGen::shift},
      {"tir.shift_right", &CodeGen::shift},
      {"tir.popcount", &CodeGen::count_bits},
      {"tir.clz", &CodeGen::count_bits},
      {"tir.q_multiply_shift", &CodeGen::q_multiply_shift},
      {"tir.prefetch", &CodeGen::prefetch},
      {"tir.atomic_add", &CodeGen::atomic_add},
      {"tir.vectorlow", &CodeGen::vector_part},
      {"tir.vectorhigh", &CodeGen::vector_part},
      {"tir.vectorcombine", &CodeGen::vector_part},
  };
  return table;
}

llvm::Value* CodeGen::visit(const Call* op) {
  if (auto* callee = op->op.as<GlobalVarNode>()) return call_global(callee, op);
  auto* callee = op->op.as<OpNode>();
  if (!callee)
    throw Error(TypeError) << "a call of " << op->op->type_key() << ": only operators and functions are called";
  const std::string& name = callee->name.str();
  auto it = emitters().find(name);
  if (it != emitters().end()) return (this->*it->second)(op);
  if (Value* value = math(op)) return value;
  std::string symbol = name.substr(name.rfind('.') + 1);
  if (is_runtime_function(symbol)) return call_extern_named(symbol, op, 0, false);
  if (Any global = Op(callee).slot("TGlobalSymbol"); !global.is_null())
    return call_extern_named(global.to<std::string>(), op, 0, false);
  throw Error(NotImplementedError) << "no machine code for a call of " << name
                                   << "; it has to be lowered before code generation, in " << PrimExpr(op);
}

CodeGen::Values CodeGen::emit_args(const Call* op, size_t from) {
  Values out;
  for (size_t i = from; i < op->args.size(); ++i) out.push_back(emit(op->args[i]));
  return out;
}

llvm::Value* CodeGen::call_extern(const Call* op) {
  auto* name = op->args.empty() ? nullptr : op->args[0].as<StringImm>();
  if (!name) throw Error(TypeError) << "call_extern takes the function's name first, in " << PrimExpr(op);
  return call_extern_named(name->value.str(), op, 1, is_call(op, "tir.call_pure_extern"));
}

/// A C function whose signature is what the call shows.
llvm::Value* CodeGen::call_extern_named(const std::string& name, const Call* op, size_t first_argument, bool pure) {
  Values args = emit_args(op, first_argument);
  if (!pure) ++impure_;
  if (is_runtime_function(name)) return call_runtime(name, args);
  std::vector<llvm::Type*> types;
  for (Value* arg : args) types.push_back(arg->getType());
  auto* type = llvm::FunctionType::get(value_type(op->dtype), types, false);
  llvm::Function* callee = module_->getFunction(name);
  if (!callee) {
    callee = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_.get());
    callee->addFnAttr(llvm::Attribute::NoUnwind);
    if (pure) {
      callee->setDoesNotAccessMemory();
      callee->setWillReturn();
    }
  } else if (callee->getFunctionType()->params() != type->params()) {
    throw Error(TypeError) << "function " << name << " is called with arguments of other types than elsewhere, in "
                           << PrimExpr(op);
  }
  llvm::CallInst* out = builder_.CreateCall(callee, args);
  for (size_t i = 0; i < args.size(); ++i) extend_argument(out, i, op->args[first_argument + i].dtype());
  if (out->getType() == type->getReturnType())
    return type->getReturnType()->isVoidTy() ? static_cast<Value*>(constant_int(32, 0)) : out;
  if (op->dtype.is_void()) return out;
  throw Error(TypeError) << "function " << name << " does not give " << op->dtype << " as " << PrimExpr(op) << " wants";
}

llvm::Value* CodeGen::call_global(const GlobalVarNode* callee, const Call* op) {
  auto it = functions_.find(callee);
  if (it == functions_.end())
    throw Error(ValueError) << "function " << callee->name_hint << " is called but is not in the module";
  const auto& [function, target] = it->second;
  if (function->params.size() != op->args.size())
    throw Error(TypeError) << "function " << callee->name_hint << " takes " << function->params.size()
                           << " arguments, not " << op->args.size();
  Values args = emit_args(op);
  for (size_t i = 0; i < args.size(); ++i) args[i] = cast(args[i], op->args[i].dtype(), function->params[i]->dtype);
  ++impure_;
  Value* out = builder_.CreateCall(target, args);
  bool gives_status = !function->ret_type || runtime_dtype(function->ret_type).is_void();
  if (!gives_status) return out;
  check_status(out);
  return constant_int(32, 0);
}

/// bfloat16 is kept as its bits here (fp16_bf16.cc); LLVM's intrinsics for it take vectors of its own type.
CodeGen::Values CodeGen::as_bfloats(Values args) {
  for (Value*& arg : args) {
    auto* vector = llvm::dyn_cast<llvm::VectorType>(arg->getType());
    if (!vector || !vector->getElementType()->isIntegerTy()) continue;
    const llvm::TypeSize bits = vector->getPrimitiveSizeInBits();
    auto lanes = llvm::ElementCount::get(unsigned(bits.getKnownMinValue() / 16), bits.isScalable());
    arg = builder_.CreateBitCast(arg, llvm::VectorType::get(builder_.getBFloatTy(), lanes));
  }
  return args;
}

/// Arguments: the intrinsic's number, how many arguments make its overloaded signature, then its arguments.
llvm::Value* CodeGen::call_llvm_intrin(const Call* op) {
  const int64_t* number = op->args.size() >= 2 ? as_int(op->args[0]) : nullptr;
  const int64_t* in_signature = number ? as_int(op->args[1]) : nullptr;
  if (!in_signature) throw Error(TypeError) << "call_llvm_intrin takes two constants first, in " << PrimExpr(op);
  if (*number <= 0 || *number >= llvm::Intrinsic::num_intrinsics)
    throw Error(ValueError) << "LLVM has no intrinsic of number " << *number;
  auto id = static_cast<llvm::Intrinsic::ID>(*number);
  std::string name = llvm::Intrinsic::getBaseName(id).str();
  // The back end would give up, and with it all that LLVM holds.
  std::string own = "llvm." + llvm::Triple::getArchTypePrefix(llvm::Triple(machine_.triple).getArch()).str() + ".";
  if (llvm::Function::isTargetIntrinsic(id) && !name.starts_with(own))
    throw Error(ValueError) << "the intrinsic " << name << " belongs to other CPUs than " << machine_.triple;
  if (!is_call(op, "tir.call_llvm_pure_intrin")) ++impure_;
  Values args = emit_args(op, 2);
  const bool is_sve = name.starts_with("llvm.aarch64.sve.");
  if (is_sve)
    for (Value*& arg : args) arg = to_scalable(arg);
  if (name.find(".bf") != std::string::npos || name.find("bf16") != std::string::npos) args = as_bfloats(args);
  bool is_void = op->dtype.is_void() || name == "llvm.prefetch";
  llvm::Type* result = is_void ? builder_.getVoidTy() : value_type(op->dtype);
  std::vector<llvm::Type*> types;
  for (Value* arg : args) types.push_back(arg->getType());
  auto* type = llvm::FunctionType::get(is_sve ? scalable_type(result) : result, types, false);

  // The overloads that make the intrinsic's type the one wanted.
  llvm::SmallVector<llvm::Intrinsic::IITDescriptor, 8> table;
  llvm::Intrinsic::getIntrinsicInfoTableEntries(id, table);
  llvm::ArrayRef<llvm::Intrinsic::IITDescriptor> rest = table;
  llvm::SmallVector<llvm::Type*, 4> overloads;
  if (llvm::Intrinsic::matchIntrinsicSignature(type, rest, overloads) != llvm::Intrinsic::MatchIntrinsicTypes_Match ||
      llvm::Intrinsic::matchIntrinsicVarArg(false, rest)) {
    std::string shown;
    llvm::raw_string_ostream(shown) << *type;
    throw Error(TypeError) << "LLVM's " << name << " has no form " << shown << ", as " << PrimExpr(op) << " wants";
  }
  Value* out = builder_.CreateIntrinsic(id, overloads, args);
  if (out->getType() != result) out = builder_.CreateExtractVector(result, out, builder_.getInt64(0));
  return is_void ? constant_int(32, 0) : out;
}

llvm::Value* CodeGen::return_value(const Call* op) {
  ++impure_;
  llvm::Type* type = state_.function->getReturnType();
  Value* value = emit(op->args[0]);
  if (value->getType() != type) {
    if (!value->getType()->isIntegerTy() || !type->isIntegerTy())
      throw Error(TypeError) << "ret of " << op->args[0].dtype() << " from a function of another type";
    value = builder_.CreateSExtOrTrunc(value, type);
  }
  if (state_.failed) {
    Value* failed = status_at_end();
    value = builder_.CreateSelect(builder_.CreateIsNull(failed), value, failed);
  }
  builder_.CreateRet(value);
  start_block(new_block("unreachable"));
  return constant_int(32, 0);
}

}  // namespace tessera::codegen
