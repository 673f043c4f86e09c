// Lists, dictionaries and tuples of the program itself. A list whose length a run decides is one of rows (lists.h).

#include "frontend/torch/lists.h"

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/views.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

const Value& list_at(const Operation& in, size_t i) {
  const Value& out = in.value(i);
  if (out.kind != Value::List) in.invalid("argument " + std::to_string(i) + " is no list");
  return out;
}

Values as_list(Operation& in) {
  std::vector<Value> out;
  for (size_t i = 0; i < in.size(); ++i) out.push_back(in.has(i) ? in.value(i) : Value());
  return {Value::of(std::move(out))};
}
Values unpacked_list(Operation& in) {
  const Value& given = in.value(0);
  if (given.is_tensor()) return elements_of(in, given, 0, "unpacking a tensor");
  Values out = in.items_of(given, "what is unpacked");
  if (out.size() == 1) return {out[0]};
  return out;
}
Values length_of(Operation& in) {
  const Value& x = in.value(0);
  if (has_rows(x)) return {Value::number(Value::Int, extent_at_run_time(in, (*x.items)[0].expr(), 0))};
  if (x.kind == Value::List) return {Value::of(static_cast<int64_t>(x.items->size()))};
  if (x.kind == Value::Dict) return {Value::of(static_cast<int64_t>(x.items->size() / 2))};
  if (x.kind == Value::Text) return {Value::of(static_cast<int64_t>(x.text.size()))};
  Expr tensor = in[0];
  if (in.rank(tensor) == 0) in.invalid("a tensor without dimensions has no length");
  if (const int64_t* extent = as_int(in.shape(tensor)[0])) return {Value::of(*extent)};
  return {Value::number(Value::Int, extent_at_run_time(in, tensor, 0))};
}

// ---- items ----------------------------------------------------------------------------------------------------------

bool is_key(const Value& own, const Value& key) {
  return own.kind == key.kind && own.text == key.text && own.integer == key.integer && own.real == key.real;
}
/// Where the value of a key lies; the number of items where there is none.
size_t find_key(const Value& dict, const Value& key) {
  size_t i = 0;
  while (i + 1 < dict.items->size() && !is_key((*dict.items)[i], key)) i += 2;
  return std::min(i + 1, dict.items->size());
}
std::string text_of_key(const Value& key) {
  return key.kind == Value::Text ? "\"" + key.text + "\"" : std::to_string(key.integer);
}

/// An index, counted from the front, as a number without dimensions.
Expr row_index(const Operation& in, const Expr& rows, const Value& index) {
  Expr at = cast_if_needed(in, in.number_expr(index), DataType::Int(64));
  if (in.rank(at) != 0) at = reshape(at, Array<PrimExpr>());
  Expr zero = make_scalar(0, DataType::Int(64));
  return where(less(at, zero), add(at, extent_at_run_time(in, rows, 0)), at);
}
size_t index_in(const Operation& in, const Value& list, const Value& index, bool may_be_end = false) {
  const auto count = static_cast<int64_t>(in.items_of(list, "a list that is indexed").size());
  const int64_t given = in.int_of(index, "the index of a list"), at = given < 0 ? given + count : given;
  if (at < 0 || at >= count + (may_be_end ? 1 : 0))
    in.invalid("index " + std::to_string(given) + " of a list of " + std::to_string(count));
  return static_cast<size_t>(at);
}

Values item_at(Operation& in) {
  const Value &list = in.value(0), &index = in.value(1);
  if (list.kind == Value::Dict) {
    const size_t at = find_key(list, index);
    if (at >= list.items->size()) in.invalid("the dictionary has no key " + text_of_key(index));
    return {(*list.items)[at]};
  }
  if (list.is_tensor()) return {element_of(in, list, 0, in.int_of(index, "the index of a list"))};
  if (!has_rows(list)) return {(*list.items)[index_in(in, list, index)]};
  const Value& rows = (*list.items)[0];
  Value out = Value::number(item_kind(in, list, Value()), take(rows.expr(), row_index(in, rows.expr(), index), 0));
  return {out};
}
Values set_item(Operation& in) {
  const Value &list = in.value(0), &index = in.value(1);
  if (list.kind == Value::Dict) {
    const size_t at = find_key(list, index);
    std::vector<Value>& items = in.importer().change(list);
    if (at < items.size()) items[at] = in.value(2);
    else items.insert(items.end(), {index, in.value(2)});
    return {list};
  }
  if (!has_rows(list)) {
    const size_t at = index_in(in, list, index);
    in.importer().change(list)[at] = in.value(2);
    return {list};
  }
  const Value& rows = (*list.items)[0];
  Expr at = reshape(row_index(in, rows.expr(), index), int_array({1, 1}));
  Expr row = in.value(2).is_number() ? in.number_expr(in.value(2)) : in[2];
  in.importer().change(rows.cell, onnx::apply(in, "ScatterND", {rows.expr(), at, expand_dims(row, 0)}));
  return {list};
}
Values contained(Operation& in) {
  const Value &list = in.value(0), &key = in.value(1);
  if (list.kind == Value::Dict) return {Value::of(find_key(list, key) < list.items->size())};
  const std::vector<Value>& items = in.items_of(list, "what is looked through");
  return {Value::of(std::any_of(items.begin(), items.end(), [&](const Value& own) { return is_key(own, key); }))};
}

// ---- lists that change ----------------------------------------------------------------------------------------------

