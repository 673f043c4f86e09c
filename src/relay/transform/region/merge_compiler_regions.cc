// MergeCompilerRegions: neighbouring regions of one code generator become one, where no way leads from the one through a
// third back into the other.

#include <optional>
#include <unordered_map>

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/transform/passes.h"
#include "relay/transform/region/compiler_regions.h"
#include "relay/transform/simplify/contractible_graph.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// A value that goes from one region into another: begin(end(value)).
struct Crossing {
  const Object* from;  // the value
  const Object* to;    // the user of the begin
};

class Merging {
 public:
  explicit Merging(const Expr& root) : regions_(root) {
    std::vector<Crossing> crossings;
    post_order(root, [&](const Expr& user) {
      each_operand(user, [&](const Expr& part) {
        if (begun_compiler(part).empty()) return;
        Expr source = part.as<Call>()->args[0];
        if (ended_compiler(source).empty()) return;
        crossings.push_back({source.as<Call>()->args[0].get(), user.get()});
      });
    });
    ContractibleGraph flow = dataflow(root);
    if (!flow.order()) return;  // regions that need each other's results: they were annotated so
    for (const Crossing& crossing : crossings) {
      int from = regions_.of(crossing.from), to = regions_.of(crossing.to);
      if (from < 0 || to < 0 || from == to || regions_.compiler(from) != regions_.compiler(to)) continue;
      if (flow.contract(static_cast<size_t>(from), static_cast<size_t>(to))) regions_.merge(from, to);
    }
  }

  /// Begins and ends inside one region go away.
  Expr operator()(const Expr& root) {
    return rewrite(
        root,
        [this](Rewriter& self, const Call* user) -> Expr {
          Array<Expr> args;
          for (const Expr& arg : user->args) args.push_back(self(direct(arg, user)));
          return with_args(user, args);
        },
        [this](Rewriter& self, const Tuple* user) -> Expr {
          Array<Expr> fields;
          for (const Expr& field : user->fields_) fields.push_back(self(direct(field, user)));
          return with(user, &Tuple::fields_, fields);
        },
        [this](Rewriter& self, const TupleGetItem* user) -> Expr {
          return with(user, &TupleGetItem::tuple, self(direct(user->tuple, user)));
        });
  }

 private:
  Expr direct(const Expr& part, const Object* user) const {
    if (begun_compiler(part).empty()) return part;
    Expr source = part.as<Call>()->args[0];
    if (ended_compiler(source).empty()) return part;
    Expr value = source.as<Call>()->args[0];
    int from = regions_.of(value.get()), to = regions_.of(user);
    return from >= 0 && from == to ? value : part;
  }

  /// Which results go where: regions are vertices, and so is what lies outside of all and is computed from one.
  ContractibleGraph dataflow(const Expr& root) const {
    ContractibleGraph flow(regions_.size());
    std::unordered_map<const Object*, size_t> outside;
    auto vertex = [&](Expr expr) -> std::optional<size_t> {
      while (!begun_compiler(expr).empty() || !ended_compiler(expr).empty()) expr = expr.as<Call>()->args[0];
      if (int region = regions_.of(expr.get()); region >= 0) return static_cast<size_t>(region);
      auto it = outside.find(expr.get());
      return it == outside.end() ? std::nullopt : std::optional(it->second);
    };
    auto connect = [&](const Expr& part, const Expr& user) {
      std::optional<size_t> from = vertex(part);
      if (!from) return;
      std::optional<size_t> to = vertex(user);
      if (!to) to = outside[user.get()] = flow.add();
      flow.connect(*from, *to);
    };
    std::unordered_map<const Object*, Expr> values;  // of variables; functions, which may use their own name, have none
    pre_order(root, [&](const Expr& expr) {
      if (auto* let = expr.as<Let>(); let && !let->value.as<FunctionNode>()) values.emplace(let->var.get(), let->value);
      return true;
    });
    post_order(root, [&](const Expr& user) {
      if (!begun_compiler(user).empty() || !ended_compiler(user).empty()) return;  // they go by what they mark
      if (auto it = values.find(user.get()); it != values.end()) connect(it->second, user);
      each_child(user, [&](const Expr& part) { connect(part, user); });
    });
    return flow;
  }

  CompilerRegions regions_;
};

}  // namespace

Pass merge_compiler_regions_pass() {
  Pass merge = pass_over<Expr>(merge_compiler_regions_pass, [](const Expr& body) { return Merging(body)(body); });
  return sequential({merge, infer_type_pass()});
}

}  // namespace tessera::relay
