// structural_hash: consistent with structural_equal and free of addresses, so the same in every process.

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/any.h"
#include "ir/module.h"
#include "ir/prim/expr.h"
#include "ir/structural/equal.h"
#include "runtime/containers.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr uint64_t mix(uint64_t h, uint64_t v) {  // the finaliser of splitmix64 over the running value
  uint64_t z = h * 0x9E3779B97F4A7C15ull + v + 0xD1B54A32D192ED03ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t h = mix(0, bytes.size());
  while (bytes.size() >= 8) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= uint64_t(uint8_t(bytes[size_t(i)])) << (8 * i);
    h = mix(h, word);
    bytes.remove_prefix(8);
  }
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); ++i) word |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  return mix(h, word);
}

/// Works through the object with a list of open nodes. Bound variables are numbered in the order they are met.
class Hashing {
 public:
  uint64_t run(const Object* root, bool map_free_vars) {
    result_ = 0;
    open(root, map_free_vars);
    while (!frames_.empty()) advance();
    return result_;
  }

 private:
  /// A node whose parts are being hashed.
  struct Frame {
    const Object* node;
    bool bind;
    bool wait = false;  // a part was opened; its hash is in result_
    uint64_t hash;
    size_t next = 0;
    std::vector<MapNode::Entry> entries = {};  // of a map: keys hashed and sorted before the values follow
    std::vector<uint64_t> key_hashes = {};
  };

  /// Leaves the hash in result_, or opens a frame that will.
  void open(const Object* node, bool bind) {
    if (!node) return void(result_ = 1);
    if (auto it = known_.find(node); it != known_.end()) return void(result_ = it->second);
    if (node->type()->node->role == Role::Var)
      if (auto it = variables_.find(variable_identity(node)); it != variables_.end()) return void(result_ = it->second);
    uint64_t h = hash_bytes(node->is_a(VarNode::info) ? VarNode::info.key : node->type_key());
    if (auto* array = cast_or_null<NDArrayNode>(node)) return void(result_ = hash_tensor(h, array->tensor));
    if (node->type()->node->role == Role::Identity) return void(result_ = mix(h, hash_bytes(name_of(node))));
    if (auto* text = cast_or_null<StringNode>(node)) return void(result_ = mix(h, hash_bytes(text->text)));
    if (auto* bytes = cast_or_null<BytesNode>(node)) return void(result_ = mix(h, hash_bytes(bytes->data)));
    if (auto* shape = cast_or_null<ShapeTupleNode>(node)) {
      for (int64_t extent : shape->values) h = mix(h, static_cast<uint64_t>(extent));
      return void(result_ = h);
    }
    if (auto* adt = cast_or_null<ADTNode>(node)) h = mix(mix(h, static_cast<uint64_t>(adt->tag)), adt->values.size());
    if (auto* array = cast_or_null<ArrayNode>(node)) h = mix(h, array->items.size());
    frames_.push_back({node, bind, false, h});
    if (auto* map = cast_or_null<MapNode>(node)) frames_.back().entries = map->entries;
  }

  void advance() {
    size_t at = frames_.size() - 1;
    if (frames_[at].wait) {
      Frame& frame = frames_[at];
      frame.wait = false;
      if (frame.key_hashes.size() < frame.entries.size()) frame.key_hashes.push_back(result_);
      else frame.hash = mix(frame.hash, result_);
    }
    if (!step(at)) close();
  }

  /// Opens the next part of the frame, or says that there is none.
  bool step(size_t at) {
    const Object* node = frames_[at].node;
    if (auto* array = cast_or_null<ArrayNode>(node)) {
      size_t i = frames_[at].next++;
      return i < array->items.size() && enter(at, array->items[i].get(), frames_[at].bind);
    }
    if (auto* adt = cast_or_null<ADTNode>(node)) {
      size_t i = frames_[at].next++;
      return i < adt->values.size() && enter(at, adt->values[i].get(), frames_[at].bind);
    }
    if (node->is_a(MapNode::info)) return step_map(at);
    std::span<const Field> fields = node->type()->fields();
    while (frames_[at].next < fields.size()) {
      const Field& field = fields[frames_[at].next++];
      if (field.flags & Ignored || is_overlooked(node, field)) continue;
      if (field.kind != FieldKind::Ref) {
        frames_[at].hash = mix(frames_[at].hash, plain(node, field));
        continue;
      }
      const Object* part = field.at<ObjectRef>(node).get();
      if (node->is_a(TypeVarNode::info) && std::string_view(field.name) == "name_hint") continue;
      if (node->is_a(PointerType::info) && part && part->is_a(StringNode::info)) {  // "" and "global" are one scope
        const std::string& scope = static_cast<const StringNode*>(part)->text;
        frames_[at].hash = mix(frames_[at].hash, hash_bytes(scope.empty() ? "global" : scope));
        continue;
      }
      return enter(at, part, frames_[at].bind || (field.flags & Binds));
    }
    return false;
  }

