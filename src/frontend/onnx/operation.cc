#include "frontend/onnx/importer.h"
#include "frontend/onnx/known.h"
#include "relay/inspect.h"
#include "relay/type/type_of.h"
#include "relay/walk.h"
#include "runtime/function/element.h"
#include "runtime/registry.h"

namespace tessera::onnx {

Value Value::of(std::vector<Value> items) {
  Value out;
  out.sequence = std::make_shared<const std::vector<Value>>(std::move(items));
  return out;
}

Value Value::of(Texts texts) {
  Value out;
  out.texts = std::make_shared<const Texts>(std::move(texts));
  return out;
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

const Value& Operation::value(size_t i) const {
  if (!has(i)) invalid("input " + std::to_string(i) + " is missing");
  return inputs_[i];
}

Expr Operation::operator[](size_t i) const {
  const Value& given = value(i);
  if (given.sequence) invalid("input " + std::to_string(i) + " is a sequence, not a tensor");
  if (given.texts) unsupported("strings");
  return given.tensor;
}

const Texts& Operation::texts(size_t i) const {
  const Value& given = value(i);
  if (!given.texts) invalid("input " + std::to_string(i) + " must be strings");
  return *given.texts;
}

Array<Expr> Operation::tensors() const {
  Array<Expr> out;
  for (size_t i = 0; i < size(); ++i) out.push_back((*this)[i]);
  return out;
}

// ---- attributes -----------------------------------------------------------------------------------------------------

const Attribute* Operation::find(std::string_view name) const {
  for (const Attribute& attribute : node_.attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

namespace {

const Attribute& checked(const Operation& op, const Attribute* attribute, std::string_view name, Attribute::Kind kind) {
  if (!attribute)
    throw Error(OpAttributeRequired) << op.name() << ": the attribute " << std::string(name) << " is missing";
  if (attribute->kind != kind)
    throw Error(OpAttributeInvalid) << op.name() << ": the attribute " << std::string(name) << " has the wrong type";
  return *attribute;
}

}  // namespace

int64_t Operation::integer(std::string_view name, int64_t otherwise) const {
  return has_attribute(name) ? integer(name) : otherwise;
}
int64_t Operation::integer(std::string_view name) const { return checked(*this, find(name), name, Attribute::Int).i; }
double Operation::number(std::string_view name, double otherwise) const {
  return has_attribute(name) ? checked(*this, find(name), name, Attribute::Float).f : otherwise;
}
std::string Operation::text(std::string_view name, std::string otherwise) const {
  return has_attribute(name) ? std::string(checked(*this, find(name), name, Attribute::String).s) : otherwise;
}
Ints Operation::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  return has_attribute(name) ? checked(*this, find(name), name, Attribute::Ints).ints : otherwise;
}
std::vector<float> Operation::numbers(std::string_view name) const {
  return has_attribute(name) ? checked(*this, find(name), name, Attribute::Floats).floats : std::vector<float>();
}
std::vector<std::string> Operation::texts(std::string_view name) const {
  std::vector<std::string> out;
  if (has_attribute(name))
    for (std::string_view text : checked(*this, find(name), name, Attribute::Strings).strings) out.emplace_back(text);
  return out;
}
const Graph& Operation::graph(std::string_view name) const {
  const Attribute& attribute = checked(*this, find(name), name, Attribute::GraphValue);
  if (attribute.graphs.size() != 1) invalid("the attribute " + std::string(name) + " has no graph");
  return *attribute.graphs[0];
}

// ---- what is known of expressions -----------------------------------------------------------------------------------

namespace {

const TensorTypeNode* tensor_type(const Operation& op, const Expr& expr) {
  Type type = relay::type_of(expr);
  auto* tensor = type.as<TensorTypeNode>();
  if (!tensor) op.invalid("a tensor is needed, but this is a tuple");
  return tensor;
}

}  // namespace

DataType Operation::dtype(const Expr& expr) const { return tensor_type(*this, expr)->dtype; }
size_t Operation::rank(const Expr& expr) const { return tensor_type(*this, expr)->shape.size(); }
Array<PrimExpr> Operation::shape(const Expr& expr) const { return tensor_type(*this, expr)->shape; }

size_t Operation::spatial(const Expr& expr) const {
  size_t count = rank(expr);
  if (count < 2) invalid("data of " + std::to_string(count) + " dimensions has no batch and channels");
  return count - 2;
}

std::optional<std::vector<int64_t>> Operation::fixed_shape(const Expr& expr) const {
  return relay::fixed_shape(relay::type_of(expr));
}

Ints Operation::static_shape(const Expr& expr, const char* what) const {
  std::optional<std::vector<int64_t>> out = fixed_shape(expr);
  if (!out) unknown(std::string(what) + " needs a fixed shape", expr);
  return *out;
}

std::optional<NDArray> Operation::constant(const Expr& expr) const {
  if (auto* constant = expr.as<relay::Constant>()) return constant->data;
  relay::type_of(expr);
  Expr folded = get_global("relay._transform.FoldConstantExpr")(expr, IRModule(), false).to<Expr>();
  if (auto* constant = folded.as<relay::Constant>()) return constant->data;
  return std::nullopt;
}

std::optional<std::vector<int64_t>> Operation::constant_ints(const Expr& expr) const {
  if (std::optional<std::vector<int64_t>> seen = seen_ints(expr)) return seen;  // most of what models do with shapes
  std::optional<NDArray> data = constant(expr);
  if (!data) return std::nullopt;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < data->size(); ++i)
    out.push_back(read_int(data->dtype(), data->data<char>() + i * int64_t(data->dtype().bytes())));
  return out;
}

std::optional<double> Operation::constant_number(const Expr& expr) const {
  std::optional<NDArray> data = constant(expr);
  if (!data || data->size() != 1) return std::nullopt;
  return read_float(data->dtype(), data->data<char>());
}

int Operation::axis(int64_t given, size_t rank) const {
  auto count = static_cast<int64_t>(rank);
  if (given < -count || given >= count)
    invalid("axis " + std::to_string(given) + " of a tensor of " + std::to_string(rank) + " dimensions");
  return static_cast<int>(given < 0 ? given + count : given);
}

std::optional<std::vector<int64_t>> Operation::integers_or_input(std::string_view name, size_t index) const {
  if (has_attribute(name)) return integers(name);
  if (!has(index)) return std::nullopt;
  return needed_ints((*this)[index], std::string(name));
}

Ints Operation::needed_ints(const Expr& expr, const std::string& what) const {
  std::optional<std::vector<int64_t>> out = constant_ints(expr);
  if (!out) unknown(what + " must be known", expr);
  return *out;
}

void Operation::unknown(const std::string& what, const Expr& expr) const {
  std::string names;
  for (const relay::Var& var : relay::free_vars(expr))
    names += (names.empty() ? "" : ", ") + std::string(var->name_hint());
  unsupported(what + " while importing; it depends on the inputs: " + names);
}

void Operation::unsupported(const std::string& what) const {
  throw Error(OpNotImplemented) << name() << (node_.name.empty() ? "" : " (" + std::string(node_.name) + ")") << ": "
                                << what;
}

void Operation::invalid(const std::string& what) const {
  throw Error(ValueError) << name() << (node_.name.empty() ? "" : " (" + std::string(node_.name) + ")") << ": " << what;
}

}  // namespace tessera::onnx
