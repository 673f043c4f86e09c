#include "frontend/onnx/importer.h"

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

std::optional<std::vector<int64_t>> Operation::integers_or_input(std::string_view name, size_t index) const {
  if (has_attribute(name)) return integers(name);
  if (!has(index)) return std::nullopt;
  return needed_ints((*this)[index], std::string(name));
}

std::string Operation::title() const {
  return name() + (node_.name.empty() ? "" : " (" + std::string(node_.name) + ")");
}

}  // namespace tessera::onnx
