// PartitionGraph: each region of an external code generator becomes a function of the module, marked with its compiler;
// what remains loses its annotations. A tuple that leaves a region leaves it field by field:
// the function gives its fields, and the tuple is made where it is used.
//
// Functions of a compiler are then changed by the global function `relay.ext.<compiler>.optimize`, module to module, if it is there.

#include <algorithm>
#include <functional>
#include <map>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/passes.h"
#include "relay/transform/region/compiler_regions.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// The ends that leave each region, in the order in which they are met.
using Ends = std::unordered_map<int, std::vector<Expr>>;

/// A tuple of constants counts as one.
bool is_constant(const Expr& expr) {
  auto* tuple = expr.as<Tuple>();
  if (!tuple) return expr.as<Constant>();
  return std::all_of(tuple->fields_.begin(), tuple->fields_.end(), is_constant);
}

/// What a code generator for C can call a function.
std::string identifier(std::string name) {
  for (char& c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

/// The values that leave a region where this one is ended: the fields of a tuple, not the tuple.
void each_leaving(const Expr& value, const std::function<void(const Expr&)>& f) {
  auto* tuple = value.as<Tuple>();
  if (!tuple) return f(value);
  for (const Expr& field : tuple->fields_) each_leaving(field, f);
}

class Partition {
 public:
  Partition(IRModule* mod, std::string prefix, std::string function, bool bind_constants, const Expr& root)
      : mod_(mod),
        prefix_(std::move(prefix)),
        function_(std::move(function)),
        bind_constants_(bind_constants),
        regions_(root) {
    post_order(root, [&](const Expr& expr) {
      if (ended_compiler(expr).empty()) return;
      each_leaving(expr.as<Call>()->args[0], [&](const Expr& value) {
        std::vector<Expr>& values = results_[regions_.of(value.get())];
        bool is_known = std::any_of(values.begin(), values.end(), [&](const Expr& v) { return v.same_as(value); });
        if (!is_known) values.push_back(value);
      });
    });
    rewriter_.on([this](const Call* call) -> Expr {
      if (!begun_compiler(Expr(call)).empty()) return rewriter_(call->args[0]);
      if (ended_compiler(Expr(call)).empty()) return rewriter_.children(call);
      return result(call->args[0]);
    });
  }
  Expr operator()(const Expr& root) { return rewriter_(root); }

 private:
  /// What a region gives for one of its values.
  Expr result(const Expr& value) {
    if (auto* tuple = value.as<Tuple>()) {
      Array<Expr> fields;
      for (const Expr& field : tuple->fields_) fields.push_back(result(field));
      return make_tuple(fields);
    }
    int region = regions_.of(value.get());
    if (region < 0 || regions_.compiler(region) == kDefaultCompiler) return rewriter_(value);
    auto it = calls_.find(region);
    if (it == calls_.end()) it = calls_.emplace(region, outlined(region)).first;
    const std::vector<Expr>& values = results_[region];
    if (values.size() == 1) return it->second;
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].same_as(value)) return field_of(region, it->second, static_cast<int>(i));
    ICHECK(false) << "a value that its region does not give";
    return nullptr;
  }

  Expr field_of(int region, const Expr& call, int index) {
    auto [it, is_new] = fields_.try_emplace({region, index});
    if (is_new) it->second = make_get_item(call, index);
    return it->second;
  }

  /// The value a begin brings in, known by what it was before it was ended.
  static const Object* key_of(const Expr& source) {
    return ended_compiler(source).empty() ? source.get() : source.as<Call>()->args[0].get();
  }

  /// What comes into a region, each value once, in the order in which it is used.
  std::vector<Expr> sources_of(int region) const {
    std::vector<Expr> out;
    std::unordered_map<const Object*, bool> seen;
    Rewriter walk;
    walk.on([&](Rewriter& self, const Call* call) -> Expr {
      if (begun_compiler(Expr(call)).empty()) return self.children(call);
      const Expr& source = call->args[0];
      bool is_bound = bind_constants_ && is_constant(source);
      if (!is_bound && seen.emplace(key_of(source), true).second) out.push_back(source);
      return Expr(call);
    });
    for (const Expr& value : results_.at(region)) walk(value);
    return out;
  }

  /// Makes the function of a region, after those of the regions it needs, and gives the call of it.
  Expr outlined(int region) {
    const std::string& compiler = regions_.compiler(region);
    std::vector<Expr> sources = sources_of(region);
    Array<Expr> args, results;
    for (const Expr& source : sources) args.push_back(rewriter_(source));
    int id = next_id_++;
    Array<Var> params;
    std::unordered_map<const Object*, Expr> inside;  // what comes in -> parameter
    for (const Expr& source : sources) {
      std::string name = compiler + "_" + std::to_string(id) + "_i" + std::to_string(params.size());
      params.push_back(make_local(name, checked_type(source)));
      inside.emplace(key_of(source), params.back());
    }
    Rewriter rewriter;
    rewriter.on([&](Rewriter& self, const Call* call) -> Expr {
      if (begun_compiler(Expr(call)).empty()) return self.children(call);
      auto it = inside.find(key_of(call->args[0]));
      return it == inside.end() ? call->args[0] : it->second;
    });
    for (const Expr& value : results_[region]) results.push_back(rewriter(value));
    Expr body = results.size() == 1 ? results[0] : make_tuple(results);
    String name(identifier(prefix_ + compiler + "_" + function_ + "_" + std::to_string(id)));
    DictAttrs attrs = DictAttrs()
                          .with(attr::kInline, int_imm(DataType::Int(32), 1))
                          .with(attr::kCompiler, String(compiler))
                          .with(tessera::attr::kGlobalSymbol, name)
                          .with(attr::kPrimitive, int_imm(DataType::Int(32), 1));
    GlobalVarNode var;
    var.name_hint = name;
    GlobalVar global(make(std::move(var)));
    mod_->update(global, make_function(params, body, nullptr, {}, attrs));
    return make_call(global, args);
  }

  IRModule* mod_;
  std::string prefix_, function_;
  bool bind_constants_;
  int next_id_ = 0;
  CompilerRegions regions_;
  Ends results_;
  std::map<int, Expr> calls_;
  std::map<std::pair<int, int>, Expr> fields_;
  Rewriter rewriter_;
};

