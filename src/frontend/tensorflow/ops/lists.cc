// Tensor lists (TensorFlow 2) and tensor arrays (TensorFlow 1). Both are tensors of stacked elements here. Of a tensor array the
// flow is what holds the elements; its handle says how many there are.

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/tensorflow/control.h"
#include "frontend/tensorflow/shapes.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

using namespace relay;  // NOLINT: makers of calls

Expr length_of(const NodeContext& in, const List& list) {
  if (list.stacked.defined()) return extent_at_run_time(in, list.stacked, 0);
  return cast_if_needed(in, list.length, DataType::Int(64));
}

Expr stacked(const NodeContext& in, const List& list) {
  if (list.stacked.defined()) return list.stacked;
  if (!list.element.defined() || list.dtype.is_void()) in.unsupported("a list of whose elements nothing is known");
  std::vector<int64_t> extents;
  for (const PrimExpr& extent : list.element) {
    const int64_t* known = as_int(extent);
    if (!known) in.unsupported("a list whose elements have a dynamic shape");
    extents.push_back(*known);
  }
  Expr zero = make_scalar(0, list.dtype), length = reshape(length_of(in, list), int_array({1}));
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(list.length)) {
    extents.insert(extents.begin(), (*known)[0]);
    return full_of(in, zero, make_ints(extents));
  }
  return full_of(in, zero, concatenate({length, make_ints(extents)}, 0));
}

List with_element(const NodeContext& in, const List& list, const Expr& index, const Expr& element) {
  List out = list;
  const int rank = static_cast<int>(in.rank(element));
  if (!list.stacked.defined()) {
    out.element = in.shape(element);
    out.dtype = in.dtype(element);
  }
  Expr whole;
  bool is_dynamic = false;
  for (const PrimExpr& extent : in.shape(element)) is_dynamic |= !as_int(extent);
  if (!list.stacked.defined() && is_dynamic) {  // as many copies of the element, made zero
    Expr zero = multiply(element, make_scalar(0, in.dtype(element)));
    Expr shape = concatenate({reshape(length_of(in, list), int_array({1})), shape_at_run_time(element)}, 0);
    whole = call_op("dyn.broadcast_to", {zero, shape}, make_attrs<InitOpAttrs>([](auto&) {}));
  } else {
    whole = stacked(in, out);
  }
  const DataType dtype = DataType::Int(64);
  Expr position = cast_if_needed(in, in.rank(index) == 0 ? index : reshape(index, Array<PrimExpr>()), dtype);
  Expr is_this = equal(positions_along(in, whole, 0), position);
  if (rank > 0) is_this = expand_dims(is_this, 1, rank);
  out.stacked = where(is_this, expand_dims(element, 0), whole);
  return out;
}

