#include "codegen/llvm/kernels.h"

#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "runtime/index_error.h"
#include "tir/analysis/checked_index_texts.h"
#include "tir/attrs.h"

namespace tessera::codegen {
namespace {

const DeviceTraits& traits_of(const Machine& machine) {
  using namespace llvm::Intrinsic;  // NOLINT: the names are long enough
  static const DeviceTraits nvptx = {
      llvm::CallingConv::PTX_Kernel,
      {nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_tid_z},
      {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y, nvvm_read_ptx_sreg_ctaid_z},
      3,
      1};
  static const DeviceTraits amdgpu = {llvm::CallingConv::AMDGPU_KERNEL,
                                      {amdgcn_workitem_id_x, amdgcn_workitem_id_y, amdgcn_workitem_id_z},
                                      {amdgcn_workgroup_id_x, amdgcn_workgroup_id_y, amdgcn_workgroup_id_z},
                                      3,
                                      1};
  return machine.is_nvptx() ? nvptx : amdgpu;
}

/// The space a buffer's pointer says it lies in: "global" when it says nothing.
std::string scope_of(const Var& var) {
  auto* pointer = var->type_annotation.as<PointerType>();
  return pointer && !pointer->storage_scope.empty() ? pointer->storage_scope.str() : "global";
}

}  // namespace

KernelCodeGen::KernelCodeGen(llvm::LLVMContext& context, const llvm::TargetMachine& target, const Machine& machine)
    : CodeGen(context, target, machine, "kernels"), traits_(traits_of(machine)) {}

void KernelCodeGen::declare(const GlobalVar& var, const PrimFunc& function) {
  if (function->attrs.get_int(attr::kCallingConv, 0) != int(CallingConv::DeviceKernelLaunch))
    throw Error(ValueError) << "function " << var->name_hint << " is no kernel; code for " << machine_.text
                            << " is made of what SplitHostDevice splits off";
  std::vector<llvm::Type*> params;
  for (const Var& param : function->params)
    params.push_back(param->dtype.is_handle() ? llvm::PointerType::get(context_, traits_.global_space)
                                              : value_type(param->dtype));
  if (!checked_index_texts(function->body).empty())
    params.push_back(llvm::PointerType::get(context_, traits_.global_space));
  ObjectRef symbol = function->attrs.get_attr(attr::kGlobalSymbol);
  std::string name = symbol ? downcast<String>(symbol).str() : var->name_hint.str();
  if (module_->getFunction(name)) throw Error(ValueError) << "two kernels of the module are called " << name;
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), params, false);
  auto* made = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_.get());
  made->setCallingConv(traits_.kernel_convention);
  prepare_function(made);
  set_block_size(made, function);
  functions_[var.get()] = {function, made};
}

/// Tells the back end how many threads a block has, so that it shares out registers.
void KernelCodeGen::set_block_size(llvm::Function* kernel, const PrimFunc& function) {
  int64_t sizes[3] = {1, 1, 1};
  bool is_constant = true;
  walk(function->body, [&](const AttrStmt* op) {
    auto* axis = op->node.as<IterVarNode>();
    if (op->attr_key != attr::kThreadExtent || !axis || axis->thread_tag.str().rfind("threadIdx.", 0) != 0) return;
    const int64_t* extent = as_int(op->value);
    is_constant = is_constant && extent;
    if (extent) sizes[axis->thread_tag.str().back() - 'x'] = *extent;
  });
  if (!is_nvptx()) {
    std::string threads = is_constant ? std::to_string(sizes[0] * sizes[1] * sizes[2]) : "1024";
    kernel->addFnAttr("amdgpu-flat-work-group-size", (is_constant ? threads : "1") + "," + threads);
    return;
  }
  llvm::NamedMDNode* notes = module_->getOrInsertNamedMetadata("nvvm.annotations");
  auto note = [&](const char* name, int64_t value) {
    notes->addOperand(
        llvm::MDNode::get(context_, {llvm::ValueAsMetadata::get(kernel), llvm::MDString::get(context_, name),
                                     llvm::ConstantAsMetadata::get(constant_int(32, value))}));
  };
  note("kernel", 1);
  if (!is_constant) return;
  note("maxntidx", sizes[0]), note("maxntidy", sizes[1]), note("maxntidz", sizes[2]);
}