/// The new functions of each compiler as its optimizer, if any, leaves them.
IRModule optimized(const IRModule& before, IRModule mod) {
  std::map<std::string, IRModule> parts;
  for (const auto& [var, function] : mod.sorted_functions()) {
    if (before.find_global_var(var->name_hint) || !function->attrs.has(attr::kCompiler)) continue;
    parts[downcast<String>(function->attrs.get_attr(attr::kCompiler)).str()].update(var, function);
  }
  for (const auto& [compiler, part] : parts)
    if (PackedFunc optimize = find_global("relay.ext." + compiler + ".optimize"))
      for (const auto& [var, function] : optimize(infer_type(part)).to<IRModule>().sorted_functions()) {
        GlobalVar known = mod.find_global_var(var->name_hint);
        mod.update(known ? known : var, function);
      }
  return mod;
}

IRModule partition_graph(const IRModule& mod, const std::string& mod_name, bool bind_constants) {
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || relay->attrs.has(attr::kCompiler)) continue;
    Partition partition(&out, "tvmgen_" + mod_name + "_", var->name_hint.str(), bind_constants, relay->body);
    out.update(var, with(relay, &FunctionNode::body, partition(relay->body)));
  }
  return optimized(mod, std::move(out));
}

}  // namespace

Pass partition_graph_pass(const std::string& mod_name, bool bind_constants) {
  Pass partition = pass_over<IRModule>(
      partition_graph_pass, [=](const IRModule& mod) { return partition_graph(mod, mod_name, bind_constants); });
  return sequential({partition, infer_type_pass()});
}

}  // namespace tessera::relay
