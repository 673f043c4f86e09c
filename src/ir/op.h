#pragma once
// The operator table: names that calls refer to, each with type-erased slots that the rooms fill.

#include <functional>
#include <string_view>
#include <unordered_map>

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera {

/// One operator. Slots are looked up by name; each room declares those it owns.
struct OpNode : RelayExprNode {
  String name, description;
  Ref<FuncType> op_type;           // empty until a rule of types is given
  Array<AttrFieldInfo> arguments;  // what each input is, in order; for readers and reference pages
  String attrs_type_key;           // the type of a call's attributes; "" where it has none
  int32_t num_inputs = -1;         // -1: any number
  int32_t support_level = 10;
  std::unordered_map<std::string, std::pair<Any, int>> slots;  // value and its priority level; read and written by Op

  static constexpr NodeInfo info{"Op", &RelayExprNode::info, Role::Identity};
  static void fields(auto f) {
    f("name", &OpNode::name);
    f("op_type", &OpNode::op_type, Optional | Opaque);
    f("description", &OpNode::description);
    f("arguments", &OpNode::arguments, Opaque);
    f("attrs_type_key", &OpNode::attrs_type_key);
    f("num_inputs", &OpNode::num_inputs);
    f("support_level", &OpNode::support_level);
  }
};

class Op : public Ref<OpNode> {
 public:
  using Ref::get;
  using Ref::Ref;
  Op(const Ref<OpNode>& ref) : Ref(ref) {}
  /// The operator of that name; an error that lists similar names when there is none.
  static Op get(std::string_view name);
  static Op find(std::string_view name);  // empty when there is none
  /// The operator of that name, made when there is none yet.
  static Op define(std::string_view name);
  static std::vector<std::string> names();

  bool has(const std::string& slot) const;
  /// The value of a slot, or an empty Any.
  Any slot(const std::string& slot) const;
  /// Fills a slot; of two values the one with the higher level stays, equal levels are an error.
  const Op& set(const std::string& slot, Any value, int level = 10) const;
  void reset(const std::string& slot) const;
};

/// What a call may do besides giving its value (slot "TCallEffectKind" of operators used in PrimExprs).
enum class CallEffect : int32_t {
  ExprAnnotation = 0,  // a marker around its argument
  Pure = 1,
  ReadState = 2,
  UpdateState = 3,
  Opaque = UpdateState,
  SpecialCallArg = 4,
  EmbedInfo = 5,
  ControlJump = 6,
};

}  // namespace tessera
