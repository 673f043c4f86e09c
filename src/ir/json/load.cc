// load_json: nodes are made from the root down and filled from the leaves up, each checked before it is used.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/attrs.h"
#include "ir/json/check.h"
#include "ir/json/json.h"
#include "ir/json/node_table.h"
#include "ir/json/source.h"
#include "ir/json/tensor.h"
#include "ir/op.h"
#include "ir/span.h"
#include "ir/target/target.h"
#include "ir/target/virtual_device.h"

namespace tessera {
namespace {

NodeTable<JsonCheck>& checks() {
  static auto* table = new NodeTable<JsonCheck>;
  return *table;
}

bool is_attrs(const NodeInfo* node) {
  for (node = node->parent; node; node = node->parent)
    if (node == &AttrsNode::info) return true;
  return false;
}

/// Families stand for their members and are no nodes themselves. Variables, spans and attributes of operators are both.
bool is_family(const TypeInfo* type) {
  static const auto* families = [] {
    auto* out = new std::unordered_set<const NodeInfo*>;
    for (const TypeInfo* known : all_types())
      if (known->node->parent) out->insert(known->node->parent);
    return out;
  }();
  const NodeInfo* node = type->node;
  bool is_node_too = node->role == Role::Var || node == &SpanNode::info || is_attrs(node);
  return !is_node_too && families->count(node) > 0;
}

class Reader : JsonSource {
 public:
  explicit Reader(std::string_view text) : file_(as_map(parse_json(text), "the text")) {
    nodes_ = as_array(member(file_, "nodes"), "\"nodes\"");
    if (ObjectRef tensors = find(file_, "b64ndarrays")) tensors_ = as_array(tensors, "\"b64ndarrays\"");
    made_.resize(nodes_->items.size());
    state_.resize(nodes_->items.size(), State::New);
  }

  ObjectRef read() {
    ObjectRef root = member(file_, "root");
    size_t index = as_index(as_number(root, "\"root\""), "\"root\"");
    build(index);
    return made_[index];
  }

 private:
  enum class State : uint8_t { New, Open, Done };

  /// Makes node `root` after everything it refers to. A node met again while it is open would contain itself.
  void build(size_t root) {
    std::vector<size_t> open{root};
    while (!open.empty()) {
      size_t index = open.back();
      if (state_[index] == State::Done) {
        open.pop_back();
      } else if (state_[index] == State::Open) {
        here_ = index;
        made_[index] = make_node(node(index));
        state_[index] = State::Done;
        open.pop_back();
      } else {
        here_ = index;
        state_[index] = State::Open;
        for (size_t part : parts(node(index))) {
          if (state_[part] == State::Open) fail("refers to itself through node ", std::to_string(part));
          if (state_[part] == State::New) open.push_back(part);
        }
      }
    }
  }

  const MapNode* node(size_t index) { return as_map(nodes_->items[index], "a node").get(); }

  std::vector<size_t> parts(const MapNode* entry) {
    std::vector<size_t> out;
    const TypeInfo* type = type_of_node(entry);
    if (!type || type->node == &NDArrayNode::info) return out;
    if (type->node == &ArrayNode::info || type->node == &MapNode::info) return data_of_node(entry);
    if (ObjectRef attrs = find(entry, "attrs")) {
      Ref<MapNode> values = as_map(attrs, "\"attrs\"");
      for (const Field& field : type->fields())
        if (field.kind == FieldKind::Ref && !holds_tensors(field))
          if (ObjectRef value = find(values.get(), field.name))
            out.push_back(as_index(parse_int(text_of(value, field.name), field.name), field.name));
    }
    return out;
  }

  /// The type of a node; null for the empty reference.
  const TypeInfo* type_of_node(const MapNode* entry) {
    const std::string key = text_of(member(entry, "type_key"), "type_key");
    if (key.empty()) return nullptr;
    const TypeInfo* type = find_type(key);
    if (!type) fail("has the unknown type ", quoted(key));
    bool is_plain = type->node->slot_code == kTesseraObject || type->node == &NDArrayNode::info;
    if (!is_plain || is_family(type)) fail("has a type that cannot be loaded: ", key);
    return type;
  }

