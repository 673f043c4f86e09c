// relay.analysis._test_type_solver: the solver by itself, for those who try type relations.

#include <memory>

#include "ir/env_func.h"
#include "ir/type_relation.h"
#include "relay/type/solver.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// A solver, and how many relations it has not applied yet.
struct Session {
  TypeSolver solver;
  int open = 0;

  Type unified(const Type& a, const Type& b) {
    try {
      return solver.resolve(solver.unify(a, b));
    } catch (const Error& error) {
      if (error.kind() != TypeError) throw;
      throw Error(DiagnosticError) << error.what();
    }
  }

  void add(const TypeConstraint& constraint) {
    auto* relation = constraint.as<TypeRelation>();
    auto function = relation ? relation->func.as<EnvFuncNode>() : nullptr;
    if (!function) throw Error(TypeError) << "a constraint is a TypeRelation of a function that EnvFunc.get gives";
    if (function->name == "tvm.relay.type_relation.Identity") {  // tells inputs from results as well
      for (const Type& type : relation->args) solver.unify(relation->args[0], type);
      return;
    }
    const size_t inputs = static_cast<size_t>(relation->num_inputs);
    std::vector<Type> about(relation->args.begin(), relation->args.begin() + static_cast<long>(inputs));
    ++open;
    solver.ask(about, [this, about, inputs, keep = Ref<TypeRelation>(relation), function = EnvFunc(function)] {
      Array<Type> types;
      for (const Type& type : about) types.push_back(solver.resolve(type));
      std::vector<Type> holes;
      for (const Type& type : types) collect_holes(type, &holes);
      Type result = holes.empty() ? function_of(function)(types, keep->attrs).to<Type>() : Type();
      if (!result) return false;
      if (inputs < keep->args.size()) solver.unify(keep->args[inputs], result);
      --open;
      return true;
    });
  }
};

PackedFunc part(const std::shared_ptr<Session>& session, const std::string& name) {
  if (name == "Solve")
    return typed(name, [session] {
      session->solver.solve();
      return session->open == 0;
    });
  if (name == "Unify") return typed(name, [session](Type a, Type b) { return session->unified(a, b); });
  if (name == "Resolve") return typed(name, [session](Type type) { return session->solver.resolve(type); });
  if (name == "AddConstraint") return typed(name, [session](TypeConstraint constraint) { session->add(constraint); });
  throw Error(ValueError) << "the type solver has Solve, Unify, Resolve and AddConstraint, not " << name;
}

Globals solver_globals{
    {"relay.analysis._test_type_solver",
     [] {
       auto session = std::make_shared<Session>();
       return typed("type_solver", [session](std::string name) { return part(session, name); });
     }},
};

}  // namespace
}  // namespace tessera::relay
