// CollagePartition: every part of a graph goes to the toolchain, or is left to the compiler, where the whole costs least.
//
// Toolchains offer what their patterns match, alone and with neighbours (collage_candidates.h); each offer is estimated as a
// module of its own, and the division that costs least is found by shortest paths (cheapest_cover.h). Parts of external
// toolchains become functions as PartitionGraph makes them; what is left to the compiler stays as it was, so that it
// is fused as always.

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/make.h"
#include "relay/transform/passes.h"
#include "relay/transform/region/collage_candidates.h"
#include "relay/transform/region/compiler_regions.h"
#include "relay/type/infer_type.h"

namespace tessera::relay {
namespace {

/// Seconds of a call that the compiler cannot estimate: it is taken where no toolchain offers anything else.
constexpr double kUnknownCost = 1e6;

IRModule partitioned(const IRModule& mod) { return partition_graph_pass("default", true)(infer_type(mod)); }

/// Parts as modules of their own, with variables for what comes in.
class PartAsModule {
 public:
  PartAsModule(const CollageCandidates& candidates, const CollageCandidate& part)
      : candidates_(candidates), part_(part) {}

  IRModule operator()();
  /// The variable for a value that comes in.
  Expr input(const Expr& value) {
    if (value.as<Constant>() || value.as<OpNode>()) return value;
    auto [it, is_new] = inputs_.try_emplace(value.get());
    if (is_new) {
      it->second = make_local("x" + std::to_string(params_.size()), checked_type(value));
      params_.push_back(it->second);
    }
    return it->second;
  }

 private:
  /// The calls of a part that is left to the compiler.
  Expr calls() {
    Rewriter copy([&](Rewriter& self, const RelayExprNode* node) -> Expr {
      Expr expr(node);
      if (!expr.as<Tuple>() && !candidates_.holds(part_, expr)) return input(expr);
      Expr out = self.children(node);
      if (!out.same_as(expr)) out->checked_type_ = nullptr;
      return out;
    });
    return copy(part_.root);
  }

  const CollageCandidates& candidates_;
  const CollageCandidate& part_;
  std::unordered_map<const Object*, Var> inputs_;
  Array<Var> params_;
};

/// A part as a region of its toolchain: calls of composite functions between annotations.
Expr region(const CollageCandidate& part, const std::function<Expr(const Expr&)>& outside) {
  const std::string compiler = part.matches.front()->toolchain->compiler();
  std::unordered_map<const Object*, Expr> done;
  std::function<Expr(const Expr&)> entering = [&](const Expr& value) -> Expr {
    if (auto it = done.find(value.get()); it != done.end()) return it->second;
    auto* tuple = value.as<Tuple>();
    if (!tuple) return compiler_begin(outside(value), compiler);
    Array<Expr> fields;
    for (const Expr& field : tuple->fields_) fields.push_back(entering(field));
    return make_tuple(fields);
  };
  for (const RuleMatch* match : part.matches) {
    FunctionNode function(*match->group.function);
    function.attrs = function.attrs.with(attr::kPartitionedFromPattern, String(match->group.name))
                         .with(attr::kComposite, String(match->rule));
    Array<Expr> args;
    for (const Expr& arg : match->group.args) args.push_back(entering(arg));
    done[match->group.root.get()] = make_call(make(std::move(function)), args);
  }
  return compiler_end(done.at(part.root.get()), compiler);
}

IRModule PartAsModule::operator()() {
  bool is_external = !part_.matches.empty();
  Expr body = is_external ? region(part_, [&](const Expr& value) { return input(value); }) : calls();
  GlobalVarNode main;
  main.name_hint = "main";
  IRModule mod;
  mod.update(GlobalVar(make(std::move(main))), make_function(params_, body));
  return is_external ? partitioned(mod) : infer_type(mod);
}

/// What modules cost, each asked for once.
class Costs {
 public:
  explicit Costs(PackedFunc estimate) : estimate_(std::move(estimate)) {}

  double of(const IRModule& mod, const Target& target) {
    auto& known = known_[{structural_hash(mod), target.get()}];
    for (const auto& [other, cost] : known)
      if (structural_equal(mod, other)) return cost;
    double cost = estimate_(mod, target).to<double>();
    known.emplace_back(mod, cost);
    return cost;
  }

