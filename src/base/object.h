#pragma once
// The one object model: counted nodes, typed references, and a field table per node type.
//
// A node is a struct that derives from its family, names itself in `info` and lists its members in `fields`:
//
//   struct While : StmtNode {
//     PrimExpr condition;
//     Stmt body;
//     static constexpr NodeInfo info{"tir.While", &StmtNode::info};
//     static void fields(auto f) {
//       f("condition", &While::condition);
//       f("body", &While::body);
//     }
//   };
//
// and is listed once in its room's `register_types<...>`. Nodes are made by `make(While{.condition = c, .body = b})`
// and do not change afterwards; `with(node, &While::body, b2)` gives a changed copy. A node type that is itself used
// as a field type carries the suffix Node and lends its plain name to the reference: `using Var = Ref<VarNode>`.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"

namespace tessera {

struct Object;

/// How structural equality treats nodes of a type.
enum class Role : uint8_t {
  Tree,      // equal when all fields are
  Dag,       // like Tree, and shared occurrences must be shared alike
  Var,       // equal to the variable it was bound with; free ones only to themselves (or by map_free_vars)
  Identity,  // equal only to itself
};

/// The name of a node type and its position in the family tree; its address is the type's identity.
struct NodeInfo {
  const char* key;
  const NodeInfo* parent;
  Role role;
  int depth;
  int slot_code;  // how it travels in a slot: kTesseraObject, or the code of functions, modules, tensors; inherited
  constexpr NodeInfo(const char* key, std::nullptr_t, Role role = Role::Tree)
      : key(key), parent(nullptr), role(role), depth(0), slot_code(8) {}
  constexpr NodeInfo(const char* key, const NodeInfo* parent, Role role = Role::Tree, int slot_code = 0)
      : key(key),
        parent(parent),
        role(role),
        depth(parent->depth + 1),
        slot_code(slot_code ? slot_code : parent->slot_code) {}
};

enum class FieldKind : uint8_t { Bool, Int32, Int64, Double, DType, Ref };

/// What a field means to the walks over the table; flags may be combined with `|`.
enum FieldFlags : uint8_t {
  Plain = 0,
  Binds = 1,      // variables inside are introduced here (equality maps them)
  Ignored = 2,    // not part of the meaning: skipped by equality and hash (spans)
  Optional = 4,   // a null reference is allowed
  Opaque = 8,     // walks and rewrites do not enter (buffers, operators, annotations); equality does
  Required = 16,  // an attribute without a default: whoever makes the node must give it, and printers always show it
};
constexpr FieldFlags operator|(FieldFlags a, FieldFlags b) { return FieldFlags(uint8_t(a) | uint8_t(b)); }

struct Field {
  const char* name;
  uint32_t offset;
  FieldKind kind;
  FieldFlags flags;
  bool (*accepts)(const Object*);  // Ref fields: may this object stand here
  std::string (*expects)();        // Ref fields: the name of what may, for messages

  template <class T>
  const T& at(const Object* node) const {
    return *reinterpret_cast<const T*>(reinterpret_cast<const char*>(node) + offset);
  }
  template <class T>
  T& at(Object* node) const {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(node) + offset);
  }
};

/// Everything the process knows about a node type.
struct TypeInfo {
  const NodeInfo* node;
  void (*destroy)(Object*);
  Object* (*create)();  // a node with default members; a type that owns a resource (not copyable) throws, as does copy
  Object* (*copy)(const Object*);
  void (*list_fields)(std::vector<Field>*);  // those the type adds to its parent's
  uint32_t index = 0;                        // dense, in order of registration

  /// All fields, parents' first. The table is built at first use, when all families are registered.
  std::span<const Field> fields() const {
    const auto* table = table_.load(std::memory_order_acquire);
    return table ? *table : build_table();
  }
  const Field* find(std::string_view name) const;

 private:
  const std::vector<Field>& build_table() const;
  mutable std::atomic<const std::vector<Field>*> table_{nullptr};

 public:
  constexpr TypeInfo(const NodeInfo* node, void (*destroy)(Object*), Object* (*create)(),
                     Object* (*copy)(const Object*), void (*list_fields)(std::vector<Field>*))
      : node(node), destroy(destroy), create(create), copy(copy), list_fields(list_fields) {}
};

