// One Relay function as code of the virtual machine.

#include <algorithm>

#include "base/stack.h"
#include "driver/vm/dynamic_kernel.h"
#include "driver/vm/program_builder.h"
#include "driver/vm/registers.h"
#include "relay/attrs/loop.h"
#include "relay/dim_names.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/output_names.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

using vm::Opcode;

/// A value while code is written: a register, or a tuple whose fields have registers and which itself has none yet.
struct Value {
  int32_t reg = -1;
  std::vector<Value> fields;
};

std::vector<int64_t> fixed_shape(const TensorType& type) {
  std::vector<int64_t> out;
  for (const PrimExpr& extent : type->shape) out.push_back(*as_int(extent));
  return out;
}

vm::Parameter describe(ProgramBuilder& program, const std::string& name, const Expr& value, const Type& type) {
  vm::Parameter out;
  out.name = name;
  auto* tensor = type.as<TensorTypeNode>();
  if (!tensor) return out;
  out.is_tensor = true;
  out.device = program.device_index(program.device_of(value));
  out.dtype = tensor->dtype;
  for (const PrimExpr& extent : tensor->shape) out.shape.push_back(as_int(extent) ? *as_int(extent) : -1);
  return out;
}

/// The tensors of a type, tuples opened; false where it holds anything else.
bool open_tuples(const Type& type, std::vector<Type>* out) {
  if (type.as<TensorTypeNode>()) return out->push_back(type), true;
  auto* tuple = type.as<TupleType>();
  return tuple && std::all_of(tuple->fields_.begin(), tuple->fields_.end(),
                              [&](const Type& field) { return open_tuples(field, out); });
}

/// The parameter that the result of a kernel of views is the memory of; operands behind the first of a view say its shape. Null for a constant.
const VarNode* viewed_parameter(const Function& function) {
  Expr at = function->body;
  while (auto* call = at.as<Call>()) at = call->args[0];
  return at.as<VarNode>();
}

std::vector<vm::Parameter> results_of(ProgramBuilder& program, const Function& function) {
  std::vector<Type> types;
  std::vector<vm::Parameter> out;
  if (!open_tuples(checked_type(function->body), &types)) return out;
  std::vector<std::string> names = output_names(function.get(), types.size());
  for (size_t i = 0; i < types.size(); ++i) out.push_back(describe(program, names[i], function->body, types[i]));
  return out;
}

/// Instructions that are emitted while it lasts compute these nodes.
class SourceScope {
 public:
  SourceScope(vm::Draft& draft, int32_t source) : draft_(draft), outer_(std::exchange(draft.source, source)) {}
  ~SourceScope() { draft_.source = outer_; }
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

 private:
  vm::Draft& draft_;
  int32_t outer_;
};

/// Names for the dimensions of a function's parameters: what the model calls them, and what a shape variable is called that
/// stands in several positions.
void name_dims(const Function& function, std::span<vm::Parameter> params) {
  std::unordered_map<const Object*, int> uses;
  std::unordered_map<const Object*, std::string> names;
  NameSupply supply;
  auto each = [&](auto&& visit) {
    for (size_t i = 0; i < params.size(); ++i) {
      auto* tensor = checked_type(function->params[i]).as<TensorTypeNode>();
      for (size_t d = 0; tensor && d < tensor->shape.size(); ++d)
        if (!as_int(tensor->shape[d])) visit(i, d, tensor->shape[d]);
    }
  };
  for (size_t i = 0; i < params.size(); ++i) {
    params[i].dims = dim_names(function, function->params[i]);
    for (const std::string& name : params[i].dims) supply.reserve(name);
  }
  each([&](size_t, size_t, const PrimExpr& extent) { ++uses[extent.get()]; });
  each([&](size_t i, size_t d, const PrimExpr& extent) {
    auto* var = extent.as<tessera::VarNode>();
    std::vector<std::string>& dims = params[i].dims;
    if (!var || uses[var] < 2 || (!dims.empty() && !dims[d].empty())) return;
    if (dims.empty()) dims.resize(params[i].shape.size());
    auto [it, is_new] = names.emplace(var, "");
    if (is_new) it->second = supply.fresh(var->name.str());
    dims[d] = it->second;
  });
}

class FunctionCompiler {
 public:
  FunctionCompiler(ProgramBuilder& program, const std::string& name, const PendingFunction& pending)
      : program_(program), known_(pending.known) {
    draft_.function.name = name;
    auto add = [&](const Var& param) {
      draft_.function.params.push_back(describe(program, std::string(param->name_hint()), param, checked_type(param)));
      set(param, {draft_.fresh()});
    };
    for (const Var& var : pending.captured) add(var);
    for (const Var& param : pending.function->params) add(param);
    draft_.function.results = results_of(program, pending.function);
    name_dims(pending.function, std::span(draft_.function.params).subspan(pending.captured.size()));
  }

