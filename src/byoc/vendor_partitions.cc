// Functions that a partition gave to cuBLAS or cuDNN, as kernels of our own table: the row for libraries takes them.
//
//   @tvmgen_default_cublas_main_0(%x, %w)      =>   fn (%p0, %p1, tessera.library="cublas", Primitive=1) { nn.dense(%p0, %p1) }(%x, %w)
//   where @tvmgen_default_cublas_main_0 = fn (%a, %b, Compiler="cublas") { fn (Composite="cublas.dense") {...}(%a, %b) }

#include "byoc/libraries.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/expr.h"
#include "runtime/registry.h"

namespace tessera::byoc {
namespace {

using relay::Call;
using relay::Expr;
using relay::FunctionNode;

/// The library; empty where users have a generator of that name.
std::string library_of(const FunctionNode* function) {
  String compiler = downcast_or_null<String>(function->attrs.get_attr(relay::attr::kCompiler));
  if (!compiler || (compiler != "cublas" && compiler != "cudnn")) return "";
  return find_global("relay.ext." + compiler.str()) ? "" : compiler.str();
}

Expr inlined(const FunctionNode* function, const Array<Expr>& args) {
  std::unordered_map<const Object*, Expr> values;
  for (size_t i = 0; i < args.size(); ++i) values.emplace(function->params[i].get(), args[i]);
  return rewrite(function->body, [&](const relay::VarNode* var) -> Expr {
    auto it = values.find(var);
    return it == values.end() ? Expr(var) : it->second;
  });
}

/// Composite functions of a partition as primitive ones.
Expr with_kernels(const Expr& body, const std::string& library) {
  return rewrite(body, [&](Rewriter& self, const FunctionNode* function) -> Expr {
    if (!function->attrs.has(relay::attr::kComposite)) return self.children(function);
    FunctionNode out(*function);
    out.attrs =
        DictAttrs().with(relay::attr::kPrimitive, int_imm(DataType::Int(32), 1)).with(kGivenToLibrary, String(library));
    return make(std::move(out));
  });
}

/// Calls of partitions as calls of kernels. A partition that is used as a value is the function of those kernels.
Expr with_libraries(const IRModule& mod, const Expr& body) {
  auto partition_of = [&](const Expr& expr) -> const FunctionNode* {
    auto* global = expr.as<GlobalVarNode>();
    auto* function = global ? mod.lookup(global->name_hint).as<FunctionNode>() : nullptr;
    return function && !library_of(function).empty() ? function : nullptr;
  };
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
    auto* partition = partition_of(call->op);
    if (!partition) return self.children(call);
    return with_kernels(inlined(partition, self(call->args)), library_of(partition));
  });
  rewriter.on([&](const GlobalVarNode* global) -> Expr {
    auto* partition = partition_of(Expr(global));
    if (!partition) return Expr(global);
    return relay::make_function(partition->params, with_kernels(partition->body, library_of(partition)),
                                partition->ret_type);
  });
  return rewriter(body);
}

}  // namespace

bool has_vendor_partitions(const IRModule& mod) {
  for (const auto& [var, function] : mod->functions)
    if (auto* relay = function.as<FunctionNode>(); relay && !library_of(relay).empty()) return true;
  return false;
}

IRModule vendor_kernels(const IRModule& mod) {
  IRModule out;
  for (const auto& [var, function] : mod.sorted_functions()) {
    auto* relay = function.as<FunctionNode>();
    if (relay && !library_of(relay).empty()) continue;
    if (!relay) {
      out.update(var, function);
      continue;
    }
    out.update(var, with(relay, &FunctionNode::body, with_libraries(mod, relay->body)));
  }
  return out;
}

}  // namespace tessera::byoc
