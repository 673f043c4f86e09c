// save_json: the object graph as a list of nodes, each with its fields as text.

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/escape.h"
#include "ir/adt.h"
#include "ir/json/json.h"
#include "ir/json/tensor.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/target/virtual_device.h"
#include "ir/type.h"
#include "runtime/api_version.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using std::string_view_literals::operator""sv;

/// The length of the UTF-8 character at `at`, or 0 where the bytes are none.
size_t utf8_length(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  uint32_t first = byte(at);
  size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  for (size_t k = 1; k < length; ++k)
    if (byte(at + k) >> 6 != 2) return 0;
  if (length == 2 && first < 0xC2) return 0;
  if (length == 3 && ((first == 0xE0 && byte(at + 1) < 0xA0) || (first == 0xED && byte(at + 1) > 0x9F))) return 0;
  if (length == 4 && ((first == 0xF0 && byte(at + 1) < 0x90) || first > 0xF4 || (first == 0xF4 && byte(at + 1) > 0x8F)))
    return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string json_text(std::string_view text) { return escaped(text, "\\u00"); }

class Writer {
 public:
  explicit Writer(Spans spans) : spans_(spans) {}

  std::string write(const ObjectRef& root) {
    number_all(root);
    std::string nodes = "{\n      \"type_key\": \"\"\n    }";
    for (const Object* node : nodes_) nodes += ", \n    {\n" + write_node(node) + "\n    }";
    std::string out = "{\n  \"root\": " + std::to_string(index_of(root.get())) + ", \n  \"nodes\": [\n    " + nodes;
    out += "\n  ], \n  \"b64ndarrays\": [";
    for (size_t i = 0; i < tensors_.size(); ++i)
      out += (i ? ", " : "") + json_text(tensor_to_base64(NDArray(tensors_[i])));
    return out + "], \n  \"attrs\": {\"tvm_version\": \"" + kApiVersion + "\"}\n}";
  }

 private:
  /// Numbers nodes in the order a reader meets them: a node, then what its fields lead to.
  void number_all(const ObjectRef& root) {
    std::vector<const Object*> pending{root.get()};
    std::vector<const Object*> parts;
    while (!pending.empty()) {
      const Object* node = pending.back();
      pending.pop_back();
      if (!node || !index_.try_emplace(node, nodes_.size() + 1).second) continue;
      nodes_.push_back(node);
      parts.clear();
      list_parts(node, &parts);
      pending.insert(pending.end(), parts.rbegin(), parts.rend());
    }
  }

  void list_parts(const Object* node, std::vector<const Object*>* out) {
    if (auto* tensor = cast_or_null<NDArrayNode>(node)) return void(tensor_index(tensor));
    if (node->is_a(OpNode::info) || node->is_a(StringNode::info)) return;
    if (auto* array = cast_or_null<ArrayNode>(node)) {
      for (const ObjectRef& item : array->items) out->push_back(item.get());
    } else if (auto* map = cast_or_null<MapNode>(node)) {
      bool by_name = has_text_keys(map);
      for (const auto& [key, value] : map->entries) {
        if (!by_name) out->push_back(key.get());
        out->push_back(value.get());
      }
    } else {
      for (const Field* field : parts_in_order(node->type())) {
        const Object* part = written_part(node, *field);
        if (holds_tensors(*field)) {
          if (part) tensor_index(static_cast<const NDArrayNode*>(part));
        } else {
          out->push_back(part);
        }
      }
    }
  }

  /// The fields that are references, as v0.10 meets them: a node's own before those of its families.
  const std::vector<const Field*>& parts_in_order(const TypeInfo* type) {
    auto [it, added] = in_order_.try_emplace(type);
    if (!added) return it->second;
    bool is_function = false;
    for (const NodeInfo* at = type->node; at; at = at->parent) is_function |= at == &BaseFuncNode::info;
    auto rank = [&](const Field* field) {
      static constexpr std::array kLast{"type_params"sv, "type_constraints"sv, "attrs"sv, "virtual_device_"sv,
                                        "span"sv,        "_checked_type_"sv};
      if (!is_function && field->name == "attrs"sv) return size_t{0};
      auto found = std::find(kLast.begin(), kLast.end(), field->name);
      return found == kLast.end() ? 0 : static_cast<size_t>(found - kLast.begin()) + 1;
    };
    for (const Field& field : type->fields())
      if (field.kind == FieldKind::Ref && is_written(type, field)) it->second.push_back(&field);
    std::stable_sort(it->second.begin(), it->second.end(),
                     [&](const Field* a, const Field* b) { return rank(a) < rank(b); });
    return it->second;
  }

  /// v0.10 keeps no span of a PrimType, and knows of no device of loop programs and constructors.
  static bool is_written(const TypeInfo* type, const Field& field) {
    if (field.name == "span"sv) return type->node != &PrimType::info;
    if (field.name == "virtual_device_"sv)
      return type->node->key != "tir.PrimFunc"sv && type->node != &ConstructorNode::info;
    return true;
  }

  /// What stands for a field in the file. v0.10 writes a device that is open in all where a value has none, and
  /// nothing where a function has no attributes.
  const Object* written_part(const Object* node, const Field& field) {
    const Object* part = field.at<ObjectRef>(node).get();
    if (!part && field.name == "virtual_device_"sv) return open_device_.get();
    if (part && spans_ == Spans::LeaveOut && field.name == "span"sv) return nullptr;
    if (auto* attrs = cast_or_null<DictAttrsNode>(part))
      if (attrs->dict.empty() && node->is_a(BaseFuncNode::info)) return nullptr;
    return part;
  }

  bool holds_tensors(const Field& field) {
    auto [it, added] = holds_tensors_.try_emplace(&field, false);
    if (added) it->second = field.expects() == NDArrayNode::info.key;
    return it->second;
  }

  static bool has_text_keys(const MapNode* map) {
    for (const auto& [key, _] : map->entries)
      if (!key.as<StringNode>() || !is_utf8(key.as<StringNode>()->text)) return false;
    return true;
  }

  size_t tensor_index(const NDArrayNode* tensor) {
    auto [it, added] = tensor_index_.try_emplace(tensor, tensors_.size());
    if (added) tensors_.push_back(tensor);
    return it->second;
  }

  size_t index_of(const Object* node) const { return node ? index_.at(node) : 0; }

  std::string write_node(const Object* node) {
    std::string out = "      \"type_key\": " + json_text(node->type_key());
    if (auto* text = cast_or_null<StringNode>(node)) {
      if (!text->text.empty()) out += write_name(text->text);
    } else if (auto* op = cast_or_null<OpNode>(node)) {
      out += write_name(op->name.str());
    } else if (auto* array = cast_or_null<ArrayNode>(node)) {
      std::vector<size_t> items;
      for (const ObjectRef& item : array->items) items.push_back(index_of(item.get()));
      out += write_data(items);
    } else if (auto* map = cast_or_null<MapNode>(node)) {
      out += write_map(map);
    } else if (auto* tensor = cast_or_null<NDArrayNode>(node)) {
      out += write_data({tensor_index(tensor)});
    } else {
      out += write_fields(node);
    }
    return out;
  }

  static std::string write_name(const std::string& name) {
    if (is_utf8(name)) return ", \n      \"repr_str\": " + json_text(name);
    return ", \n      \"repr_b64\": " + json_text(to_base64(name));
  }

  static std::string write_data(const std::vector<size_t>& items) {
    if (items.empty()) return "";
    std::string out = ", \n      \"data\": [";
    for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + std::to_string(items[i]);
    return out + "]";
  }

  std::string write_map(const MapNode* map) {
    if (map->entries.empty()) return "";
    std::vector<size_t> data;
    std::string keys;
    bool by_name = has_text_keys(map);
    for (const auto& [key, value] : map->entries) {
      if (by_name) keys += (keys.empty() ? "" : ", ") + json_text(key.as<StringNode>()->text);
      else data.push_back(index_of(key.get()));
      data.push_back(index_of(value.get()));
    }
    return (by_name ? ", \n      \"keys\": [" + keys + "]" : "") + write_data(data);
  }

  std::string write_fields(const Object* node) {
    std::span<const Field> fields = node->type()->fields();
    if (fields.empty() || node->type()->node->slot_code != kTesseraObject)
      throw Error(TypeError) << "an object of type " << node->type_key() << " cannot be saved as JSON";
    std::map<std::string_view, std::string> values;  // v0.10 writes them by name
    for (const Field& field : fields) {
      if (!is_written(node->type(), field)) continue;
      values[field.name] = json_text(write_value(node, field));
    }
    bool is_short = values.size() == 1;
    std::string out;
    for (const auto& [name, value] : values)
      out += (out.empty() ? "" : ", ") + std::string(is_short ? "" : "\n        ") + json_text(name) + ": " + value;
    return ", \n      \"attrs\": {" + out + (is_short ? "}" : "\n      }");
  }

  std::string write_value(const Object* node, const Field& field) {
    switch (field.kind) {
      case FieldKind::Bool: return field.at<bool>(node) ? "1" : "0";
      case FieldKind::Int32: return std::to_string(field.at<int32_t>(node));
      case FieldKind::Int64: return std::to_string(field.at<int64_t>(node));
      case FieldKind::Double: {
        char buffer[64];
        std::snprintf(buffer, sizeof(buffer), "%.17g", field.at<double>(node));
        return buffer;
      }
      case FieldKind::DType: {
        DataType dtype = field.at<DataType>(node);
        return dtype.is_void() ? "" : dtype.str();
      }
      case FieldKind::Ref: break;
    }
    const Object* part = written_part(node, field);
    if (!holds_tensors(field)) return std::to_string(index_of(part));
    return part ? std::to_string(tensor_index(static_cast<const NDArrayNode*>(part))) : "null";
  }

  std::vector<const Object*> nodes_;
  std::unordered_map<const Object*, size_t> index_;
  std::unordered_map<const Field*, bool> holds_tensors_;
  std::unordered_map<const TypeInfo*, std::vector<const Field*>> in_order_;
  Spans spans_;
  VirtualDevice open_device_ = make(VirtualDeviceNode{});
  std::vector<const NDArrayNode*> tensors_;
  std::unordered_map<const NDArrayNode*, size_t> tensor_index_;
};

}  // namespace

std::string save_json(const ObjectRef& object, Spans spans) { return Writer(spans).write(object); }

static Globals save_globals{
    {"node.SaveJSON", [](AnyView object) { return save_json(box(object)); }},
    {"node.LoadJSON", [](std::string text) { return load_json(text); }},
};

}  // namespace tessera