  vm::Function run(const Expr& body) {
    tail(body);
    return finish(std::move(draft_));
  }

 private:
  // ---- values in scope ------------------------------------------------------------------------------------------

  void set(const Expr& expr, Value value) {
    values_.insert_or_assign(expr.get(), std::move(value));
    in_scope_.push_back(expr.get());
  }
  /// What is computed inside is forgotten outside: another branch may not have computed it.
  template <class F>
  void scope(F&& body) {
    size_t mark = in_scope_.size();
    body();
    for (; in_scope_.size() > mark; in_scope_.pop_back()) values_.erase(in_scope_.back());
  }

  /// The value in one register, a tuple made where there is none.
  int32_t in_register(const Value& value) {
    if (value.reg >= 0) return value.reg;
    std::vector<int64_t> fields;
    for (const Value& field : value.fields) fields.push_back(in_register(field));
    int32_t dst = draft_.fresh();
    draft_.emit(Opcode::AllocADT, dst, 0, 0, 0, fields);
    return dst;
  }
  int32_t in_register(const Expr& expr) { return in_register(value_of(expr)); }

  Value field(const Value& tuple, int index) {
    if (tuple.reg < 0) return tuple.fields[static_cast<size_t>(index)];
    int32_t dst = draft_.fresh();
    draft_.emit(Opcode::GetField, dst, tuple.reg, index);
    return {dst, {}};
  }

  /// The registers of the tensors of a value, tuples opened.
  void tensors(const Value& value, const Type& type, std::vector<int64_t>* out) {
    auto* tuple = type.as<TupleType>();
    if (!tuple) return out->push_back(in_register(value));
    for (size_t i = 0; i < tuple->fields_.size(); ++i)
      tensors(field(value, static_cast<int>(i)), tuple->fields_[i], out);
  }
  /// The value of that type whose tensors lie in the registers from `*next` on.
  Value value_from(const Type& type, const std::vector<int64_t>& registers, size_t* next) {
    auto* tuple = type.as<TupleType>();
    if (!tuple) return {static_cast<int32_t>(registers[(*next)++]), {}};
    Value out;
    for (const Type& part : tuple->fields_) out.fields.push_back(value_from(part, registers, next));
    return out;
  }

  // ---- expressions ----------------------------------------------------------------------------------------------

  Value value_of(const Expr& expr) {
    if (auto it = values_.find(expr.get()); it != values_.end()) return it->second;
    Value out = on_enough_stack([&] { return compile(expr); });
    if (!expr.as<VarNode>()) set(expr, out);
    return out;
  }

  Value compile(const Expr& expr) {
    if (auto* call = expr.as<Call>()) return compile_call(call);
    if (auto* tuple = expr.as<Tuple>()) {
      if (tuple->fields_.empty()) return emit(Opcode::AllocADT);
      Value out;
      for (const Expr& part : tuple->fields_) out.fields.push_back(value_of(part));
      return out;
    }
    if (auto* get = expr.as<TupleGetItem>()) return field(value_of(get->tuple), get->index);
    if (auto* constant = expr.as<Constant>())
      return emit(Opcode::LoadConst, program_.constant(constant->data), device_of(expr));
    if (expr.as<Let>()) return value_of(lets(expr));
    if (auto* branch = expr.as<If>()) {
      int32_t out = draft_.fresh();
      compile_if(branch, out);
      return {out, {}};
    }
    if (auto* match = expr.as<Match>()) {
      int32_t out = draft_.fresh();
      compile_match(match, out);
      return {out, {}};
    }
    if (auto* function = expr.as<FunctionNode>()) return closure(lift(Function(function), nullptr));
    if (auto* global = expr.as<GlobalVarNode>()) return closure({program_.function_of(GlobalVar(global)), {}});
    if (auto* constructor = expr.as<ConstructorNode>())
      return closure({program_.constructor_function(constructor), {}});
    if (auto* var = expr.as<VarNode>()) {
      if (auto it = known_.find(var); it != known_.end()) return closure(it->second);
      throw Error(ValueError) << "the variable %" << var->name_hint() << " is not bound";
    }
    if (auto* ref = expr.as<RefCreate>()) return emit(Opcode::AllocADT, 0, 0, 0, {in_register(ref->value)});
    if (auto* read = expr.as<RefRead>()) return emit(Opcode::GetField, in_register(read->ref), 0);
    if (auto* write = expr.as<RefWrite>()) {
      int32_t ref = in_register(write->ref), value = in_register(write->value);
      draft_.emit(Opcode::SetField, -1, ref, 0, value);
      return emit(Opcode::AllocADT);
    }
    throw Error(NotImplementedError) << "the virtual machine cannot run a " << expr->type_key();
  }

