#pragma once
// Containers of run-time values: shapes, and the tagged tuples that Relay's data types become.

#include <span>
#include <vector>

#include "base/any.h"

namespace tessera {

/// The extents of a tensor as one value.
struct ShapeTupleNode : Object {
  std::vector<int64_t> values;
  static constexpr NodeInfo info{"runtime.ShapeTuple", &Object::info};
  static void fields(auto) {}
};

class ShapeTuple : public Ref<ShapeTupleNode> {
 public:
  using Ref::Ref;
  explicit ShapeTuple(std::vector<int64_t> values);
  std::span<const int64_t> span() const { return checked()->values; }
};

/// An array of numbers is taken as a shape too.
template <>
struct Convert<ShapeTuple> {
  static Any pack(const ShapeTuple& value) { return Any::of_object(value.get()); }
  static ShapeTuple unpack(const AnyView& view);
  static std::string name() { return "ShapeTuple"; }
};

/// A constructor's number and its fields; a plain tuple has tag 0.
struct ADTNode : Object {
  int32_t tag = 0;
  std::vector<ObjectRef> values;
  static constexpr NodeInfo info{"runtime.ADT", &Object::info};
  static void fields(auto) {}
};
using ADT = Ref<ADTNode>;

}  // namespace tessera
