#include "base/object.h"

#include <deque>
#include <mutex>
#include <unordered_map>

namespace tessera {
namespace {

struct TypeTable {
  std::mutex mutex;
  std::deque<const TypeInfo*> by_index;
  std::unordered_map<std::string_view, const TypeInfo*> by_key;
};

TypeTable& type_table() {
  static auto* table = new TypeTable;  // outlives every static object
  return *table;
}

std::string repr_by_key(const Object* object) { return std::string(object->type_key()) + "(...)"; }

ReprFunction repr_function = repr_by_key;

}  // namespace

void throw_missing(const char* key) {
  throw Error(ValueError) << "a value of type " << key << " is missing: None was given where one is needed";
}

const Field* TypeInfo::find(std::string_view name) const {
  for (const Field& field : fields())
    if (name == field.name) return &field;
  return nullptr;
}

// Destroying a node releases its children. Instead of recursing into a child whose count reaches zero, the child is
// put on a list that the outermost call works off: a chain of a million nodes needs no deep stack.
void destroy_later(const Object* object) {
  static thread_local std::vector<Object*>* pending = nullptr;
  auto* dead = const_cast<Object*>(object);
  if (pending) {
    pending->push_back(dead);
    return;
  }
  std::vector<Object*> list{dead};
  pending = &list;
  while (!list.empty()) {
    Object* next = list.back();
    list.pop_back();
    next->type_->destroy(next);
  }
  pending = nullptr;
}

const std::vector<Field>& TypeInfo::build_table() const {
  auto* table = new std::vector<Field>;  // lives as long as the process
  if (node->parent && node->parent->depth > 0) {
    const TypeInfo* parent = find_type(node->parent->key);
    ICHECK(parent) << "the family " << node->parent->key << " of " << node->key << " is not registered";
    std::span<const Field> inherited = parent->fields();
    table->assign(inherited.begin(), inherited.end());
  }
  list_fields(table);
  const std::vector<Field>* expected = nullptr;
  if (!table_.compare_exchange_strong(expected, table)) {  // another thread was first
    delete table;
    return *expected;
  }
  return *table;
}

void detail::throw_not_a_value(const NodeInfo& node) {
  throw Error(TypeError) << "a " << node.key
                         << " owns a resource; it cannot be made from fields, copied or saved as JSON";
}

void detail::add_type(TypeInfo* info) {
  TypeTable& table = type_table();
  std::lock_guard lock(table.mutex);
  bool added = table.by_key.emplace(info->node->key, info).second;
  ICHECK(added) << "node type " << info->node->key << " is registered twice";
  info->index = static_cast<uint32_t>(table.by_index.size());
  table.by_index.push_back(info);
}

const TypeInfo* find_type(std::string_view key) {
  TypeTable& table = type_table();
  std::lock_guard lock(table.mutex);
  auto it = table.by_key.find(key);
  return it == table.by_key.end() ? nullptr : it->second;
}

const TypeInfo* find_type(uint32_t index) {
  TypeTable& table = type_table();
  std::lock_guard lock(table.mutex);
  return index < table.by_index.size() ? table.by_index[index] : nullptr;
}

std::vector<const TypeInfo*> all_types() {
  TypeTable& table = type_table();
  std::lock_guard lock(table.mutex);
  return {table.by_index.begin(), table.by_index.end()};
}

void set_repr_function(ReprFunction function) { repr_function = function; }

std::string to_text(const ObjectRef& object) { return object ? repr_function(object.get()) : "(nullptr)"; }

namespace {
register_types<Object> object_types;
}  // namespace

}  // namespace tessera