void KernelCodeGen::define(const GlobalVar& var) {
  const auto& [function, made] = functions_.at(var.get());
  state_ = FunctionState();
  state_.function = made;
  restricted_ = function->attrs.is_true(attr::kNoAlias);
  for (auto& known : known_) known.clear();
  start_block(new_block("entry"));
  for (size_t i = 0; i < function->params.size(); ++i) {
    const Var& param = function->params[i];
    llvm::Argument* argument = made->getArg(unsigned(i));
    argument->setName(param->name.str());
    Value* value = argument;
    if (param->dtype.is_handle()) {
      if (restricted_) argument->addAttr(llvm::Attribute::NoAlias);
      value = builder_.CreateAddrSpaceCast(argument, ptr_);
      alignments_[param.get()] = 16;
    }
    define_variable(param.get(), value);
  }
  checked_indices_ = checked_index_texts(function->body);
  if (!checked_indices_.empty()) {
    index_errors_ = made->getArg(unsigned(function->params.size()));
    index_errors_->setName("index_errors");
  }
  try {
    emit(function->body);
  } catch (Error& error) {
    throw Error(error.kind(), error.message() + "\n  in kernel " + made->getName().str());
  }
  if (!is_terminated()) builder_.CreateRetVoid();
}

/// As kernels in source form do: see KernelPrinter::checked_index.
void KernelCodeGen::report_index(const std::string& where, Value* is_bad, Value* index, Value* extent) {
  auto text = std::find(checked_indices_.begin(), checked_indices_.end(), where);
  auto first = uint64_t(kIndexErrorWords * (text - checked_indices_.begin()));
  auto word = [&](uint64_t i) { return builder_.CreateConstInBoundsGEP1_64(i64_, index_errors_, first + i); };
  auto [bad_index, bound] = first_bad(is_bad, index, extent);
  builder_.CreateStore(bad_index, word(1));
  builder_.CreateStore(bound, word(2));
  builder_.CreateStore(constant_int(64, 1), word(0));
}

void KernelCodeGen::thread_extent(const AttrStmt* op) {
  auto* axis = op->node.as<IterVarNode>();
  if (!axis) throw Error(TypeError) << "thread_extent of " << op->node->type_key() << ", which is no thread axis";
  std::string tag = axis->thread_tag.str();
  int dimension = tag.empty() ? -1 : tag.back() - 'x';
  bool is_thread = tag.rfind("threadIdx.", 0) == 0, is_block = tag.rfind("blockIdx.", 0) == 0;
  if ((!is_thread && !is_block) || dimension < 0 || dimension > 2)
    throw Error(ValueError) << "a GPU has no thread axis \"" << tag << "\"; there are blockIdx and threadIdx .x .y .z";
  if (!state_.vars.count(axis->var.get())) {
    auto id = is_thread ? traits_.thread_index[dimension] : traits_.block_index[dimension];
    Value* index = builder_.CreateIntrinsic(id, {}, {});
    index->setName(tag);
    define_variable(axis->var.get(), cast(index, DataType::Int(32), axis->var->dtype));
  }
  emit(op->body);
}

void KernelCodeGen::visit(const Allocate* op) {
  std::string scope = scope_of(op->buffer_var);
  if (scope == "local" || scope == "global") return CodeGen::visit(op);
  if (scope != "shared")
    throw Error(NotImplementedError) << "memory of scope " << scope << " for " << op->buffer_var->name
                                     << " in code for " << machine_.text << "; there are shared and local";
  int64_t count = op->dtype.lanes;
  for (const PrimExpr& extent : op->extents) {
    const int64_t* size = as_int(extent);
    if (!size)
      throw Error(ValueError) << "shared memory of " << op->buffer_var->name << " has no constant size: " << extent;
    count *= std::max<int64_t>(*size, 0);
  }
  auto* type = llvm::ArrayType::get(memory_type(op->dtype), uint64_t(std::max<int64_t>(count, 1)));
  auto* global = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::PoisonValue::get(type), local_name(op->buffer_var->name.str()), nullptr,
                                          llvm::GlobalValue::NotThreadLocal, traits_.shared_space);
  global->setAlignment(llvm::Align(64));
  alignments_[op->buffer_var.get()] = 64;
  define_variable(op->buffer_var.get(), builder_.CreateAddrSpaceCast(global, ptr_));
  emit(op->body);
}

/// Nobody could be told.
void KernelCodeGen::visit(const AssertStmt* op) { emit(op->body); }

void KernelCodeGen::parallel_loop(const For* op) {
  throw Error(ValueError) << "parallel loop " << op->loop_var->name << " in a kernel; bind it to threads instead";
}

llvm::Value* KernelCodeGen::storage_sync(const Call* op) {
  auto* scope = op->args.empty() ? nullptr : op->args[0].as<StringImm>();
  std::string_view name = scope ? std::string_view(scope->value) : "";
  ++impure_;
  if (name == "warp") {
    if (is_nvptx()) builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {constant_int(32, -1)});
  } else if (name != "shared" && name != "shared.dyn") {
    throw Error(NotImplementedError) << "a barrier of scope " << name << "; blocks cannot wait for each other";
  } else if (is_nvptx()) {
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  } else {
    llvm::SyncScope::ID group = context_.getOrInsertSyncScopeID("workgroup");
    builder_.CreateFence(llvm::AtomicOrdering::Release, group);
    builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
    builder_.CreateFence(llvm::AtomicOrdering::Acquire, group);
  }
  return constant_int(32, 0);
}

}  // namespace tessera::codegen
