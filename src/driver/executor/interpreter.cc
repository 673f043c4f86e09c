#include "driver/executor/interpreter.h"

#include "base/stack.h"
#include "driver/executor/operator_runner.h"
#include "relay/scopes.h"
#include "relay/transform/function/normal_form.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"
#include "runtime/containers.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

using Frame = std::unordered_map<const Object*, ObjectRef>;  // of one call of a function: the values of its variables

ObjectRef make_adt(std::vector<ObjectRef> values) {
  ADTNode out;
  out.values = std::move(values);
  return make(std::move(out));
}

bool truth(const ObjectRef& value) {
  auto* tensor = value.as<NDArrayNode>();
  if (!tensor || !NDArray(tensor).shape().empty() || NDArray(tensor).bytes() != 1)
    throw Error(TypeError) << "the condition of an if must be a Boolean scalar, not "
                           << (tensor ? describe(&tensor->tensor) : to_text(value));
  return *NDArray(tensor).copy_to(cpu()).data<uint8_t>() != 0;
}

/// `let %a = V; let %b = %a; %b` has the value of V: its calls are in tail position.
bool is_alias_of_value(const Let* let) {
  for (const Expr* body = &let->body;; body = &let->body) {
    if (body->same_as(let->var)) return true;
    auto* next = body->as<Let>();
    if (!next || !next->value.same_as(let->var)) return false;
    let = next;
  }
}

bool match(const Pattern& pattern, const ObjectRef& value, Frame* frame) {
  if (pattern.as<PatternWildcard>()) return true;
  if (auto* var = pattern.as<PatternVar>()) return (*frame)[var->var.get()] = value, true;
  auto parts = [&](const Array<Pattern>& patterns, const auto& values) {
    if (patterns.size() != values.size())
      throw Error(TypeError) << "a pattern of " << patterns.size() << " parts meets a value of " << values.size();
    size_t i = 0;
    for (const ObjectRef& part : values)
      if (!match(patterns[i++], part, frame)) return false;
    return true;
  };
  return on_enough_stack([&] {
    if (auto* tuple = pattern.as<PatternTuple>()) {
      auto* adt = value.as<ADTNode>();
      if (!adt) throw Error(TypeError) << "a tuple pattern meets " << to_text(value);
      return parts(tuple->patterns, adt->values);
    }
    auto* made = pattern.as<PatternConstructor>();
    auto* data = value.as<ConstructorValueNode>();
    if (!made || !data) throw Error(TypeError) << "a pattern of a data type meets " << to_text(value);
    bool same = data->tag >= 0 && made->constructor->tag >= 0 ? data->tag == made->constructor->tag
                                                              : data->constructor.same_as(made->constructor);
    return same && parts(made->patterns, data->fields_);
  });
}

/// An error unless the value fits the type that a parameter declares. What is open in the type takes everything.
void check_argument(const Type& type, const ObjectRef& value, const Var& param) {
  auto* tensor = value.as<NDArrayNode>();
  if (auto* tuple = type.as<TupleType>()) {
    auto* fields = value.as<ADTNode>();
    bool fits = fields && fields->values.size() == tuple->fields_.size();
    for (size_t i = 0; fits && i < tuple->fields_.size(); ++i)
      check_argument(tuple->fields_[i], fields->values[i], param);
    if (fits) return;
  } else if (auto* wanted = type.as<TensorTypeNode>()) {
    bool fits = tensor && NDArray(tensor).dtype() == wanted->dtype && tensor->shape.size() == wanted->shape.size();
    for (size_t i = 0; fits && i < tensor->shape.size(); ++i) {
      const int64_t* extent = as_int(wanted->shape[i]);
      fits = !extent || *extent == tensor->shape[i];
    }
    if (fits) return;
  } else {
    return;
  }
  throw Error(TypeError) << "the parameter %" << param->name_hint() << " is a " << to_text(type)
                         << ", but the argument is " << (tensor ? describe(&tensor->tensor) : to_text(value));
}

}  // namespace

class Interpreter : public std::enable_shared_from_this<Interpreter> {
 public:
  Interpreter(IRModule mod, DLDevice device, Target target)
      : mod_(std::move(mod)), device_(device), operators_(std::move(target), device) {}

  ObjectRef evaluate(const Expr& expr) {
    check_module();
    Expr program = to_a_normal_form(infer_type(expr, checked_));
    kept_.push_back(program);
    Frame frame;
    return run(program, &frame);
  }

  ObjectRef apply(const ObjectRef& function, const std::vector<ObjectRef>& args) {
    auto* closure = function.as<ClosureNode>();
    if (!closure) return apply_other(function, nullptr, args);
    for (size_t i = 0; i < args.size() && i < closure->function->params.size(); ++i)
      if (const Var& param = closure->function->params[i]; param->type_annotation)
        check_argument(param->type_annotation, args[i], param);
    Frame frame;
    enter(closure, args, &frame);
    return run(body_of(closure->function), &frame);
  }

