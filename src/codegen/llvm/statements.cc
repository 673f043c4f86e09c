// Statements and control flow.

#include "base/stack.h"
#include "codegen/dispatch.h"
#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

/// Made of variables and constants only: a part of indices that has been given a name.
bool is_index_arithmetic(const PrimExpr& e) {
  if (!e.dtype().is_int() || e.dtype().lanes != 1) return false;
  bool reads_data = false;
  pre_order(e, [&](const Object* node) {
    reads_data |= node->is_a(BufferLoad::info) || node->is_a(Call::info);
    return !reads_data;
  });
  return !reads_data;
}

}  // namespace

void CodeGen::dispatch(const StmtNode* stmt) {
  visit_lowered<void>(LoweredStatements(), stmt, "machine code", [this](const auto* node) { visit(node); });
}

void CodeGen::emit(const Stmt& stmt) {
  for (auto& known : known_) known.clear();
  if (is_terminated()) start_block(new_block("unreachable"));  // what stands after a return
  on_enough_stack([&] { dispatch(stmt.get()); });
}

void CodeGen::visit(const SeqStmt* op) {
  for (const Stmt& stmt : op->seq) emit(stmt);
}

void CodeGen::visit(const Evaluate* op) {
  if (!is_const(op->value)) emit(op->value);
}

void CodeGen::visit(const DeclBuffer* op) { emit(op->body); }

/// A field of a tensor, a slot of the packed arguments or their type codes.
bool CodeGen::reads_argument(const PrimExpr& e) {
  if (is_call(e, "tir.tvm_struct_get")) return true;
  auto* load = e.as<BufferLoad>();
  auto from = load ? state_.vars.find(load->buffer->data.get()) : state_.vars.end();
  return from != state_.vars.end() && llvm::isa<llvm::Argument>(from->second) && is_const(load->indices[0]);
}

/// A pointer to an element of a buffer leads to that buffer's memory and no other.
void CodeGen::note_derived(const LetStmt* op) {
  auto* call = op->value.as<Call>();
  auto* element = call && is_call(op->value, "tir.address_of") ? call->args[0].as<BufferLoad>() : nullptr;
  if (element) {
    const VarNode* memory = element->buffer->data.get();
    auto base = derived_.find(memory);
    derived_[op->var.get()] = base == derived_.end() ? memory : base->second;
    return;
  }
  for (const char* name : {"tir.tvm_access_ptr", "tir.reinterpret", "tir.if_then_else"})
    if (op->var->dtype.is_handle() && is_call(op->value, name)) derived_[op->var.get()] = nullptr;
  if (op->value.as<VarNode>() || op->value.as<Select>()) derived_[op->var.get()] = nullptr;
}

void CodeGen::visit(const LetStmt* op) {
  if (state_.unpacks && reads_argument(op->value)) {
    state_.reads[op->var.get()] = op->value;
    emit(op->body);
    return;
  }
  bool was = std::exchange(in_index_, in_index_ || is_index_arithmetic(op->value));
  Value* value = emit(op->value);
  in_index_ = was;
  if (!value->hasName() && !llvm::isa<llvm::Constant>(value)) value->setName(op->var->name.str());
  const bool is_workspace = is_call(op->value, "tir.TVMBackendAllocWorkspace");
  if (is_workspace) {
    alignments_[op->var.get()] = 64;
    auto* call = op->value.as<Call>();
    state_.workspaces.push_back({emit(call->args[0]), emit(call->args[1]), value});
  }
  note_derived(op);
  define_variable(op->var.get(), value);
  note_lanes(op->var.get(), op->value);
  emit(op->body);
  if (is_workspace)
    std::erase_if(state_.workspaces, [&](const Workspace& workspace) { return workspace.data == value; });
}

void CodeGen::visit(const BufferStore* op) {
  if (op->indices.size() != 1)
    throw Error(ValueError) << "buffer " << op->buffer->name << " is written with " << op->indices.size()
                            << " indices; buffers are flat when code is generated";
  store(op->buffer, op->indices[0], emit(op->value), op->value.dtype());
}

