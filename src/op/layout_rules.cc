// How operators follow the layouts of their inputs: one rule a family.

#include <algorithm>

#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/layout_rule.h"

namespace tessera::op::layout {

using relay::has_blocks;
using relay::is_defined;
using relay::layout_answer;
using relay::primal_count;
using relay::same_layout;
using relay::undefined_layout;
using Layouts = std::vector<Layout>;

LayoutAnswer unknown(const LayoutQuery& query) {
  return layout_answer(Layouts(query.old_in.size(), undefined_layout()), {undefined_layout()}, query.attrs);
}

Layout first_defined(const Layouts& layouts) {
  auto it = std::find_if(layouts.begin(), layouts.end(), is_defined);
  return it == layouts.end() ? undefined_layout() : *it;
}

LayoutAnswer elementwise(const LayoutQuery& query) {
  Layout layout = first_defined(query.in());
  return layout_answer(Layouts(query.old_in.size(), layout), {layout}, query.attrs);
}

namespace {

/// An operand of fewer or shorter dimensions must not be split into blocks that it cannot fill: where its extent along a
/// blocked axis is 1, its block is 1 too.
Layout fitting_blocks(const Layout& layout, const Layout& old, const Array<PrimExpr>& shape) {
  std::string name;
  for (size_t i = 0; i < layout->axes.size(); ++i) {
    if (layout->is_primal(i)) {
      name += layout->letter(i);
      continue;
    }
    bool is_broadcast = true;
    for (size_t k = 0; k < old->axes.size() && k < shape.size(); ++k)  // the axis, and its block where it has one
      if (old->primal(k) == layout->primal(i)) is_broadcast &= is_one(shape[k]);
    name += (is_broadcast ? "1" : std::to_string(*as_int(layout->axes[i]->dom->extent))) + layout->letter(i);
  }
  return make_layout(name);
}

/// A layout as its own extents have it: a block that the shape does not fill is one of 1.
Layout with_blocks_of(const Layout& layout, const Array<PrimExpr>& shape) {
  if (!is_defined(layout)) return layout;
  std::string name;
  for (size_t i = 0; i < layout->axes.size(); ++i) {
    if (!layout->is_primal(i)) name += is_one(shape[i]) ? "1" : std::to_string(*as_int(layout->axes[i]->dom->extent));
    name += layout->letter(i);
  }
  return make_layout(name);
}

/// Whether an operand has neither one element nor all of them along an axis that `layout` splits: elements of one block that
/// serve all blocks, and that no other blocks can be made of.
bool repeats_a_block(const Layout& layout, const Layout& old, const Array<PrimExpr>& shape, const Layout& other_old,
                     const Array<PrimExpr>& other) {
  for (size_t i = 0; i < layout->axes.size(); ++i) {
    if (layout->is_primal(i)) continue;
    auto is_axis = [&](const Layout& in, size_t k) { return in->primal(k) == layout->primal(i); };
    bool has_one = true, has_all = true;
    for (size_t k = 0; k < old->axes.size() && k < shape.size(); ++k) {
      if (!is_axis(old, k)) continue;
      has_one &= is_one(shape[k]);
      int at = other_old->index_of(old->letter(k));
      has_all &= at >= 0 && static_cast<size_t>(at) < other.size() &&
                 relay::may_equal(shape[k], other[static_cast<size_t>(at)]);
    }
    if (!has_one && !has_all) return true;
  }
  return false;
}

}  // namespace

LayoutAnswer binary(const LayoutQuery& query) {
  Layouts layouts = query.in();
  Array<PrimExpr> shapes[] = {query.tensor(0)->shape, query.tensor(1)->shape};
  if (!is_defined(layouts[0]) && !is_defined(layouts[1])) return unknown(query);
  if (!is_defined(layouts[0]) || !is_defined(layouts[1])) {
    size_t known = is_defined(layouts[0]) ? 0 : 1, other = 1 - known;
    if (shapes[known].size() < shapes[other].size()) return unknown(query);
    layouts[other] = with_blocks_of(
        relay::sub_layout(layouts[known], shapes[known].size() - shapes[other].size(), shapes[other].size()),
        shapes[other]);
    return layout_answer(layouts, {layouts[known]}, query.attrs);
  }
  for (size_t i : {0, 1})
    if (primal_count(layouts[i]) == 0) return layout_answer(layouts, {layouts[1 - i]}, query.attrs);
  size_t large = primal_count(layouts[0]) >= primal_count(layouts[1]) ? 0 : 1, small = 1 - large;
  if (query.has_new() &&
      repeats_a_block(layouts[large], query.old_in[small], shapes[small], query.old_in[large], shapes[large])) {
    if (!same_layout(layouts[large], query.old_in[large])) return unknown(query);
    layouts[small] = query.old_in[small];
    return layout_answer(layouts, {layouts[large]}, query.attrs);
  }
  layouts[small] =
      has_blocks(layouts[large]) ? fitting_blocks(layouts[large], query.old_in[small], shapes[small]) : layouts[large];
  return layout_answer(layouts, {layouts[large]}, query.attrs);
}

LayoutAnswer convolution(const LayoutQuery& query) {
  auto* attrs = cast_or_null<relay::ConvAttrs>(query.attrs.get());
  if (!attrs) return unknown(query);
  const String& out = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  return layout_answer({make_layout(attrs->data_layout), make_layout(attrs->kernel_layout)}, {make_layout(out)},
                       query.attrs);
}

LayoutAnswer winograd(const LayoutQuery& query) {
  auto* attrs = cast_or_null<relay::ConvAttrs>(query.attrs.get());
  if (!attrs) return unknown(query);
  const String& out = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  return layout_answer({make_layout(attrs->data_layout), query.in()[1]}, {make_layout(out)}, query.attrs);
}

LayoutAnswer conv_transpose(const LayoutQuery& query) {
  auto* attrs = cast_or_null<relay::ConvTransposeAttrs>(query.attrs.get());
  if (!attrs) return unknown(query);
  const String& out = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
  return layout_answer({make_layout(attrs->data_layout), make_layout(attrs->kernel_layout)}, {make_layout(out)},
                       query.attrs);
}

LayoutAnswer dense(const LayoutQuery& query) {
  if (query.tensor(0)->shape.size() != 2) return unknown(query);
  return layout_answer({make_layout("NC"), make_layout("NC")}, {make_layout("NC")}, query.attrs);
}

namespace {

bool blocks_space(const Layout& layout) {
  for (size_t i = 0; i < layout->axes.size(); ++i)
    if (!layout->is_primal(i) && layout->primal(i) != 'C' && layout->primal(i) != 'N') return true;
  return false;
}

}  // namespace

template <class T>
LayoutAnswer spatial(const LayoutQuery& query) {
  auto* attrs = cast_or_null<T>(query.attrs.get());
  if (!attrs) return unknown(query);
  Layout own = make_layout(attrs->layout), out = own;
  bool is_fixed =
      !query.has_new() || blocks_space(query.new_in[0]) || primal_count(query.new_in[0]) != primal_count(own);
  if constexpr (requires { attrs->out_layout; })
    if (!attrs->out_layout.empty()) is_fixed = true, out = make_layout(attrs->out_layout);
  if (is_fixed) return layout_answer({own}, {out}, query.attrs);
  Layout layout = query.new_in[0];
  if (same_layout(layout, own)) return layout_answer({own}, {own}, query.attrs);
  return layout_answer({layout}, {layout}, changed_attrs<T>(query.attrs, [&](auto& a) { a.layout = layout->name; }));
}

template LayoutAnswer spatial<relay::PoolAttrs>(const LayoutQuery&);
template LayoutAnswer spatial<relay::GlobalPool2DAttrs>(const LayoutQuery&);
template LayoutAnswer spatial<relay::AdaptivePoolAttrs>(const LayoutQuery&);
template LayoutAnswer spatial<relay::UpSamplingAttrs>(const LayoutQuery&);
template LayoutAnswer spatial<relay::UpSampling3DAttrs>(const LayoutQuery&);
template LayoutAnswer spatial<relay::ResizeAttrs>(const LayoutQuery&);

}  // namespace tessera::op::layout
