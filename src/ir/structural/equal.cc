#include "ir/structural/equal.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/module_types.h"
#include "ir/prim/expr.h"
#include "runtime/containers.h"
#include "runtime/ndarray.h"

namespace tessera {
namespace {

/// One step of a path, kept in a list where each step names the one before it by index.
struct Step {
  enum Kind : uint8_t { Root, Field, Item, MissingItem, Value, MissingEntry } kind = Root;
  uint32_t before = 0;
  const char* field = nullptr;
  size_t index = 0;
  const Object* key = nullptr;      // of a map entry on the left
  const Object* rhs_key = nullptr;  // and on the right
};

/// A pair still to be compared.
struct Task {
  const Object* lhs;
  const Object* rhs;
  bool bind;              // free variables inside are matched with each other
  uint32_t path;          // index of the step that led here
  uint32_t rhs_path = 0;  // set where only one side has something: the path on the right that is (not) there
  bool apart = false;     // what was matched in the function before does not count here
};

/// Compares pair by pair from a list of tasks. A difference anywhere decides the answer, so matches of variables and
/// of shared nodes may be noted when a pair is met, before its parts are compared.
class Comparison {
 public:
  explicit Comparison(bool trace, double tolerance = 0) : trace_(trace), tolerance_(tolerance) {}

  bool run(const Object* lhs, const Object* rhs, bool map_free_vars) {
    steps_.push_back({});
    tasks_.push_back({lhs, rhs, map_free_vars, 0});
    while (!tasks_.empty()) {
      Task task = tasks_.back();
      tasks_.pop_back();
      size_t mark = tasks_.size();
      if (!compare(task)) return false;
      std::reverse(tasks_.begin() + static_cast<long>(mark), tasks_.end());  // first part first
    }
    return true;
  }

  ObjectPathPair mismatch() const {
    ObjectPathPairNode pair;
    pair.lhs_path = path_of(lhs_step_, &Step::key);
    pair.rhs_path = path_of(rhs_step_, &Step::rhs_key);
    return make(std::move(pair));
  }

 private:
  bool compare(const Task& task) {
    auto [lhs, rhs, bind, path, rhs_path, apart] = task;
    if (rhs_path) return differ(path, rhs_path);
    if (apart) forget_matches();
    if (!lhs || !rhs) return lhs == rhs || differ(path);
    if (!same_type(lhs, rhs)) return differ(path);
    if (lhs->is_a(NDArrayNode::info)) return same_tensor(lhs, rhs) || differ(path);
    const Role role = lhs->type()->node->role;
    if (role == Role::Var && variable_identity(lhs) != lhs) return compare_copied_variables(task);
    if (auto it = matched_.find(lhs); it != matched_.end()) return it->second == rhs || differ(path);
    if (matched_rhs_.count(rhs)) return differ(path);
    switch (role) {
      case Role::Identity: return lhs == rhs || differ(path);
      case Role::Var:
        if (lhs != rhs && !bind) return differ(path);
        match(lhs, rhs);
        return compare_fields(task);
      case Role::Dag: match(lhs, rhs); return compare_fields(task);
      case Role::Tree: break;
    }
    if (lhs->use_count() > 1 && rhs->use_count() > 1 && !seen_.insert({lhs, rhs}).second) return true;
    if (lhs->is_a(StringNode::info)) return text(lhs) == text(rhs) || differ(path);
    if (lhs->is_a(ArrayNode::info)) return compare_arrays(task);
    if (lhs->is_a(MapNode::info)) return compare_maps(task);
    if (lhs->is_a(BytesNode::info))
      return static_cast<const BytesNode*>(lhs)->data == static_cast<const BytesNode*>(rhs)->data || differ(path);
    if (auto* shape = cast_or_null<ShapeTupleNode>(lhs))
      return shape->values == static_cast<const ShapeTupleNode*>(rhs)->values || differ(path);
    if (auto* adt = cast_or_null<ADTNode>(lhs)) return compare_tuples(task, adt, static_cast<const ADTNode*>(rhs));
    if (lhs->type()->fields().empty()) return lhs == rhs || differ(path);  // nothing is known about it
    if (auto* mod = cast_or_null<IRModuleNode>(lhs)) match_types(mod, static_cast<const IRModuleNode*>(rhs));
    return compare_fields(task);
  }

