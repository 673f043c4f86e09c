// FakeQuantizationToInteger: what lies between qnn.dequantize and qnn.quantize is written in operators of integers.
//
//   quantize(nn.conv2d(dequantize(x), dequantize(w)))  =>  requantize(qnn.conv2d(x, w))
//
// Each operator says what it makes of integers with scale and zero point (the slot kQuantizedForm; rules of users come
// first); a region with an operator that has no rule, or whose rule fails, stays as it is, or is an error where that is
// wished for. With `use_qat` what no quantize follows is converted too, as far as rules go, with a dequantize behind it.

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/stack.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/attrs/qnn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "relay/type/affine_type.h"
#include "relay/type/type_of.h"

namespace tessera::relay {
namespace {

/// Integers instead of floats, and what they stand for.
struct Quantized {
  Expr data;
  AffineType type;
  const TensorAffineTypeNode* tensor() const { return type.as<TensorAffineTypeNode>(); }
};

class Region {
 public:
  explicit Region(bool hard_fail) : hard_fail_(hard_fail) {}

  /// The integers that qnn.quantize gives, without floats on the way; empty where that cannot be.
  Expr integers(const Call* quantize) {
    auto* attrs = quantize->attrs.as<QuantizeAttrs>();
    wanted_ = make_affine_type(quantize->args[1], quantize->args[2], attrs->out_dtype, attrs->axis);
    if (as_call(quantize->args[0], ops::qnn_dequantize)) return nullptr;  // nothing in between
    std::optional<Quantized> out = converted(quantize->args[0]);
    auto* from = out ? out->tensor() : nullptr;
    auto* to = wanted_.as<TensorAffineTypeNode>();
    if (!from) return nullptr;
    if (same_affine_type(from, to) && from->dtype == to->dtype) return out->data;
    return call_op(ops::qnn_requantize, {out->data, from->scale, from->zero_point, to->scale, to->zero_point},
                   make_attrs<RequantizeAttrs>([&](auto& requantize) {
                     requantize.axis = from->axis;
                     requantize.out_dtype = to->dtype;
                   }));
  }

  /// The floats of a call all of whose tensors come from integers, by way of its own integers; empty where that cannot be.
  Expr floats(const Call* call) {
    if (op_name(call).starts_with("qnn.") || call->args.empty()) return nullptr;
    bool has_integers = false;
    for (const Expr& arg : call->args) {
      if (!is_dequantized(arg) && !arg.as<Constant>()) return nullptr;
      has_integers |= !arg.as<Constant>();
    }
    if (!has_integers) return nullptr;
    std::optional<Quantized> out = converted(Expr(call));
    auto* type = out ? out->tensor() : nullptr;
    if (!type) return nullptr;
    return call_op(ops::qnn_dequantize, {out->data, type->scale, type->zero_point},
                   make_attrs<DequantizeAttrs>([&](auto& attrs) { attrs.axis = type->axis; }));
  }

 private:
  static bool is_dequantized(const Expr& expr) {
    auto* tuple = expr.as<Tuple>();
    if (!tuple) return as_call(expr, ops::qnn_dequantize);
    return std::all_of(tuple->fields_.begin(), tuple->fields_.end(), is_dequantized);
  }

  /// A rule that fails leaves the floats, unless that is to be told.
  std::optional<Quantized> converted(const Expr& expr) {
    try {
      return on_enough_stack([&] { return convert(expr); });
    } catch (const Error&) {
      if (hard_fail_) throw;
      return {};
    }
  }

  std::optional<Quantized> convert(const Expr& expr) {
    auto known = done_.find(expr.get());
    if (known != done_.end()) return known->second;
    std::optional<Quantized> out;
    if (auto* call = expr.as<Call>()) out = convert_call(call);
    else if (auto* tuple = expr.as<Tuple>()) out = convert_tuple(tuple);
    else if (auto* item = expr.as<TupleGetItem>()) out = convert_item(item);
    done_.emplace(expr.get(), out);
    return out;
  }

