// ConvertLayout: the named operators take the layouts that the user asks for; the rest follows.

#include "relay/inspect.h"
#include "relay/transform/layout/layout_rewrite.h"
#include "relay/transform/passes.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// Python's LayoutConfig counts convolutions and names those to leave alone.
bool is_skipped(std::string_view op) {
  if (!op.starts_with("nn.conv")) return false;
  PackedFunc asks = find_global("relay.transform.layout_config_skips");
  return asks && asks().to<bool>();
}

}  // namespace

Expr convert_layout(const Expr& root, const Map<String, Array<String>>& desired) {
  return rewrite_layouts(root, [&](const Call* before, const Attrs& attrs, const Array<Expr>& args) -> Expr {
    String name{op_name(before)};
    Any rule = Op(before->op.as<OpNode>()).slot(kConvertOpLayout);
    if (rule.is_null() || !desired.count(name) || is_skipped(name.str())) return nullptr;
    Any out = rule.to<PackedFunc>()(attrs, args, placeholders_of(before->args), desired[name]);
    return out.is_null() ? Expr() : out.to<Expr>();
  });
}

}  // namespace tessera::relay