 private:
  /// The value of an expression in A-normal form. What comes last (a branch, a called function) is gone on with in
  /// the same loop.
  ObjectRef run(Expr expr, Frame* frame) {
    Frame called;
    for (;;) {
      if (auto* let = expr.as<Let>()) {
        if (is_alias_of_value(let) && !let->value.as<FunctionNode>()) {
          expr = Expr(let->value);
          continue;
        }
        auto* function = let->value.as<FunctionNode>();
        ObjectRef value = function ? close(Function(function), *frame, let->var) : value_of(let->value, frame);
        (*frame)[let->var.get()] = value;
        expr = Expr(let->body);
      } else if (auto* cond = expr.as<If>()) {
        expr = truth(value_of(cond->cond, frame)) ? Expr(cond->true_branch) : Expr(cond->false_branch);
      } else if (auto* choice = expr.as<Match>()) {
        expr = chosen(choice, frame);
      } else if (auto* call = expr.as<Call>()) {
        std::vector<ObjectRef> args = values_of(call->args, frame);
        ObjectRef callee = call->op.as<OpNode>() ? ObjectRef(call->op) : value_of(call->op, frame);
        auto* closure = callee.as<ClosureNode>();
        if (!closure) return apply_other(callee, call, args);
        Frame next;
        enter(closure, args, &next);
        expr = body_of(closure->function);
        called = std::move(next);
        frame = &called;
      } else {
        return simple(expr, frame);
      }
    }
  }

  ObjectRef value_of(const Expr& expr, Frame* frame) {
    if (auto* var = expr.as<VarNode>()) {
      auto it = frame->find(var);
      if (it == frame->end())
        throw Error(ValueError) << "the variable %" << var->name_hint()
                                << " has no value: it is free in the expression";
      return it->second;
    }
    return on_enough_stack([&] { return run(expr, frame); });
  }
  std::vector<ObjectRef> values_of(const Array<Expr>& exprs, Frame* frame) {
    std::vector<ObjectRef> out;
    out.reserve(exprs.size());
    for (const Expr& expr : exprs) out.push_back(value_of(expr, frame));
    return out;
  }

  ObjectRef simple(const Expr& expr, Frame* frame) {
    if (expr.as<VarNode>()) return value_of(expr, frame);
    if (auto* constant = expr.as<Constant>())
      return same_device(constant->data.device(), device_) ? constant->data : constant->data.copy_to(device_);
    if (auto* tuple = expr.as<Tuple>()) return make_adt(values_of(tuple->fields_, frame));
    if (auto* get = expr.as<TupleGetItem>()) return field(value_of(get->tuple, frame), get->index);
    if (auto* function = expr.as<FunctionNode>()) return close(Function(function), *frame, nullptr);
    if (auto* global = expr.as<GlobalVarNode>()) return close(global_function(global), {}, nullptr);
    if (expr.as<OpNode>() || expr.as<ConstructorNode>()) return expr;
    if (auto* ref = expr.as<RefCreate>()) {
      RefValueNode out;
      out.value = value_of(ref->value, frame);
      return make(std::move(out));
    }
    if (auto* read = expr.as<RefRead>()) return reference(read->ref, frame)->value;
    if (auto* write = expr.as<RefWrite>()) {
      RefValue ref = reference(write->ref, frame);
      ref.edit()->value = value_of(write->value, frame);
      return make_adt({});
    }
    throw Error(NotImplementedError) << "the interpreter does not know " << expr->type_key();
  }

  static ObjectRef field(const ObjectRef& value, int index) {
    auto* tuple = value.as<ADTNode>();
    if (!tuple || index < 0 || static_cast<size_t>(index) >= tuple->values.size())
      throw Error(TypeError) << "field " << index << " of " << to_text(value);
    return tuple->values[index];
  }

  RefValue reference(const Expr& expr, Frame* frame) {
    ObjectRef value = value_of(expr, frame);
    if (!value.as<RefValueNode>()) throw Error(TypeError) << "a reference is needed, not " << to_text(value);
    return downcast<RefValue>(value);
  }

  Expr chosen(const Match* choice, Frame* frame) {
    ObjectRef value = value_of(choice->data, frame);
    for (const Clause& clause : choice->clauses)
      if (match(clause->lhs, value, frame)) return clause->rhs;
    throw Error(ValueError) << "no clause of the match fits " << to_text(value);
  }

  // ---- functions ---------------------------------------------------------------------------------------------------

  ObjectRef close(const Function& function, const Frame& frame, const Var& self) {
    ClosureNode out;
    out.function = function;
    out.interpreter = shared_from_this();
    for (const Var& var : captured_by(function)) {
      if (var.same_as(self)) {
        out.self = self;
        out.captured.emplace_back(nullptr);
        continue;
      }
      auto it = frame.find(var.get());
      if (it == frame.end())
        throw Error(ValueError) << "the variable %" << var->name_hint()
                                << " has no value: it is free in the expression";
      out.captured.push_back(it->second);
    }
    return make(std::move(out));
  }

  const std::vector<Var>& captured_by(const Function& function) {
    auto it = captured_.find(function.get());
    if (it != captured_.end()) return it->second;
    kept_.push_back(function);
    return captured_[function.get()] = free_vars(function);
  }