  std::vector<size_t> data_of_node(const MapNode* entry) {
    std::vector<size_t> out;
    if (ObjectRef data = find(entry, "data")) {
      Ref<ArrayNode> items = as_array(data, "\"data\"");
      for (const ObjectRef& item : items->items) out.push_back(as_index(as_number(item, "\"data\""), "\"data\""));
    }
    return out;
  }

  ObjectRef make_node(const MapNode* entry) {
    const TypeInfo* type = type_of_node(entry);
    if (!type) return nullptr;
    if (type->node == &StringNode::info) return String(name_of_node(entry));
    if (type->node == &OpNode::info) {
      Op op = Op::find(name_of_node(entry));
      if (!op) fail("names an operator that does not exist: ", name_of_node(entry));
      return op;
    }
    if (type->node == &ArrayNode::info) {
      Array<ObjectRef> out;
      for (size_t item : data_of_node(entry)) out.push_back(made_[item]);
      return out;
    }
    if (type->node == &MapNode::info) return make_map(entry);
    if (type->node == &NDArrayNode::info) {
      ObjectRef data = find(entry, "data");
      Ref<ArrayNode> items = data ? as_array(data, "\"data\"") : Ref<ArrayNode>();
      if (!items || items->items.size() != 1) fail("is a tensor without its number");
      return tensor(as_number(items->items[0], "\"data\""));
    }
    ObjectRef made = make_fields(type, entry);
    if (auto* kind = made.as<TargetKindNode>()) {  // there is one of each name
      TargetKind known = find_target_kind(kind->name);
      if (!known) fail("names a kind of target that does not exist: ", kind->name.str());
      return known;
    }
    return made;
  }

  ObjectRef make_map(const MapNode* entry) {
    std::vector<size_t> data = data_of_node(entry);
    Map<ObjectRef, ObjectRef> out;
    if (ObjectRef keys = find(entry, "keys")) {
      Ref<ArrayNode> names = as_array(keys, "\"keys\"");
      if (names->items.size() != data.size()) fail("is a map with more keys than values, or fewer");
      for (size_t i = 0; i < data.size(); ++i) out.set(String(text_of(names->items[i], "keys")), made_[data[i]]);
      return out;
    }
    if (data.size() % 2 != 0) fail("is a map with a key that has no value");
    for (size_t i = 0; i < data.size(); i += 2) {
      if (!made_[data[i]]) fail("is a map with an empty key");
      out.set(made_[data[i]], made_[data[i + 1]]);
    }
    return out;
  }

  ObjectRef make_fields(const TypeInfo* type, const MapNode* entry) {
    if (type->fields().empty()) fail("has a type that cannot be loaded: ", type->node->key);
    ObjectRef attrs = member(entry, "attrs");
    Ref<MapNode> values = as_map(attrs, "\"attrs\"");
    ObjectRef out(type->create());
    Object* target = const_cast<Object*>(out.get());
    for (const Field& field : type->fields()) {
      ObjectRef value = find(values.get(), field.name);
      if (!value) {
        if (field.kind == FieldKind::Ref && (field.flags & Optional)) continue;
        fail("has no value for ", std::string(type->node->key) + "." + field.name);
      }
      set(target, field, text_of(value, field.name));
    }
    if (const JsonCheck* check = checks().find(target)) {
      std::string problem = (*check)(target);
      if (!problem.empty()) fail("is not a valid ", std::string(type->node->key) + ": " + problem);
    }
    return out;
  }

