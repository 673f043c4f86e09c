#include "relay/transform/region/compiler_regions.h"

#include <algorithm>

#include "relay/attrs/annotation.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

Attrs for_compiler(const std::string& name) {
  return make_attrs<CompilerAttrs>([&](auto& a) { a.compiler = String(name); });
}

std::string compiler_of(const Expr& expr, std::string_view op) {
  auto* call = as_call(expr, op);
  return call ? call->attrs_as<CompilerAttrs>()->compiler.str() : std::string();
}

}  // namespace

Expr compiler_begin(const Expr& value, const std::string& compiler) {
  return call_op(ops::compiler_begin, {value}, for_compiler(compiler));
}
Expr compiler_end(const Expr& value, const std::string& compiler) {
  return call_op(ops::compiler_end, {value}, for_compiler(compiler));
}
std::string begun_compiler(const Expr& expr) { return compiler_of(expr, ops::compiler_begin); }
std::string ended_compiler(const Expr& expr) { return compiler_of(expr, ops::compiler_end); }

CompilerRegions::CompilerRegions(const Expr& root) {
  // Every value that is ended starts a region; what feeds it without a begin in between belongs to it.
  post_order(root, [&](const Expr& expr) {
    if (ended_compiler(expr).empty()) return;
    Expr value = expr.as<Call>()->args[0];
    if (region_.count(value.get())) return;
    int region = static_cast<int>(parent_.size());
    parent_.push_back(region);
    compilers_.push_back(ended_compiler(expr));
    std::vector<Expr> open{value};
    while (!open.empty()) {
      Expr at = open.back();
      open.pop_back();
      if (!begun_compiler(at).empty() || at.as<OpNode>() || at.as<FunctionNode>()) continue;
      auto [it, is_new] = region_.emplace(at.get(), region);
      if (!is_new) {
        merge(it->second, region);
        continue;
      }
      each_operand(at, [&](const Expr& part) { open.push_back(part); });
    }
  });
}

int CompilerRegions::find(int region) const {
  while (parent_[static_cast<size_t>(region)] != region) {
    parent_[static_cast<size_t>(region)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(region)])];
    region = parent_[static_cast<size_t>(region)];
  }
  return region;
}

int CompilerRegions::of(const Object* expr) const {
  auto it = region_.find(expr);
  return it == region_.end() ? -1 : find(it->second);
}

void CompilerRegions::merge(int a, int b) {
  a = find(a);
  b = find(b);
  if (a == b) return;
  ICHECK(compiler(a) == compiler(b)) << "regions of " << compiler(a) << " and " << compiler(b) << " overlap";
  parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
}

}  // namespace tessera::relay
