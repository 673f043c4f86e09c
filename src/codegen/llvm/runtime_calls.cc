// Calls of the runtime. Generated code links against nothing: it calls through the pointers __TVMFuncCall,
// __TVMBackendParallelLaunch, ... which whoever loads it fills, and finds its module in __tvm_module_ctx.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

struct RuntimeFunction {
  std::string_view name;
  std::string_view signature;  // result, then parameters: v nothing, p pointer, i int32, l int64
};

constexpr RuntimeFunction kFunctions[] = {
    {"TVMFuncCall", "ipppipp"},           {"TVMAPISetLastError", "vp"},
    {"TVMBackendGetFuncFromEnv", "ippp"}, {"TVMBackendAllocWorkspace", "piilii"},
    {"TVMBackendFreeWorkspace", "iiip"},  {"TVMBackendParallelLaunch", "ippi"},
    {"TVMBackendParallelBarrier", "iip"},
};

const RuntimeFunction* find_runtime_function(std::string_view name) {
  for (const RuntimeFunction& row : kFunctions)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

bool CodeGen::is_runtime_function(const std::string& name) const { return find_runtime_function(name); }

/// The value of a pointer that the loader sets before any code runs.
llvm::Value* CodeGen::runtime_pointer(const std::string& symbol) {
  llvm::GlobalVariable* global = module_->getGlobalVariable(symbol);
  if (!global) {
    // Several objects may be linked into one library: their pointers are merged.
    global = new llvm::GlobalVariable(*module_, ptr_, false, llvm::GlobalValue::LinkOnceAnyLinkage,
                                      llvm::Constant::getNullValue(ptr_), symbol);
    global->setAlignment(llvm::Align(8));
  }
  llvm::LoadInst* value = builder_.CreateLoad(ptr_, global);
  value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return value;
}

llvm::Value* CodeGen::call_runtime(const std::string& name, const Values& args) {
  const RuntimeFunction* row = find_runtime_function(name);
  ICHECK(row) << name << " is a function of the runtime";
  auto type_of_letter = [&](char letter) -> llvm::Type* {
    return letter == 'p'   ? static_cast<llvm::Type*>(ptr_)
           : letter == 'i' ? i32_
           : letter == 'l' ? i64_
                           : builder_.getVoidTy();
  };
  std::vector<llvm::Type*> types;
  Values converted;
  for (size_t i = 1; i < row->signature.size(); ++i) {
    types.push_back(type_of_letter(row->signature[i]));
    ICHECK(i <= args.size()) << name << " takes " << row->signature.size() - 1 << " arguments";
    Value* arg = args[i - 1];
    if (arg->getType() != types.back()) arg = builder_.CreateSExtOrTrunc(arg, types.back());
    converted.push_back(arg);
  }
  ++impure_;
  auto* type = llvm::FunctionType::get(type_of_letter(row->signature[0]), types, false);
  llvm::CallInst* call = builder_.CreateCall(type, runtime_pointer("__" + name), converted);
  // Fresh memory: what is summed up there can stay in registers.
  if (name == "TVMBackendAllocWorkspace") call->addRetAttr(llvm::Attribute::NoAlias);
  if (name == "TVMBackendFreeWorkspace")
    std::erase_if(state_.workspaces, [&](const Workspace& workspace) { return workspace.data == args[2]; });
  return call;
}

void CodeGen::check_status(Value* status) {
  auto *failed = new_block("call_failed"), *passed = new_block("call_done");
  Value* is_good = builder_.CreateICmpEQ(status, llvm::Constant::getNullValue(status->getType()));
  builder_.CreateCondBr(is_good, passed, failed, metadata_.createBranchWeights(1 << 20, 1));
  start_block(failed);
  return_failure(status);
  start_block(passed);
}

/// The end of a function that has failed: what it allocated is given back first.
void CodeGen::return_failure(Value* status) {
  std::vector<Workspace> live = state_.workspaces;
  for (auto it = live.rbegin(); it != live.rend(); ++it) {
    auto *free = new_block("free_workspace"), *freed = new_block("workspace_freed");
    builder_.CreateCondBr(builder_.CreateIsNull(it->data), freed, free);
    start_block(free);
    call_runtime("TVMBackendFreeWorkspace", {it->device_type, it->device_id, it->data});
    builder_.CreateBr(freed);
    start_block(freed);
  }
  state_.workspaces = std::move(live);  // on the way where nothing failed
  llvm::Type* type = state_.function->getReturnType();
  builder_.CreateRet(type == status->getType() ? status : llvm::Constant::getNullValue(type));
}

void CodeGen::fail_with(const std::string& message) {
  call_runtime("TVMAPISetLastError", {string_constant(message)});
  return_failure(constant_int(32, -1));
}

/// Assertions share one way out where there is nothing to give back: functions check dozens of arguments.
void CodeGen::require(Value* holds, const std::string& message) {
  auto* passed = new_block("assert_passed");
  llvm::MDNode* likely = metadata_.createBranchWeights(1 << 20, 1);
  if (!state_.workspaces.empty()) {
    auto* failed = new_block("assert_failed");
    builder_.CreateCondBr(holds, passed, failed, likely);
    start_block(failed);
    fail_with(message);
  } else {
    llvm::BasicBlock* from = builder_.GetInsertBlock();
    if (!state_.message) {
      start_block(new_block("assert_failed"));
      state_.message = builder_.CreatePHI(ptr_, 0, "message");
      call_runtime("TVMAPISetLastError", {state_.message});
      return_failure(constant_int(32, -1));
      start_block(from);
    }
    builder_.CreateCondBr(holds, passed, state_.message->getParent(), likely);
    state_.message->addIncoming(string_constant(message), from);
  }
  start_block(passed);
}

llvm::Value* CodeGen::string_constant(const std::string& text) {
  llvm::GlobalVariable*& global = strings_[text];
  if (!global) {
    auto* data = llvm::ConstantDataArray::getString(context_, text);
    global = new llvm::GlobalVariable(*module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "str");
    global->setAlignment(llvm::Align(1));
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  }
  return global;
}

}  // namespace tessera::codegen
