// Kinds of types, and whether a match has a clause for every value.

#include "base/stack.h"
#include "ir/module_types.h"
#include "relay/print_text.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// The kind of a type whose parts fit together; an error otherwise.
class KindCheck {
 public:
  explicit KindCheck(const IRModule& mod) : mod_(mod) {}

  TypeKind kind(const Type& type) {
    return on_enough_stack([&] { return find(type); });
  }

 private:
  void expect(const Type& type, TypeKind wanted, const std::string& what) {
    TypeKind found = kind(type);
    if (found != wanted)
      throw Error(DiagnosticError) << what << " must be of kind " << static_cast<int>(wanted) << ", but "
                                   << type_text(type) << " is of kind " << static_cast<int>(found);
  }

  TypeKind find(const Type& type) {
    if (!type) throw Error(DiagnosticError) << "a part of the type is missing";
    if (auto* var = type.as<TypeVarNode>()) return var->kind;
    if (auto* var = type.as<GlobalTypeVarNode>()) return var->kind;
    if (auto* hole = type.as<IncompleteType>()) return hole->kind;
    if (type.as<TensorTypeNode>()) return TypeKind::Type;
    if (type.as<TypeConstraintNode>()) return TypeKind::Constraint;
    if (auto* tuple = type.as<TupleType>()) {
      for (const Type& field : tuple->fields_) expect(field, TypeKind::Type, "a field of a tuple");
      return TypeKind::Type;
    }
    if (auto* function = type.as<FuncType>()) {
      for (const Type& arg : function->arg_types) expect(arg, TypeKind::Type, "an argument of a function");
      expect(function->ret_type, TypeKind::Type, "the result of a function");
      for (const TypeConstraint& constraint : function->type_constraints)
        expect(constraint, TypeKind::Constraint, "a constraint");
      return TypeKind::Type;
    }
    if (auto* ref = type.as<RefType>()) {
      expect(ref->value, TypeKind::Type, "what a reference holds");
      return TypeKind::Type;
    }
    if (auto* call = type.as<TypeCall>()) return check_call(call);
    if (auto* data = type.as<TypeDataNode>()) {
      for (const Constructor& constructor : data->constructors)
        for (const Type& input : constructor->inputs) expect(input, TypeKind::Type, "a field of a constructor");
      return TypeKind::TypeData;
    }
    return TypeKind::Type;
  }

  TypeKind check_call(const TypeCall* call) {
    auto* name = call->func.as<GlobalTypeVarNode>();
    if (!name) throw Error(DiagnosticError) << "only data types have parameters, not " << type_text(call->func);
    expect(call->func, TypeKind::AdtHandle, "a type with parameters");
    for (const Type& arg : call->args) expect(arg, TypeKind::Type, "a parameter of a data type");
    TypeData data = find_type(mod_, GlobalTypeVar(name));
    if (!data) throw Error(DiagnosticError) << "the data type " << name->name_hint << " is not defined in the module";
    if (data->type_vars.size() != call->args.size())
      throw Error(DiagnosticError) << "the data type " << name->name_hint << " has " << data->type_vars.size()
                                   << " parameters, " << call->args.size() << " are given";
    return TypeKind::Type;
  }

  IRModule mod_;
};

// ---- completeness of matches -----------------------------------------------------------------------------------------

enum class Fit { Match, Clash, Unspecified };

Pattern wildcard() { return make(PatternWildcard()); }

/// Does the candidate fit the pattern: always, never, or only some of its values.
Fit fit(const Pattern& pattern, const Pattern& candidate) {
  if (pattern.as<PatternWildcard>() || pattern.as<PatternVar>()) return Fit::Match;
  if (candidate.as<PatternWildcard>()) return Fit::Unspecified;
  auto parts = [&](const Array<Pattern>& a, const Array<Pattern>& b) {
    Fit all = Fit::Match;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      Fit one = on_enough_stack([&] { return fit(a[i], b[i]); });
      if (one == Fit::Clash) return one;
      if (one == Fit::Unspecified) all = one;
    }
    return all;
  };
  if (auto* made = pattern.as<PatternConstructor>()) {
    auto* other = candidate.as<PatternConstructor>();
    if (!other || !made->constructor.same_as(other->constructor)) return Fit::Clash;
    return parts(made->patterns, other->patterns);
  }
  auto *tuple = pattern.as<PatternTuple>(), *other = candidate.as<PatternTuple>();
  return tuple && other ? parts(tuple->patterns, other->patterns) : Fit::Clash;
}

