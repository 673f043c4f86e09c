// Sequences and optionals. Their lengths are known while importing, so that no value of the program is one.

#include "frontend/common/parts.h"
#include "frontend/onnx/importer.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

const Values& items_of(Operation& in, size_t i) {
  const Value& value = in.value(i);
  if (!value.sequence) in.invalid("input " + std::to_string(i) + " is a tensor, not a sequence");
  return *value.sequence;
}

/// An index into a sequence of `count` items; a negative one is counted from the end.
size_t index_of(Operation& in, size_t i, size_t count) {
  std::vector<int64_t> given = in.needed_ints(in[i], "an index into a sequence");
  if (given.size() != 1) in.invalid("an index into a sequence is one number");
  int64_t index = given[0] < 0 ? given[0] + static_cast<int64_t>(count) : given[0];
  if (index < 0 || index > static_cast<int64_t>(count))
    in.invalid("index " + std::to_string(given[0]) + " of a sequence of " + std::to_string(count) + " items");
  return static_cast<size_t>(index);
}

Values sequence_construct(Operation& in) {
  Values items;
  for (size_t i = 0; i < in.size(); ++i) items.push_back(in.value(i));
  return {Value::of(std::move(items))};
}
Values sequence_empty(Operation&) { return {Value::of(Values())}; }
Values sequence_length(Operation& in) {
  return {make_constant(int_scalar(static_cast<int64_t>(items_of(in, 0).size()), DataType::Int(64)))};
}
Values sequence_at(Operation& in) {
  const Values& items = items_of(in, 0);
  size_t index = index_of(in, 1, items.size());
  if (index >= items.size()) in.invalid("the index is behind the last item");
  return {items[index]};
}
Values sequence_insert(Operation& in) {
  Values items = items_of(in, 0);
  size_t index = in.has(2) ? index_of(in, 2, items.size()) : items.size();
  items.insert(items.begin() + static_cast<int64_t>(index), in.value(1));
  return {Value::of(std::move(items))};
}
Values sequence_erase(Operation& in) {
  Values items = items_of(in, 0);
  size_t index = in.has(1) ? index_of(in, 1, items.size()) : items.size() - 1;
  if (index >= items.size()) in.invalid("the index is behind the last item");
  items.erase(items.begin() + static_cast<int64_t>(index));
  return {Value::of(std::move(items))};
}

/// The body for each item of the first input; other sequences go along, tensors stay.
Values sequence_map(Operation& in) {
  size_t count = items_of(in, 0).size();
  const Graph& graph = in.graph("body");
  std::vector<Values> results(graph.outputs.size());
  for (size_t k = 0; k < count; ++k) {
    Values inputs;
    for (size_t i = 0; i < in.size(); ++i) {
      const Value& value = in.value(i);
      if (value.sequence && value.sequence->size() != count) in.invalid("the sequences have different lengths");
      inputs.push_back(value.sequence ? (*value.sequence)[k] : value);
    }
    Values out = in.import(graph, inputs);
    for (size_t i = 0; i < out.size(); ++i) results[i].push_back(out[i]);
  }
  Values out;
  for (Values& items : results) out.push_back(Value::of(std::move(items)));
  return out;
}

Values concat_from_sequence(Operation& in) {
  Array<Expr> parts;
  for (const Value& item : items_of(in, 0)) {
    if (!item.tensor.defined()) in.invalid("the sequence holds something that is no tensor");
    parts.push_back(item.tensor);
  }
  if (parts.empty()) in.unsupported("an empty sequence, whose element type is not known");
  bool is_new = in.integer("new_axis", 0) != 0;
  int axis = in.axis(in.integer("axis"), in.rank(parts[0]) + (is_new ? 1 : 0));
  return {is_new ? stack(parts, axis) : concatenate(parts, axis)};
}

/// Parts of given extents, or of one extent each with a shorter last; without either, slices.
Values split_to_sequence(Operation& in) {
  Expr x = in[0];
  int axis = in.axis(in.integer("axis", 0), in.rank(x));
  auto* extent = in.shape(x)[static_cast<size_t>(axis)].as<IntImm>();
  if (!extent) in.unknown("the extent along its axis must be known", x);
  std::vector<int64_t> sizes;
  bool is_squeezed = false;
  if (in.has(1)) {
    sizes = in.needed_ints(in[1], "split");
    if (in.rank(in[1]) == 0) {
      int64_t size = sizes.at(0);
      if (size < 1) in.invalid("parts of " + std::to_string(size) + " elements");
      sizes.clear();
      for (int64_t left = extent->value; left > 0; left -= size) sizes.push_back(std::min(size, left));
    }
  } else {
    sizes.assign(static_cast<size_t>(extent->value), 1);
    is_squeezed = in.integer("keepdims", 1) == 0;
  }
  Values items;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    Expr part = slice(x, axis, begin, begin + size);
    items.push_back(Value(is_squeezed ? squeeze(part, int_array({axis})) : part));
    begin += size;
  }
  if (begin != extent->value) in.invalid("the parts do not add up to the extent");
  return {Value::of(std::move(items))};
}

Values optional(Operation& in) { return {in.value_or_absent(0)}; }
Values optional_has_element(Operation& in) { return {make_scalar(in.has(0) ? 1 : 0, DataType::Bool())}; }
Values optional_get_element(Operation& in) { return {in.value(0)}; }

}  // namespace

Rows sequence_rows() {
  return {
      {"ConcatFromSequence", 11, concat_from_sequence},
      {"Optional", 15, optional},
      {"OptionalGetElement", 15, optional_get_element},
      {"OptionalHasElement", 15, optional_has_element},
      {"SequenceAt", 11, sequence_at},
      {"SequenceConstruct", 11, sequence_construct},
      {"SequenceEmpty", 11, sequence_empty},
      {"SequenceErase", 11, sequence_erase},
      {"SequenceInsert", 11, sequence_insert},
      {"SequenceLength", 11, sequence_length},
      {"SequenceMap", 17, sequence_map},
      {"SplitToSequence", 11, split_to_sequence},
  };
}

}  // namespace tessera::onnx
