#pragma once
// The C++ view of one value slot of the calling convention: AnyView borrows, Any owns.

#include "base/array.h"
#include "base/map.h"
#include "base/string.h"
#include "tessera/c_api.h"

namespace tessera {

class Any;

/// Where the DLTensor stands inside a tensor object; its slot holds the DLTensor's address, as v0.10's does.
inline constexpr ptrdiff_t kTensorOffset = 16;

/// How a C++ type travels in a slot. Specialisations give
///   static Any pack(T)            value to slot
///   static T unpack(AnyView)      slot to value, or throws a TypeError that names both types
///   static std::string name()     for messages
template <class T>
struct Convert;

/// A borrowed slot: valid only while the caller's value lives.
class AnyView {
 public:
  AnyView() : value_{.v_int64 = 0}, code_(kTesseraNull) {}
  AnyView(TesseraValue value, int code) : value_(value), code_(code) {}

  int code() const { return code_; }
  TesseraValue raw() const { return value_; }
  bool is_null() const { return code_ == kTesseraNull; }
  /// The object in the slot (nodes, functions, modules, tensors alike), or null when it holds something else.
  const Object* object() const;
  /// The slot as a T; converts where the calling convention allows, else throws TypeError.
  template <class T>
  T to() const {
    return Convert<T>::unpack(*this);
  }
  /// What the slot holds, for messages: "int", "str", "tir.Add", ...
  std::string type_name() const;

 protected:
  TesseraValue value_;
  int code_;
};

/// An owned slot: strings and bytes are kept as String objects, objects are counted.
class Any : public AnyView {
 public:
  Any() = default;
  Any(const AnyView& view);  // takes a share of what it points to
  Any(const Any& other) : Any(static_cast<const AnyView&>(other)) {}
  Any(Any&& other) noexcept : AnyView(other) { other.forget(); }
  template <class T>
    requires(!std::is_base_of_v<AnyView, std::remove_cvref_t<T>>)
  Any(T&& value) : Any(Convert<std::remove_cvref_t<std::decay_t<T>>>::pack(std::forward<T>(value))) {}
  ~Any() { reset(); }
  Any& operator=(Any other) noexcept {
    std::swap(value_, other.value_);
    std::swap(code_, other.code_);
    return *this;
  }

  void reset();
  /// Gives the slot to a C caller, who becomes its owner.
  void move_to(TesseraValue* value, int* code);
  /// Takes over a slot that a C callee filled as owner.
  static Any take(TesseraValue value, int code);
  static Any of_object(const Object* object);  // picks the code that fits the object's type

 private:
  void forget() {
    value_.v_int64 = 0;
    code_ = kTesseraNull;
  }
};

/// Numbers inside containers are objects; the room that knows number nodes says how they are made and read.
struct NumberBoxes {
  ObjectRef (*box_int)(int64_t) = nullptr;
  ObjectRef (*box_float)(double) = nullptr;
  ObjectRef (*box_bool)(bool) = nullptr;
  bool (*unbox_int)(const Object*, int64_t*) = nullptr;
  bool (*unbox_float)(const Object*, double*) = nullptr;
};
extern NumberBoxes number_boxes;

/// Any value as an object, for an element of a container.
ObjectRef box(const AnyView& value);

/// A field's value, and its change (checked against the table; throws TypeError).
Any get_field(const Object* node, const Field& field);
void set_field(Object* node, const Field& field, const AnyView& value);

[[noreturn]] void throw_conversion(const AnyView& value, const std::string& expected);

// ---- conversions -------------------------------------------------------------------------------------------

template <>
struct Convert<Any> {
  static Any pack(Any value) { return value; }
  static Any unpack(const AnyView& view) { return Any(view); }
  static std::string name() { return "any value"; }
};
template <>
struct Convert<AnyView> {
  static AnyView unpack(const AnyView& view) { return view; }
  static std::string name() { return "any value"; }
};

int64_t unpack_int(const AnyView& view);
double unpack_float(const AnyView& view);

template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>)
struct Convert<T> {
  static Any pack(T value) { return Any(AnyView({.v_int64 = static_cast<int64_t>(value)}, kTesseraInt)); }
  static T unpack(const AnyView& view) { return static_cast<T>(unpack_int(view)); }
  static std::string name() { return std::is_same_v<T, bool> ? "bool" : "int"; }
};
template <class T>
  requires std::is_floating_point_v<T>
