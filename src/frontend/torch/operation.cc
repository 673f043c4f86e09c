#include "frontend/common/parts.h"
#include "frontend/torch/lists.h"
#include "frontend/torch/scope.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"

#include <cmath>

namespace tessera::torch {

using namespace relay;  // NOLINT: makers of calls

Expr Cell::get() {
  if (!base) return now;
  Expr whole = base->get();
  if (seen != base->version) {
    now = read(whole);
    seen = base->version;
    ++version;  // for views of this one
  }
  return now;
}

void Cell::set(const Expr& value) {
  if (is_copied)
    throw Error(OpNotImplemented)
        << "a tensor is changed in place that a list has whose length a run decides; append a clone";
  if (base) {
    if (!write) throw Error(OpNotImplemented) << "a tensor is changed through a view whose elements are not its alone";
    base->set(write(base->get(), value));
    seen = base->version;
  }
  now = value;
  ++version;
}

int64_t whole_part(double real) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(real)) return 0;
  return real >= kLimit ? INT64_MAX : real < -kLimit ? INT64_MIN : static_cast<int64_t>(real);
}

Value Value::of(int64_t integer) {
  Value out;
  out.kind = Int;
  out.integer = integer;
  return out;
}
Value Value::of(bool truth) {
  Value out = of(static_cast<int64_t>(truth));
  out.kind = Bool;
  return out;
}
Value Value::of(double real) {
  Value out;
  out.kind = Float;
  out.real = real;
  return out;
}
Value Value::of(std::string text) {
  Value out;
  out.kind = Text;
  out.text = std::move(text);
  return out;
}
Value Value::of(std::vector<Value> items) {
  Value out;
  out.kind = List;
  out.items = std::make_shared<std::vector<Value>>(std::move(items));
  return out;
}
Value Value::number(Kind kind, Expr expr) {
  Value out(std::move(expr));
  out.kind = kind;
  return out;
}

std::optional<std::pair<Expr, int>> Operation::input_of(const PrimExpr& extent) const {
  return importer_.input_of(extent);
}

// ---- arguments ------------------------------------------------------------------------------------------------------

std::string Operation::name() const {
  size_t colon = node_.op.rfind(':');
  std::string out = colon == std::string::npos ? node_.op : node_.op.substr(colon + 1);
  if (is_in_place(node_.op)) out.pop_back();
  return out;
}

std::string Operation::title() const { return node_.op + (node_.label.empty() ? "" : " (" + node_.label + ")"); }

const Value& Operation::value_or_absent(std::string_view name) const {
  static const Value absent;
  for (const auto& [own, value] : args_)
    if (own == name) return value;
  return absent;
}

const Value& Operation::value(std::string_view name) const {
  const Value& out = value_or_absent(name);
  if (out.is_absent()) invalid("the argument " + std::string(name) + " is missing");
  return out;
}

const Value& Operation::value(size_t i) const {
  if (!has(i)) invalid("argument " + std::to_string(i) + " is missing");
  return args_[i].second;
}

int64_t Operation::integer(std::string_view name, int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}
int64_t Operation::integer(std::string_view name) const { return int_of(value(name), std::string(name)); }
double Operation::number(std::string_view name, double otherwise) const { return has(name) ? number(name) : otherwise; }
double Operation::number(std::string_view name) const { return real_of(value(name), std::string(name)); }

std::string Operation::text(std::string_view name, std::string otherwise) const {
  const Value& given = value_or_absent(name);
  if (given.is_absent()) return otherwise;
  if (given.kind != Value::Text) invalid("the argument " + std::string(name) + " is no text");
  return given.text;
}

const std::vector<Value>& Operation::items_of(const Value& value, const char* what) const {
  if (value.kind != Value::List) invalid(std::string(what) + " is no list");
  if (has_rows(value)) unsupported(std::string(what) + ": a list whose length a run decides");
  return *value.items;
}
const std::vector<Value>& Operation::items(std::string_view name) const {
  return items_of(value(name), std::string(name).c_str());
}