  void enter(const ClosureNode* closure, const std::vector<ObjectRef>& args, Frame* frame) {
    const Function& function = closure->function;
    if (args.size() != function->params.size())
      throw Error(TypeError) << "a function of " << function->params.size() << " parameters is called with "
                             << args.size() << " arguments";
    const std::vector<Var>& names = captured_by(function);
    for (size_t i = 0; i < names.size(); ++i)
      (*frame)[names[i].get()] = closure->captured[i] ? closure->captured[i] : ObjectRef(closure);
    for (size_t i = 0; i < args.size(); ++i) (*frame)[function->params[i].get()] = args[i];
  }

  /// Primitive functions are left whole by the normal form; they are opened when they are called.
  Expr body_of(const Function& function) {
    if (!is_primitive(function.get())) return function->body;
    Expr& body = opened_[function.get()];
    if (!body) {
      kept_.push_back(function);
      body = to_a_normal_form(function->body);
    }
    return body;
  }

  Function global_function(const GlobalVarNode* global) {
    check_module();
    Function& known = globals_[std::string(global->name_hint)];
    if (known) return known;
    BaseFunc found = checked_.lookup(global->name_hint);
    if (!found.as<FunctionNode>())
      throw Error(NotImplementedError) << "@" << global->name_hint << " is a " << found->type_key()
                                       << "; the interpreter runs Relay functions only";
    return known = downcast<Function>(to_a_normal_form(found));
  }

  ObjectRef apply_other(const ObjectRef& callee, const Call* call, const std::vector<ObjectRef>& args) {
    if (auto* op = callee.as<OpNode>())
      return operators_.run(Op(op), call && call->op.same_as(callee) ? call->attrs : Attrs(nullptr), args,
                            [this](const Function& function, const std::vector<ObjectRef>& values) {
                              kept_.push_back(function);
                              Frame frame;
                              for (size_t i = 0; i < values.size(); ++i) frame[function->params[i].get()] = values[i];
                              return on_enough_stack([&] { return run(function->body, &frame); });
                            });
    auto* constructor = callee.as<ConstructorNode>();
    if (!constructor) throw Error(TypeError) << "a value that is not a function is called: " << to_text(callee);
    if (args.size() != constructor->inputs.size())
      throw Error(TypeError) << constructor->name_hint << " takes " << constructor->inputs.size() << " fields, got "
                             << args.size();
    ConstructorValueNode out;
    out.tag = constructor->tag;
    out.fields_ = Array<ObjectRef>(args.begin(), args.end());
    out.constructor = Constructor(constructor);
    return make(std::move(out));
  }

  /// Infers the types of the module again when its functions have changed.
  void check_module() {
    if (checked_ && seen_functions_.same_as(mod_->functions) && seen_types_.same_as(mod_->type_definitions)) return;
    checked_ = infer_type(mod_.copy());
    seen_functions_ = mod_->functions;
    seen_types_ = mod_->type_definitions;
    globals_.clear();
  }

  IRModule mod_, checked_ = nullptr;
  Map<GlobalVar, BaseFunc> seen_functions_;
  Map<ObjectRef, ObjectRef> seen_types_;
  DLDevice device_;
  OperatorRunner operators_;
  std::unordered_map<std::string, Function> globals_;
  std::unordered_map<const Object*, std::vector<Var>> captured_;
  std::unordered_map<const Object*, Expr> opened_;
  std::vector<Expr> kept_;  // programs whose nodes are keys of the tables above
};

std::shared_ptr<Interpreter> make_interpreter(IRModule mod, DLDevice device, Target target) {
  return std::make_shared<Interpreter>(std::move(mod), device, std::move(target));
}

ObjectRef evaluate(const std::shared_ptr<Interpreter>& interpreter, const Expr& expr) {
  return interpreter->evaluate(expr);
}

ObjectRef apply_closure(const ObjectRef& function, const std::vector<ObjectRef>& args) {
  auto* closure = function.as<ClosureNode>();
  if (!closure) throw Error(TypeError) << "not a closure: " << to_text(function);
  return closure->interpreter->apply(function, args);
}

static register_types<ConstructorValueNode, RefValueNode, ClosureNode> interpreter_types;

static Globals interpreter_globals{
    {"relay.backend.CreateInterpreter",
     [](IRModule mod, DLDevice device, Target target) {
       auto interpreter = make_interpreter(mod ? mod : IRModule(), device, target);
       return typed("evaluate", [interpreter](Expr expr) { return evaluate(interpreter, expr); });
     }},
    {"relay.backend.ApplyClosure",
     [](ObjectRef closure, Array<ObjectRef> args) { return apply_closure(closure, args.vec()); }},
    {"relay._make.ConstructorValue",
     [](int tag, Array<ObjectRef> fields, Constructor constructor) {
       ConstructorValueNode out;
       out.tag = tag;
       out.fields_ = fields;
       out.constructor = constructor;
       return make(std::move(out));
     }},
    {"relay._make.RefValue",
     [](ObjectRef value) {
       RefValueNode out;
       out.value = value;
       return make(std::move(out));
     }},
};

}  // namespace tessera::relay
