// Bodies that become functions of their own: compute scopes and parallel regions.
//
//   for i in parallel(n): S(i)
//     =>  status = ParallelLaunch(lambda, &{captured values}, -n)
//         lambda(task, env, data): return body(task, env, *data...)          // unpacks
//         body(task, env, captured...): for i in the task's share of n: S(i)  // parameters can be noalias
//
// Shares are contiguous and depend only on n and the number of tasks.

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>

#include "codegen/llvm/codegen.h"
#include "codegen/llvm/context.h"
#include "tir/parallel.h"

namespace tessera::codegen {

CodeGen::Captured CodeGen::captured_by(const Stmt& body) {
  Captured out;
  std::unordered_set<const VarNode*> seen;
  auto use = [&](const VarNode* var) {
    if ((state_.vars.count(var) || state_.reads.count(var)) && seen.insert(var).second)
      out.emplace_back(var, visit(var));
  };
  walk(
      body, [&](const VarNode* var) { use(var); }, [&](const BufferLoad* load) { use(load->buffer->data.get()); },
      [&](const BufferStore* store) { use(store->buffer->data.get()); });
  return out;
}

std::string CodeGen::local_name(const std::string& suffix) {
  std::string name = state_.function->getName().str() + "." + suffix;
  int number = outlined_[name]++;
  return number ? name + "." + std::to_string(number) : name;
}

/// Emits `body` as a function of `leading` parameters and the captured variables; a call of it gives the status.
llvm::Function* CodeGen::outline(const std::string& name, const std::vector<llvm::Type*>& leading,
                                 const Captured& captured, const std::function<void()>& body) {
  std::vector<llvm::Type*> types = leading;
  bool may_alias = !restricted_;
  std::unordered_set<const VarNode*> memories;
  for (const auto& [var, value] : captured) {
    types.push_back(value->getType());
    if (!value->getType()->isPointerTy()) continue;
    auto base = derived_.find(var);
    const VarNode* memory = base == derived_.end() ? var : base->second;
    may_alias |= !memory || !memories.insert(memory).second;
  }
  auto* function = llvm::Function::Create(llvm::FunctionType::get(i32_, types, false), llvm::Function::InternalLinkage,
                                          name, module_.get());
  prepare_function(function);
  function->addFnAttr(llvm::Attribute::NoInline);

  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  FunctionState inner;
  inner.function = function;
  for (size_t i = 0; i < captured.size(); ++i) {
    llvm::Argument* argument = function->getArg(unsigned(leading.size() + i));
    argument->setName(captured[i].first->name.str());
    if (argument->getType()->isPointerTy() && !may_alias) argument->addAttr(llvm::Attribute::NoAlias);
    inner.vars[captured[i].first] = argument;
  }
  std::swap(state_, inner);
  start_block(new_block("entry"));
  for (auto& known : known_) known.clear();
  body();
  if (!is_terminated()) builder_.CreateRet(status_at_end());
  std::swap(state_, inner);
  for (auto& known : known_) known.clear();
  return function;
}

void CodeGen::compute_scope(const AttrStmt* op) {
  auto* name = op->value.as<StringImm>();
  const Captured captured = captured_by(op->body);
  std::vector<Value*> args;
  for (const auto& [var, value] : captured) args.push_back(value);
  llvm::Function* function =
      outline(name ? name->value.str() : local_name("compute"), {}, captured, [&] { emit(op->body); });
  check_status(builder_.CreateCall(function, args));
  has_compute_scope_ = true;
}

void CodeGen::parallel_launch(const Stmt& body, const std::string& name, Value* tasks) {
  const Captured captured = captured_by(body);
  std::vector<llvm::Type*> types;
  for (const auto& [var, value] : captured) types.push_back(value->getType());
  auto* closure_type = llvm::StructType::get(context_, types);
  Value* closure = entry_alloca(closure_type, nullptr, 8, "closure");
  for (size_t i = 0; i < captured.size(); ++i)
    builder_.CreateStore(captured[i].second, builder_.CreateStructGEP(closure_type, closure, unsigned(i)));

  llvm::Function* inner = outline(local_name(name), {i32_, i32_, ptr_}, captured, [&] {
    state_.task_id = state_.function->getArg(0);
    state_.num_task = state_.function->getArg(1);
    state_.parallel_env = state_.function->getArg(2);
    state_.task_id->setName("task_id");
    state_.num_task->setName("num_task");
    state_.parallel_env->setName("env");
    emit(body);
  });
  auto* lambda = llvm::Function::Create(llvm::FunctionType::get(i32_, {i32_, ptr_, ptr_}, false),
                                        llvm::Function::InternalLinkage, inner->getName() + ".lambda", module_.get());
  prepare_function(lambda);
  {
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", lambda));
    auto* env_type = llvm::StructType::get(context_, {ptr_, i32_});
    Value* count = builder_.CreateLoad(i32_, builder_.CreateStructGEP(env_type, lambda->getArg(1), 1), "num_task");
    std::vector<Value*> args = {lambda->getArg(0), count, lambda->getArg(1)};
    for (size_t i = 0; i < types.size(); ++i)
      args.push_back(
          builder_.CreateLoad(types[i], builder_.CreateStructGEP(closure_type, lambda->getArg(2), unsigned(i))));
    builder_.CreateRet(builder_.CreateCall(inner, args));
  }
  check_status(call_runtime("TVMBackendParallelLaunch", {lambda, closure, tasks ? tasks : constant_int(32, 0)}));
}

/// What a loop asks of ParallelLaunch: -n for its n iterations, which do not wait for one another; one task where it turns
/// out to be shorter than its annotation says is worth sharing.
llvm::Value* CodeGen::tasks_of(const For* op) {
  bool was = std::exchange(in_index_, true);
  Value* extent = to_index(emit(op->extent), op->extent.dtype());
  in_index_ = was;
  auto limit = [&](llvm::Intrinsic::ID which, Value* value, int64_t bound) {
    return builder_.CreateBinaryIntrinsic(which, value, constant_int(64, bound));
  };
  Value* pieces = limit(llvm::Intrinsic::smax, limit(llvm::Intrinsic::smin, extent, INT32_MAX), 1);
  Value* tasks = builder_.CreateNeg(builder_.CreateTrunc(pieces, i32_));
  auto* least = op->annotations.get_or_null(attr::kMinParallelExtent).as<IntImm>();
  if (!least || as_int(op->extent)) return tasks;
  return builder_.CreateSelect(builder_.CreateICmpSLT(extent, constant_int(64, least->value)), constant_int(32, 1),
                               tasks);
}

void CodeGen::parallel_loop(const For* op) {
  if (state_.parallel_env && !state_.in_parallel_loop) {  // inside a launch point
    state_.in_parallel_loop = true;
    run_share(op);
    state_.in_parallel_loop = false;
  } else if (state_.parallel_env) {  // the threads are busy with the outer loop already
    emit(with(with(op, &For::kind, LoopKind::Serial).get(), &For::thread_binding, IterVar()));
  } else {
    parallel_launch(Stmt(op), "parallel_" + op->loop_var->name.str(), tasks_of(op));
  }
}

void CodeGen::run_share(const For* op) {
  DataType dtype = op->loop_var->dtype;
  llvm::Type* type = value_type(dtype);
  bool was = std::exchange(in_index_, true);
  Value* first = emit(op->min);
  Value* extent = to_index(emit(op->extent), op->extent.dtype());
  in_index_ = was;
  Value* task = builder_.CreateSExt(state_.task_id, i64_);
  Value* tasks = builder_.CreateSExt(state_.num_task, i64_);
  Value *begin, *end, *step;
  if (state_.stride_pattern) {
    begin = task, end = extent, step = tasks;
  } else {
    auto bound = [&](Value* at) { return builder_.CreateSDiv(builder_.CreateNSWMul(at, extent), tasks); };
    begin = bound(task), end = bound(builder_.CreateNSWAdd(task, constant_int(64, 1)));
    step = constant_int(64, 1);
  }
  auto back = [&](Value* v) { return builder_.CreateNSWAdd(builder_.CreateTrunc(v, type), first); };
  emit_loop(op->loop_var, back(begin), back(end), builder_.CreateTrunc(step, type), op->body);
}

void CodeGen::thread_extent(const AttrStmt* op) {
  throw Error(ValueError) << "a " << op->attr_key
                          << " in code for the host; threads of a device exist only in its kernels";
}

void CodeGen::visit(const AttrStmt* op) {
  std::string_view key = op->attr_key;
  auto* var = op->node.as<VarNode>();
  auto need_launch = [&] {
    if (!state_.parallel_env)
      throw Error(ValueError) << key << " stands outside of a pragma_parallel_launch_point and of a parallel loop";
  };
  if (key == "thread_extent" || key == "virtual_thread") return thread_extent(op);
  if (key == "compute_scope") return compute_scope(op);
  if (key == "volatile_scope" && var) volatile_.insert(var);
  if (key == "pragma_import_llvm") {
    auto* source = op->value.as<StringImm>();
    if (!source) throw Error(TypeError) << "pragma_import_llvm takes LLVM IR as text or a file's name";
    import_llvm(source->value.str());
  }
  if (key == attr::kParallelLaunchPoint)
    return parallel_launch(op->body, "parallel_region", as_int(op->value) ? nullptr : emit(op->value));
  if (key == "pragma_parallel_stride_pattern") {
    need_launch();
    bool was = std::exchange(state_.stride_pattern, true);
    emit(op->body);
    state_.stride_pattern = was;
    return;
  }
  if (key == "pragma_parallel_barrier_when_finish") {
    need_launch();
    if (state_.in_parallel_loop)
      throw Error(ValueError) << "pragma_parallel_barrier_when_finish inside a parallel loop, where some tasks may "
                                 "have no iteration and would never arrive; place it around the loop";
    emit(op->body);
    check_status(call_runtime("TVMBackendParallelBarrier", {state_.task_id, state_.parallel_env}));
    return;
  }
  emit(op->body);
}

void CodeGen::import_llvm(const std::string& source) {
  llvm::SMDiagnostic problem;
  bool is_text = source.find('\n') != source.npos || source.find("define") != source.npos;
  std::unique_ptr<llvm::Module> other =
      is_text ? llvm::parseIR(llvm::MemoryBufferRef(source, "pragma_import_llvm"), problem, context_)
              : llvm::parseIRFile(source, problem, context_);
  if (!other)
    throw Error(ValueError) << "pragma_import_llvm: line " << problem.getLineNo() << ": " << problem.getMessage().str();
  other->setTargetTriple(module_->getTargetTriple());
  other->setDataLayout(module_->getDataLayout());
  // How it was compiled binds nobody: its flags (of position-independent code) may contradict ours.
  llvm::StripDebugInfo(*other);
  if (llvm::NamedMDNode* flags = other->getModuleFlagsMetadata()) other->eraseNamedMetadata(flags);
  for (llvm::Function& function : *other) {  // made for this machine, and free to be inlined
    if (function.isDeclaration()) continue;
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::NoInline);
    prepare_function(&function);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    if (!function.hasLocalLinkage()) function.setLinkage(llvm::GlobalValue::LinkOnceODRLinkage);
  }
  bool has_failed = llvm::Linker::linkModules(*module_, std::move(other), llvm::Linker::Flags::OverrideFromSrc);
  throw_reported(context_);
  if (has_failed) throw Error(ValueError) << "pragma_import_llvm: its definitions contradict others in the module";
}

}  // namespace tessera::codegen