/// Lets the pending list of destruction work without recursion: see release().
void destroy_later(const Object* object);

struct Object {
  static constexpr NodeInfo info{"runtime.Object", nullptr, Role::Identity};
  static void fields(auto) {}

  Object() noexcept = default;
  Object(const Object&) noexcept {}  // a copy starts its own count
  Object& operator=(const Object&) noexcept { return *this; }

  const TypeInfo* type() const { return type_; }
  const char* type_key() const { return type_->node->key; }
  bool is_a(const NodeInfo& family) const {
    const NodeInfo* node = type_->node;
    for (int hops = node->depth - family.depth; hops > 0; --hops) node = node->parent;
    return node == &family;
  }
  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy_later(this);
  }
  int use_count() const { return refs_.load(std::memory_order_relaxed); }

  const TypeInfo* type_ = nullptr;

 private:
  mutable std::atomic<int32_t> refs_{0};
};

namespace detail {
template <class T>
struct TypeFunctions {
  static void destroy(Object* object) { delete static_cast<T*>(object); }
  static Object* create();
  static Object* copy(const Object* object);
  static void list_fields(std::vector<Field>* out);
};
}  // namespace detail

template <class T>
inline constinit TypeInfo type_of{&T::info, &detail::TypeFunctions<T>::destroy, &detail::TypeFunctions<T>::create,
                                  &detail::TypeFunctions<T>::copy, &detail::TypeFunctions<T>::list_fields};

template <class T>
const T* cast_or_null(const Object* object) {
  return object && object->is_a(T::info) ? static_cast<const T*>(object) : nullptr;
}

/// What becomes of None where a node is needed: an error, not a crash. `key` is the type that was needed.
[[noreturn]] void throw_missing(const char* key);

/// A counted, nullable reference to an immutable node. Looking into an empty one throws.
template <class T>
class Ref {
 public:
  using Node = T;

  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(const T* node) : node_(node) {
    if (node_) node_->retain();
  }
  Ref(const Ref& other) : Ref(other.node_) {}
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  template <class U>
    requires(std::is_base_of_v<T, U> && !std::is_same_v<T, U>)
  Ref(const Ref<U>& other) : Ref(static_cast<const T*>(other.get())) {}
  template <class U>
    requires(std::is_base_of_v<T, U> && !std::is_same_v<T, U>)
  Ref(Ref<U>&& other) noexcept : node_(other.detach()) {}
  ~Ref() {
    if (node_) node_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }

  const T* get() const { return node_; }
  const T* operator->() const { return checked(); }
  const T& operator*() const { return *checked(); }
  explicit operator bool() const { return node_ != nullptr; }
  bool defined() const { return node_ != nullptr; }
  template <class U>
  bool same_as(const Ref<U>& other) const {
    return static_cast<const Object*>(node_) == static_cast<const Object*>(other.get());
  }
  /// The node as a U, or null when it is something else.
  template <class U>
  const U* as() const {
    return cast_or_null<U>(node_);
  }
  /// The few node types that change on purpose (DESIGN D1) are changed through this.
  T* edit() const { return const_cast<T*>(checked()); }
  const T* detach() { return std::exchange(node_, nullptr); }

  /// A reference to any object may be empty too: containers of ObjectRef hold None.
  static bool accepts(const Object* object) {
    if constexpr (std::is_same_v<T, Object>) return true;
    else return object && object->is_a(T::info);
  }
  static std::string expects() { return T::info.key; }

 protected:
  const T* checked() const {
    if (!node_) [[unlikely]]
      throw_missing(T::info.key);
    return node_;
  }
  const T* node_ = nullptr;
};

using ObjectRef = Ref<Object>;

/// The reference as a `To` (PrimExpr, Stmt, Var, ...), or an empty one when the node is something else.
template <class To, class From>
To downcast_or_null(const Ref<From>& ref) {
  return To(cast_or_null<typename To::Node>(ref.get()));
}

/// The same where anything else is our own mistake.
template <class To, class From>
To downcast(const Ref<From>& ref) {
  To out = downcast_or_null<To>(ref);
  ICHECK(out.defined() || !ref.defined())
      << "expected " << To::expects() << ", got " << static_cast<const Object*>(ref.get())->type_key();
  return out;
}

