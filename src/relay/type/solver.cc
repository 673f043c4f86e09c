#include "relay/type/solver.h"

#include "arith/analyzer.h"
#include "base/stack.h"
#include "ir/structural/equal.h"
#include "ir/structural/expr_equal.h"
#include "relay/print_text.h"
#include "relay/type/rule.h"

namespace tessera::relay {
namespace {

/// The type with `change` applied to its parts; the same object when no part changes.
Type map_parts(const Type& type, const std::function<Type(const Type&)>& change) {
  auto each = [&](const Array<Type>& types) {
    Array<Type> out = types;
    for (size_t i = 0; i < types.size(); ++i) {
      Type part = change(types[i]);
      if (!part.same_as(types[i])) out.set(i, part);
    }
    return out;
  };
  if (auto* tuple = type.as<TupleType>()) return with(tuple, &TupleType::fields_, each(tuple->fields_));
  if (auto* ref = type.as<RefType>()) return with(ref, &RefType::value, change(ref->value));
  if (auto* call = type.as<TypeCall>())
    return with(with(call, &TypeCall::func, change(call->func)), &TypeCall::args, each(call->args));
  if (auto* func = type.as<FuncType>()) {
    auto args = with(func, &FuncType::arg_types, each(func->arg_types));
    return with(args, &FuncType::ret_type, change(func->ret_type));
  }
  return type;
}

}  // namespace

Type substitute_types(const Type& type, const std::unordered_map<const Object*, Type>& by) {
  if (by.empty()) return type;
  if (auto it = by.find(type.get()); it != by.end()) return it->second;
  return on_enough_stack([&] { return map_parts(type, [&](const Type& part) { return substitute_types(part, by); }); });
}

void collect_holes(const Type& type, std::vector<Type>* out) {
  if (type.as<TensorTypeNode>()) return;
  if (type.as<IncompleteType>()) return out->push_back(type);
  on_enough_stack([&] {
    map_parts(type, [&](const Type& part) {
      collect_holes(part, out);
      return part;
    });
  });
}

Type TypeSolver::head(Type type) const {
  for (auto it = filled_.find(type.get()); it != filled_.end(); it = filled_.find(type.get())) type = it->second.second;
  return type;
}

Type TypeSolver::resolve(const Type& type) {
  if (!type || type.as<TensorTypeNode>()) return type;
  Type top = head(type);
  if (top.as<IncompleteType>()) return top;
  Type out = on_enough_stack([&] { return map_parts(top, [this](const Type& part) { return resolve(part); }); });
  if (!top.same_as(type)) filled_[type.get()].second = out;  // the next look-up is short
  return out;
}

void TypeSolver::differ(const Type& a, const Type& b) {
  throw Error(TypeError) << "the types " << type_text(resolve(a)) << " and " << type_text(resolve(b)) << " differ";
}

void TypeSolver::fill(const Type& hole, const Type& type) {
  std::vector<Type> inside;
  collect_holes(resolve(type), &inside);
  for (const Type& part : inside)
    if (part.same_as(hole)) throw Error(TypeError) << "a type would contain itself: " << type_text(resolve(type));
  filled_.insert_or_assign(hole.get(), std::pair(hole, type));
  auto it = waiting_.find(hole.get());
  if (it == waiting_.end()) return;
  for (size_t question : it->second) due_.push_back(question);
  waiting_.erase(it);
}

PrimExpr TypeSolver::unify_extent(const PrimExpr& a, const PrimExpr& b) {
  if (a.same_as(b) || expr_equal(a, b)) return a;
  if (a.as<AnyDim>() || b.as<AnyDim>()) return a.as<AnyDim>() ? a : b;
  const int64_t *x = as_int(a), *y = as_int(b);
  if (x && y) return *x == *y ? a : PrimExpr();
  if (arith::Analyzer().can_prove_equal(a, b)) return a;
  if (!ExtentAssumptions::current() || !may_equal(a, b)) return {};
  return y ? b : a;  // may_equal noted what is assumed
}

Type TypeSolver::unify(const Type& left, const Type& right) {
  Type a = head(left), b = head(right);
  if (a.same_as(b)) return a;
  if (a.as<IncompleteType>()) return fill(a, b), b;
  if (b.as<IncompleteType>()) return fill(b, a), a;
  return on_enough_stack([&]() -> Type {
    auto all = [&](const Array<Type>& xs, const Array<Type>& ys) {
      if (xs.size() != ys.size()) differ(a, b);
      Array<Type> out = xs;
      for (size_t i = 0; i < xs.size(); ++i) {
        Type part = unify(xs[i], ys[i]);
        if (!part.same_as(xs[i])) out.set(i, part);
      }
      return out;
    };
    auto *tensor = a.as<TensorTypeNode>(), *tensor_b = b.as<TensorTypeNode>();
    if (tensor && tensor_b) {
      if (tensor->dtype != tensor_b->dtype || tensor->shape.size() != tensor_b->shape.size()) differ(a, b);
      Array<PrimExpr> shape = tensor->shape;
      for (size_t i = 0; i < shape.size(); ++i) {
        PrimExpr extent = unify_extent(tensor->shape[i], tensor_b->shape[i]);
        if (!extent) differ(a, b);
        if (!extent.same_as(tensor->shape[i])) shape.set(i, extent);
      }
      return with(tensor, &TensorTypeNode::shape, shape);
    }
    auto *tuple = a.as<TupleType>(), *tuple_b = b.as<TupleType>();
    if (tuple && tuple_b) return with(tuple, &TupleType::fields_, all(tuple->fields_, tuple_b->fields_));
    auto *ref = a.as<RefType>(), *ref_b = b.as<RefType>();
    if (ref && ref_b) return with(ref, &RefType::value, unify(ref->value, ref_b->value));
    auto *call = a.as<TypeCall>(), *call_b = b.as<TypeCall>();
    if (call && call_b) {
      unify(call->func, call_b->func);
      return with(call, &TypeCall::args, all(call->args, call_b->args));
    }
    auto *func = a.as<FuncType>(), *func_b = b.as<FuncType>();
    if (func && func_b) {
      // Of two polymorphic functions that with more parameters is used as one with fewer; a value of one type has none.
      const size_t shared = std::min(func->type_params.size(), func_b->type_params.size());
      if (func->type_params.size() > shared) return unify(instance_of(func, shared), b);
      if (func_b->type_params.size() > shared) return unify(a, instance_of(func_b, shared));
      std::unordered_map<const Object*, Type> renamed;
      for (size_t i = 0; i < func->type_params.size(); ++i)
        renamed.emplace(func_b->type_params[i].get(), func->type_params[i]);
      auto rename = [&](const Type& type) { return substitute_types(type, renamed); };
      Array<Type> args_b;
      for (const Type& arg : func_b->arg_types) args_b.push_back(rename(arg));
      auto out = with(func, &FuncType::arg_types, all(func->arg_types, args_b));
      return with(out, &FuncType::ret_type, unify(func->ret_type, rename(func_b->ret_type)));
    }
    if (!structural_equal(a, b)) differ(a, b);
    return a;
  });
}

Type TypeSolver::instance_of(const FuncType* func, size_t kept) {
  std::unordered_map<const Object*, Type> by;
  FuncType out;
  for (size_t i = 0; i < func->type_params.size(); ++i) {
    const TypeVar& param = func->type_params[i];
    if (i < kept) out.type_params.push_back(param);
    else by.emplace(param.get(), hole(param->kind));
  }
  for (const Type& arg : func->arg_types) out.arg_types.push_back(substitute_types(resolve(arg), by));
  out.ret_type = substitute_types(resolve(func->ret_type), by);
  return make(std::move(out));
}

void TypeSolver::ask(std::vector<Type> about, std::function<bool()> answer) {
  questions_.push_back({std::move(about), std::move(answer)});
  attempt(questions_.size() - 1);
}

void TypeSolver::attempt(size_t index) {
  if (questions_[index].done) return;
  auto answer = std::move(questions_[index].answer);  // answering may ask, and so move the table
  if (answer()) {
    questions_[index].done = true;
    return;
  }
  questions_[index].answer = std::move(answer);
  std::vector<Type> holes;
  for (const Type& type : questions_[index].about) collect_holes(resolve(type), &holes);
  for (const Type& hole : holes) waiting_[hole.get()].push_back(index);
}

void TypeSolver::solve() {
  while (!due_.empty()) {
    size_t question = due_.front();
    due_.pop_front();
    attempt(question);
  }
}

}  // namespace tessera::relay