  /// Copies of a variable with other annotations are one variable, known by the identity that they share.
  bool compare_copied_variables(const Task& task) {
    const Object *lhs = variable_identity(task.lhs), *rhs = variable_identity(task.rhs);
    if (auto it = matched_.find(lhs); it != matched_.end()) return it->second == rhs || differ(task.path);
    if (matched_rhs_.count(rhs) || (lhs != rhs && !task.bind)) return differ(task.path);
    match(lhs, rhs);
    return compare_fields(task);
  }

  bool compare_tuples(const Task& task, const ADTNode* lhs, const ADTNode* rhs) {
    if (lhs->tag != rhs->tag || lhs->values.size() != rhs->values.size()) return differ(task.path);
    for (size_t i = 0; i < lhs->values.size(); ++i)
      tasks_.push_back({lhs->values[i].get(), rhs->values[i].get(), task.bind, task.path});
    return true;
  }

  bool compare_fields(const Task& task) {
    auto [lhs, rhs, bind, path, _, __] = task;
    for (const Field& field : lhs->type()->fields()) {
      if (field.flags & Ignored || (is_overlooked(lhs, field) && is_overlooked(rhs, field))) continue;
      if (field.kind == FieldKind::Ref) {
        const Object* a = field.at<ObjectRef>(lhs).get();
        const Object* b = field.at<ObjectRef>(rhs).get();
        if (lhs->is_a(TypeVarNode::info) && std::string_view(field.name) == "name_hint") continue;
        if (lhs->is_a(PointerType::info) && std::string_view(field.name) == "storage_scope") {
          if (!same_scope(a, b)) return differ(step(path, {.kind = Step::Field, .field = field.name}));
          continue;
        }
        tasks_.push_back({a, b, bind || (field.flags & Binds), step(path, {.kind = Step::Field, .field = field.name})});
      } else if (!same_plain(field, lhs, rhs)) {
        return differ(step(path, {.kind = Step::Field, .field = field.name}));
      }
    }
    return true;
  }

  bool same_plain(const Field& field, const Object* lhs, const Object* rhs) const {
    switch (field.kind) {
      case FieldKind::Bool: return field.at<bool>(lhs) == field.at<bool>(rhs);
      case FieldKind::Int32: return field.at<int32_t>(lhs) == field.at<int32_t>(rhs);
      case FieldKind::Int64: return field.at<int64_t>(lhs) == field.at<int64_t>(rhs);
      case FieldKind::DType: return field.at<DataType>(lhs) == field.at<DataType>(rhs);
      case FieldKind::Double: return same_number(field.at<double>(lhs), field.at<double>(rhs));
      case FieldKind::Ref: break;
    }
    return true;
  }

  bool same_number(double a, double b) const {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) ||
           (tolerance_ > 0 && std::signbit(a) == std::signbit(b) && std::abs(a - b) < tolerance_);
  }

  bool compare_arrays(const Task& task) {
    const auto& a = static_cast<const ArrayNode*>(task.lhs)->items;
    const auto& b = static_cast<const ArrayNode*>(task.rhs)->items;
    size_t common = std::min(a.size(), b.size());
    for (size_t i = 0; i < common; ++i)
      tasks_.push_back({a[i].get(), b[i].get(), task.bind, step(task.path, {.kind = Step::Item, .index = i})});
    if (a.size() == b.size()) return true;
    if (!trace_) return false;
    // Compared last, so that the path leads to the first difference.
    bool lhs_longer = a.size() > b.size();
    uint32_t item = step(task.path, {.kind = Step::Item, .index = common});
    uint32_t gap = step(task.path, {.kind = Step::MissingItem, .index = common});
    tasks_.push_back({nullptr, nullptr, false, lhs_longer ? item : gap, lhs_longer ? gap : item});
    return true;
  }

