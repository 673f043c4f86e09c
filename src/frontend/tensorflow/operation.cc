#include "frontend/tensorflow/operation.h"

#include <unordered_map>

#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

Value Value::of(List list) {
  Value out;
  out.list = std::make_shared<const List>(std::move(list));
  return out;
}
Value Value::of(std::vector<std::string> texts) {
  Value out;
  out.texts = std::make_shared<const std::vector<std::string>>(std::move(texts));
  return out;
}
Value Value::variable(std::string name) {
  Value out;
  out.resource = std::move(name);
  return out;
}

Attribute Attribute::of(int64_t value) {
  Attribute out;
  out.i = value;
  return out;
}
Attribute Attribute::of_real(double value) {
  Attribute out;
  out.f = value;
  return out;
}
Attribute Attribute::of_text(std::string value) {
  Attribute out;
  out.s = std::move(value);
  return out;
}
Attribute Attribute::of_type(DataType value) {
  Attribute out;
  out.type = value;
  return out;
}
Attribute Attribute::of_ints(const std::vector<int64_t>& values) {
  std::vector<Attribute> items;
  for (int64_t value : values) items.push_back(of(value));
  Attribute out;
  out.list = std::make_shared<const std::vector<Attribute>>(std::move(items));
  return out;
}

Operation Operation::as(std::string op, Values inputs) const {
  return Operation(importer_, std::move(op), node_, std::move(inputs), attributes_, outputs_);
}

Operation& Operation::with(std::string name, Attribute value) {
  attributes_[std::move(name)] = std::move(value);
  return *this;
}

const Value& Operation::value(size_t i) const {
  if (!has(i)) invalid("input " + std::to_string(i) + " is missing");
  return inputs_[i];
}

Expr Operation::operator[](size_t i) const {
  const Value& out = value(i);
  if (out.texts) unsupported("strings as input " + std::to_string(i));
  if (!out.tensor.defined()) unsupported("input " + std::to_string(i) + " is no tensor, but a list or a resource");
  return out.tensor;
}

Array<Expr> Operation::tensors(size_t begin, size_t end) const {
  Array<Expr> out;
  for (size_t i = begin; i < std::min(end, size()); ++i) out.push_back((*this)[i]);
  return out;
}

Expr Operation::scalar(size_t i) const {
  Expr x = (*this)[i];
  return rank(x) == 0 ? x : relay::reshape(x, Array<PrimExpr>());
}

double Operation::real(size_t i, const char* what) const {
  std::optional<double> out = constant_number((*this)[i]);
  if (!out) unknown(std::string(what) + " must be known", (*this)[i]);
  return *out;
}

const Attribute* Operation::find(std::string_view name) const {
  auto it = attributes_.find(name);
  return it == attributes_.end() ? nullptr : &it->second;
}

namespace {

[[noreturn]] void wrong_attribute(const Operation& in, std::string_view name, const char* what) {
  throw Error(OpAttributeInvalid) << in.title() << ": the attribute " << std::string(name) << " is no " << what;
}

}  // namespace

int64_t Operation::integer(std::string_view name, int64_t otherwise) const {
  const Attribute* out = find(name);
  if (!out) return otherwise;
  if (!out->i) wrong_attribute(*this, name, "integer");
  return *out->i;
}

double Operation::number(std::string_view name, double otherwise) const {
  const Attribute* out = find(name);
  if (!out) return otherwise;
  if (out->i) return static_cast<double>(*out->i);
  if (!out->f) wrong_attribute(*this, name, "number");
  return *out->f;
}

std::string Operation::text(std::string_view name, std::string otherwise) const {
  const Attribute* out = find(name);
  if (!out) return otherwise;
  if (!out->s) wrong_attribute(*this, name, "text");
  return *out->s;
}

DataType Operation::type(std::string_view name, DataType otherwise) const {
  const Attribute* out = find(name);
  if (!out) return otherwise;
  if (!out->type) wrong_attribute(*this, name, "type");
  if (out->type->is_void())
    unsupported("the attribute " + std::string(name) + " is a type that tensors do not have here");
  return *out->type;
}

Ints Operation::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  const Attribute* out = find(name);
  if (!out) return otherwise;
  if (out->shape) return *out->shape;
  if (!out->list) wrong_attribute(*this, name, "list of integers");
  Ints values;
  for (const Attribute& item : *out->list) {
    if (!item.i) wrong_attribute(*this, name, "list of integers");
    values.push_back(*item.i);
  }
  return values;
}

std::vector<double> Operation::numbers(std::string_view name) const {
  std::vector<double> values;
  const Attribute* out = find(name);
  if (!out) return values;
  if (!out->list) wrong_attribute(*this, name, "list of numbers");
  for (const Attribute& item : *out->list) {
    if (!item.f && !item.i) wrong_attribute(*this, name, "list of numbers");
    values.push_back(item.f ? *item.f : static_cast<double>(*item.i));
  }
  return values;
}

std::string Operation::function(std::string_view name) const {
  const Attribute* out = find(name);
  if (!out || !out->s)
    throw Error(OpAttributeRequired) << title() << ": the attribute " << std::string(name) << " is missing";
  return *out->s;
}

const Row* find_row(std::string_view op) {
  static const std::map<std::string, Row, std::less<>> table = [] {
    std::map<std::string, Row, std::less<>> out;
    for (auto family :
         {array_rows, control_rows, create_rows, elementwise_rows, image_rows, index_rows, list_rows, matmul_rows,
          nms_rows, nn_rows, recurrent_rows, reduction_rows, segment_rows, sparse_rows, variable_rows})
      for (Row& row : family()) out.emplace(row.op, std::move(row));
    return out;
  }();
  auto it = table.find(op);
  return it == table.end() ? nullptr : &it->second;
}

Values convert_as(const char* op, Operation& in) {
  const Row* row = find_row(op);
  ICHECK(row) << "no converter of " << op;
  return row->convert(in);
}

}  // namespace tessera::tensorflow
