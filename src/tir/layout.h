#pragma once
// Layouts of tensors. A letter is a dimension: upper case a primal axis, lower case, after a number, a part of that size
// split off the primal axis of the same letter. "NCHW16c" has C in blocks of 16, the block as last dimension.

#include "tir/expr.h"

namespace tessera {

struct LayoutNode : Object {
  String name;
  Array<IterVar> axes;  // the extent of a primal axis is a variable, of a part its size
  static constexpr NodeInfo info{"tir.Layout", &Object::info};
  static void fields(auto f) {
    f("name", &LayoutNode::name);
    f("axes", &LayoutNode::axes, Opaque);
  }

  /// The letter of dimension `i`.
  char letter(size_t i) const { return axes[i]->var->name.str()[0]; }
  bool is_primal(size_t i) const { return letter(i) >= 'A' && letter(i) <= 'Z'; }
  /// The primal axis that dimension `i` is, or is part of.
  char primal(size_t i) const { return static_cast<char>(letter(i) & ~0x20); }
  /// Position of the first dimension of that letter, -1 when there is none.
  int index_of(char letter) const;
  /// Size of all that is split off the axis of that letter (either case), -1 when nothing is.
  int64_t factor_of(char letter) const;
  /// How far one step along dimension `i` goes along its primal axis.
  int64_t step_of(size_t i) const;
};
using Layout = Ref<LayoutNode>;

/// Reads a layout; an error says what is wrong with the text.
Layout make_layout(const String& name);

/// The way between two layouts of the same primal axes.
struct BijectiveLayoutNode : Object {
  Layout src_layout, dst_layout;
  Array<PrimExpr> index_forward_rule, index_backward_rule, shape_forward_rule, shape_backward_rule;
  static constexpr NodeInfo info{"tir.BijectiveLayout", &Object::info};
  static void fields(auto f) {
    f("src_layout", &BijectiveLayoutNode::src_layout);
    f("dst_layout", &BijectiveLayoutNode::dst_layout);
    f("index_forward_rule", &BijectiveLayoutNode::index_forward_rule, Opaque);
    f("index_backward_rule", &BijectiveLayoutNode::index_backward_rule, Opaque);
    f("shape_forward_rule", &BijectiveLayoutNode::shape_forward_rule, Opaque);
    f("shape_backward_rule", &BijectiveLayoutNode::shape_backward_rule, Opaque);
  }
};
using BijectiveLayout = Ref<BijectiveLayoutNode>;

BijectiveLayout make_bijective_layout(const Layout& src, const Layout& dst);

/// Where element `indices` of a tensor in layout `from` is found in layout `to`.
Array<PrimExpr> convert_indices(const Layout& from, const Layout& to, const Array<PrimExpr>& indices);
/// The shape in layout `to` of a tensor that has `shape` in layout `from`; parts that do not divide are padded.
Array<PrimExpr> convert_shape(const Layout& from, const Layout& to, const Array<PrimExpr>& shape);

}  // namespace tessera
