#include "relay/layout_rule.h"

#include "ir/prim/ops.h"
#include "runtime/registry.h"

namespace tessera::relay {

LayoutAnswer layout_answer(std::vector<Layout> in, std::vector<Layout> out, Attrs attrs) {
  InferCorrectLayoutOutputNode node;
  node.input_layouts = in;
  node.output_layouts = out;
  node.new_attrs = std::move(attrs);
  return make(std::move(node));
}

void set_layout_rule(const Op& op, LayoutRule rule) {
  auto answer = [rule](Attrs attrs, Array<Layout> new_in, Array<Layout> old_in, Array<Type> types) {
    return rule(LayoutQuery{attrs, new_in.vec(), old_in.vec(), types});
  };
  op.set(kLayoutRule, Any(typed(std::string(op->name) + " layout rule", answer)));
}

LayoutAnswer ask_layout_rule(const Call* call, const LayoutQuery& query) {
  auto* op = call->op.as<OpNode>();
  Any rule = op ? Op(op).slot(kLayoutRule) : Any();
  if (rule.is_null()) return nullptr;
  Array<Layout> new_in = query.has_new() ? Array<Layout>(query.new_in) : Array<Layout>(nullptr);
  Any out = rule.to<PackedFunc>()(query.attrs, new_in, Array<Layout>(query.old_in), query.types);
  auto answer = out.is_null() ? LayoutAnswer() : out.to<LayoutAnswer>();
  if (!answer || answer->input_layouts.size() != query.old_in.size()) return nullptr;
  for (const Array<Layout>& layouts : {answer->input_layouts, answer->output_layouts})
    for (const Layout& layout : layouts)
      if (!is_defined(layout)) return nullptr;
  return answer;
}

Layout undefined_layout() { return make_layout("__undef__"); }
bool is_defined(const Layout& layout) { return layout && layout->name != "__undef__"; }
bool same_layout(const Layout& a, const Layout& b) { return a->name.str() == b->name.str(); }

size_t primal_count(const Layout& layout) {
  size_t count = 0;
  for (size_t i = 0; i < layout->axes.size(); ++i) count += layout->is_primal(i);
  return count;
}
bool has_blocks(const Layout& layout) { return primal_count(layout) != layout->axes.size(); }

Layout sub_layout(const Layout& layout, size_t first, size_t count) {
  if (first + count > layout->axes.size()) return undefined_layout();
  std::string name;
  for (size_t i = first; i < first + count; ++i) {
    if (!layout->is_primal(i)) name += std::to_string(*as_int(layout->axes[i]->dom->extent));
    name += layout->letter(i);
  }
  for (size_t i = first; i < first + count; ++i)  // a block without its axis is no layout
    if (!layout->is_primal(i) && name.find(layout->primal(i)) == std::string::npos) return undefined_layout();
  return make_layout(name);
}

Layout with_primal_axes_of(const Layout& layout, const Layout& like) {
  std::string name;
  for (size_t i = 0; i < like->axes.size(); ++i)
    if (like->is_primal(i) && layout->index_of(like->letter(i)) < 0) name += like->letter(i);
  return make_layout(name + layout->name.str());
}

int64_t extent_of(const Layout& layout, const Array<PrimExpr>& shape, char letter) {
  int at = layout->index_of(letter);
  if (at < 0 || static_cast<size_t>(at) >= shape.size()) return -1;
  const int64_t* extent = as_int(shape[static_cast<size_t>(at)]);
  return extent ? *extent : -1;
}

static register_types<InferCorrectLayoutOutputNode> layout_rule_types;

static Globals layout_rule_globals{
    {"relay._transform.InferCorrectLayoutOutput",
     [](Array<Layout> in, Array<Layout> out, Attrs attrs) { return layout_answer(in.vec(), out.vec(), attrs); }},
};

}  // namespace tessera::relay