template <class T>
Ref<T> make(T&& node) {
  using Node = std::remove_cvref_t<T>;
  auto* made = new Node(std::forward<T>(node));
  made->type_ = &type_of<Node>;
  return Ref<Node>(made);
}

/// A copy of `node` with one member replaced; the node itself when the member is that object already.
template <class T, class M, class V>
Ref<T> with(const T* node, M T::* member, V&& value) {
  if constexpr (requires { (node->*member).same_as(value); }) {
    if ((node->*member).same_as(value)) return Ref<T>(node);
  } else {
    if (node->*member == value) return Ref<T>(node);
  }
  T copy(*node);
  copy.*member = std::forward<V>(value);
  return make(std::move(copy));
}
template <class T, class M, class V>
Ref<T> with(const Ref<T>& node, M T::* member, V&& value) {
  return with(node.get(), member, std::forward<V>(value));
}

namespace detail {

template <class M>
constexpr FieldKind field_kind() {
  if constexpr (std::is_same_v<M, bool>) return FieldKind::Bool;
  else if constexpr (std::is_enum_v<M> || std::is_same_v<M, int32_t>) return FieldKind::Int32;
  else if constexpr (std::is_same_v<M, int64_t>) return FieldKind::Int64;
  else if constexpr (std::is_same_v<M, double>) return FieldKind::Double;
  else if constexpr (std::is_same_v<M, DataType>) return FieldKind::DType;
  else return FieldKind::Ref;
}

/// The visitor given to `fields`: turns each (name, member) into a row of the table.
template <class T>
struct FieldBuilder {
  std::vector<Field>* out;
  template <class C, class M>
  void operator()(const char* name, M C::* member, FieldFlags flags = Plain) const {
    constexpr FieldKind kind = field_kind<M>();
    if constexpr (kind == FieldKind::Int32) static_assert(sizeof(M) == 4, "enum fields are 32 bits wide");
    alignas(T) static const char space[sizeof(T)] = {};
    auto* base = reinterpret_cast<const T*>(space);
    auto offset = reinterpret_cast<const char*>(&(base->*member)) - space;
    Field field{name, static_cast<uint32_t>(offset), kind, flags, nullptr, nullptr};
    if constexpr (kind == FieldKind::Ref) {
      field.accepts = &M::accepts;
      field.expects = &M::expects;
    }
    out->push_back(field);
  }
};

[[noreturn]] void throw_not_a_value(const NodeInfo& node);

template <class T>
Object* TypeFunctions<T>::create() {
  if constexpr (std::is_copy_constructible_v<T>) {
    auto* node = new T();
    node->type_ = &type_of<T>;
    return node;
  } else {
    throw_not_a_value(T::info);
  }
}
template <class T>
Object* TypeFunctions<T>::copy(const Object* object) {
  if constexpr (std::is_copy_constructible_v<T>) {
    auto* copy = new T(*static_cast<const T*>(object));
    copy->type_ = object->type_;
    return copy;
  } else {
    throw_not_a_value(*object->type()->node);
  }
}
template <class T>
void TypeFunctions<T>::list_fields(std::vector<Field>* out) {
  T::fields(FieldBuilder<T>{out});
}

void add_type(TypeInfo* info);

}  // namespace detail

/// Makes node types known by key. Each room has one list, in its `nodes.cc`.
template <class... T>
struct register_types {
  register_types() { (detail::add_type(&type_of<T>), ...); }
};

/// Registered types by key; null when there is none.
const TypeInfo* find_type(std::string_view key);
const TypeInfo* find_type(uint32_t index);
std::vector<const TypeInfo*> all_types();

/// The text of a node for messages and `repr`. Rooms that know how to print set the function once.
std::string to_text(const ObjectRef& object);
using ReprFunction = std::string (*)(const Object*);
void set_repr_function(ReprFunction function);

template <class T>
std::string to_text(const Ref<T>& ref) {
  return to_text(ObjectRef(ref));
}

}  // namespace tessera

template <class T>
struct std::hash<tessera::Ref<T>> {
  size_t operator()(const tessera::Ref<T>& ref) const { return std::hash<const void*>()(ref.get()); }
};
