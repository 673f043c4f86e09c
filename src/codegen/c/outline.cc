// Bodies that become functions of their own, in C: compute scopes and parallel regions.
//
//   for i in parallel(n): S(i)   =>   launch(f_parallel, &{captured}):  for i in the task's share of n: S(i)
//
// Shares are contiguous and depend only on n and the number of tasks.

#include "codegen/c/printer.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"

namespace tessera::codegen {

std::vector<const VarNode*> CPrinter::captured_by(const Stmt& body) {
  std::vector<const VarNode*> out;
  std::unordered_set<const VarNode*> seen;
  auto use = [&](const VarNode* var) {
    if (names_.count(var) && seen.insert(var).second) out.push_back(var);
  };
  walk(
      body, [&](const VarNode* var) { use(var); }, [&](const BufferLoad* load) { use(load->buffer->data.get()); },
      [&](const BufferStore* store) { use(store->buffer->data.get()); });
  return out;
}

/// The type that a pointer variable points to; empty for an untyped one.
std::string CPrinter::pointer_element(const VarNode* var) {
  if (auto it = memory_.find(var); it != memory_.end()) return it->second.element;
  auto* type = var->type_annotation.as<PointerType>();
  auto* element = type ? type->element_type.as<PrimType>() : nullptr;
  if (!element || element->dtype.is_void() || element->dtype.is_handle()) return "";
  std::string text = memory_type(element->dtype.element());
  memory_[var] = {text, "global"};
  return text;
}

std::string CPrinter::parameter(const VarNode* var, const std::string& name, bool restricted) {
  if (var->dtype.lanes > 1) {
    std::string out;
    for (int lane = 0; lane < var->dtype.lanes; ++lane)
      out += (lane ? ", " : "") + value_type(var->dtype.element()) + " " + name + "_" + std::to_string(lane);
    return out;
  }
  if (!var->dtype.is_handle()) return value_type(var->dtype) + " " + name;
  std::string element = pointer_element(var);
  return (element.empty() ? "void" : element) + "*" + (restricted && !element.empty() ? " TSR_RESTRICT " : " ") + name;
}

/// Writes `body` as a function of its own, with `head` in front; the captured variables keep their names.
void CPrinter::outline(const std::string& head, const std::vector<const VarNode*>& captured,
                       const std::function<void()>& body) {
  auto names = names_;
  int indent = std::exchange(indent_, 0);
  names_.clear();
  for (const VarNode* var : captured) names_[var] = names[var];
  std::string text = this->captured([&] { block(head, body); });
  done_ += text + "\n";
  names_ = std::move(names);
  indent_ = indent;
}

void CPrinter::compute_scope(const AttrStmt* op) {
  std::vector<const VarNode*> captured = captured_by(op->body);
  auto* wanted = op->value.as<StringImm>();
  std::string name = wanted ? wanted->value.str() : function_name_ + "_compute";
  while (!outlined_.insert(name).second) name += "_";
  used_names_[name] = 1;
  std::string params, args;
  for (const VarNode* var : captured) {
    params += (params.empty() ? "" : ", ") + parameter(var, names_[var], restricted_);
    for (const std::string& lane : visit(var)) args += (args.empty() ? "" : ", ") + lane;
  }
  FunctionState outer = std::exchange(state_, FunctionState());
  outline("static int32_t " + name + "(" + (params.empty() ? "void" : params) + ")", captured,
          [&] { function_body([&] { emit(op->body); }); });
  state_ = outer;
  check_status(name + "(" + args + ")");
}

void CPrinter::parallel_launch(const Stmt& body, const std::string& wanted) {
  std::vector<const VarNode*> captured = captured_by(body);
  std::string name = function_name_ + "_" + fresh_name(wanted);
  while (!outlined_.insert(name).second) name += "_";
  std::string fields, stores;
  std::vector<std::string> loads;
  std::string closure = fresh_name("closure");
  for (const VarNode* var : captured) {
    std::string element = var->dtype.is_handle() ? pointer_element(var) : "";
    std::string type = !var->dtype.is_handle() ? value_type(var->dtype.element())
                       : element.empty()       ? "void*"
                                               : element + "*";
    for (const std::string& lane : visit(var)) {
      fields += "  " + type + " " + lane + ";\n";
      stores += (stores.empty() ? "" : ", ") + (var->dtype.is_handle() ? "(" + type + ")" + lane : lane);
      std::string mark = restricted_ && !element.empty() ? " TSR_RESTRICT " : " ";
      loads.push_back(type + mark + lane + " = ((struct " + name + "_closure*)data)->" + lane + ";");
    }
  }
  if (fields.empty()) fields = "  int32_t nothing;\n", stores = "0";
  need(name, "struct " + name + "_closure {\n" + fields + "};\n");
  FunctionState outer = state_;
  state_.checks_indices = false;
  state_.in_parallel = true;
  state_.return_type = "int";
  outline("static int " + name + "(int task_id, tsr_group* env, void* data)", captured, [&] {
    for (const std::string& load : loads) line(load);
    function_body([&] { emit(body); });
  });
  state_ = outer;
  line("struct " + name + "_closure " + closure + " = {" + stores + "};");
  check_status(runtime_call("TVMBackendParallelLaunch", name + ", &" + closure + ", 0"));
}

void CPrinter::run_share(const For* op) {
  DataType dtype = op->loop_var->dtype;
  std::string type = value_type(dtype), first = atom(index(op->min), dtype);
  std::string extent = fresh_name("extent");
  line("int64_t " + extent + " = " + index(op->extent) + ";");
  std::string var = define(op->loop_var.get());
  std::string step = fresh_name("step"), begin = fresh_name("begin"), end = fresh_name("end");
  if (state_.stride_pattern) {
    line("int64_t " + begin + " = task_id, " + end + " = " + extent + ", " + step + " = env->num_task;");
  } else {
    line("int64_t " + step + " = (" + extent + " + env->num_task - 1) / env->num_task;");
    line("int64_t " + begin + " = task_id * " + step + " < " + extent + " ? task_id * " + step + " : " + extent + ";");
    line("int64_t " + end + " = " + begin + " + " + step + " < " + extent + " ? " + begin + " + " + step + " : " +
         extent + ";");
  }
  std::string at = fresh_name("at");
  std::string next = state_.stride_pattern ? at + " += " + step : "++" + at;
  block("for (int64_t " + at + " = " + begin + "; " + at + " < " + end + "; " + next + ")", [&] {
    line(type + " " + var + " = (" + type + ")(" + first + " + " + at + ");");
    emit(op->body);
  });
}

void CPrinter::visit_loop(const For* op) {
  if (op->kind != LoopKind::Parallel) return SourcePrinter::visit_loop(op);
  if (state_.in_parallel && !state_.in_parallel_loop) {  // inside a launch point
    state_.in_parallel_loop = true;
    run_share(op);
    state_.in_parallel_loop = false;
  } else if (state_.in_parallel) {  // the threads are busy with the outer loop already
    SourcePrinter::visit_loop(with(op, &For::kind, LoopKind::Serial).get());
  } else {
    parallel_launch(Stmt(op), "parallel_" + op->loop_var->name.str());
  }
}

bool CPrinter::visit_attr(const AttrStmt* op) {
  std::string_view key = op->attr_key;
  auto need_launch = [&] {
    if (!state_.in_parallel)
      throw Error(ValueError) << key << " stands outside of a pragma_parallel_launch_point and of a parallel loop";
  };
  if (key == "thread_extent" || key == "virtual_thread")
    throw Error(ValueError) << "a " << key << " in code for the host; threads of a device exist only in its kernels";
  if (key == "compute_scope") return compute_scope(op), true;
  if (key == "pragma_parallel_launch_point") return parallel_launch(op->body, "parallel_region"), true;
  if (key == "pragma_import_c") {
    if (auto* source = op->value.as<StringImm>()) imported_ += source->value.str() + "\n";
    return false;
  }
  if (key == "pragma_import_llvm")
    throw Error(ValueError) << "pragma_import_llvm in code for target c; give C source with pragma_import_c";
  if (key == "pragma_parallel_stride_pattern") {
    need_launch();
    bool was = std::exchange(state_.stride_pattern, true);
    emit(op->body);
    state_.stride_pattern = was;
    return true;
  }
  if (key == "pragma_parallel_barrier_when_finish") {
    need_launch();
    if (state_.in_parallel_loop)
      throw Error(ValueError) << "pragma_parallel_barrier_when_finish inside a parallel loop, where some tasks may "
                                 "have no iteration and would never arrive; place it around the loop";
    emit(op->body);
    check_status(runtime_call("TVMBackendParallelBarrier", "task_id, env"));
    return true;
  }
  return false;
}

}  // namespace tessera::codegen
