// AnnotatedRegionSet: the parts of a program between operators that begin and end regions.

#include <unordered_map>

#include "relay/attrs/annotation.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// One region: `args` are the calls that begin it, `rets` those that end it, and `nodes` all of it with these.
struct AnnotatedRegionNode : Object {
  int32_t id = -1;
  String target;
  Array<Expr> args, rets, nodes;
  static constexpr NodeInfo info{"relay.AnnotatedRegion", &Object::info};
  static void fields(auto f) {
    f("id", &AnnotatedRegionNode::id);
    f("target", &AnnotatedRegionNode::target);
    f("args", &AnnotatedRegionNode::args);
    f("rets", &AnnotatedRegionNode::rets);
    f("nodes", &AnnotatedRegionNode::nodes);
  }
};
using AnnotatedRegion = Ref<AnnotatedRegionNode>;

struct AnnotatedRegionSetNode : Object {
  Array<ObjectRef> regions;
  static constexpr NodeInfo info{"relay.AnnotatedRegionSet", &Object::info};
  static void fields(auto f) { f("regions", &AnnotatedRegionSetNode::regions); }
};
using AnnotatedRegionSet = Ref<AnnotatedRegionSetNode>;

register_types<AnnotatedRegionNode, AnnotatedRegionSetNode> annotated_regions_types;

bool is_call_of(const Expr& expr, const Op& op) {
  auto* call = expr.as<Call>();
  return call && call->op.same_as(op);
}

/// What an end reaches without passing a begin is one region; those that meet are one.
class Regions {
 public:
  Regions(const Expr& root, const Op& begin, const Op& end) : begin_(begin), end_(end) {
    post_order(root, [&](const Expr& expr) {
      if (is_call_of(expr, end)) take(expr);
    });
    std::unordered_map<size_t, size_t> numbers;  // of regions, in the order of their first expression
    std::vector<AnnotatedRegionNode> found;
    post_order(root, [&](const Expr& expr) {
      auto it = region_.find(expr.get());
      if (it == region_.end()) return;
      auto [number, is_new] = numbers.emplace(find(it->second), found.size());
      if (is_new) found.emplace_back();
      AnnotatedRegionNode& region = found[number->second];
      region.nodes.push_back(expr);
      if (is_call_of(expr, begin)) region.args.push_back(expr);
      if (!is_call_of(expr, end)) return;
      region.rets.push_back(expr);
      auto* attrs = expr.as<Call>()->attrs.as<CompilerAttrs>();
      if (attrs) region.target = attrs->compiler;
    });
    for (size_t i = 0; i < found.size(); ++i) {
      found[i].id = static_cast<int32_t>(i);
      regions.push_back(make(std::move(found[i])));
    }
  }

  Array<ObjectRef> regions;

 private:
  void take(const Expr& end) {
    const size_t own = parent_.size();
    parent_.push_back(own);
    std::vector<Expr> open{end};
    while (!open.empty()) {
      Expr at = open.back();
      open.pop_back();
      if (at.as<OpNode>()) continue;
      auto [it, is_new] = region_.emplace(at.get(), own);
      if (!is_new) parent_[find(own)] = find(it->second);
      if (!is_new || is_call_of(at, begin_)) continue;
      each_operand(at, [&](const Expr& part) {
        if (is_call_of(part, end_))
          throw Error(ValueError) << "a region ends inside another: between an end and the next region there is no "
                                  << begin_->name;
        open.push_back(part);
      });
    }
  }

  size_t find(size_t region) {
    while (parent_[region] != region) region = parent_[region] = parent_[parent_[region]];
    return region;
  }

  const Op &begin_, &end_;
  std::unordered_map<const Object*, size_t> region_;
  std::vector<size_t> parent_;
};

static Globals annotated_regions_globals{
    {"relay.analysis.AnnotatedRegionSet",
     [](Expr expr, Op begin, Op end) {
       AnnotatedRegionSetNode node;
       node.regions = Regions(expr, begin, end).regions;
       return make(std::move(node));
     }},
    {"relay.analysis.GetRegion",
     [](AnnotatedRegionSet set, Expr expr) -> ObjectRef {
       for (const ObjectRef& region : set->regions)
         for (const Expr& node : region.as<AnnotatedRegionNode>()->nodes)
           if (node.same_as(expr)) return region;
       return nullptr;
     }},
};

}  // namespace
}  // namespace tessera::relay
