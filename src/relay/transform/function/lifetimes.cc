// Passes that follow how long values live, of programs in A-normal form:
//
//   ManifestLifetimes: let %b = add(%a, %a); %b   =>   let %b = add(%a, %a); let %_ = memory.kill(%a); %b
//   AnnotateUsedMemory: primitive functions say how many bytes live during each call ("used_memory"), "main" how many its
//   parameters and result have ("io_used_memory").

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/analysis/liveness.h"
#include "relay/inspect.h"
#include "relay/let_list.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/rename.h"
#include "relay/scopes.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/passes.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// let %b = %a; f(%b)   =>   f(%a)
Expr without_aliases(const Expr& root) {
  std::unordered_map<const Object*, Expr> aliases;
  Rewriter rewriter;
  rewriter.on([&](const VarNode* var) -> Expr {
    auto it = aliases.find(var);
    return it == aliases.end() ? Expr(var) : it->second;
  });
  rewriter.on([&](Rewriter& self, const Let* first) -> Expr {
    auto new_value = [&](const Let* let) -> Expr {
      Expr value = self(let->value);
      if (!value.as<VarNode>()) return value;
      aliases[let->var.get()] = value;
      return nullptr;
    };
    return rewrite_lets(first, new_value, self);
  });
  return rewriter(root);
}

bool holds(const VarList& list, const Var& var) {
  for (const Var& one : list)
    if (one.same_as(var)) return true;
  return false;
}

Expr with_kills(const Expr& root, const std::unordered_map<const Object*, LiveVars>& live) {
  return rewrite(root, [&](Rewriter& self, const Let* first) -> Expr {
    LetList lets;
    Expr at(first);
    for (; at.as<Let>(); at = at.as<Let>()->body) {
      auto* let = at.as<Let>();
      lets.push(let->var, self(let->value));
      auto it = live.find(let);
      if (it == live.end()) continue;  // of an inner function
      for (const Var& var : it->second.in)
        if (!holds(it->second.out, var)) lets.push(call_op(ops::kill, {var}));
    }
    return lets.wrap(self(at));
  });
}

int64_t bytes_of(const Type& type) {
  if (type.as<FuncType>()) return 0;
  if (auto* tuple = type.as<TupleType>()) {
    int64_t sum = 0;
    for (const Type& field : tuple->fields_) sum += bytes_of(field);
    return sum;
  }
  auto shape = fixed_shape(type);
  if (!shape)
    throw Error(TypeError) << "AnnotateUsedMemory counts tensors of known shape, and this is a " << to_text(type);
  int64_t count = 1;
  for (int64_t extent : *shape) count *= extent;
  return count * type.as<TensorTypeNode>()->dtype.bytes();
}

ObjectRef number(int64_t value) { return int_imm(DataType::Int(64), value); }

/// What lives during each call of a primitive function, by the function.
std::unordered_map<const Object*, Array<ObjectRef>> used_memory(const Function& main) {
  auto live = liveness(main.get());
  std::unordered_map<const Object*, const Object*> functions;  // by the variables that they are bound to
  std::unordered_map<const Object*, Array<ObjectRef>> out;
  std::vector<const Let*> lets;
  post_order(main->body, [&](const Expr& expr) {
    if (auto* let = expr.as<Let>()) lets.push_back(let);
  });
  for (const Let* let : lets)
    if (auto* function = let->value.as<FunctionNode>()) functions[let->var.get()] = function;
  for (auto it = lets.rbegin(); it != lets.rend(); ++it) {  // in order of evaluation
    const Let* let = *it;
    auto* call = let->value.as<Call>();
    auto at = live.find(let);
    if (!call || at == live.end()) continue;
    auto bound = functions.find(call->op.get());
    const Object* callee = bound == functions.end() ? call->op.get() : bound->second;
    auto* function = cast_or_null<FunctionNode>(callee);
    if (!function || !is_primitive(function)) continue;
    int64_t bytes = bytes_of(checked_type(let->var));
    for (const Var& var : at->second.in)
      if (!var.same_as(let->var)) bytes += bytes_of(checked_type(var));
    out[function].push_back(number(bytes));
  }
  return out;
}

Function with_used_memory(const Function& main) {
  auto used = used_memory(main);
  Expr body = rewrite(main->body, [&](Rewriter& self, const FunctionNode* function) -> Expr {
    auto it = used.find(function);
    if (it == used.end()) return self.children(function);
    FunctionNode marked(*function);
    marked.attrs = marked.attrs.with("used_memory", it->second);
    return make(std::move(marked));
  });
  int64_t io = bytes_of(checked_type(main->body));
  for (const Var& param : main->params) io += bytes_of(checked_type(param));
  FunctionNode out(*main);
  out.body = body;
  out.attrs = out.attrs.with("io_used_memory", number(io));
  return make(std::move(out));
}

}  // namespace

Function manifest_lifetimes(const Function& function) {
  Function plain = downcast<Function>(without_aliases(to_a_normal_form(function)));
  return with(plain, &FunctionNode::body, with_kills(plain->body, liveness(plain.get())));
}

IRModule annotate_used_memory(const IRModule& mod) {
  GlobalVar main = mod.find_global_var("main");
  auto* function = main ? mod.lookup("main").as<FunctionNode>() : nullptr;
  if (!function) return mod;
  IRModule out = mod.copy();
  out.update(main, with_used_memory(Function(function)));
  return out;
}

}  // namespace tessera::relay
