// MergeCompilerRegions: neighbouring regions of one code generator become one, where no way leads from the one through a
// third back into the other.

#include <algorithm>
#include <map>
#include <set>

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/transform/compiler_regions.h"
#include "relay/transform/pass.h"
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
    post_order(root, [&](const Expr& user) {
      each_operand(user, [&](const Expr& part) {
        if (begun_compiler(part).empty()) return;
        Expr source = part.as<Call>()->args[0];
        if (ended_compiler(source).empty()) return;
        crossings_.push_back({source.as<Call>()->args[0].get(), user.get()});
      });
    });
    for (const Crossing& crossing : crossings_) {
      int from = regions_.of(crossing.from), to = regions_.of(crossing.to);
      if (from < 0 || to < 0 || from == to || regions_.compiler(from) != regions_.compiler(to)) continue;
      if (!leads_around(from, to)) regions_.merge(from, to);
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

  /// A way from one region to the other that passes through a third.
  bool leads_around(int from, int to) const {
    std::multimap<int, int> next;
    for (const Crossing& crossing : crossings_) {
      int a = regions_.of(crossing.from), b = regions_.of(crossing.to);
      if (a >= 0 && b >= 0 && a != b) next.emplace(a, b);
    }
    std::set<int> seen;
    std::vector<int> open;
    auto [first, last] = next.equal_range(from);
    for (auto it = first; it != last; ++it)
      if (it->second != to) open.push_back(it->second);
    while (!open.empty()) {
      int at = open.back();
      open.pop_back();
      if (at == to) return true;
      if (!seen.insert(at).second) continue;
      auto [begin, end] = next.equal_range(at);
      for (auto it = begin; it != end; ++it) open.push_back(it->second);
    }
    return false;
  }

  CompilerRegions regions_;
  std::vector<Crossing> crossings_;
};

Globals globals{
    {"relay._transform.MergeCompilerRegions",
     [] {
       Pass merge = function_pass("MergeCompilerRegions", 0, [](const Function& function) {
         return with(function, &FunctionNode::body, Merging(function->body)(function->body));
       });
       return sequential({merge, get_global("relay._transform.InferType")().to<Pass>()});
     }},
};

}  // namespace
}  // namespace tessera::relay
