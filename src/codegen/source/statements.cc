// Statements and control flow.

#include "base/stack.h"
#include "codegen/dispatch.h"
#include "codegen/source/printer.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"

namespace tessera::codegen {

bool reads_data(const PrimExpr& e) {
  bool found = false;
  pre_order(e, [&](const Object* node) {
    auto* call = cast_or_null<Call>(node);
    found |=
        node->is_a(BufferLoad::info) || node->is_a(FloatImm::info) || (call && !builtin::is(call, builtin::likely()));
    return !found;
  });
  return found;
}

namespace {

/// Made of variables and constants only: a part of indices that has been given a name.
bool is_index_arithmetic(const PrimExpr& e) { return e.dtype().is_int() && e.dtype().lanes == 1 && !reads_data(e); }

}  // namespace

void SourcePrinter::dispatch(const StmtNode* stmt) {
  visit_lowered<void>(LoweredStatements(), stmt, "source", [this](const auto* node) { visit(node); });
}

void SourcePrinter::emit(const Stmt& stmt) {
  for (auto& known : known_) known.clear();
  on_enough_stack([&] { dispatch(stmt.get()); });
}

void SourcePrinter::visit(const SeqStmt* op) {
  for (const Stmt& stmt : op->seq) {
    // What a statement names for itself should not be in the way of the next.
    bool declares = stmt.as<LetStmt>() || stmt.as<Allocate>();
    if (declares) block("", [&] { emit(stmt); });
    else emit(stmt);
  }
}

void SourcePrinter::visit(const Evaluate* op) {
  if (is_const(op->value)) return;
  statement_ = op->value.get();
  for (const std::string& lane : emit(op->value))
    if (!lane.empty() && !is_atom(lane)) line(lane + ";");
}

void SourcePrinter::visit(const DeclBuffer* op) { emit(op->body); }

void SourcePrinter::visit(const LetStmt* op) {
  bool was = std::exchange(in_index_, in_index_ || is_index_arithmetic(op->value));
  Lanes value = emit(op->value);
  in_index_ = was;
  const VarNode* var = op->var.get();
  std::string name = define(var);
  auto* type = var->type_annotation.as<PointerType>();
  auto* element = type ? type->element_type.as<PrimType>() : nullptr;
  if (element && !element->dtype.is_void() && !element->dtype.is_handle()) {
    MemoryInfo info{memory_type(element->dtype.element()), scope_of(var)};
    std::string pointer = pointer_to(info.element, info.scope);
    memory_[var] = info;
    line(pointer + " " + name + " = (" + pointer + ")" + value[0] + ";");
  } else {
    DataType dtype = var->dtype.element();
    for (size_t i = 0; i < value.size(); ++i)
      line(value_type(dtype) + " " + name + (value.size() > 1 ? "_" + std::to_string(i) : "") + " = " + value[i] + ";");
  }
  emit(op->body);
}

void SourcePrinter::visit(const AttrStmt* op) {
  if (visit_attr(op)) return;
  auto* var = op->node.as<VarNode>();
  if (var && op->attr_key == attr::kVolatileScope) volatile_.insert(var);
  emit(op->body);
}

void SourcePrinter::visit(const AssertStmt* op) {
  auto* message = op->message.as<StringImm>();
  if (!message) throw Error(TypeError) << "the message of an assertion is a string, not " << op->message;
  std::string holds = condition(op->condition);
  block("if (!" + holds + ")", [&] { fail_with(message->value.str()); });
  emit(op->body);
}

void SourcePrinter::fail_with(const std::string& message) {
  throw Error(NotImplementedError) << "an assertion (\"" << message << "\") is not supported in code for a device";
}

void SourcePrinter::visit(const BufferStore* op) {
  if (op->indices.size() != 1)
    throw Error(ValueError) << "buffer " << op->buffer->name << " is written with " << op->indices.size()
                            << " indices; buffers are flat when code is generated";
  store(op->buffer, op->indices[0], emit(op->value), op->value.dtype());
}

void SourcePrinter::visit(const Allocate* op) {
  static constexpr int64_t kOne = 1;
  int64_t count = op->dtype.lanes;
  for (const PrimExpr& extent : op->extents) {
    const int64_t* size = as_int(extent);
    if (!size && scope_of(op->buffer_var.get()) == "shared.dyn") size = &kOne;  // the launch says how much
    if (!size)
      throw Error(ValueError) << "allocation of " << op->buffer_var->name << " has no constant size (" << extent << ")";
    count *= std::max<int64_t>(*size, 0);
  }
  if (!is_one(op->condition))
    throw Error(NotImplementedError) << "allocation of " << op->buffer_var->name
                                     << " under a condition is not supported in source";
  allocate(op, std::max<int64_t>(count, 1));
  emit(op->body);
}

void SourcePrinter::allocate(const Allocate* op, int64_t count) {
  std::string element = memory_type(op->dtype.element());
  memory_[op->buffer_var.get()] = {element, scope_of(op->buffer_var.get())};
  line(element + " " + define(op->buffer_var.get()) + "[" + std::to_string(count) + "];");
}

void SourcePrinter::visit(const AllocateConst* op) {
  allocate_const(op);
  emit(op->body);
}

void SourcePrinter::allocate_const(const AllocateConst* op) {
  throw Error(NotImplementedError) << "the constant " << op->buffer_var->name
                                   << " is not supported inside code for a device; hand it in as an argument";
}

void SourcePrinter::visit(const IfThenElse* op) {
  block("if (" + condition(op->condition) + ")", [&] { emit(op->then_case); });
  if (!op->else_case) return;
  out_.pop_back();  // "}" and "else" on one line
  out_ += " else {\n";
  ++indent_;
  emit(op->else_case);
  --indent_;
  line("}");
}

void SourcePrinter::visit(const For* op) { visit_loop(op); }

void SourcePrinter::visit_loop(const For* op) {
  if (op->kind != LoopKind::Serial && op->kind != LoopKind::Unrolled)
    throw Error(NotImplementedError) << "no source for loop " << op->loop_var->name
                                     << (op->kind == LoopKind::Vectorized ? ", which is vectorized: run VectorizeLoop"
                                         : op->kind == LoopKind::Parallel ? ", which is parallel, in code for a device"
                                                                          : ", which is bound to a thread")
                                     << " before code generation";
  DataType dtype = op->loop_var->dtype;
  std::string begin = index(op->min), extent = index(op->extent);
  std::string end = is_zero(op->min) ? extent : "(" + begin + " + " + extent + ")";
  if (!is_const(op->extent)) end = atom(end, dtype);
  emit_loop(define(op->loop_var.get()), value_type(dtype), begin, end, "", op->body);
}

void SourcePrinter::emit_loop(const std::string& var, const std::string& type, const std::string& begin,
                              const std::string& end, const std::string& step, const Stmt& body) {
  std::string next = step.empty() ? "++" + var : var + " += " + step;
  block("for (" + type + " " + var + " = " + begin + "; " + var + " < " + end + "; " + next + ")", [&] { emit(body); });
}

void SourcePrinter::visit(const While* op) {
  block("while (1)", [&] {
    line("if (!" + condition(op->condition) + ") break;");
    emit(op->body);
  });
}

}  // namespace tessera::codegen
