// Types, attributes, constants and metadata as text.

#include "base/stack.h"
#include "ir/json/json.h"
#include "ir/prim/expr.h"
#include "ir/repr.h"
#include "ir/structural/equal.h"
#include "ir/structural/map_order.h"
#include "relay/print_text.h"
#include "runtime/function/element.h"

namespace tessera::relay {
namespace {

/// Constants of these types are written as numbers, with a suffix where the type is not the usual one.
const char* suffix_of(DataType dtype) {
  if (dtype == DataType::Int(32)) return "";
  if (dtype == DataType::Int(16)) return "i16";
  if (dtype == DataType::Int(64)) return "i64";
  if (dtype == DataType::Float(16)) return "f16";
  if (dtype == DataType::Float(32)) return "f";
  if (dtype == DataType::Float(64)) return "f64";
  return nullptr;
}

/// The number of a scalar constant, or "" when it is not one that has a text.
std::string scalar_text(const NDArray& data) {
  if (!data.shape().empty() || data.device().device_type != kDLCPU) return "";
  DataType dtype = data.dtype();
  if (dtype == DataType::Bool()) return *data.data<uint8_t>() ? "True" : "False";
  const char* suffix = suffix_of(dtype);
  if (!suffix) return "";
  const char* at = data.data<char>();
  return (dtype.code == DataType::kInt ? std::to_string(read_int(dtype, at)) : short_number(read_float(dtype, at))) +
         suffix;
}

bool same_value(const Field& field, const Object* a, const Object* b) {
  switch (field.kind) {
    case FieldKind::Bool: return field.at<bool>(a) == field.at<bool>(b);
    case FieldKind::Int32: return field.at<int32_t>(a) == field.at<int32_t>(b);
    case FieldKind::Int64: return field.at<int64_t>(a) == field.at<int64_t>(b);
    case FieldKind::Double: return field.at<double>(a) == field.at<double>(b);
    case FieldKind::DType: return field.at<DataType>(a) == field.at<DataType>(b);
    case FieldKind::Ref: return structural_equal(field.at<ObjectRef>(a), field.at<ObjectRef>(b));
  }
  return false;
}

template <class List, class F>
std::string listed(const List& items, F&& text) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += ", ";
    out += text(item);
  }
  return out;
}

}  // namespace

std::string MetaSection::reference(const Object* node) {
  auto [it, added] = known_.try_emplace(node);
  if (!added) return it->second;
  std::string key = node->type_key();
  auto list = lists_.begin();
  while (list != lists_.end() && list->first != key) ++list;
  if (list == lists_.end()) list = lists_.insert(list, {key, {}});
  it->second = "meta[" + key + "][" + std::to_string(list->second.size()) + "]";
  list->second.push_back(ObjectRef(node));
  return it->second;
}

std::string MetaSection::json() const {
  Map<String, ObjectRef> sections;
  for (const auto& [key, objects] : lists_) sections.set(key, Array<ObjectRef>(objects));
  return save_json(sections);
}

std::string RelayPrinter::constant(const Constant* constant) {
  std::string number = scalar_text(constant->data);
  return number.empty() ? metadata_.reference(constant) : number;
}

std::string RelayPrinter::type(const Type& root) {
  return on_enough_stack([&]() -> std::string {
    auto one = [&](const auto& part) { return type(part); };
    if (!root) return "(nullptr)";
    if (auto* tensor = root.as<TensorTypeNode>()) {
      if (tensor->shape.empty()) return tensor->dtype.str();
      auto extent = [&](const PrimExpr& e) { return attribute(e.get()); };
      return "Tensor[(" + listed(tensor->shape, extent) + "), " + tensor->dtype.str() + "]";
    }
    if (auto* tuple = root.as<TupleType>())
      return "(" + listed(tuple->fields_, one) + (tuple->fields_.size() == 1 ? ",)" : ")");
    if (auto* function = root.as<FuncType>()) {
      std::string params = function->type_params.empty() ? "" : "[" + listed(function->type_params, one) + "]";
      return "fn " + params + "(" + listed(function->arg_types, one) + ") -> " + type(function->ret_type);
    }
    if (auto* ref = root.as<RefType>()) return "ref(" + type(ref->value) + ")";
    if (auto* var = root.as<TypeVarNode>()) return to_text(var->name_hint);
    if (auto* var = root.as<GlobalTypeVarNode>()) return to_text(var->name_hint);
    if (auto* call = root.as<TypeCall>()) return type(call->func) + "[" + listed(call->args, one) + "]";
    return metadata_.reference(root.get());
  });
}