Ints Operation::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  const Value& given = value_or_absent(name);
  if (given.is_absent()) return otherwise;
  if (given.is_number()) return {int_of(given, std::string(name))};
  if (given.is_tensor()) return needed_ints(given.expr(), std::string(name));
  Ints out;
  for (const Value& item : items(name)) out.push_back(int_of(item, std::string(name)));
  return out;
}

std::vector<double> Operation::numbers(std::string_view name) const {
  std::vector<double> out;
  if (has(name))
    for (const Value& item : items(name)) out.push_back(real_of(item, std::string(name)));
  return out;
}

std::optional<DataType> Operation::dtype_given(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return element_type_of(integer(name));
}

std::vector<Expr> Operation::tensors(std::string_view name) const {
  std::vector<Expr> out;
  for (const Value& item : items(name)) out.push_back(tensor_of(item));
  return out;
}

// ---- values ---------------------------------------------------------------------------------------------------------

DataType Operation::default_dtype() const { return importer_.options().default_dtype; }

Expr Operation::tensor_of(const Value& value) const {
  if (value.cell) return value.expr();
  if (value.kind == Value::Int) return make_constant(int_scalar(value.integer, DataType::Int(64)));
  if (value.kind == Value::Bool) return make_scalar(static_cast<double>(value.integer), DataType::Bool());
  if (value.kind == Value::Float) return make_scalar(value.real, default_dtype());
  if (value.is_absent()) invalid("a tensor is needed, but this is None");
  invalid("a tensor is needed, but this is a list or a text");
}

Expr Operation::number_expr(const Value& value) const {
  if (value.kind == Value::Float && !value.cell) return make_scalar(value.real, DataType::Float(64));
  return tensor_of(value);
}

std::optional<int64_t> Operation::known_int(const Value& value) const {
  if (value.is_known_number()) return value.kind == Value::Float ? whole_part(value.real) : value.integer;
  if (!value.cell) return std::nullopt;
  std::optional<std::vector<int64_t>> seen = constant_ints(value.expr());
  if (!seen || seen->size() != 1) return std::nullopt;
  return (*seen)[0];
}

int64_t Operation::int_of(const Value& value, const std::string& what) const {
  if (std::optional<int64_t> known = known_int(value)) return *known;
  if (value.cell) unknown(what + " must be known", value.expr());
  invalid("the argument " + what + " is no number");
}

double Operation::real_of(const Value& value, const std::string& what) const {
  if (value.is_known_number()) return value.as_real();
  if (!value.cell) invalid("the argument " + what + " is no number");
  std::optional<double> known = constant_number(value.expr());
  if (!known) unknown(what + " must be known", value.expr());
  return *known;
}

Expr Operation::int_vector(const Value& list) const {
  if (list.is_tensor()) return list.expr();
  std::vector<Value> one{list};
  const std::vector<Value>& given = list.is_number() ? one : items_of(list, "a list of integers");
  std::vector<int64_t> known;
  for (const Value& item : given) {
    std::optional<int64_t> number = known_int(item);
    if (!number) break;
    known.push_back(*number);
  }
  if (known.size() == given.size()) return make_ints(known);
  Array<Expr> parts;
  for (const Value& item : given)
    parts.push_back(reshape(cast_if_needed(*this, number_expr(item), DataType::Int(64)), int_array({1})));
  return concatenate(parts, 0);
}

int Operation::axis_of(int64_t given, size_t rank) const { return rank == 0 ? axis(given, 1) : axis(given, rank); }

Ints Operation::axes_of(std::string_view name, size_t rank) const {
  Ints given = integers(name), out;
  for (int64_t axis : given) out.push_back(axis_of(axis, rank));
  if (given.empty())
    for (size_t i = 0; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  return rank == 0 ? Ints() : out;
}

Values Operation::import(const Graph& graph, const Values& inputs) const {
  return importer_.import_graph(graph, inputs, *importer_.scope_);
}

}  // namespace tessera::torch