  /// Text keys by content, functions by name, variables by what they are matched with, others by structure.
  bool compare_maps(const Task& task) {
    auto* a = static_cast<const MapNode*>(task.lhs);
    auto* b = static_cast<const MapNode*>(task.rhs);
    std::vector<Task> values;
    for (const auto& [key, value] : a->entries) {
      const MapNode::Entry* other = counterpart(key.get(), b);
      const Object* rhs_key = other ? other->first.get() : nullptr;
      uint32_t here = step(task.path, {.kind = Step::Value, .key = key.get(), .rhs_key = rhs_key});
      if (!other) return differ(here, step(task.path, {.kind = Step::MissingEntry}));
      bool is_function = key.as<GlobalVarNode>();
      values.push_back({value.get(), other->second.get(), task.bind, here, 0, is_function});
    }
    if (b->entries.size() > a->entries.size()) {
      for (const auto& [key, value] : b->entries)
        if (!counterpart(key.get(), a))
          return differ(step(task.path, {.kind = Step::MissingEntry}),
                        step(task.path, {.kind = Step::Value, .rhs_key = key.get()}));
      return differ(task.path);
    }
    if (!values.empty() && values[0].apart) before_functions_ = matched_;
    tasks_.insert(tasks_.end(), values.begin(), values.end());
    return true;
  }

  const MapNode::Entry* counterpart(const Object* key, const MapNode* other) {
    auto find = [&](auto&& is_it) -> const MapNode::Entry* {
      for (const auto& entry : other->entries)
        if (is_it(entry.first.get())) return &entry;
      return nullptr;
    };
    if (key->is_a(StringNode::info)) {
      if (!other->find(key)) return nullptr;
      return find([&](const Object* k) { return k->is_a(StringNode::info) && text(k) == text(key); });
    }
    if (auto it = matched_.find(key); it != matched_.end())
      return find([&](const Object* k) { return k == it->second; });
    if (auto* global = cast_or_null<GlobalVarNode>(key)) {
      auto* entry = find([&](const Object* k) {
        auto* candidate = cast_or_null<GlobalVarNode>(k);
        return candidate && candidate->name_hint == global->name_hint && !matched_rhs_.count(k);
      });
      if (entry) match(key, entry->first.get());
      return entry;
    }
    return find([&](const Object* k) { return k == key || Comparison(false, tolerance_).run(key, k, false); });
  }

  /// Data types are the same by name in two modules; functions, compared first, speak of them and their parameters.
  void match_types(const IRModuleNode* lhs, const IRModuleNode* rhs) {
    for (const TypeData& data : sorted_types(IRModule(lhs))) {
      GlobalTypeVar other = find_type_var(IRModule(rhs), data->header->name_hint);
      if (!other) continue;
      match(data->header.get(), other.get());
      TypeData other_data = lookup_type(IRModule(rhs), other);
      size_t common = std::min(data->type_vars.size(), other_data->type_vars.size());
      for (size_t i = 0; i < common; ++i) match(data->type_vars[i].get(), other_data->type_vars[i].get());
    }
  }

  /// Functions of a module may share variables, and do not have to: only what was matched before them carries over.
  void forget_matches() {
    seen_.clear();
    matched_ = before_functions_;
    matched_rhs_.clear();
    for (const auto& [_, rhs] : matched_) matched_rhs_.insert(rhs);
  }

  void match(const Object* lhs, const Object* rhs) {
    matched_.emplace(lhs, rhs);
    matched_rhs_.insert(rhs);
  }