namespace {

const List& list_of(Operation& in, size_t i) {
  const Value& value = in.value(i);
  if (!value.list) in.invalid("input " + std::to_string(i) + " is no list");
  return *value.list;
}

/// The shape of elements that an input says; null where it does not say all.
Array<PrimExpr> element_shape(Operation& in, size_t i) {
  std::optional<std::vector<int64_t>> shape =
      in.has(i) && in.value(i).tensor.defined() ? in.constant_ints(in[i]) : std::nullopt;
  if (!shape || in.rank(in[i]) == 0) return nullptr;
  for (int64_t extent : *shape)
    if (extent < 0) return nullptr;
  return int_array(*shape);
}

Values reserve(Operation& in) {  // inputs: the shape of elements, their number
  List list;
  list.length = in.scalar(1);
  list.element = element_shape(in, 0);
  list.dtype = in.type("element_dtype", DataType::Void());
  return {Value::of(list)};
}

Values empty_list(Operation& in) {
  List list;
  list.length = make_constant(int_scalar(0, DataType::Int(64)));
  list.element = element_shape(in, 0);
  list.dtype = in.type("element_dtype", DataType::Void());
  return {Value::of(list)};
}

Values from_tensor(Operation& in) {
  List list;
  list.stacked = in[0];
  return {Value::of(list)};
}

/// A dimension of one element that a run knows the number of: what the index chooses.
Expr element_at(Operation& in, const List& list, const Expr& index) { return take(stacked(in, list), index, 0); }

Values get_item(Operation& in) { return {element_at(in, list_of(in, 0), in.scalar(1))}; }

Value pushed(const List& list, const Expr& element) {
  List out = list;
  const Expr row = expand_dims(element, 0);
  if (list.stacked.defined()) out.stacked = concatenate({list.stacked, row}, 0);
  else out.stacked = row;
  return Value::of(out);
}
/// The element set, or put behind the others where that is what the index says. `may_grow`: the list is as long as its elements need.
Values with_item(Operation& in, const List& list, const Expr& index, const Expr& element, bool may_grow) {
  std::optional<std::vector<int64_t>> length, known = in.constant_ints(index);
  if (!list.stacked.defined()) length = in.constant_ints(list.length);
  else if (const int64_t* rows = as_int(in.shape(list.stacked)[0])) length = std::vector<int64_t>{*rows};
  if (may_grow && length && known && (*known)[0] == (*length)[0]) return {pushed(list, element)};
  const bool is_inside = length && known && (*known)[0] < (*length)[0];
  if (may_grow && !is_inside && length && (*length)[0] == 0) in.unsupported("a list that a run makes longer by index");
  return {Value::of(with_element(in, list, index, element))};
}
Values set_item(Operation& in) {
  return with_item(in, list_of(in, 0), in[1], in[2], in.flag("resize_if_index_out_of_bounds", false));
}

Values push_back(Operation& in) { return {pushed(list_of(in, 0), in[1])}; }

Values pop_back(Operation& in) {
  List list = list_of(in, 0);
  Expr all = stacked(in, list);
  const int64_t* count = as_int(in.shape(all)[0]);
  if (!count || *count < 1) in.unsupported("a list of unknown length that becomes shorter");
  Expr last = squeeze(slice(all, 0, *count - 1, *count), int_array({0}));
  list.stacked = slice(all, 0, 0, *count - 1);
  return {Value::of(list), last};
}

Values stack_list(Operation& in) {
  Expr out = stacked(in, list_of(in, 0));
  return {out};
}

Values list_length(Operation& in) { return {cast(length_of(in, list_of(in, 0)), DataType::Int(32))}; }

Values resize_list(Operation& in) {
  List list = list_of(in, 0);
  if (list.stacked.defined()) {
    std::optional<std::vector<int64_t>> wanted = in.constant_ints(in[1]);
    const int64_t* own = as_int(in.shape(list.stacked)[0]);
    if (!wanted || !own || (*wanted)[0] > *own) in.unsupported("a list that gets a length of which nothing is known");
    list.stacked = slice(list.stacked, 0, 0, (*wanted)[0]);
  } else {
    list.length = in.scalar(1);
  }
  return {Value::of(list)};
}

Expr placed(Operation& in, const List& list, const Expr& indices, const Expr& elements) {
  std::optional<std::vector<int64_t>> known = in.constant_ints(indices), count;
  if (!list.stacked.defined()) count = in.constant_ints(list.length);
  bool is_whole = known.has_value() && (!count || (*count)[0] <= static_cast<int64_t>(known->size()));
  for (size_t i = 0; known && i < known->size(); ++i) is_whole = is_whole && (*known)[i] == static_cast<int64_t>(i);
  if (!list.stacked.defined() && is_whole) return elements;
  if (!list.stacked.defined() && !known) return elements;  // a range over all of them, whose length a run decides
  List whole = list;
  const Array<PrimExpr> shape = in.shape(elements);
  whole.element = Array<PrimExpr>(shape.begin() + 1, shape.end());
  whole.dtype = in.dtype(elements);
  return call_op("scatter_nd", {stacked(in, whole), expand_dims(indices, 0), elements},
                 make_attrs<ScatterNDAttrs>([](auto& attrs) { attrs.mode = "update"; }));
}

/// Elements at indices, which become a list; inputs: elements, indices, the shape of elements, their number.
Values scatter_list(Operation& in) {
  List list;
  std::optional<std::vector<int64_t>> count = in.has(3) ? in.constant_ints(in[3]) : std::nullopt;
  list.length = count && (*count)[0] >= 0 ? in.scalar(3) : extent_at_run_time(in, in[1], 0);
  list.stacked = placed(in, list, in[1], in[0]);
  return {Value::of(list)};
}
Values gather_list(Operation& in) { return {take(stacked(in, list_of(in, 0)), in[1], 0)}; }

/// All elements one after another, and how long each is.
Values concat_rows(Operation& in, const Expr& all) {
  Expr lengths;
  const Array<PrimExpr> shape = in.shape(all);
  if (shape.size() < 2) in.invalid("elements without dimensions cannot be concatenated");
  const int64_t *count = as_int(shape[0]), *rows = as_int(shape[1]);
  if (count && rows) lengths = make_ints(std::vector<int64_t>(static_cast<size_t>(*count), *rows));
  else
    lengths = add(multiply(positions_along(in, all, 0), make_constant(int_scalar(0, DataType::Int(64)))),
                  extent_at_run_time(in, all, 1));
  return {merged(all, 0, 2), lengths};
}
Values concat_list(Operation& in) { return concat_rows(in, stacked(in, list_of(in, 0))); }

// ---- tensor arrays --------------------------------------------------------------------------------------------------

Values tensor_array(Operation& in) {
  List list;
  list.length = in.scalar(0);
  list.dtype = in.type("dtype", DataType::Void());
  if (const Attribute* shape = in.find("element_shape"); shape && shape->shape) {
    bool is_known = true;
    for (int64_t extent : *shape->shape) is_known = is_known && extent >= 0;
    if (is_known) list.element = int_array(*shape->shape);
  }
  return {Value::of(list), Value::of(list)};
}

/// Inputs: the handle, what the operator needs, and last the flow.
const List& flow(Operation& in) { return list_of(in, in.size() - 1); }

Values array_read(Operation& in) { return {element_at(in, flow(in), in.scalar(1))}; }
Values array_write(Operation& in) { return with_item(in, flow(in), in[1], in[2], true); }
Values array_gather(Operation& in) {
  const List& list = flow(in);
  return {take(stacked(in, list), in[1], 0)};
}
Values array_scatter(Operation& in) {
  List list = flow(in);
  list.stacked = placed(in, list, in[1], in[2]);
  return {Value::of(list)};
}
Values array_size(Operation& in) { return {cast(length_of(in, flow(in)), DataType::Int(32))}; }
Values array_concat(Operation& in) { return concat_rows(in, stacked(in, flow(in))); }

/// Inputs: the handle, the value, the length of each element, the flow.
Values array_split(Operation& in) {
  Ints lengths = in.ints(2, "the lengths of the parts");
  for (int64_t length : lengths)
    if (length != lengths[0]) in.unsupported("parts of different lengths");
  std::vector<int64_t> shape = in.static_shape(in[1], "a value that is split");
  if (shape.empty() || lengths.empty()) in.invalid("a value without dimensions");
  shape[0] = lengths[0];
  shape.insert(shape.begin(), static_cast<int64_t>(lengths.size()));
  List list = flow(in);
  list.stacked = reshape_to(in[1], shape);
  return {Value::of(list)};
}

}  // namespace

Rows list_rows() {
  const std::vector<const char*> concat{"value", "lengths"};
  return {
      {"EmptyTensorList", empty_list},
      {"TensorArrayConcatV3", array_concat, concat},
      {"TensorArrayGatherV3", array_gather},
      {"TensorArrayReadV3", array_read},
      {"TensorArrayScatterV3", array_scatter},
      {"TensorArraySizeV3", array_size},
      {"TensorArraySplitV3", array_split},
      {"TensorArrayV3", tensor_array, {"handle", "flow"}},
      {"TensorArrayWriteV3", array_write},
      {"TensorListConcatV2", concat_list, {"tensor", "lengths"}},
      {"TensorListFromTensor", from_tensor},
      {"TensorListGather", gather_list},
      {"TensorListGetItem", get_item},
      {"TensorListLength", list_length},
      {"TensorListPopBack", pop_back, {"output_handle", "tensor"}},
      {"TensorListPushBack", push_back},
      {"TensorListReserve", reserve},
      {"TensorListResize", resize_list},
      {"TensorListScatterV2", scatter_list},
      {"TensorListSetItem", set_item},
      {"TensorListStack", stack_list},
  };
}

}  // namespace tessera::tensorflow
