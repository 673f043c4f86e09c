#pragma once
// The roots of all expressions, and the number nodes.

#include "base/any.h"
#include "ir/type.h"

namespace tessera {

struct BaseExprNode : Object {
  Span span;
  static constexpr NodeInfo info{"BaseExpr", &Object::info};
  static void fields(auto f) { f("span", &BaseExprNode::span, Ignored | Optional); }
};
using BaseExpr = Ref<BaseExprNode>;

/// A value of a machine type: what loops compute with and integer analysis reasons about.
struct PrimExprNode : BaseExprNode {
  DataType dtype;
  static constexpr NodeInfo info{"PrimExpr", &BaseExprNode::info};
  static void fields(auto f) { f("dtype", &PrimExprNode::dtype); }
};

/// Reference to a PrimExprNode. C++ numbers become int32 and float32 constants.
class PrimExpr : public Ref<PrimExprNode> {
 public:
  using Ref::Ref;
  PrimExpr() = default;
  PrimExpr(const Ref<PrimExprNode>& ref) : Ref(ref) {}
  PrimExpr(int value);
  PrimExpr(float value);
  PrimExpr(bool) = delete;  // bool_imm for a constant; logical_and and its like for a && b
  DataType dtype() const { return checked()->dtype; }
};

/// A value of Relay, or a function: what graph passes work on.
struct RelayExprNode : BaseExprNode {
  mutable Type checked_type_;
  mutable ObjectRef virtual_device_;
  static constexpr NodeInfo info{"RelayExpr", &BaseExprNode::info, Role::Dag};
  static void fields(auto f) {
    f("_checked_type_", &RelayExprNode::checked_type_, Ignored | Optional | Opaque);
    f("virtual_device_", &RelayExprNode::virtual_device_, Ignored | Optional | Opaque);
  }
};
using RelayExpr = Ref<RelayExprNode>;

/// The name of a function of an IRModule; two are the same only by identity.
struct GlobalVarNode : RelayExprNode {
  String name_hint;
  static constexpr NodeInfo info{"GlobalVar", &RelayExprNode::info, Role::Var};
  static void fields(auto f) { f("name_hint", &GlobalVarNode::name_hint); }
};
using GlobalVar = Ref<GlobalVarNode>;

struct IntImm : PrimExprNode {
  int64_t value = 0;
  static constexpr NodeInfo info{"IntImm", &PrimExprNode::info};
  static void fields(auto f) { f("value", &IntImm::value); }
};

struct FloatImm : PrimExprNode {
  double value = 0;
  static constexpr NodeInfo info{"FloatImm", &PrimExprNode::info};
  static void fields(auto f) { f("value", &FloatImm::value); }
};

struct StringImm : PrimExprNode {
  String value;
  static constexpr NodeInfo info{"tir.StringImm", &PrimExprNode::info};
  static void fields(auto f) { f("value", &StringImm::value); }
};

/// The integers min, min + 1, ..., min + extent - 1.
struct RangeNode : Object {
  PrimExpr min, extent;
  Span span;
  static constexpr NodeInfo info{"Range", &Object::info};
  static void fields(auto f) {
    f("min", &RangeNode::min);
    f("extent", &RangeNode::extent);
    f("span", &RangeNode::span, Ignored | Optional);
  }
};
using Range = Ref<RangeNode>;
inline Range make_range(PrimExpr min, PrimExpr extent) {
  return make(RangeNode{.min = std::move(min), .extent = std::move(extent)});
}

/// Constants. Throw ValueError when the value does not fit the type.
PrimExpr int_imm(DataType dtype, int64_t value);
PrimExpr float_imm(DataType dtype, double value);
PrimExpr bool_imm(bool value, int lanes = 1);
PrimExpr string_imm(String value);
/// A constant of any number type; a Broadcast for vector types. 64-bit unsigned values beyond int64 are calls.
PrimExpr make_const(DataType dtype, double value);
PrimExpr make_const(DataType dtype, int64_t value);
inline PrimExpr make_const(DataType dtype, int value) { return make_const(dtype, static_cast<int64_t>(value)); }
inline PrimExpr make_zero(DataType dtype) { return make_const(dtype, 0); }

/// The value of an integer constant (Broadcast of one included in is_const_int), or null.
const int64_t* as_int(const PrimExpr& e);
bool is_const_int(const PrimExpr& e, int64_t value);
inline bool is_zero(const PrimExpr& e) { return is_const_int(e, 0); }
inline bool is_one(const PrimExpr& e) { return is_const_int(e, 1); }
bool is_const(const PrimExpr& e);  // IntImm, FloatImm, StringImm or a Broadcast of one

/// Objects of other rooms that may stand for an expression (an IterVar is its variable, a 0-d Tensor its element)
/// register the conversion here.
using ToPrimExpr = PrimExpr (*)(const Object*);
void register_prim_expr_conversion(const NodeInfo& from, ToPrimExpr convert);

template <>
struct Convert<PrimExpr> {
  static Any pack(const PrimExpr& value) { return Any::of_object(value.get()); }
  static PrimExpr unpack(const AnyView& view);
  static std::string name() { return "PrimExpr"; }
};
/// A Range, or a pair/list (begin, end) as Python users write it.
template <>
struct Convert<Range> {
  static Any pack(const Range& value) { return Any::of_object(value.get()); }
  static Range unpack(const AnyView& view);
  static std::string name() { return "Range"; }
};

}  // namespace tessera