Values appended(Operation& in) {
  append_to(in, list_at(in, 0), in.value(1));
  return {in.value(0)};
}
Values extended(Operation& in) { return {extended_list(in, in.value(0), in.value(1))}; }
Values inserted(Operation& in) {
  const size_t at = index_in(in, list_at(in, 0), in.value(1), true);
  std::vector<Value>& items = in.importer().change(in.value(0));
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), in.value(2));
  return {in.value(0)};
}
/// An item that is taken out: of a list by its index, of a dictionary by its key.
Values popped(Operation& in) {
  const Value& list = in.value(0);
  const Value index = in.has(1) ? in.value(1) : Value::of(int64_t{-1});
  if (list.kind == Value::Dict) {
    const size_t at = find_key(list, index);
    if (at >= list.items->size() && in.has(2)) return {in.value(2)};
    if (at >= list.items->size()) in.invalid("the dictionary has no key " + text_of_key(index));
    std::vector<Value>& items = in.importer().change(list);
    Value out = items[at];
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(at) - 1,
                items.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    return {out};
  }
  const size_t at = index_in(in, list_at(in, 0), index);
  std::vector<Value>& items = in.importer().change(list);
  Value out = items[at];
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return {out};
}
Values cleared(Operation& in) {
  if (!in.value(0).items) in.invalid("neither a list nor a dictionary");
  in.importer().change(in.value(0)).clear();
  return {in.value(0)};
}
Values reversed(Operation& in) {
  in.items_of(in.value(0), "what is reversed");
  std::vector<Value>& items = in.importer().change(in.value(0));
  std::reverse(items.begin(), items.end());
  return {in.value(0)};
}

Values copied_list(Operation& in) {
  return {Value::of(std::vector<Value>(in.items_of(in.value(0), "what is copied")))};
}
Values counted_range(Operation& in) {
  const int64_t start = in.size() > 1 ? in.int_of(in.value(0), "start") : 0;
  const int64_t end = in.int_of(in.value(in.size() > 1 ? 1 : 0), "end"),
                step = in.size() > 2 ? in.int_of(in.value(2), "step") : 1;
  constexpr int64_t kMaxItems = 1'000'000;
  if (step == 0 || (end - start) / step > kMaxItems) in.invalid("a range of too many numbers");
  std::vector<Value> out;
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step) out.push_back(Value::of(i));
  return {Value::of(std::move(out))};
}

// ---- dictionaries ---------------------------------------------------------------------------------------------------

Values as_dict(Operation& in) {
  Value out = as_list(in)[0];
  out.kind = Value::Dict;
  return {out};
}
Converter dict_part(size_t first, bool both) {
  return [first, both](Operation& in) {
    const Value& dict = in.value(0);
    if (dict.kind != Value::Dict) in.invalid("no dictionary");
    std::vector<Value> out;
    for (size_t i = 0; i + 1 < dict.items->size(); i += 2)
      out.push_back(both ? Value::of(std::vector<Value>{(*dict.items)[i], (*dict.items)[i + 1]})
                         : (*dict.items)[i + first]);
    return Values{Value::of(std::move(out))};
  };
}
/// The value of a key, or another.
Values value_or(Operation& in) {
  const Value& dict = in.value(0);
  if (dict.kind != Value::Dict) in.invalid("no dictionary");
  const size_t at = find_key(dict, in.value(1));
  return {at < dict.items->size() ? (*dict.items)[at] : in.has(2) ? in.value(2) : Value()};
}

Values never_seen(Operation& in) {
  Value out;
  out.kind = Value::Uninitialized;
  return Values(std::max<size_t>(in.node().results.size(), 1), out);
}

}  // namespace

Value extended_list(const Operation& in, const Value& list, const Value& more) {
  if (list.kind != Value::List) in.invalid("what is extended is no list");
  const std::vector<Value>& items = in.items_of(more, "what a list is extended by");
  const size_t count = items.size();  // of a list that is extended by itself these are the first ones
  for (size_t i = 0; i < count; ++i) append_to(in, list, Value(items[i]));
  return list;
}

Value sliced_list(const Operation& in, const Value& list) {
  const std::vector<Value>& items = in.items_of(list, "a list that is sliced");
  const auto count = static_cast<int64_t>(items.size()), step = in.integer("step", 1);
  if (step < 1) in.invalid("the step is " + std::to_string(step));
  auto bound = [&](const char* name, int64_t otherwise) {
    const int64_t at = in.integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
  };
  std::vector<Value> out;
  for (int64_t i = bound("start", 0), end = bound("end", count); i < end; i += step)
    out.push_back(items[static_cast<size_t>(i)]);
  return Value::of(std::move(out));
}

Rows list_rows() {
  return {
      {"aten::Delete", popped},
      {"aten::__contains__", contained},
      {"aten::__getitem__", item_at},
      {"aten::_set_item", set_item},
      {"aten::append", appended},
      {"aten::clear", cleared},
      {"aten::dict", as_dict},
      {"aten::extend", extended},
      {"aten::format", never_seen},  // of messages
      {"aten::get", value_or},
      {"aten::insert", inserted},
      {"aten::items", dict_part(0, true)},
      {"aten::keys", dict_part(0, false)},
      {"aten::len", length_of},
      {"aten::list", copied_list},
      {"aten::pop", popped},
      {"aten::range", counted_range},
      {"aten::reverse", reversed},
      {"aten::values", dict_part(1, false)},
      {"operator::getitem", item_at},
      {"prim::DictConstruct", as_dict},
      {"prim::ListConstruct", as_list},
      {"prim::ListUnpack", unpacked_list},
      {"prim::TupleConstruct", as_list},
      {"prim::TupleIndex", item_at},
      {"prim::TupleUnpack", unpacked_list},
      {"prim::Uninitialized", never_seen},
  };
}

}  // namespace tessera::torch
