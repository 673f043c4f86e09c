// Layout rules of operators whose attributes name axes: the axes move with the layout. Where a change would leave a block of
// channels split, or count its padding, the operator stays with the layout it had.

#include <algorithm>
#include <array>

#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"

namespace tessera::op::layout {
namespace {

using relay::extent_of;
using relay::fixed_ints;
using relay::has_blocks;
using relay::is_defined;
using relay::layout_answer;
using relay::primal_count;
using relay::same_layout;
using relay::undefined_layout;
using Layouts = std::vector<Layout>;
using Ints = std::vector<int64_t>;

/// The layouts a rule may go by: that of input 0 before, and after where it is known and new; a `before` that is not defined
/// means that nothing is known.
struct Change {
  Layout before, after;
  bool is_new;
};
Change change_of(const LayoutQuery& query, size_t input = 0) {
  Layout before = query.old_in[input];
  bool is_new = query.has_new() && is_defined(query.new_in[input]) && is_defined(before);
  return {before, is_new ? query.new_in[input] : before, is_new && !same_layout(before, query.new_in[input])};
}

/// `axis` of the old layout in the new one.
int64_t new_axis(const Change& change, int64_t axis) {
  auto rank = static_cast<int64_t>(change.before->axes.size());
  return change.after->index_of(change.before->letter(static_cast<size_t>(axis < 0 ? axis + rank : axis)));
}

}  // namespace

LayoutAnswer reduction(const LayoutQuery& query) {
  auto* attrs = cast_or_null<relay::ReduceAttrs>(query.attrs.get());
  Change change = change_of(query);
  if (!attrs || !is_defined(change.before)) return unknown(query);
  const Layout &before = change.before, &after = change.after;
  auto rank = static_cast<int64_t>(before->axes.size());
  std::string reduced;  // letters of the old layout's axes
  Ints given;
  if (attrs->axis.defined()) given = fixed_ints(attrs->axis).value_or(Ints{});
  for (int64_t i = 0; i < rank; ++i) {
    bool is_named = !attrs->axis.defined() || std::any_of(given.begin(), given.end(), [&](int64_t axis) {
      return (axis < 0 ? axis + rank : axis) == i;
    });
    if (is_named != (attrs->exclude && attrs->axis.defined())) reduced += before->letter(static_cast<size_t>(i));
  }
  auto out_of = [&](const Layout& layout) {
    std::string name;
    for (size_t i = 0; i < layout->axes.size(); ++i) {
      bool is_reduced = reduced.find(layout->primal(i)) != std::string::npos;
      if (is_reduced && !attrs->keepdims) continue;
      if (!layout->is_primal(i)) name += is_reduced ? "1" : std::to_string(*as_int(layout->axes[i]->dom->extent));
      name += layout->letter(i);
    }
    return make_layout(name);
  };
  if (has_blocks(before)) return unknown(query);
  std::vector<Layout> in(query.old_in.size(), after);
  if (!change.is_new) return layout_answer(in, {out_of(before)}, query.attrs);
  // an argument's index, and a mean that was handed in, are in terms of the old order
  if (query.attrs.as<relay::ArgReduceAttrs>() || query.old_in.size() > 1)
    return layout_answer(Layouts(query.old_in.size(), before), {out_of(before)}, query.attrs);
  for (char letter : reduced) {  // padding of a block must not be counted
    int64_t factor = after->factor_of(letter), extent = extent_of(before, query.tensor(0)->shape, letter);
    if (factor > 0 && (extent < 0 || extent % factor != 0))
      return layout_answer({before}, {out_of(before)}, query.attrs);
  }
  Ints axes;
  for (size_t i = 0; i < after->axes.size(); ++i)
    if (reduced.find(after->primal(i)) != std::string::npos) axes.push_back(static_cast<int64_t>(i));
  Attrs moved = changed_attrs<relay::ReduceAttrs>(query.attrs, [&](auto& a) {
    a.axis = relay::int_array(axes);
    a.exclude = false;
  });
  return layout_answer({after}, {out_of(after)}, moved);
}

LayoutAnswer concatenation(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::ConcatenateAttrs>();
  auto* types = query.types[0].as<TupleType>();
  if (!types) return unknown(query);
  Layout before = first_defined(query.old_in);
  for (const Layout& old : query.old_in)
    if (is_defined(old) && !same_layout(old, before)) return unknown(query);
  if (!is_defined(before)) return unknown(query);
  Layouts olds(query.old_in.size(), before);
  Layout after = query.has_new() ? query.new_in[0] : before;
  auto fits = [&](const Layout& layout) {
    if (has_blocks(before) || primal_count(layout) != before->axes.size()) return false;
    auto rank = static_cast<int64_t>(before->axes.size());
    char letter = before->letter(static_cast<size_t>(attrs->axis < 0 ? attrs->axis + rank : attrs->axis));
    int64_t factor = layout->factor_of(letter);
    for (const Type& type : types->fields_) {  // each part ends with a whole block
      auto* tensor = type.as<TensorTypeNode>();
      int64_t extent = tensor ? extent_of(before, tensor->shape, letter) : -1;
      if (factor > 0 && (extent < 0 || extent % factor != 0)) return false;
    }
    return true;
  };
  if (!query.has_new() || same_layout(after, before) || !fits(after)) return layout_answer(olds, {before}, query.attrs);
  Attrs moved = changed_attrs<relay::ConcatenateAttrs>(
      query.attrs, [&](auto& a) { a.axis = static_cast<int32_t>(new_axis({before, after, true}, attrs->axis)); });
  return layout_answer(Layouts(query.old_in.size(), after), {after}, moved);
}

namespace {

/// Positions along an axis that is split into blocks; nothing where one lies within a block.
std::optional<Array<PrimExpr>> in_blocks(const Array<PrimExpr>& positions, int64_t factor) {
  auto values = fixed_ints(positions);
  if (!values) return std::nullopt;
  for (int64_t& value : *values) {
    if (value % factor != 0) return std::nullopt;
    value /= factor;
  }
  return relay::int_array(*values);
}

}  // namespace

LayoutAnswer splitting(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::SplitAttrs>();
  Change change = change_of(query);
  auto positions = downcast_or_null<Array<PrimExpr>>(ObjectRef(attrs->indices_or_sections));
  int64_t parts = positions.defined() ? static_cast<int64_t>(positions.size()) + 1
                                      : Any::of_object(attrs->indices_or_sections.get()).to<int64_t>();
  auto answer = [&](const Layout& layout, const Attrs& a) {
    return layout_answer({layout}, Layouts(static_cast<size_t>(parts), layout), a);
  };
  if (!is_defined(change.before)) return answer(undefined_layout(), query.attrs);
  if (!change.is_new || has_blocks(change.before)) return answer(change.before, query.attrs);
  auto rank = static_cast<int64_t>(change.before->axes.size());
  char letter = change.before->letter(static_cast<size_t>(attrs->axis < 0 ? attrs->axis + rank : attrs->axis));
  int64_t factor = change.after->factor_of(letter);
  ObjectRef moved_positions = attrs->indices_or_sections;
  if (factor > 0) {
    int64_t extent = extent_of(change.before, query.tensor(0)->shape, letter);
    if (extent < 0 || extent % factor != 0) return answer(change.before, query.attrs);
    if (positions.defined()) {
      auto moved = in_blocks(positions, factor);
      if (!moved) return answer(change.before, query.attrs);
      moved_positions = *moved;
    } else if (extent / parts % factor != 0) {
      return answer(change.before, query.attrs);
    }
  }
  return answer(change.after, changed_attrs<relay::SplitAttrs>(query.attrs, [&](auto& a) {
                  a.axis = static_cast<int32_t>(new_axis(change, attrs->axis));
                  a.indices_or_sections = moved_positions;
                }));
}

LayoutAnswer transposition(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::TransposeAttrs>();
  Change change = change_of(query);
  if (!is_defined(change.before) || has_blocks(change.before)) return unknown(query);
  auto rank = static_cast<int64_t>(change.before->axes.size());
  Ints axes;
  if (attrs->axes.defined()) axes = fixed_ints(attrs->axes).value_or(Ints{});
  else
    for (int64_t i = rank; i-- > 0;) axes.push_back(i);
  if (static_cast<int64_t>(axes.size()) != rank) return unknown(query);
  std::string out;
  Ints moved;
  for (int64_t axis : axes) {
    out += change.before->letter(static_cast<size_t>(axis < 0 ? axis + rank : axis));
    moved.push_back(new_axis(change, axis));
  }
  if (!change.is_new || has_blocks(change.after))
    return layout_answer({change.before}, {make_layout(out)}, query.attrs);
  return layout_answer(
      {change.after}, {make_layout(out)},
      changed_attrs<relay::TransposeAttrs>(query.attrs, [&](auto& a) { a.axes = relay::int_array(moved); }));
}

LayoutAnswer slicing(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::StridedSliceAttrs>();
  Change change = change_of(query);
  if (!is_defined(change.before) || query.old_in.size() != 1) return unknown(query);
  auto stay = [&] { return layout_answer({change.before}, {change.before}, query.attrs); };
  auto begin = fixed_ints(attrs->begin), end = fixed_ints(attrs->end);
  auto strides = attrs->strides.defined() ? fixed_ints(attrs->strides) : std::optional<Ints>(Ints{});
  auto axes = attrs->axes.defined() ? fixed_ints(attrs->axes) : std::nullopt;
  if (!change.is_new || has_blocks(change.before) || !begin || !end || !strides || begin->size() != end->size())
    return stay();
  auto rank = static_cast<int64_t>(change.before->axes.size());
  bool is_size = attrs->slice_mode == "size";
  // one range for each axis of the old layout, then in the order and blocks of the new one
  std::vector<std::array<int64_t, 3>> ranges(static_cast<size_t>(rank), {0, is_size ? -1 : INT32_MAX, 1});
  for (size_t i = 0; i < begin->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : static_cast<int64_t>(i);
    int64_t stride = strides->empty() ? 1 : (*strides)[strides->size() == 1 ? 0 : i];
    ranges[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = {(*begin)[i], (*end)[i], stride};
  }
  Ints new_begin, new_end, new_strides;
  for (size_t i = 0; i < change.after->axes.size(); ++i) {
    if (!change.after->is_primal(i)) continue;
    char letter = change.after->letter(i);
    int64_t extent = extent_of(change.before, query.tensor(0)->shape, letter);
    auto [from, to, stride] = ranges[static_cast<size_t>(change.before->index_of(letter))];
    if (!is_size && extent >= 0) to = std::min(to, extent);
    int64_t factor = change.after->factor_of(letter);
    bool is_whole = from == 0 && (is_size ? to == -1 : to == extent) && stride == 1;
    if (factor > 0) {
      bool fits = stride == 1 && from >= 0 && from % factor == 0 && to >= 0 && to % factor == 0;
      if (!fits && !(is_whole && extent >= 0 && extent % factor == 0)) return stay();
      from /= factor;
      to = to == -1 ? -1 : to / factor;
    }
    new_begin.push_back(from);
    new_end.push_back(to);
    new_strides.push_back(stride);
  }
  if (has_blocks(change.after))  // blocks stand behind the primal axes and are kept whole
    for (size_t i = 0; i < change.after->axes.size(); ++i)
      if (!change.after->is_primal(i) && i < new_begin.size()) return stay();
  return layout_answer(
      {change.after}, {change.after}, changed_attrs<relay::StridedSliceAttrs>(query.attrs, [&](auto& a) {
        a.begin = relay::int_array(new_begin);
        a.end = relay::int_array(new_end);
        bool plain = std::all_of(new_strides.begin(), new_strides.end(), [](int64_t s) { return s == 1; });
        a.strides = relay::int_array(plain && has_blocks(change.after) ? Ints{1} : new_strides);
        a.axes = nullptr;
      }));
}

LayoutAnswer padding(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::PadAttrs>();
  Change change = change_of(query);
  if (!is_defined(change.before)) return unknown(query);
  Layout scalar = make_layout("");
  auto answer = [&](const Layout& layout, const Attrs& a) { return layout_answer({layout, scalar}, {layout}, a); };
  if (!change.is_new || has_blocks(change.before)) return answer(change.before, query.attrs);
  Array<Array<PrimExpr>> widths;
  for (size_t i = 0; i < change.after->axes.size(); ++i) {
    if (!change.after->is_primal(i)) {
      widths.push_back({0, 0});
      continue;
    }
    char letter = change.after->letter(i);
    auto width = fixed_ints(attrs->pad_width[static_cast<size_t>(change.before->index_of(letter))]);
    int64_t factor = change.after->factor_of(letter);
    if (!width || (factor > 0 && ((*width)[0] % factor != 0 || (*width)[1] % factor != 0)))
      return answer(change.before, query.attrs);
    for (int64_t& side : *width) side /= std::max<int64_t>(factor, 1);
    widths.push_back(relay::int_array(*width));
  }
  return answer(change.after, changed_attrs<relay::PadAttrs>(query.attrs, [&](auto& a) { a.pad_width = widths; }));
}

LayoutAnswer squeezing(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::SqueezeAttrs>();
  Change change = change_of(query);
  auto axes = attrs->axis.defined() ? fixed_ints(attrs->axis) : std::nullopt;
  if (!is_defined(change.before) || has_blocks(change.before) || !axes) return unknown(query);
  auto rank = static_cast<int64_t>(change.before->axes.size());
  std::string gone;
  Ints moved;
  for (int64_t axis : *axes) {
    gone += change.before->letter(static_cast<size_t>(axis < 0 ? axis + rank : axis));
    moved.push_back(new_axis(change, axis));
  }
  auto left_of = [&](const Layout& layout) {
    std::string name;
    for (size_t i = 0; i < layout->axes.size(); ++i) {
      if (gone.find(layout->primal(i)) != std::string::npos) continue;
      if (!layout->is_primal(i)) name += std::to_string(*as_int(layout->axes[i]->dom->extent));
      name += layout->letter(i);
    }
    return make_layout(name);
  };
  bool splits_gone = std::any_of(gone.begin(), gone.end(), [&](char c) { return change.after->factor_of(c) > 0; });
  if (!change.is_new || splits_gone) return layout_answer({change.before}, {left_of(change.before)}, query.attrs);
  return layout_answer(
      {change.after}, {left_of(change.after)},
      changed_attrs<relay::SqueezeAttrs>(query.attrs, [&](auto& a) { a.axis = relay::int_array(moved); }));
}

LayoutAnswer batch_norm(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::BatchNormAttrs>();
  Change change = change_of(query);
  Layout channel = make_layout("C");
  auto answer = [&](const Layout& layout, const Attrs& a) {
    return layout_answer({layout, channel, channel, channel, channel}, {layout, channel, channel}, a);
  };
  if (!is_defined(change.before)) return answer(undefined_layout(), query.attrs);
  if (!change.is_new || has_blocks(change.after)) return answer(change.before, query.attrs);
  return answer(change.after, changed_attrs<relay::BatchNormAttrs>(query.attrs, [&](auto& a) {
                  a.axis = static_cast<int32_t>(new_axis(change, attrs->axis));
                }));
}

LayoutAnswer softmax(const LayoutQuery& query) {
  auto* attrs = query.attrs_as<relay::SoftmaxAttrs>();
  Change change = change_of(query);
  if (!is_defined(change.before) || has_blocks(change.before)) return unknown(query);
  if (!change.is_new || has_blocks(change.after)) return layout_answer({change.before}, {change.before}, query.attrs);
  return layout_answer({change.after}, {change.after}, changed_attrs<relay::SoftmaxAttrs>(query.attrs, [&](auto& a) {
                         a.axis = static_cast<int32_t>(new_axis(change, attrs->axis));
                       }));
}

}  // namespace tessera::op::layout
