#include "tir/layout.h"

#include "arith/analyzer.h"
#include "ir/prim/ops.h"
#include "ir/repr.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

[[noreturn]] void invalid_layout(const String& name, const std::string& why) {
  throw Error(RuntimeError) << "invalid layout \"" << name << "\": " << why;
}

IterVar layout_axis(char letter, const PrimExpr& extent) {
  String name(std::string(1, letter));
  return make_iter_var(make_range(0, extent), make_var(name), IterType::DataPar);
}

void check_axes(const String& name, const LayoutNode& layout) {
  for (size_t i = 0; i < layout.axes.size(); ++i) {
    char letter = layout.letter(i);
    if (is_lower(letter) && layout.index_of(layout.primal(i)) < 0)
      invalid_layout(name, std::string("part ") + letter + " has no primal axis " + layout.primal(i));
    if (is_upper(letter) && layout.index_of(letter) != static_cast<int>(i))
      invalid_layout(name, std::string("axis ") + letter + " occurs twice");
  }
}

/// The index along a primal axis, put together from the dimensions it is split into.
PrimExpr primal_index(const Layout& from, const Array<PrimExpr>& indices, char primal) {
  PrimExpr sum;
  for (size_t i = 0; i < from->axes.size(); ++i) {
    if (from->primal(i) != primal) continue;
    PrimExpr term = indices[i] * make_const(indices[i].dtype(), from->step_of(i));
    sum = sum ? sum + term : term;
  }
  return sum;
}

void check_convertible(const Layout& from, const Layout& to) {
  auto check = [](const Layout& a, const Layout& b) {
    for (size_t i = 0; i < a->axes.size(); ++i)
      if (b->index_of(a->primal(i)) < 0)
        throw Error(RuntimeError) << "layouts " << a->name << " and " << b->name
                                  << " are not of the same axes: " << std::string(1, a->primal(i)) << " is missing in "
                                  << b->name;
  };
  check(from, to);
  check(to, from);
}

/// The expression for dimension `i` of `to`, before simplification.
PrimExpr dimension_index(const Layout& to, size_t i, const PrimExpr& index) {
  PrimExpr out = index;
  int64_t step = to->step_of(i);
  if (!to->is_primal(i)) out = indexmod(out, make_const(out.dtype(), step * *as_int(to->axes[i]->dom->extent)));
  return step == 1 ? out : indexdiv(out, make_const(out.dtype(), step));
}

void check_rank(const Layout& layout, const Array<PrimExpr>& given, const char* what) {
  if (given.size() != layout->axes.size())
    throw Error(RuntimeError) << "layout " << layout->name << " has " << layout->axes.size() << " dimensions, but "
                              << given.size() << " " << what << " were given";
}

/// Shape of dimension `i` of `to`, from the full shape in `from`.
PrimExpr dimension_extent(const Layout& from, const Layout& to, size_t i, const Array<PrimExpr>& shape) {
  if (!to->is_primal(i)) return to->axes[i]->dom->extent;
  int at = from->index_of(to->letter(i));
  PrimExpr extent = shape[static_cast<size_t>(at)];
  if (extent.as<AnyDim>()) return extent;
  int64_t before = from->step_of(static_cast<size_t>(at)), after = to->step_of(i);
  PrimExpr full = extent * make_const(extent.dtype(), before);
  return after == 1 ? full : ceildiv(full, make_const(extent.dtype(), after));
}

Array<PrimExpr> axis_vars(const Layout& layout) {
  Array<PrimExpr> out;
  for (const IterVar& axis : layout->axes) out.push_back(axis->var);
  return out;
}

Array<PrimExpr> index_rule(const Layout& from, const Layout& to) {
  Array<PrimExpr> out, vars = axis_vars(from);
  for (size_t i = 0; i < to->axes.size(); ++i)
    out.push_back(dimension_index(to, i, primal_index(from, vars, to->primal(i))));
  return out;
}

Array<PrimExpr> shape_rule(const Layout& from, const Layout& to) {
  Array<PrimExpr> out, vars = axis_vars(from);
  for (size_t i = 0; i < to->axes.size(); ++i) out.push_back(dimension_extent(from, to, i, vars));
  return out;
}

}  // namespace

int LayoutNode::index_of(char wanted) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (letter(i) == wanted) return static_cast<int>(i);
  return -1;
}

int64_t LayoutNode::factor_of(char wanted) const {
  int64_t factor = -1;
  for (size_t i = 0; i < axes.size(); ++i)
    if (letter(i) == (wanted | 0x20)) factor = std::abs(factor) * *as_int(axes[i]->dom->extent);
  return factor;
}

int64_t LayoutNode::step_of(size_t at) const {
  int64_t step = 1;
  for (size_t i = is_primal(at) ? 0 : at + 1; i < axes.size(); ++i)
    if (letter(i) == (primal(at) | 0x20)) step *= *as_int(axes[i]->dom->extent);
  return step;
}