/// All lists that arise when each item is replaced by one of its choices.
std::vector<Array<Pattern>> combinations(const std::vector<std::vector<Pattern>>& choices) {
  std::vector<Array<Pattern>> out{{}};
  for (const std::vector<Pattern>& at : choices) {
    std::vector<Array<Pattern>> longer;
    for (const Array<Pattern>& before : out) {
      for (const Pattern& choice : at) {
        Array<Pattern> next = before;
        next.push_back(choice);
        longer.push_back(next);
      }
    }
    out = std::move(longer);
    if (out.size() > 100000) throw Error(ValueError) << "the match has too many cases to list";
  }
  return out;
}

/// The candidate's wildcards split as far as the clause's pattern looks into them.
std::vector<Pattern> expanded(const Pattern& pattern, const Pattern& candidate, const IRModule& mod) {
  auto parts = [&](const Array<Pattern>& looked_at, const Array<Pattern>& given) {
    std::vector<std::vector<Pattern>> choices;
    for (size_t i = 0; i < given.size() && i < looked_at.size(); ++i)
      choices.push_back(on_enough_stack([&] { return expanded(looked_at[i], given[i], mod); }));
    return combinations(choices);
  };
  std::vector<Pattern> out;
  if (auto* made = pattern.as<PatternConstructor>()) {
    std::vector<Ref<PatternConstructor>> candidates;
    auto add = [&](const Constructor& constructor, const Array<Pattern>& patterns) {
      PatternConstructor node;
      node.constructor = constructor;
      node.patterns = patterns;
      candidates.push_back(make(std::move(node)));
    };
    if (auto* given = candidate.as<PatternConstructor>()) {
      add(given->constructor, given->patterns);
    } else {
      for (const Constructor& constructor : lookup_type(mod, made->constructor->belong_to)->constructors)
        add(constructor, Array<Pattern>(constructor->inputs.size(), wildcard()));
    }
    for (const Ref<PatternConstructor>& one : candidates) {
      if (!one->constructor.same_as(made->constructor)) {
        out.push_back(one);
        continue;
      }
      for (const Array<Pattern>& patterns : parts(made->patterns, one->patterns)) {
        PatternConstructor node;
        node.constructor = one->constructor;
        node.patterns = patterns;
        out.push_back(make(std::move(node)));
      }
    }
  } else if (auto* tuple = pattern.as<PatternTuple>()) {
    auto* given = candidate.as<PatternTuple>();
    Array<Pattern> fields = given ? given->patterns : Array<Pattern>(tuple->patterns.size(), wildcard());
    for (const Array<Pattern>& patterns : parts(tuple->patterns, fields)) {
      PatternTuple node;
      node.patterns = patterns;
      out.push_back(make(std::move(node)));
    }
  } else {
    out.push_back(candidate);
  }
  return out;
}

/// Patterns that together are the values no clause fits. Candidates are split only as far as a clause looks.
Array<Pattern> unmatched_cases(const Ref<Match>& match, const IRModule& mod) {
  std::vector<Pattern> todo{wildcard()};
  Array<Pattern> failures;
  while (!todo.empty()) {
    Pattern candidate = todo.back();
    todo.pop_back();
    bool is_decided = false;
    for (const Clause& clause : match->clauses) {
      Fit found = fit(clause->lhs, candidate);
      if (found == Fit::Clash) continue;
      if (found == Fit::Unspecified)
        for (const Pattern& part : expanded(clause->lhs, candidate, mod)) todo.push_back(part);
      is_decided = true;
      break;
    }
    if (!is_decided) failures.push_back(candidate);
    if (todo.size() > 100000) throw Error(ValueError) << "the match has too many cases to list";
  }
  return failures;
}

Globals kinds_globals{
    {"relay.analysis.check_kind",
     [](Type type, IRModule mod) { return static_cast<int>(KindCheck(mod ? mod : IRModule()).kind(type)); }},
    {"relay.analysis.unmatched_cases", unmatched_cases},
};

}  // namespace
}  // namespace tessera::relay