  Value emit(Opcode op, int32_t a = 0, int32_t b = 0, int32_t c = 0, const std::vector<int64_t>& operands = {}) {
    int32_t dst = draft_.fresh();
    draft_.emit(op, dst, a, b, c, operands);
    return {dst, {}};
  }

  /// Binds a chain of lets; what is left is its body.
  Expr lets(const Expr& first) {
    Expr at = first;
    while (auto* let = at.as<Let>()) {
      auto* function = let->value.as<FunctionNode>();
      if (function && function->attrs.is_true(attr::kPrimitive)) {
        named_kernels_[let->var.get()] = Function(function);
      } else if (function) {
        KnownFunction known = lift(Function(function), let->var);
        known_[let->var.get()] = known;
      } else {
        set(let->var, value_of(let->value));
      }
      at = let->body;
    }
    return at;
  }

  // ---- functions ------------------------------------------------------------------------------------------------

  /// The function as one of the program's, with what it takes from here. `self`: the name it may call itself by.
  KnownFunction lift(const Function& function, const Var& self) {
    KnownFunction out;
    KnownFunctions known;
    auto capture = [&](const Var& var) {
      bool is_there =
          std::any_of(out.captured.begin(), out.captured.end(), [&](const Var& v) { return v.same_as(var); });
      if (!is_there) out.captured.push_back(var);
    };
    for (const Var& var : free_vars(function)) {
      if (self && var.get() == self.get()) continue;
      auto it = known_.find(var.get());
      if (it == known_.end()) {
        capture(var);
      } else {
        known.insert(*it);
        for (const Var& inner : it->second.captured) capture(inner);
      }
    }
    std::string name = draft_.function.name + "_" + (self ? std::string(self->name_hint()) : "lambda");
    out.index = program_.next_function();
    if (self) known[self.get()] = out;
    program_.add_function(name, function, out.captured, std::move(known));
    return out;
  }

  std::vector<int64_t> captured(const KnownFunction& function) {
    std::vector<int64_t> out;
    for (const Var& var : function.captured) out.push_back(in_register(Expr(var)));
    return out;
  }
  Value closure(const KnownFunction& function) {
    return emit(Opcode::AllocClosure, static_cast<int32_t>(function.index), 0, 0, captured(function));
  }

  std::vector<int64_t> arguments(const Call* call) {
    std::vector<int64_t> out;
    for (const Expr& arg : call->args) out.push_back(in_register(arg));
    return out;
  }

  Value invoke(const KnownFunction& function, const Call* call) {
    std::vector<int64_t> operands = captured(function);
    for (int64_t arg : arguments(call)) operands.push_back(arg);
    return emit(Opcode::Invoke, static_cast<int32_t>(function.index), 0, 0, operands);
  }

  Value compile_call(const Call* call) {
    if (auto* op = call->op.as<OpNode>()) return call_operator(call, Op(op));
    if (auto* function = call->op.as<FunctionNode>())
      return function->attrs.is_true(attr::kPrimitive) ? call_kernel(call, Function(function))
                                                       : invoke(lift(Function(function), nullptr), call);
    if (auto* global = call->op.as<GlobalVarNode>()) return invoke({program_.function_of(GlobalVar(global)), {}}, call);
    if (auto* constructor = call->op.as<ConstructorNode>())
      return emit(Opcode::AllocADT, program_.tag_of(constructor), 0, 0, arguments(call));
    Expr named = call->op.as<Let>() ? lets(call->op) : call->op;  // a loop is a let whose body is the function's name
    if (auto it = known_.find(named.get()); it != known_.end()) return invoke(it->second, call);
    if (auto it = named_kernels_.find(named.get()); it != named_kernels_.end()) return call_kernel(call, it->second);
    int32_t callee = in_register(named);
    return emit(Opcode::InvokeClosure, callee, 0, 0, arguments(call));
  }