Layout make_layout(const String& name) {
  LayoutNode node;
  node.name = name;
  if (name == "__undef__") return make(std::move(node));
  int64_t factor = 0;
  for (char c : name.str()) {
    if (c >= '0' && c <= '9') {
      factor = factor * 10 + (c - '0');
      if (factor > INT32_MAX) invalid_layout(name, "a part is too large");
    } else if (is_upper(c)) {
      if (factor != 0)
        invalid_layout(name, std::string("the size ") + std::to_string(factor) + " stands before a primal axis");
      node.axes.push_back(layout_axis(c, make_var(String(std::string(1, static_cast<char>(c | 0x20)) + "_extent"))));
    } else if (is_lower(c)) {
      if (factor <= 0) invalid_layout(name, std::string("part ") + c + " has no size before it");
      node.axes.push_back(layout_axis(c, PrimExpr(static_cast<int>(factor))));
      factor = 0;
    } else {
      invalid_layout(name, std::string("'") + c + "' is neither a letter nor a digit");
    }
  }
  if (factor != 0) invalid_layout(name, "a number stands at the end");
  check_axes(name, node);
  return make(std::move(node));
}

BijectiveLayout make_bijective_layout(const Layout& src, const Layout& dst) {
  if (!src || !dst) throw Error(ValueError) << "a BijectiveLayout needs two layouts";
  check_convertible(src, dst);
  return make(BijectiveLayoutNode{.src_layout = src,
                                  .dst_layout = dst,
                                  .index_forward_rule = index_rule(src, dst),
                                  .index_backward_rule = index_rule(dst, src),
                                  .shape_forward_rule = shape_rule(src, dst),
                                  .shape_backward_rule = shape_rule(dst, src)});
}

Array<PrimExpr> convert_indices(const Layout& from, const Layout& to, const Array<PrimExpr>& indices) {
  check_rank(from, indices, "indices");
  arith::Analyzer analyzer;
  Array<PrimExpr> out;
  for (size_t i = 0; i < to->axes.size(); ++i)
    out.push_back(analyzer.simplify(dimension_index(to, i, primal_index(from, indices, to->primal(i)))));
  return out;
}

Array<PrimExpr> convert_shape(const Layout& from, const Layout& to, const Array<PrimExpr>& shape) {
  check_rank(from, shape, "extents");
  for (size_t i = 0; i < shape.size(); ++i) {
    auto* given = as_int(shape[i]);
    if (from->is_primal(i) || !given || is_const_int(from->axes[i]->dom->extent, *given)) continue;
    throw Error(RuntimeError) << "layout " << from->name << " has parts of " << from->axes[i]->dom->extent
                              << " in dimension " << i << ", but the shape says " << shape[i];
  }
  arith::Analyzer analyzer;
  Array<PrimExpr> out;
  for (size_t i = 0; i < to->axes.size(); ++i) out.push_back(analyzer.simplify(dimension_extent(from, to, i, shape)));
  return out;
}

namespace {

register_types<LayoutNode, BijectiveLayoutNode> layout_types;

ReprRows layout_texts{
    [](ReprPrinter& p, const LayoutNode* layout) { p << "Layout(" << std::string_view(layout->name) << ")"; },
    [](ReprPrinter& p, const BijectiveLayoutNode* way) {
      p << "BijectiveLayout(" << std::string_view(way->src_layout->name) << "->"
        << std::string_view(way->dst_layout->name) << ")";
    },
};

char only_letter(const std::string& axis) {
  if (axis.size() != 1) throw Error(ValueError) << "an axis is one letter, not \"" << axis << "\"";
  return axis[0];
}

Globals layout_globals{
    {"tir.Layout", make_layout},
    {"tir.LayoutNdim", [](Layout layout) { return static_cast<int>(layout->axes.size()); }},
    {"tir.LayoutGetItem",
     [](Layout layout, int i) {
       int rank = static_cast<int>(layout->axes.size());
       int at = i < 0 ? i + rank : i;
       if (at < 0 || at >= rank) throw Error(IndexError) << "layout " << layout->name << " has no dimension " << i;
       return std::string(1, layout->letter(static_cast<size_t>(at)));
     }},
    {"tir.LayoutIndexOf", [](Layout layout, std::string axis) { return layout->index_of(only_letter(axis)); }},
    {"tir.LayoutFactorOf", [](Layout layout, std::string axis) { return layout->factor_of(only_letter(axis)); }},
    {"tir.BijectiveLayout", make_bijective_layout},
    {"tir.BijectiveLayoutForwardIndex",
     [](BijectiveLayout way, Array<PrimExpr> indices) {
       return convert_indices(way->src_layout, way->dst_layout, indices);
     }},
    {"tir.BijectiveLayoutBackwardIndex",
     [](BijectiveLayout way, Array<PrimExpr> indices) {
       return convert_indices(way->dst_layout, way->src_layout, indices);
     }},
    {"tir.BijectiveLayoutForwardShape",
     [](BijectiveLayout way, Array<PrimExpr> shape) { return convert_shape(way->src_layout, way->dst_layout, shape); }},
    {"tir.BijectiveLayoutBackwardShape",
     [](BijectiveLayout way, Array<PrimExpr> shape) { return convert_shape(way->dst_layout, way->src_layout, shape); }},
};

}  // namespace
}  // namespace tessera