  std::optional<Quantized> convert_tuple(const Tuple* tuple) {
    Array<Expr> fields;
    Array<AffineType> types;
    for (const Expr& field : tuple->fields_) {
      std::optional<Quantized> one = convert(field);
      if (!one) return {};
      fields.push_back(one->data);
      types.push_back(one->type);
    }
    return Quantized{make_tuple(fields), make_tuple_affine_type(types)};
  }

  std::optional<Quantized> convert_item(const TupleGetItem* item) {
    std::optional<Quantized> tuple = convert(item->tuple);
    auto* types = tuple ? tuple->type.as<TupleAffineTypeNode>() : nullptr;
    if (!types) return {};
    return Quantized{make_get_item(tuple->data, item->index),
                     downcast<AffineType>(types->types[static_cast<size_t>(item->index)])};
  }

  std::optional<Quantized> convert_call(const Call* call) {
    if (op_name(call) == ops::qnn_dequantize)
      return Quantized{call->args[0], make_affine_type(call->args[1], call->args[2], dtype_of(call->args[0]),
                                                       call->attrs.as<DequantizeAttrs>()->axis)};
    auto* op = call->op.as<OpNode>();
    Any rule = op ? Op(op).slot(kQuantizedForm) : Any();
    Map<Expr, AffineType> types;
    Array<Expr> args;
    for (size_t i = 0; i < call->args.size() && !rule.is_null(); ++i) {
      args.push_back(integers_of(call->args[i], &types));
      if (!args.back()) return {};
    }
    if (!rule.is_null())
      if (auto out = by_rule(rule.to<PackedFunc>(), call, args, types)) return out;
    if (hard_fail_)
      throw Error(NotImplementedError) << "FakeQuantizationToInteger has no rule for " << std::string(op_name(call));
    return {};
  }

  /// The integers of an argument, whose meaning is put among the types; constants stay. Empty where there are none.
  Expr integers_of(const Expr& arg, Map<Expr, AffineType>* types) {
    if (arg.as<Constant>()) return arg;
    std::optional<Quantized> one = convert(arg);
    if (!one) return nullptr;
    Expr out = typed(one->data);
    if (AffineType other = types->get_or_null(out); other && !structural_equal(other, one->type)) return nullptr;
    types->set(out, one->type);
    return out;
  }

  /// The answer of the operator's rule for the call on integers; empty where it has none.
  std::optional<Quantized> by_rule(const PackedFunc& rule, const Call* call, const Array<Expr>& args,
                                   Map<Expr, AffineType> types) {
    Call changed(*call);
    changed.args = args;
    changed.checked_type_ = nullptr;
    Expr expr = make(std::move(changed));
    if (wanted_) types.set(expr, wanted_);
    Any out = rule(expr, types);
    auto answer = out.is_null() ? Array<ObjectRef>() : out.to<Array<ObjectRef>>();
    if (answer.empty()) return {};
    auto* type = answer.size() == 2 ? answer[1].as<AffineTypeNode>() : nullptr;
    if (!type || !answer[0])
      throw Error(TypeError) << "the rule of FakeQuantizationToInteger for " << std::string(op_name(call))
                             << " must give an expression and its TensorAffineType";
    return Quantized{downcast<Expr>(answer[0]), AffineType(type)};
  }

  bool hard_fail_;
  AffineType
      wanted_;  // what the result of the region stands for, and all on the way may; empty where no quantize follows
  std::unordered_map<const Object*, std::optional<Quantized>> done_;
};

Expr to_integers(const Expr& root, bool hard_fail) {
  return rewrite(root, [hard_fail](Rewriter& self, const Call* call) -> Expr {
    if (op_name(call) == ops::qnn_quantize)
      if (Expr out = Region(hard_fail).integers(call)) {
        // below the new operators there are still regions to look at
        return self(out);
      }
    return self.children(call);
  });
}

/// A dequantize moves behind the operators that read it, as far as they have rules.
Expr dequantize_late(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    Expr post = typed(self.children(call));
    Expr out = Region(false).floats(post.as<Call>());
    return out ? typed(out) : post;
  });
}

}  // namespace

Expr fake_quantization_to_integer(const Expr& root, bool hard_fail, bool use_qat) {
  Expr body = to_integers(root, hard_fail);
  return use_qat ? dequantize_late(body) : body;
}

}  // namespace tessera::relay
