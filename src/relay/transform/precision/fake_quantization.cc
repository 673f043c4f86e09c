// FakeQuantizationToInteger: what lies between qnn.dequantize and qnn.quantize is written in operators of integers.
//
//   quantize(nn.conv2d(dequantize(x), dequantize(w)))  =>  requantize(qnn.conv2d(x, w))
//
// Each operator says what it makes of integers with scale and zero point (the slot kQuantizedForm; rules of users come
// first); a region with an operator that has no rule stays as it is, or is an error where that is wished for. With
// `use_qat` what no quantize follows is converted too, as far as rules go, with a dequantize behind it.

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

/// Integers instead of floats.
struct Quantized {
  Expr data, scale, zero;
  DataType dtype;
  int axis = -1;
};

bool same_number(const Expr& a, const Expr& b) {
  return a.same_as(b) || (scalar_value(a) && scalar_value(a) == scalar_value(b));
}
bool same_scale(const Quantized& a, const Quantized& b) {
  return same_number(a.scale, b.scale) && same_number(a.zero, b.zero) && a.dtype == b.dtype;
}

class Region {
 public:
  explicit Region(bool hard_fail) : hard_fail_(hard_fail) {}

  /// The integers that qnn.quantize gives, without floats on the way; empty where that cannot be.
  Expr integers(const Call* quantize) {
    auto* attrs = quantize->attrs.as<QuantizeAttrs>();
    wanted_ = {nullptr, quantize->args[1], quantize->args[2], attrs->out_dtype, attrs->axis};
    auto* inner = quantize->args[0].as<Call>();
    if (!inner || op_name(inner) == ops::qnn_dequantize) return nullptr;  // nothing in between
    std::optional<Quantized> out = on_enough_stack([&] { return convert(quantize->args[0], true); });
    if (!out) return nullptr;
    if (same_scale(*out, wanted_)) return out->data;
    return call_op(ops::qnn_requantize, {out->data, out->scale, out->zero, wanted_.scale, wanted_.zero},
                   make_attrs<RequantizeAttrs>([&](auto& requantize) {
                     requantize.axis = out->axis;
                     requantize.out_dtype = wanted_.dtype;
                   }));
  }

  /// The floats of a call all of whose tensors come from integers, by way of its own integers; empty where that cannot be.
  Expr floats(const Call* call) {
    if (op_name(call).starts_with("qnn.") || call->args.empty()) return nullptr;
    for (const Expr& arg : call->args)
      if (!as_call(arg, ops::qnn_dequantize) && !arg.as<Constant>()) return nullptr;
    std::optional<Quantized> out = convert_call(call, false);
    if (!out) return nullptr;
    return call_op(ops::qnn_dequantize, {out->data, out->scale, out->zero},
                   make_attrs<DequantizeAttrs>([&](auto& attrs) { attrs.axis = out->axis; }));
  }

 private:
  std::optional<Quantized> convert(const Expr& expr, bool is_last) {
    auto known = done_.find(expr.get());
    if (known != done_.end()) return known->second;
    std::optional<Quantized> out = convert_call(expr.as<Call>(), is_last);
    done_.emplace(expr.get(), out);
    return out;
  }

  std::optional<Quantized> convert_call(const Call* call, bool is_last) {
    if (!call) return {};
    if (op_name(call) == ops::qnn_dequantize)
      return Quantized{call->args[0], call->args[1], call->args[2], dtype_of(call->args[0]),
                       call->attrs.as<DequantizeAttrs>()->axis};
    auto* op = call->op.as<OpNode>();
    Any rule = op ? Op(op).slot(kQuantizedForm) : Any();
    Map<Expr, AffineType> types;
    Array<Expr> args;
    for (size_t i = 0; i < call->args.size() && !rule.is_null(); ++i) {
      args.push_back(integers_of(call->args[i], &types));
      if (!args.back()) return {};
    }
    if (!rule.is_null())
      if (auto out = by_rule(rule.to<PackedFunc>(), call, args, types, is_last)) return out;
    if (hard_fail_)
      throw Error(NotImplementedError) << "FakeQuantizationToInteger has no rule for " << std::string(op_name(call));
    return {};
  }

  static AffineType type_of(const Quantized& value) {
    return make_affine_type(value.scale, value.zero, value.dtype, value.axis);
  }

  /// The integers of an argument, whose meaning is put among the types; constants stay. Empty where there are none.
  Expr integers_of(const Expr& arg, Map<Expr, AffineType>* types) {
    if (arg.as<Constant>()) return arg;
    AffineType type;
    Expr out;
    if (auto* tuple = arg.as<Tuple>()) {
      Array<Expr> fields;
      Array<AffineType> field_types;
      for (const Expr& field : tuple->fields_) {
        std::optional<Quantized> one = convert(field, false);
        if (!one) return nullptr;
        fields.push_back(one->data);
        field_types.push_back(type_of(*one));
      }
      out = make_tuple(fields);
      type = make_tuple_affine_type(field_types);
    } else if (std::optional<Quantized> one = convert(arg, false)) {
      out = typed(one->data);
      type = type_of(*one);
    }
    if (!out) return nullptr;
    if (AffineType other = types->get_or_null(out); other && !structural_equal(other, type)) return nullptr;
    types->set(out, type);
    return out;
  }

  /// The answer of the operator's rule for the call on integers; empty where it has none.
  std::optional<Quantized> by_rule(const PackedFunc& rule, const Call* call, const Array<Expr>& args,
                                   Map<Expr, AffineType> types, bool is_last) {
    Call changed(*call);
    changed.args = args;
    changed.checked_type_ = nullptr;
    Expr expr = make(std::move(changed));
    if (is_last && wanted_.scale.defined()) types.set(expr, type_of(wanted_));
    Any out = rule(expr, types);
    auto answer = out.is_null() ? Array<ObjectRef>() : out.to<Array<ObjectRef>>();
    if (answer.empty()) return {};
    auto* type = answer.size() == 2 ? answer[1].as<TensorAffineTypeNode>() : nullptr;
    if (!type || !answer[0])
      throw Error(TypeError) << "the rule of FakeQuantizationToInteger for " << std::string(op_name(call))
                             << " must give an expression and its TensorAffineType";
    return Quantized{downcast<Expr>(answer[0]), type->scale, type->zero_point, type->dtype, type->axis};
  }

  bool hard_fail_;
  Quantized wanted_;  // empty where no quantize follows
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
