// LabelOps: every function carries its structural hash as the attribute "hash", by which tuning records find it, and the
// layouts that the calls in it name, which the graph of a model shows.
//
// LabelKernels: the same for the functions that become kernels alone. The hash of a whole model reads all of its weights.

#include <fmt/format.h>

#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

/// The attributes of a call that say a layout of its tensors.
void collect_layouts(const Call* call, DictAttrs* out) {
  if (!call->attrs) return;
  for (const Field& field : call->attrs->type()->fields()) {
    std::string_view name(field.name);
    if (!name.ends_with("layout") || name.starts_with("auto_scheduler") || field.kind != FieldKind::Ref) continue;
    const auto& value = field.at<ObjectRef>(call->attrs.get());
    if (value.as<StringNode>()) *out = out->with(String(name), value);
  }
}

Function labelled(const Function& function, const DictAttrs& layouts) {
  std::string hash = fmt::format("{:016x}", static_cast<uint64_t>(structural_hash(function)));
  FunctionNode out(*function);
  for (const auto& [name, value] : layouts->dict) out.attrs = out.attrs.with(name, value);
  out.attrs = out.attrs.with("hash", String(hash));
  return make(std::move(out));
}

Function labelled_functions(const Function& root, bool kernels_only) {
  DictAttrs layouts;  // of the function at hand
  return rewrite(
      root,
      [&](Rewriter& self, const FunctionNode* function) -> Function {
        DictAttrs outer = std::exchange(layouts, DictAttrs());
        Function inner = self.children(function);
        DictAttrs found = std::exchange(layouts, outer);
        return kernels_only && !is_primitive(function) ? inner : labelled(inner, found);
      },
      [&](Rewriter& self, const Call* call) -> Expr {
        collect_layouts(call, &layouts);
        return self.children(call);
      });
}

}  // namespace

Function label_ops(const Function& root) { return labelled_functions(root, false); }
Function label_kernels(const Function& root) { return labelled_functions(root, true); }

}  // namespace tessera::relay