 private:
  PackedFunc estimate_;
  std::map<std::pair<int64_t, const Object*>, std::vector<std::pair<IRModule, double>>> known_;
};

struct Collage {
  Target host;  // none: what no toolchain takes is left as it is
  std::vector<Toolchain> toolchains;
  PackedFunc estimate;
};

CollageLimits limits_of(const PassContext& context) {
  CollageLimits out;
  auto read = [&](const char* key, int* limit) {
    if (ObjectRef given = context.get_config(key)) *limit = static_cast<int>(given.as<IntImm>()->value);
  };
  read("relay.collage.tvm_max_depth", &out.host_depth);
  read("relay.collage.byoc_max_depth", &out.external_depth);
  return out;
}

double cost_of(const Collage& collage, const CollageCandidates& candidates, const CollageCandidate& part,
               Costs* costs) {
  if (!part.matches.empty())
    return costs->of(PartAsModule(candidates, part)(), part.matches.front()->toolchain->target);
  double cost = collage.host ? costs->of(PartAsModule(candidates, part)(), collage.host) : INFINITY;
  bool is_one_call = part.part.members.count() == 1;
  return std::isfinite(cost) || !is_one_call ? cost : kUnknownCost;
}

/// The body with annotations around the parts that external toolchains compute at less cost.
Expr annotated(const Collage& collage, const Expr& body, const CollageLimits& limits, Costs* costs) {
  CollageCandidates candidates(body, collage.toolchains, limits);
  std::vector<CoverPart> parts;
  for (const CollageCandidate& candidate : candidates.all()) parts.push_back(candidate.part);
  std::unordered_map<const Object*, const CollageCandidate*> chosen;
  for (size_t part : cheapest_cover(parts, candidates.calls(),
                                    [&](size_t i) { return cost_of(collage, candidates, candidates.all()[i], costs); }))
    if (const CollageCandidate& candidate = candidates.all()[part]; !candidate.matches.empty())
      chosen.emplace(candidate.root.get(), &candidate);
  return rewrite(body, [&](Rewriter& self, const RelayExprNode* node) -> Expr {
    Expr post = self.children(node);
    if (post.get() != node) post->checked_type_ = nullptr;
    auto it = chosen.find(node);
    return it == chosen.end() ? post : region(*it->second, [&](const Expr& value) { return self(value); });
  });
}

IRModule collage_partition(const Collage& collage, const IRModule& untyped, const PassContext& context) {
  Costs costs(collage.estimate);
  const IRModule mod = infer_type(untyped);
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod.sorted_functions()) {
    auto* relay = function.as<FunctionNode>();
    if (!relay || relay->attrs.has(attr::kCompiler) || relay->attrs.has(attr::kPrimitive)) continue;
    Expr body = annotated(collage, relay->body, limits_of(context), &costs);
    if (!body.same_as(relay->body)) out.update(var, with(relay, &FunctionNode::body, body));
  }
  return partitioned(out);
}

}  // namespace

Pass collage_partition_pass(const Target& host, const Array<Target>& targets, const Array<String>& names,
                            const Array<DFPattern>& patterns, const Array<PackedFunc>& checks,
                            const PackedFunc& estimate) {
  if (names.size() != patterns.size() || names.size() != checks.size() || names.size() != targets.size())
    throw Error(ValueError) << "CollagePartition: there must be a target, a name and a check for each pattern";
  Collage collage{host, {}, estimate};
  for (size_t i = 0; i < names.size(); ++i) {
    auto& toolchains = collage.toolchains;
    if (toolchains.empty() || !toolchains.back().target.same_as(targets[i])) toolchains.push_back({targets[i], {}});
    toolchains.back().rules.push_back({names[i].str(), patterns[i], checks[i]});
  }
  return pass_over<IRModule>(collage_partition_pass,
                             [collage](const IRModule& mod, const IRModule&, const PassContext& context) {
                               return collage_partition(collage, mod, context);
                             });
}

}  // namespace tessera::relay