void CodeGen::visit(const Allocate* op) {
  int64_t count = op->dtype.lanes;
  for (const PrimExpr& extent : op->extents) {
    const int64_t* size = as_int(extent);
    if (!size)
      throw Error(ValueError) << "allocation of " << op->buffer_var->name << " has no constant size (" << extent
                              << "); LowerTVMBuiltin turns such allocations into calls of the runtime";
    count *= std::max<int64_t>(*size, 0);
  }
  if (!is_one(op->condition))
    throw Error(NotImplementedError) << "allocation of " << op->buffer_var->name << " under a condition";
  constexpr int64_t kMax = 1 << 20;
  if (count * op->dtype.bytes() > kMax)
    throw Error(ValueError) << "allocation of " << op->buffer_var->name << " takes " << count * op->dtype.bytes()
                            << " bytes of stack; LowerTVMBuiltin turns large allocations into calls of the runtime";
  uint64_t& align = alignments_[op->buffer_var.get()];
  align = std::max<uint64_t>(align, 64);
  auto* type = llvm::ArrayType::get(memory_type(op->dtype), uint64_t(std::max<int64_t>(count, 1)));
  define_variable(op->buffer_var.get(), entry_alloca(type, nullptr, align, op->buffer_var->name.str()));
  emit(op->body);
}

void CodeGen::visit(const AssertStmt* op) {
  Value* holds = emit_bool(op->condition);
  auto* message = op->message.as<StringImm>();
  if (!message) throw Error(TypeError) << "the message of an assertion is a string, not " << op->message;
  require(holds, message->value.str());
  emit(op->body);
}

void CodeGen::visit(const IfThenElse* op) {
  PrimExpr condition = op->condition;
  bool is_likely = is_call(condition, "tir.likely");
  Value* holds = emit_bool(condition);
  auto *then_block = new_block("if_then"), *end = new_block("if_end");
  auto* else_block = op->else_case ? new_block("if_else") : end;
  builder_.CreateCondBr(holds, then_block, else_block, is_likely ? metadata_.createBranchWeights(1 << 20, 1) : nullptr);
  start_block(then_block);
  emit(op->then_case);
  if (!is_terminated()) builder_.CreateBr(end);
  if (op->else_case) {
    start_block(else_block);
    emit(op->else_case);
    if (!is_terminated()) builder_.CreateBr(end);
  }
  start_block(end);
}

void CodeGen::visit(const For* op) {
  if (op->kind == LoopKind::Parallel) return parallel_loop(op);
  if (op->kind != LoopKind::Serial && op->kind != LoopKind::Unrolled)
    throw Error(NotImplementedError) << "no machine code for loop " << op->loop_var->name
                                     << (op->kind == LoopKind::Vectorized ? ", which is vectorized: run VectorizeLoop"
                                                                          : ", which is bound to a thread")
                                     << " before code generation";
  bool was = std::exchange(in_index_, true);
  Value* begin = emit(op->min);
  Value* end = builder_.CreateNSWAdd(begin, emit(op->extent));
  in_index_ = was;
  emit_loop(op->loop_var, begin, end, llvm::ConstantInt::get(begin->getType(), 1), op->body);
}

/// The test stands at the end of the loop, after one at its entry.
void CodeGen::emit_loop(const Var& var, Value* begin, Value* end, Value* step, const Stmt& body) {
  if (begin->getType() != end->getType())
    throw Error(TypeError) << "loop " << var->name << " has bounds of different types";
  bool is_signed = var->dtype.is_int();
  auto less = [&](Value* a, Value* b) {
    return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
  };
  std::string name = var->name.str();
  auto *before = builder_.GetInsertBlock(), *loop = new_block("loop"), *after = new_block("loop_end");
  builder_.CreateCondBr(less(begin, end), loop, after);
  start_block(loop);
  llvm::PHINode* phi = builder_.CreatePHI(begin->getType(), 2, name);
  phi->addIncoming(begin, before);
  define_variable(var.get(), phi);
  emit(body);
  if (is_terminated()) start_block(new_block("loop_rest"));
  Value* next = builder_.CreateAdd(phi, step, name + ".next", false, is_signed);
  phi->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(less(next, end), loop, after);
  start_block(after);
}

void CodeGen::visit(const While* op) {
  auto *test = new_block("while"), *body = new_block("while_body"), *after = new_block("while_end");
  builder_.CreateBr(test);
  start_block(test);
  builder_.CreateCondBr(emit_bool(op->condition), body, after);
  start_block(body);
  emit(op->body);
  if (!is_terminated()) builder_.CreateBr(test);
  start_block(after);
}

}  // namespace tessera::codegen