  /// An operator that no pass has put into a kernel becomes one by itself.
  Value call_operator(const Call* call, const Op& op) {
    if (op->name == ops::on_device) return value_of(call->args[0]);
    if (op->name == ops::device_copy)
      return copied(value_of(call->args[0]), checked_type(Expr(call)), device_of(Expr(call)));
    Array<Var> params;
    Array<Expr> inside;
    for (const Expr& arg : call->args) {
      Var param = make_local("p" + std::to_string(params.size()), checked_type(arg));
      param->checked_type_ = checked_type(arg);
      params.push_back(param);
      inside.push_back(param);
    }
    Expr body = with(call, &Call::args, inside);
    body->checked_type_ = checked_type(Expr(call));
    DictAttrs attrs = DictAttrs().with(attr::kPrimitive, int_imm(DataType::Int(32), 1));
    return call_kernel(call, make_function(params, body, checked_type(Expr(call)), {}, attrs));
  }

  int32_t device_of(const Expr& expr) { return program_.device_index(program_.device_of(expr)); }

  /// The value with all its tensors on a device.
  Value copied(const Value& value, const Type& type, int32_t device) {
    std::vector<int64_t> from, to;
    tensors(value, type, &from);
    for (int64_t tensor : from) to.push_back(emit(Opcode::DeviceCopy, static_cast<int32_t>(tensor), device).reg);
    size_t next = 0;
    return value_from(type, to, &next);
  }

  /// A kernel that only appends a row is an instruction.
  Value append(const Call* call, const Function& function, const Call* append) {
    const int32_t device = device_of(Expr(call));
    auto in = [&](const Expr& arg) {
      if (auto* constant = arg.as<Constant>())
        return emit(Opcode::LoadConst, program_.constant(constant->data), device).reg;
      size_t i = 0;
      while (i < function->params.size() && function->params[i].get() != arg.get()) ++i;
      return in_register(call->args[i]);
    };
    const int32_t rows = in(append->args[0]), row = in(append->args[1]);
    return emit(Opcode::Append, rows, row, device, {append->attrs_as<AppendAttrs>()->expected});
  }

  Value call_kernel(const Call* call, const Function& function) {
    if (auto* body = function->body.as<Call>(); body && body->op.as<OpNode>() && op_name(body) == ops::append)
      return append(call, function, body);
    std::vector<int64_t> inputs;
    const VarNode* viewed = function->attrs.is_true(attr::kReshapeOnly) ? viewed_parameter(function) : nullptr;
    int32_t memory = -1;  // of a result that is a view
    for (size_t i = 0; i < call->args.size(); ++i) {
      const size_t first = inputs.size();
      tensors(value_of(call->args[i]), checked_type(call->args[i]), &inputs);
      if (function->params[i].get() == viewed && inputs.size() == first + 1)
        memory = static_cast<int32_t>(inputs[first]);
    }
    SourceScope source(draft_, program_.source(function));
    const Type& type = checked_type(Expr(call));
    size_t next = 0;
    Target target = program_.device_of(Expr(call))->target;
    int32_t device = device_of(Expr(call));
    if (is_dynamic(function)) {
      std::vector<int64_t> results =
          call_dynamic(program_.dynamic_kernel(function, target), inputs, kernel::tensors_of(type), memory, device);
      return value_from(type, results, &next);
    }
    std::vector<int64_t> results;
    for (const TensorType& out : kernel::tensors_of(type)) {
      if (memory >= 0) return emit(Opcode::ReshapeTensor, memory, -1, 0, fixed_shape(out));
      results.push_back(emit(Opcode::AllocTensor, -1, vm::dtype_code(out->dtype), device, fixed_shape(out)).reg);
    }
    invoke_kernel(program_.kernel(function, target), inputs, results, false);
    return value_from(type, results, &next);
  }

  /// `counts_32`: the kernel counts elements in 32 bits, which the machine has to look after.
  void invoke_kernel(int32_t kernel, std::vector<int64_t> operands, const std::vector<int64_t>& results,
                     bool counts_32) {
    operands.insert(operands.end(), results.begin(), results.end());
    draft_.emit(Opcode::InvokePacked, -1, kernel, static_cast<int32_t>(results.size()), counts_32, operands);
  }