std::string RelayPrinter::type_definition(const TypeDataNode* data) {
  auto one = [&](const auto& part) { return type(part); };
  std::string text = "type " + type(data->header);
  if (!data->type_vars.empty()) text += "[" + listed(data->type_vars, one) + "]";
  text += " {";
  if (data->constructors.empty()) text += "\n  ";
  for (const Constructor& constructor : data->constructors) {
    text += "\n  " + to_text(constructor->name_hint);
    if (!constructor->inputs.empty()) text += "(" + listed(constructor->inputs, one) + ")";
    text += ",";
  }
  return text + "\n}";
}

std::string RelayPrinter::attribute(const Object* value, bool force_metadata) {
  if (!value) return "None";
  if (value->is_a(AnyDim::info)) return "?";
  if (auto* text = cast_or_null<StringNode>(value)) return quoted(text->text);
  if (force_metadata) return metadata_.reference(value);
  if (auto* number = cast_or_null<IntImm>(value)) {
    const char* suffix = suffix_of(number->dtype);
    return std::to_string(number->value) + (suffix ? suffix : "");
  }
  if (auto* number = cast_or_null<FloatImm>(value)) {
    const char* suffix = suffix_of(number->dtype);
    return short_number(number->value) + (suffix ? suffix : "");
  }
  if (auto* text = cast_or_null<StringImm>(value)) return quoted(text->value);
  if (auto* list = cast_or_null<ArrayNode>(value))
    return "[" +
           listed(list->items,
                  [&](const ObjectRef& item) { return on_enough_stack([&] { return attribute(item.get()); }); }) +
           "]";
  // What follows cannot be read back from text; where no metadata is wanted a readable form serves better.
  if (show_metadata_) return metadata_.reference(value);
  if (auto* attrs = cast_or_null<AttrsNode>(value)) {
    std::vector<std::string> parts;
    attributes(Attrs(attrs), &parts);
    return "{" + listed(parts, [](const std::string& part) { return part; }) + "}";
  }
  if (auto* map = cast_or_null<MapNode>(value))
    return "{" +
           listed(printing_order(map),
                  [&](const MapNode::Entry& e) {
                    return on_enough_stack([&] { return attribute(e.first.get()) + "=" + attribute(e.second.get()); });
                  }) +
           "}";
  if (auto* global = cast_or_null<GlobalVarNode>(value)) return "'" + to_text(global->name_hint) + "'";
  if (std::string_view(value->type_key()) == "VirtualDevice") return repr(value);
  return metadata_.reference(value);
}

void RelayPrinter::attributes(const Attrs& attrs, std::vector<std::string>* out) {
  if (auto* dict = attrs.as<DictAttrsNode>()) {
    for (const auto& [key, value] : dict->dict) out->push_back(to_text(key) + "=" + attribute(value.get()));
    return;
  }
  ObjectRef usual(attrs->type()->create());
  for (const Field& field : attrs->type()->fields()) {
    if (!(field.flags & Required) && same_value(field, attrs.get(), usual.get())) continue;
    std::string value;
    switch (field.kind) {
      case FieldKind::Bool: value = field.at<bool>(attrs.get()) ? "True" : "False"; break;
      case FieldKind::Int32: value = std::to_string(field.at<int32_t>(attrs.get())); break;
      case FieldKind::Int64: value = std::to_string(field.at<int64_t>(attrs.get())); break;
      case FieldKind::Double: value = short_number(field.at<double>(attrs.get())) + "f"; break;
      case FieldKind::DType: value = quoted(field.at<DataType>(attrs.get()).str()); break;
      case FieldKind::Ref: value = attribute(field.at<ObjectRef>(attrs.get()).get()); break;
    }
    out->push_back(std::string(field.name) + "=" + value);
  }
}

std::string type_text(const Type& type) { return RelayPrinter(false, nullptr).type(type); }

}  // namespace tessera::relay
