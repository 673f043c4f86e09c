#pragma once
// How an operator follows a change of its inputs' layouts, and what it becomes on a target: the slots, and small questions about
// layouts.

#include "relay/graph_environment.h"
#include "tir/layout.h"

namespace tessera::relay {

/// What a layout rule answers: the layouts the call wants of its inputs (tuples opened), those of its results, and the
/// attributes it has then. A layout that is not known is "__undef__".
struct InferCorrectLayoutOutputNode : Object {
  Array<Layout> input_layouts, output_layouts;
  Attrs new_attrs;
  static constexpr NodeInfo info{"relay._transform.InferCorrectLayoutOutput", &Object::info};
  static void fields(auto f) {
    f("input_layouts", &InferCorrectLayoutOutputNode::input_layouts);
    f("output_layouts", &InferCorrectLayoutOutputNode::output_layouts);
    f("new_attrs", &InferCorrectLayoutOutputNode::new_attrs, Optional);
  }
};
using LayoutAnswer = Ref<InferCorrectLayoutOutputNode>;
LayoutAnswer layout_answer(std::vector<Layout> in, std::vector<Layout> out, Attrs attrs);

/// One call as its rule sees it. Without new layouts it is asked which ones its attributes mean; with them, which it has
/// after the change. Types are those of the arguments before the change.
struct LayoutQuery {
  Attrs attrs;
  std::vector<Layout> new_in, old_in;  // of every input; `new_in` is empty where none are given
  Array<Type> types;

  bool has_new() const { return !new_in.empty(); }
  /// The layouts to go by: the new ones where there are any.
  const std::vector<Layout>& in() const { return has_new() ? new_in : old_in; }
  TensorType tensor(size_t i) const { return downcast<TensorType>(types[i]); }
  template <class T>
  const T* attrs_as() const {
    auto* out = attrs.as<T>();
    ICHECK(out) << "expected " << T::info.key;
    return out;
  }
};
using LayoutRule = LayoutAnswer (*)(const LayoutQuery&);

/// As a PackedFunc: (attrs, new_in_layouts or None, old_in_layouts, old_in_types) -> InferCorrectLayoutOutput.
inline constexpr const char* kLayoutRule = "FInferCorrectLayout";
/// (attrs, arguments, placeholders of the arguments, result type) -> expression or None.
inline constexpr const char* kAlterOpLayout = "FTVMAlterOpLayout";
using AlterLayout = Expr (*)(const Op&, const Attrs&, const Array<Expr>& args, const Array<ObjectRef>& placeholders,
                             const Type& type, const GraphEnvironment&);
/// The same for a call with constant weights: one that reads them in the layout that is best on the target, into which
/// FoldConstant puts them.
inline constexpr const char* kPackWeights = "TPackWeights";
using PackWeights = Expr (*)(const Attrs&, const Array<Expr>& args, const Array<ObjectRef>& placeholders,
                             const Type& type, const GraphEnvironment&);
/// (attrs, arguments, placeholders of the arguments, desired layouts) -> expression or None.
inline constexpr const char* kConvertOpLayout = "FTVMConvertOpLayout";
using ConvertLayout = Expr (*)(const Op&, const Attrs&, const Array<Expr>& args, const Array<String>& desired);
/// (attrs, arguments, types of the arguments and of the result) -> expression or None.
inline constexpr const char* kLegalize = "FTVMLegalize";
using Legalize = Expr (*)(const Op&, const Attrs&, const Array<Expr>& args, const Array<Type>& types,
                          const GraphEnvironment&);

void set_layout_rule(const Op& op, LayoutRule rule);
/// The answer of the call's operator; empty when it has no rule or leaves a layout open.
LayoutAnswer ask_layout_rule(const Call* call, const LayoutQuery& query);

Layout undefined_layout();
bool is_defined(const Layout& layout);
bool same_layout(const Layout& a, const Layout& b);
bool has_blocks(const Layout& layout);
size_t primal_count(const Layout& layout);
/// Dimensions [first, first + count) alone; not defined when there are fewer.
Layout sub_layout(const Layout& layout, size_t first, size_t count);
/// The layout with the primal axes it lacks from `like` in front.
Layout with_primal_axes_of(const Layout& layout, const Layout& like);
/// The extent of axis `letter` in a shape of this layout; -1 when it is not a constant or there is none.
int64_t extent_of(const Layout& layout, const Array<PrimExpr>& shape, char letter);

}  // namespace tessera::relay