  /// `memory`: the tensor that the result is a view of, or -1.
  std::vector<int64_t> call_dynamic(const ProgramBuilder::Dynamic& kernel, const std::vector<int64_t>& inputs,
                                    const std::vector<TensorType>& types, int32_t memory, int32_t device) {
    std::vector<int64_t> shapes, results;
    if (kernel.shape_kernel < 0) {
      for (int32_t program : kernel.shapes) shapes.push_back(emit(Opcode::ShapeFunc, program, 0, 0, inputs).reg);
    } else {
      std::vector<int64_t> args;
      int32_t host = program_.host();
      for (size_t i = 0; i < inputs.size(); ++i) {
        auto input = static_cast<int32_t>(inputs[i]);
        if (!kernel.by_value[i]) args.push_back(emit(Opcode::ShapeOf, input).reg);
        else args.push_back(host == device ? input : emit(Opcode::DeviceCopy, input, host).reg);
      }
      for (const TensorType& type : types)
        shapes.push_back(emit(Opcode::AllocTensor, -1, vm::dtype_code(DataType::Int(64)), host, {type.rank()}).reg);
      invoke_kernel(kernel.shape_kernel, args, shapes, true);
    }
    for (size_t i = 0; i < types.size(); ++i) {
      auto shape = static_cast<int32_t>(shapes[i]);
      if (memory >= 0) return {emit(Opcode::ReshapeTensor, memory, shape).reg};
      results.push_back(emit(Opcode::AllocTensorReg, shape, vm::dtype_code(types[i]->dtype), device).reg);
    }
    invoke_kernel(kernel.kernel, inputs, results, true);
    return results;
  }

  // ---- branches -------------------------------------------------------------------------------------------------

  /// The value of `expr` as the result of the function. Calls in this position take over the frame.
  void tail(const Expr& expr) {
    on_enough_stack([&] {
      Expr at = expr.as<Let>() ? lets(expr) : expr;
      bool is_known = values_.count(at.get());
      if (auto* branch = at.as<If>(); branch && !is_known) return compile_if(branch, -1);
      if (auto* match = at.as<Match>(); match && !is_known) return compile_match(match, -1);
      draft_.emit(Opcode::Ret, -1, in_register(at));
    });
  }

  /// One way of a branch: its value goes to `out`, or is returned where that is -1.
  void way(const Expr& expr, int32_t out, int32_t end) {
    scope([&] {
      if (out < 0) return tail(expr);
      draft_.emit(Opcode::Move, out, in_register(expr));
      draft_.emit(Opcode::Goto, -1, end);
    });
  }

  int32_t number(int32_t value) { return emit(Opcode::LoadConsti, value).reg; }

  void compile_if(const If* branch, int32_t out) {
    int32_t test = in_register(branch->cond), yes = number(1);
    int32_t otherwise = draft_.new_label(), end = draft_.new_label();
    draft_.emit(Opcode::If, -1, test, yes, otherwise);
    way(branch->true_branch, out, end);
    draft_.bind_label(otherwise);
    way(branch->false_branch, out, end);
    if (out >= 0) draft_.bind_label(end);
  }

  void compile_match(const Match* match, int32_t out) {
    Value data = value_of(match->data);
    int32_t end = draft_.new_label();
    for (const Clause& clause : match->clauses) {
      int32_t next = draft_.new_label();
      scope([&] {
        test(clause->lhs, data, next);
        way(clause->rhs, out, end);
      });
      draft_.bind_label(next);
    }
    draft_.emit(Opcode::Fatal);
    if (out >= 0) draft_.bind_label(end);
  }

  /// Goes on with the variables of the pattern bound when it fits, else to `next`.
  void test(const Pattern& pattern, const Value& value, int32_t next) {
    if (auto* var = pattern.as<PatternVar>()) {
      set(var->var, value);
    } else if (auto* made = pattern.as<PatternConstructor>()) {
      int32_t data = in_register(value);
      int32_t tag = emit(Opcode::GetTag, data).reg, wanted = number(program_.tag_of(made->constructor.get()));
      draft_.emit(Opcode::If, -1, tag, wanted, next);
      fields(made->patterns, {data, {}}, next);
    } else if (auto* tuple = pattern.as<PatternTuple>()) {
      fields(tuple->patterns, value, next);
    }
  }
  void fields(const Array<Pattern>& patterns, const Value& value, int32_t next) {
    for (size_t i = 0; i < patterns.size(); ++i)
      if (!patterns[i].as<PatternWildcard>()) test(patterns[i], field(value, static_cast<int>(i)), next);
  }

  ProgramBuilder& program_;
  vm::Draft draft_;
  KnownFunctions known_;
  std::unordered_map<const Object*, Function> named_kernels_;  // primitive functions that a let names
  std::unordered_map<const Object*, Value> values_;
  std::vector<const Object*> in_scope_;
};

}  // namespace

vm::Function compile_function(ProgramBuilder& program, const std::string& name, const PendingFunction& pending) {
  return FunctionCompiler(program, name, pending).run(pending.function->body);
}

}  // namespace tessera::relay