struct Convert<T> {
  static Any pack(T value) { return Any(AnyView({.v_float64 = value}, kTesseraFloat)); }
  static T unpack(const AnyView& view) { return static_cast<T>(unpack_float(view)); }
  static std::string name() { return "float"; }
};
template <>
struct Convert<std::string> {
  static Any pack(const std::string& value) { return Any::of_object(String(value).get()); }
  static std::string unpack(const AnyView& view);
  static std::string name() { return "str"; }
};
template <>
struct Convert<const char*> {
  static Any pack(const char* value) { return Convert<std::string>::pack(value); }
};
template <>
struct Convert<String> {
  static Any pack(const String& value) { return Any::of_object(value.get()); }
  static String unpack(const AnyView& view);
  static std::string name() { return "str"; }
};
template <>
struct Convert<Bytes> {
  static Any pack(const Bytes& value) { return Any::of_object(value.get()); }
  static Bytes unpack(const AnyView& view);
  static std::string name() { return "bytes"; }
};
template <>
struct Convert<DataType> {
  static Any pack(DataType value) { return Any(AnyView({.v_type = value}, kTesseraDataType)); }
  static DataType unpack(const AnyView& view);
  static std::string name() { return "dtype"; }
};
template <>
struct Convert<DLDevice> {
  static Any pack(DLDevice value) { return Any(AnyView({.v_device = value}, kTesseraDevice)); }
  static DLDevice unpack(const AnyView& view);
  static std::string name() { return "Device"; }
};
template <>
struct Convert<void*> {
  static Any pack(void* value) { return Any(AnyView({.v_handle = value}, kTesseraHandle)); }
  static void* unpack(const AnyView& view);
  static std::string name() { return "handle"; }
};
template <>
struct Convert<std::nullptr_t> {
  static Any pack(std::nullptr_t) { return Any(); }
};
template <>
struct Convert<DLTensor*> {
  static Any pack(DLTensor* value) { return Any(AnyView({.v_handle = value}, kTesseraDLTensor)); }
  static DLTensor* unpack(const AnyView& view);
  static std::string name() { return "tensor"; }
};

/// References: exact types only; a reference class with wider rules (PrimExpr) specialises Convert for itself.
/// Null is let through; a function that cannot take it says so itself.
template <class T>
  requires std::is_base_of_v<Object, typename T::Node>
struct Convert<T> {
  static Any pack(const T& value) { return Any::of_object(value.get()); }
  static T unpack(const AnyView& view) {
    if (view.is_null()) return T(nullptr);
    const Object* object = view.object();
    if (!T::accepts(object)) throw_conversion(view, name());
    return T(static_cast<const typename T::Node*>(object));
  }
  static std::string name() { return T::expects(); }
};

/// Arrays convert item by item when the items are not yet what is wanted.
template <class T>
struct Convert<Array<T>> {
  static Any pack(const Array<T>& value) { return Any::of_object(value.get()); }
  static Array<T> unpack(const AnyView& view) {
    if (view.is_null()) return Array<T>(nullptr);
    auto* array = cast_or_null<ArrayNode>(view.object());
    if (!array) throw_conversion(view, name());
    if (Array<T>::accepts(array)) return Array<T>(array);
    Array<T> out;
    for (const ObjectRef& item : array->items) out.push_back(Any::of_object(item.get()).template to<T>());
    return out;
  }
  static std::string name() { return "Array[" + Convert<T>::name() + "]"; }
};
template <class K, class V>
struct Convert<Map<K, V>> {
  static Any pack(const Map<K, V>& value) { return Any::of_object(value.get()); }
  static Map<K, V> unpack(const AnyView& view) {
    if (view.is_null()) return Map<K, V>(nullptr);
    auto* map = cast_or_null<MapNode>(view.object());
    if (!map) throw_conversion(view, name());
    if (Map<K, V>::accepts(map)) return Map<K, V>(map);
    Map<K, V> out;
    for (const auto& [key, value] : map->entries)
      out.set(Any::of_object(key.get()).template to<K>(), Any::of_object(value.get()).template to<V>());
    return out;
  }
  static std::string name() { return "Map[" + Convert<K>::name() + ", " + Convert<V>::name() + "]"; }
};

}  // namespace tessera
