#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

CodeGen::CodeGen(llvm::LLVMContext& context, const llvm::TargetMachine& target, const Machine& machine,
                 const std::string& name)
    : context_(context),
      machine_(machine),
      half_(half_support(target)),
      rounds_to_bfloat_(tessera::codegen::rounds_to_bfloat(target)),
      scale_(scale_support(target)),
      truncate_(truncate_support(target)),
      half_extremum_(half_extremum(target)),
      module_(std::make_unique<llvm::Module>(name, context)),
      builder_(context),
      metadata_(context),
      ptr_(llvm::PointerType::get(context, 0)),
      i1_(builder_.getInt1Ty()),
      i8_(builder_.getInt8Ty()),
      i32_(builder_.getInt32Ty()),
      i64_(builder_.getInt64Ty()) {
  module_->setTargetTriple(machine.triple);
  module_->setDataLayout(target.createDataLayout());
  module_->addModuleFlag(llvm::Module::Max, "PIC Level", 2);
  builder_.setFastMathFlags(machine.fast_math);
}

void CodeGen::prepare_function(llvm::Function* function) {
  function->addFnAttr(llvm::Attribute::NoUnwind);
  set_machine_attributes(function, machine_);
}

void CodeGen::declare(const GlobalVar& var, const PrimFunc& function) {
  ObjectRef symbol = function->attrs.get_attr(attr::kGlobalSymbol);
  std::string name = symbol ? downcast<String>(symbol).str() : var->name_hint.str();
  if (module_->getFunction(name)) throw Error(ValueError) << "two functions of the module are called " << name;
  auto linkage = symbol ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage;
  llvm::Function* made = llvm::Function::Create(function_type(function), linkage, name, module_.get());
  prepare_function(made);
  if (function->ret_type) extend_result(made, runtime_dtype(function->ret_type));
  functions_[var.get()] = {function, made};
}

void CodeGen::define(const GlobalVar& var) {
  const auto& [function, made] = functions_.at(var.get());
  if (!function->buffer_map.empty() && function->attrs.get_int(attr::kCallingConv, 0) == 0) {
    for (const auto& [param, buffer] : function->buffer_map)
      if (!param.same_as(buffer->data))
        throw Error(ValueError) << "function " << var->name_hint << ": parameter " << param->name
                                << " stands for buffer " << buffer->name
                                << "; MakePackedAPI or MakeUnpackedAPI says how it is passed";
  }
  state_ = FunctionState();
  state_.function = made;
  state_.unpacks = function->attrs.get_int(attr::kCallingConv, 0) == static_cast<int>(CallingConv::CPackedFunc);
  restricted_ = function->attrs.is_true("tir.noalias");
  has_compute_scope_ = false;
  for (auto& known : known_) known.clear();
  for (size_t i = 0; i < function->params.size(); ++i) {
    llvm::Argument* argument = made->getArg(unsigned(i));
    argument->setName(function->params[i]->name.str());
    if (restricted_ && argument->getType()->isPointerTy()) argument->addAttr(llvm::Attribute::NoAlias);
    define_variable(function->params[i].get(), argument);
  }
  start_block(new_block("entry"));
  try {
    emit(function->body);
  } catch (Error& error) {
    throw Error(error.kind(), error.message() + "\n  in function " + made->getName().str());
  }
  if (!is_terminated()) builder_.CreateRet(status_at_end());
  // What is left of a function whose work is elsewhere are checks of its arguments, once a call. They would take LLVM as long
  // as the work itself, and gain a dozen nanoseconds.
  if (has_compute_scope_) {
    made->addFnAttr(llvm::Attribute::NoInline);
    made->addFnAttr(llvm::Attribute::OptimizeNone);
  }
}

void CodeGen::set_entry(const std::string& symbol) {
  auto* name = llvm::ConstantDataArray::getString(context_, symbol);
  new llvm::GlobalVariable(*module_, name->getType(), true, llvm::GlobalValue::WeakAnyLinkage, name, "__tvm_main__");
}

std::unique_ptr<llvm::Module> CodeGen::finish() {
  extend_ints();
  return std::move(module_);
}

void verify(const llvm::Module& module) {
  std::string words;
  llvm::raw_string_ostream stream(words);
  if (llvm::verifyModule(module, &stream))
    throw Error(InternalError) << "the LLVM module made for " << module.getName().str() << " is broken: " << words;
}

}  // namespace tessera::codegen
