#include "byoc/libraries.h"

#include <algorithm>

#include "byoc/json_codegen.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/scopes.h"
#include "runtime/external/blas_runtime.h"
#include "runtime/registry.h"

namespace tessera::byoc {
namespace {

using relay::Call;
using relay::Expr;
using relay::FunctionNode;
using relay::Var;

bool is_fixed(const Expr& expr, const char* dtype) {
  auto* type = expr->checked_type_.as<TensorTypeNode>();
  return type && to_text(type->dtype) == dtype &&
         std::all_of(type->shape.begin(), type->shape.end(), [](const PrimExpr& extent) { return as_int(extent); });
}

std::string layout_of(const Call* call, const char* name) {
  const Field* field = call->attrs ? call->attrs->type()->find(name) : nullptr;
  auto* text =
      field && field->kind == FieldKind::Ref ? field->at<ObjectRef>(call->attrs.get()).as<StringNode>() : nullptr;
  return text ? String(text).str() : "";
}

/// Matrices, of one type that the library multiplies.
bool takes(const std::string& library, const Call* call) {
  auto* op = call->op.as<OpNode>();
  if (!op) return false;
  const bool is_conv = op->name == "nn.conv2d";
  const bool is_batch = op->name == "nn.batch_matmul", is_matrix = op->name == "nn.dense" || op->name == "nn.matmul";
  if (!is_batch && !is_matrix && !(is_conv && library == "dnnl")) return false;
  const size_t rank = is_conv ? 4 : is_batch ? 3 : 2;
  if (is_conv && (layout_of(call, "data_layout").size() != 4 || layout_of(call, "kernel_layout").size() != 4))
    return false;
  for (const char* dtype : {"float32", "float64"}) {
    if (library == "dnnl" && std::string_view(dtype) == "float64") continue;
    bool all = is_fixed(Expr(call), dtype);
    for (const Expr& arg : call->args)
      all = all && is_fixed(arg, dtype) && relay::tensor_type(arg)->shape.size() == rank;
    if (all) return true;
  }
  return false;
}

/// nn.matmul of matrices that are stored transposed is BLAS' own; oneDNN's runtime knows the second alone.
bool is_transposed_first(const Call* call) {
  const Field* field = call->attrs ? call->attrs->type()->find("transpose_a") : nullptr;
  return field && field->kind == FieldKind::Bool && field->at<bool>(call->attrs.get());
}

std::string library_for(const Target& target, const Call* call) {
  for (const std::string& named : target.list_option("libs")) {
    const std::string library = named == "mkldnn" ? "dnnl" : named;
    const bool is_known = library == "cblas" || library == "mkl" || library == "dnnl";
    if (!is_known || !takes(library, call)) continue;
    const bool is_plain_matmul = call->op.as<OpNode>()->name == "nn.matmul";
    if (library == "dnnl" && is_plain_matmul && is_transposed_first(call)) continue;
    return library;
  }
  return "";
}

Expr handed(IRModule* mod, const Call* call, const std::string& library, const std::string& symbol) {
  Array<Var> params;
  Array<Expr> inside;
  for (const Expr& arg : call->args) {
    params.push_back(relay::make_local("p" + std::to_string(params.size()), relay::checked_type(arg)));
    inside.push_back(params.back());
  }
  auto one = int_imm(DataType::Int(32), 1);
  DictAttrs attrs = DictAttrs()
                        .with(relay::attr::kInline, one)
                        .with(relay::attr::kCompiler, String(library))
                        .with(tessera::attr::kGlobalSymbol, String(symbol))
                        .with(relay::attr::kPrimitive, one);
  GlobalVarNode var;
  var.name_hint = String(symbol);
  GlobalVar global(make(std::move(var)));
  mod->update(global, relay::make_function(params, with(call, &Call::args, inside), nullptr, {}, attrs));
  return global;
}

template <bool is_mkl>
Module generate(relay::Function function) {
  JsonCode code = json_of(function);
  return make_blas_json(is_mkl, code.symbol, code.json);
}

Globals libraries_globals{
    {"relay.ext.cblas", generate<false>},
    {"relay.ext.mkl", generate<true>},
};

}  // namespace

bool has_libraries(const Target& target) {
  if (!target) return false;
  for (const std::string& library : target.list_option("libs"))
    if (library == "cblas" || library == "mkl" || library == "dnnl" || library == "mkldnn") return true;
  return false;
}

IRModule hand_to_libraries(const IRModule& mod, const Target& target) {
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || relay::is_kernel(relay)) continue;
    int next = 0;
    const std::string name = var->name_hint.str();
    Rewriter rewriter;
    rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
      const std::string library = library_for(target, call);
      if (library.empty()) return self.children(call);
      Array<Expr> args;
      for (const Expr& arg : call->args) args.push_back(self(arg));
      return relay::make_call(
          handed(&out, call, library, "tvmgen_libs_" + library + "_" + name + "_" + std::to_string(next++)), args);
    });
    rewriter.on([&](Rewriter& self, const FunctionNode* inner) -> Expr {
      return relay::is_kernel(inner) ? Expr(inner) : Expr(self.children(inner));
    });
    Expr body = rewriter(relay->body);
    if (!body.same_as(relay->body)) out.update(var, with(relay, &FunctionNode::body, body));
  }
  return out;
}

}  // namespace tessera::byoc
