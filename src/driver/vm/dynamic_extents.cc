#include "driver/vm/dynamic_extents.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "relay/dim_names.h"
#include "relay/type/infer_type.h"
#include "relay/type/rule.h"

namespace tessera::relay {
namespace {

/// Variables for the parts of types that are Any: one for all dimensions of a name, else one each.
struct ExtentNames {
  size_t count = 0;
  std::unordered_map<std::string, PrimExpr> by_name;

  PrimExpr variable(const std::string& name) {
    PrimExpr fresh = make_size_var(name.empty() ? "d" + std::to_string(count) : name);
    ++count;
    return name.empty() ? fresh : by_name.emplace(name, fresh).first->second;
  }
  /// `names` are those of a tensor's dimensions. Parts of the type that are no tensors stay as they are.
  Type operator()(const Type& type, const std::vector<std::string>& names) {
    if (type.as<TensorTypeNode>()) {
      size_t dim = 0;
      return map_extents(type, [&](const PrimExpr& extent) {
        std::string name = dim < names.size() ? names[dim] : "";
        ++dim;
        return is_any(extent) ? variable(name) : extent;
      });
    }
    auto* tuple = type.as<TupleType>();
    if (!tuple) return type;
    TupleType out;
    for (const Type& field : tuple->fields_) out.fields_.push_back((*this)(field, {}));
    return make(std::move(out));
  }
};

/// Primitive functions take the types of their arguments, whatever those were before.
Expr with_dynamic_kernels(const Expr& body) {
  return tessera::rewrite(body, [](Rewriter& self, const FunctionNode* function) -> Expr {
    if (!function->attrs.is_true(attr::kPrimitive)) {
      Function out = self.children(function);
      return with(out, &FunctionNode::ret_type, Type());
    }
    return retyped(Function(function), std::vector<Type>(function->params.size()));
  });
}

}  // namespace

IRModule name_dynamic_extents(const IRModule& mod) {
  GlobalVar main = mod.find_global_var("main");
  Function function = main ? downcast_or_null<Function>(mod->functions[main]) : nullptr;
  if (!function) return mod;
  std::vector<Type> types;
  ExtentNames name;
  for (const Var& param : function->params) types.push_back(name(checked_type(param), dim_names(function, param)));
  if (name.count == 0) return mod;
  Function named = retyped(function, types);
  IRModule out = mod.copy();
  out.update(main, with(named, &FunctionNode::body, with_dynamic_kernels(named->body)));
  try {
    return infer_type(out);
  } catch (const Error& error) {
    if (error.kind() != DiagnosticError && error.kind() != TypeError) throw;
    return mod;
  }
}

Function with_plain_extents(const Function& primitive, std::vector<PrimExpr>& pool) {
  arith::Analyzer analyzer;
  std::vector<PrimExpr> seen;  // what each variable of the pool stands for; empty for Any
  auto plain = [&](const PrimExpr& extent) {
    if (as_int(extent)) return extent;
    PrimExpr simple = is_any(extent) ? PrimExpr() : analyzer.simplify(extent);
    if (simple && as_int(simple)) return simple;
    for (size_t i = 0; simple && i < seen.size(); ++i)
      if (seen[i] && expr_equal(seen[i], simple)) return pool[i];
    seen.push_back(simple);
    if (seen.size() > pool.size()) pool.push_back(make_size_var("n" + std::to_string(pool.size())));
    return pool[seen.size() - 1];
  };
  std::vector<Type> types;
  for (const Var& param : primitive->params) types.push_back(map_extents(checked_type(param), plain));
  return retyped(primitive, types);
}

}  // namespace tessera::relay