  /// First all keys (functions by name), then the entries in the order of their keys' hashes.
  bool step_map(size_t at) {
    Frame& frame = frames_[at];
    size_t count = frame.entries.size();
    if (size_t i = frame.key_hashes.size(); i < count) {
      const Object* key = frame.entries[i].first.get();
      auto* global = cast_or_null<GlobalVarNode>(key);
      return enter(at, global ? global->name_hint.get() : key, false);
    }
    if (frame.next == 0) sort_entries(&frame);
    size_t i = frame.next++;
    if (i >= count) return false;
    frame.hash = mix(frame.hash, frame.key_hashes[i]);
    if (frame.entries[i].first.as<GlobalVarNode>())
      known_.clear(), variables_.clear();  // functions may share variables, or not
    return enter(at, frame.entries[i].second.get(), frame.bind);
  }

  static void sort_entries(Frame* frame) {
    std::vector<size_t> order(frame->entries.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return frame->key_hashes[a] < frame->key_hashes[b]; });
    std::vector<MapNode::Entry> entries;
    std::vector<uint64_t> hashes;
    for (size_t i : order) {
      entries.push_back(std::move(frame->entries[i]));
      hashes.push_back(frame->key_hashes[i]);
    }
    frame->entries = std::move(entries);
    frame->key_hashes = std::move(hashes);
    frame->hash = mix(frame->hash, order.size());
  }

  bool enter(size_t at, const Object* part, bool bind) {
    frames_[at].wait = true;
    open(part, bind);  // may move frames_
    return true;
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const Object* node = frame.node;
    Role role = node->type()->node->role;
    if (role == Role::Var)
      frame.hash = frame.bind ? mix(frame.hash, count_++) : mix(frame.hash, hash_bytes(name_of(node)));
    if (role == Role::Var)  // the copies of a variable are one
      if (const Object* identity = variable_identity(node); identity != node) variables_.emplace(identity, frame.hash);
    if (role == Role::Dag) frame.hash = mix(frame.hash, count_++);
    if (role != Role::Tree || node->use_count() > 1) known_.emplace(node, frame.hash);
    result_ = frame.hash;
  }

  static uint64_t plain(const Object* node, const Field& field) {
    switch (field.kind) {
      case FieldKind::Bool: return field.at<bool>(node);
      case FieldKind::Int32: return static_cast<uint64_t>(field.at<int32_t>(node));
      case FieldKind::Int64: return static_cast<uint64_t>(field.at<int64_t>(node));
      case FieldKind::Double: return std::bit_cast<uint64_t>(field.at<double>(node));
      case FieldKind::DType: return std::bit_cast<uint32_t>(field.at<DataType>(node));
      case FieldKind::Ref: break;
    }
    return 0;
  }

  static uint64_t hash_tensor(uint64_t h, const DLTensor& tensor) {
    h = mix(h, std::bit_cast<uint32_t>(DataType(tensor.dtype)));
    for (int i = 0; i < tensor.ndim; ++i) h = mix(h, static_cast<uint64_t>(tensor.shape[i]));
    if (tensor.device.device_type != kDLCPU || !is_contiguous(&tensor)) return h;  // equal only to itself
    return mix(h, hash_bytes({static_cast<const char*>(data_of(&tensor)), tensor_bytes(&tensor)}));
  }

  /// The text of the field that names a variable or operator.
  static std::string_view name_of(const Object* node) {
    for (const Field& field : node->type()->fields()) {
      std::string_view name = field.name;
      if (field.kind != FieldKind::Ref || (name != "name" && name != "name_hint")) continue;
      if (auto* text = cast_or_null<StringNode>(field.at<ObjectRef>(node).get())) return text->text;
    }
    return {};
  }

  std::vector<Frame> frames_;
  std::unordered_map<const Object*, uint64_t> known_, variables_;
  uint64_t count_ = 0;
  uint64_t result_ = 0;
};

}  // namespace

int64_t structural_hash(const ObjectRef& object, bool map_free_vars) {
  return static_cast<int64_t>(Hashing().run(object.get(), map_free_vars));
}

static Globals hash_globals{
    {"node.StructuralHash",
     [](AnyView object, bool map_free_vars) { return structural_hash(box(object), map_free_vars); }},
};

}  // namespace tessera
