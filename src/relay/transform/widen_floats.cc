// WidenFloats: what a program computes with floats of 16 bits is computed with those of 32, where the processor has its rules and
// its instructions. Inputs and results keep their types; a cast to 16 bits that the program itself asks for still rounds.
//
//   fn (%x: f16) -> f16 { nn.relu(nn.dense(%x, w16)) }
//     =>   fn (%x: f16) -> f16 { cast(nn.relu(nn.dense(cast(%x, f32), cast(w16, f32))), f16) }
//
// Values between operators keep the bits that rounding would have taken. Operators that are no plain function of numbers
// (sorting, random numbers, what looks at bits) get and give 16 bits as before, and so do functions with control flow.

#include <unordered_map>
#include <unordered_set>

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/slots.h"
#include "relay/transform/pass.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

const DataType kWide = DataType::Float(32);

bool is_narrow(DataType dtype) {
  return dtype.lanes == 1 && dtype.bits == 16 && (dtype.is_float() || dtype.is_bfloat());
}

/// Any tensor of the type is.
bool has_narrow(const Type& type) {
  if (auto* tensor = type.as<TensorTypeNode>()) return is_narrow(tensor->dtype);
  auto* tuple = type.as<TupleType>();
  if (!tuple) return false;
  for (const Type& field : tuple->fields_)
    if (has_narrow(field)) return true;
  return false;
}

/// Calls of operators on tensors, and tuples of them.
bool is_plain(const Function& function) {
  bool plain = true, found = false;
  post_order(function->body, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    plain = plain && (expr.as<VarNode>() || expr.as<Constant>() || expr.as<Tuple>() || expr.as<TupleGetItem>() ||
                      expr.as<OpNode>() || (call && call->op.as<OpNode>()));
    if (plain && !expr.as<OpNode>()) found = found || has_narrow(checked_type(expr));
  });
  return plain && found;
}

/// A function of numbers, or one that moves them, whatever their type.
bool is_of_numbers(const Call* call) {
  static const std::unordered_set<std::string_view> others{"reinterpret", "cast_like", "dynamic.to_static"};
  const Op op(call->op.as<OpNode>());
  std::string_view name = op_name(call);
  if (others.count(name) || name.starts_with("qnn.") || name.starts_with("random.") || name.starts_with("annotation."))
    return false;
  static const std::unordered_set<std::string_view> opaque{"nn.batch_norm",    "nn.layer_norm", "nn.group_norm",
                                                           "nn.instance_norm", "nn.lrn",        "einsum"};
  return opaque.count(name) || fusion_of(op) <= Fusion::OutputElementwise;
}

class Widener {
 public:
  Function operator()(const Function& function) {
    rewriter_.on([this](const VarNode* var) { return widened(Expr(var)); });
    rewriter_.on([this](const Constant* constant) { return widened(Expr(constant)); });
    rewriter_.on([this](const Call* call) { return on(call); });
    Expr body = rewriter_(function->body);
    return with(function, &FunctionNode::body, narrowed(body, checked_type(function->body)));
  }

 private:
  /// A value of its own type as one of 32 bits.
  static Expr widened(const Expr& expr) {
    auto* tuple = checked_type(expr).as<TupleType>();
    if (!tuple) return has_narrow(checked_type(expr)) ? cast(expr, kWide) : expr;
    return by_field(expr, checked_type(expr),
                    [](const Expr& part, const Type& type) { return has_narrow(type) ? cast(part, kWide) : part; });
  }

  /// A widened value as one of its own type.
  static Expr narrowed(const Expr& expr, const Type& type) {
    return by_field(expr, type, [](const Expr& part, const Type& wanted) {
      return has_narrow(wanted) ? cast(part, wanted.as<TensorTypeNode>()->dtype) : part;
    });
  }

  template <class F>
  static Expr by_field(const Expr& expr, const Type& type, F change) {
    auto* tuple = type.as<TupleType>();
    if (!tuple) return change(expr, type);
    if (!has_narrow(type)) return expr;
    Array<Expr> fields;
    auto* given = expr.as<Tuple>();
    for (size_t i = 0; i < tuple->fields_.size(); ++i) {
      Expr part = given ? given->fields_[i] : make_get_item(expr, static_cast<int>(i));
      fields.push_back(by_field(part, tuple->fields_[i], change));
    }
    return make_tuple(fields);
  }

  Expr on(const Call* call) {
    const Type type = checked_type(Expr(call));
    bool is_touched = has_narrow(type);
    for (const Expr& arg : call->args) is_touched = is_touched || has_narrow(checked_type(arg));
    Array<Expr> args = rewriter_(call->args);
    if (!is_touched) return with_args(call, args);
    if (op_name(call) == "cast") return casted(args[0], checked_type(call->args[0]), type);
    if (is_of_numbers(call)) return make_call(call->op, args, with_wide(call->attrs));
    Array<Expr> own;
    for (size_t i = 0; i < args.size(); ++i) own.push_back(narrowed(args[i], checked_type(call->args[i])));
    Expr out = make_call(call->op, own, call->attrs);
    return by_field(out, type,
                    [](const Expr& part, const Type& wanted) { return has_narrow(wanted) ? cast(part, kWide) : part; });
  }

  /// `value` is widened already.
  static Expr casted(const Expr& value, const Type& from, const Type& to) {
    const DataType source = from.as<TensorTypeNode>()->dtype, wanted = to.as<TensorTypeNode>()->dtype;
    if (!is_narrow(wanted)) return is_narrow(source) && wanted == kWide ? value : cast(value, wanted);
    return source == wanted ? value : cast(cast(value, wanted), kWide);
  }

  /// The attributes with 32 bits for 16 in the type of a result.
  static Attrs with_wide(const Attrs& attrs) {
    if (!attrs) return attrs;
    Attrs out = attrs;
    for (const char* name : {"out_dtype", "dtype"}) {
      const Field* field = attrs->type()->find(name);
      if (!field || field->kind != FieldKind::DType || !is_narrow(field->at<DataType>(attrs.get()))) continue;
      ObjectRef copy(out->type()->copy(out.get()));
      field->at<DataType>(copy.edit()) = kWide;
      out = downcast<Attrs>(copy);
    }
    return out;
  }

  Rewriter rewriter_;
};

Globals globals{
    {"relay._transform.WidenFloats",
     [] {
       return function_pass("WidenFloats", 3, [](const Function& function) {
         return is_plain(function) ? Widener()(function) : function;
       });
     }},
};

}  // namespace
}  // namespace tessera::relay