  static const std::string& text(const Object* object) { return static_cast<const StringNode*>(object)->text; }
  /// Same type, shape and bytes; tensors of a device are equal only to themselves.
  static bool same_tensor(const Object* lhs, const Object* rhs) {
    if (lhs == rhs) return true;
    const DLTensor* a = &static_cast<const NDArrayNode*>(lhs)->tensor;
    const DLTensor* b = &static_cast<const NDArrayNode*>(rhs)->tensor;
    if (DataType(a->dtype) != DataType(b->dtype) ||
        !std::equal(a->shape, a->shape + a->ndim, b->shape, b->shape + b->ndim))
      return false;
    if (a->device.device_type != kDLCPU || b->device.device_type != kDLCPU) return false;
    if (!is_contiguous(a) || !is_contiguous(b)) return false;
    size_t bytes = tensor_bytes(a);
    return bytes == 0 || std::memcmp(data_of(a), data_of(b), bytes) == 0;
  }
  static bool same_type(const Object* a, const Object* b) {
    return a->type() == b->type() || (a->is_a(VarNode::info) && b->is_a(VarNode::info));
  }
  static bool same_scope(const Object* a, const Object* b) {
    auto scope = [](const Object* s) { return s && !text(s).empty() ? std::string_view(text(s)) : "global"; };
    return scope(a) == scope(b);
  }

  uint32_t step(uint32_t before, Step next) {
    if (!trace_) return 0;
    next.before = before;
    steps_.push_back(next);
    return static_cast<uint32_t>(steps_.size() - 1);
  }
  bool differ(uint32_t path) { return differ(path, path); }
  bool differ(uint32_t lhs, uint32_t rhs) {
    lhs_step_ = lhs;
    rhs_step_ = rhs;
    return false;
  }
  ObjectPath path_of(uint32_t at, const Object* Step::* key) const {
    std::vector<const Step*> way;
    for (; at != 0; at = steps_[at].before) way.push_back(&steps_[at]);
    ObjectPath path = root_path();
    for (auto it = way.rbegin(); it != way.rend(); ++it) {
      const Step& s = **it;
      switch (s.kind) {
        case Step::Root: break;
        case Step::Field: path = attr_path(path, s.field); break;
        case Step::Item: path = array_index_path(path, static_cast<int>(s.index)); break;
        case Step::MissingItem: path = missing_array_element_path(path, static_cast<int>(s.index)); break;
        case Step::Value: path = map_value_path(path, ObjectRef(s.*key)); break;
        case Step::MissingEntry: path = missing_map_entry_path(path); break;
      }
    }
    return path;
  }

  struct PairHash {
    size_t operator()(const std::pair<const Object*, const Object*>& p) const {
      return std::hash<const void*>()(p.first) * 31 + std::hash<const void*>()(p.second);
    }
  };

  bool trace_;
  double tolerance_;
  std::vector<Task> tasks_;
  std::vector<Step> steps_;
  std::unordered_map<const Object*, const Object*> matched_, before_functions_;
  std::unordered_set<const Object*> matched_rhs_;
  std::unordered_set<std::pair<const Object*, const Object*>, PairHash> seen_;
  uint32_t lhs_step_ = 0, rhs_step_ = 0;
};

}  // namespace

std::vector<Overlooked>& overlooked_fields() {
  static auto* fields = new std::vector<Overlooked>;
  return *fields;
}

const Object* variable_identity(const Object* variable) {
  for (const Field& field : variable->type()->fields()) {
    if (field.kind != FieldKind::Ref || field.flags & Ignored) continue;
    const Object* part = field.at<ObjectRef>(variable).get();
    if (part && std::string_view(field.name) == "vid") return part;
  }
  return variable;
}

bool structural_equal(const ObjectRef& lhs, const ObjectRef& rhs, bool map_free_vars, double tolerance) {
  return lhs.same_as(rhs) || Comparison(false, tolerance).run(lhs.get(), rhs.get(), map_free_vars);
}

std::optional<ObjectPathPair> first_structural_mismatch(const ObjectRef& lhs, const ObjectRef& rhs, bool map_free_vars,
                                                        double tolerance) {
  if (structural_equal(lhs, rhs, map_free_vars, tolerance)) return std::nullopt;
  Comparison traced(true, tolerance);
  ICHECK(!traced.run(lhs.get(), rhs.get(), map_free_vars)) << "keeping the path does not change the answer";
  return traced.mismatch();
}

}  // namespace tessera