  void set(Object* target, const Field& field, const std::string& text) {
    switch (field.kind) {
      case FieldKind::Bool: field.at<bool>(target) = parse_int(text, field.name) != 0; return;
      case FieldKind::Int32: {
        int64_t value = parse_int(text, field.name);
        if (value != static_cast<int32_t>(value)) fail("has a number out of range in ", field.name);
        field.at<int32_t>(target) = static_cast<int32_t>(value);
        return;
      }
      case FieldKind::Int64: field.at<int64_t>(target) = parse_int(text, field.name); return;
      case FieldKind::Double: field.at<double>(target) = parse_double(text, field.name); return;
      case FieldKind::DType: field.at<DataType>(target) = text.empty() ? DataType::Void() : DataType(text); return;
      case FieldKind::Ref: break;
    }
    ObjectRef part;
    if (!holds_tensors(field)) {
      part = made_[as_index(parse_int(text, field.name), field.name)];
    } else if (text != "null") {
      part = tensor(parse_int(text, field.name));
    }
    if (auto* device = part.as<VirtualDeviceNode>(); device && std::string_view(field.name) == "virtual_device_")
      if (is_open(device)) part = nullptr;                            // what v0.10 writes where nothing is known
    if (!part && !(field.flags & Optional)) part = empty_for(field);  // v0.10 leaves empty attributes out
    if (part ? !accepts(field, part.get()) : !(field.flags & Optional))
      fail("",
           std::string(field.name) + " is " + (part ? part->type_key() : "empty") + ", expected " + field.expects());
    field.at<ObjectRef>(target) = part;
  }

  static ObjectRef empty_for(const Field& field) {
    std::string expected = field.expects();
    if (expected == DictAttrsNode::info.key) return DictAttrs();
    if (expected.rfind("Map[", 0) == 0) return Map<ObjectRef, ObjectRef>();
    if (expected.rfind("Array[", 0) == 0) return Array<ObjectRef>();
    return nullptr;
  }

  /// Asked once for each object and kind of field: a long list referred to from many nodes is looked through once.
  bool accepts(const Field& field, const Object* part) {
    auto& known = accepted_[reinterpret_cast<const void*>(field.accepts)];
    auto [it, added] = known.try_emplace(part, false);
    if (added) it->second = field.accepts(part);
    return it->second;
  }

  bool holds_tensors(const Field& field) {
    auto [it, added] = holds_tensors_.try_emplace(&field, false);
    if (added) it->second = field.expects() == NDArrayNode::info.key;
    return it->second;
  }

  ObjectRef tensor(int64_t number) {
    if (!tensors_ || number < 0 || static_cast<size_t>(number) >= tensors_->items.size())
      fail("refers to a tensor that is not there: number ", std::to_string(number));
    auto [it, added] = read_tensors_.try_emplace(number);
    if (added) it->second = tensor_from_base64(text_of(tensors_->items[static_cast<size_t>(number)], "a tensor"));
    return it->second;
  }

  std::string name_of_node(const MapNode* entry) {
    if (ObjectRef name = find(entry, "repr_str")) return text_of(name, "repr_str");
    if (ObjectRef name = find(entry, "repr_b64")) return from_base64(text_of(name, "repr_b64"));
    return "";
  }

  size_t as_index(int64_t value, std::string_view what) {
    if (value < 0 || static_cast<size_t>(value) >= nodes_->items.size())
      fail("refers in " + std::string(what) + " to a node that is not there: ",
           std::to_string(value) + " of " + std::to_string(nodes_->items.size()));
    return static_cast<size_t>(value);
  }

  Ref<MapNode> file_;
  Ref<ArrayNode> nodes_, tensors_;
  std::vector<ObjectRef> made_;
  std::vector<State> state_;
  std::unordered_map<const void*, std::unordered_map<const Object*, bool>> accepted_;
  std::unordered_map<int64_t, ObjectRef> read_tensors_;
  std::unordered_map<const Field*, bool> holds_tensors_;
};

}  // namespace

void set_json_check(const NodeInfo& type, JsonCheck check) { checks().set(type, std::move(check)); }

ObjectRef load_json(std::string_view text) { return Reader(text).read(); }

}  // namespace tessera
