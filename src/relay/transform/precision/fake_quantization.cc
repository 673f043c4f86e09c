// FakeQuantizationToInteger: what lies between qnn.dequantize and qnn.quantize is written in operators of integers.
//
//   quantize(nn.conv2d(dequantize(x), dequantize(w)))  =>  requantize(qnn.conv2d(x, w))
//
// Each operator says what it makes of integers with scale and zero point (the rules below, and those that users register, which
// come first); a region with an operator that has no rule stays as it is, or is an error where that is wished for. With
// `use_qat` what no quantize follows is converted too, as far as rules go, with a dequantize behind it.

#include <optional>
#include <unordered_map>

#include "base/stack.h"
#include "ir/rewrite.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/qnn.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/pass.h"
#include "relay/type/affine_type.h"
#include "relay/type/type_of.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

const DataType kInt32 = DataType::Int(32), kFloat32 = DataType::Float(32);

/// Integers in the place of floats.
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

/// The product of two scales, computed where both are numbers.
Expr scale_product(const Expr& a, const Expr& b) {
  auto x = scalar_value(a), y = scalar_value(b);
  return x && y ? make_scalar(*x * *y, kFloat32) : multiply(a, b);
}

class Region {
 public:
  explicit Region(bool hard_fail) : hard_fail_(hard_fail) {}

  /// The integers that qnn.quantize gives, without floats on the way; empty where that cannot be.
  Expr integers(const Call* quantize) {
    auto* attrs = quantize->attrs.as<QuantizeAttrs>();
    wanted_ = {nullptr, quantize->args[1], quantize->args[2], attrs->out_dtype, attrs->axis};
    auto* inner = quantize->args[0].as<Call>();
    if (!inner || op_name(inner) == "qnn.dequantize") return nullptr;  // nothing in between
    std::optional<Quantized> out = on_enough_stack([&] { return convert(quantize->args[0], true); });
    if (!out) return nullptr;
    if (same_scale(*out, wanted_)) return out->data;
    return call_op("qnn.requantize", {out->data, out->scale, out->zero, wanted_.scale, wanted_.zero},
                   make_attrs<RequantizeAttrs>([&](auto& requantize) {
                     requantize.axis = out->axis;
                     requantize.out_dtype = wanted_.dtype;
                   }));
  }

  /// The floats of a call all of whose tensors come from integers, by way of its own integers; empty where that cannot be.
  Expr floats(const Call* call) {
    if (op_name(call).starts_with("qnn.") || call->args.empty()) return nullptr;
    for (const Expr& arg : call->args)
      if (!as_call(arg, "qnn.dequantize") && !arg.as<Constant>()) return nullptr;
    std::optional<Quantized> out = convert_call(call, false);
    if (!out) return nullptr;
    return call_op("qnn.dequantize", {out->data, out->scale, out->zero},
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
    const std::string_view name = op_name(call);
    if (name == "qnn.dequantize")
      return Quantized{call->args[0], call->args[1], call->args[2], dtype_of(call->args[0]),
                       call->attrs.as<DequantizeAttrs>()->axis};
    if (auto* op = call->op.as<OpNode>())
      if (Any rule = Op(op).slot("FTVMFakeQuantizationToInteger"); !rule.is_null())
        return by_rule(rule.to<PackedFunc>(), call, is_last);
    if (name == "nn.conv2d") return convolution(call);
    if (name == "nn.dense") return dense(call);
    if (name == "nn.batch_matmul" && call->attrs.as<BatchMatmulAttrs>()->transpose_b) return batch_matmul(call);
    if (name == "concatenate" && is_last) return concatenated(call);
    if (name == "nn.relu") return relu(call);
    for (const char* op : {"add", "subtract", "multiply"})
      if (name == op && is_last) return binary(call);
    for (const char* op : {"reshape", "transpose", "squeeze", "expand_dims", "nn.batch_flatten", "nn.max_pool2d"})
      if (name == op) return moved(call);
    if (hard_fail_)
      throw Error(NotImplementedError) << "FakeQuantizationToInteger has no rule for " << std::string(name);
    return {};
  }

  /// A rule that a user registered takes the call, with integers for arguments, and what those stand for; under the call
  /// itself is what its result should stand for, where that is known. It gives an expression and what that stands for.
  std::optional<Quantized> by_rule(const PackedFunc& rule, const Call* call, bool is_last) {
    Array<Expr> args;
    Map<Expr, AffineType> types;
    for (const Expr& arg : call->args) {
      std::optional<Quantized> one = arg.as<Constant>() ? std::nullopt : convert(arg, false);
      if (!one && !arg.as<Constant>()) return {};
      args.push_back(one ? typed(one->data) : arg);
      if (one) types.set(args.back(), make_affine_type(one->scale, one->zero, one->dtype, one->axis));
    }
    Call changed(*call);
    changed.args = args;
    changed.checked_type_ = nullptr;
    Expr expr = make(std::move(changed));
    if (is_last && wanted_.scale.defined())
      types.set(expr, make_affine_type(wanted_.scale, wanted_.zero, wanted_.dtype, wanted_.axis));
    Array<ObjectRef> answer = rule(expr, types).to<Array<ObjectRef>>();
    auto* type = answer.size() == 2 ? answer[1].as<TensorAffineTypeNode>() : nullptr;
    if (!type || !answer[0])
      throw Error(TypeError) << "the rule of FakeQuantizationToInteger for " << std::string(op_name(call))
                             << " must give an expression and its TensorAffineType";
    return Quantized{downcast<Expr>(answer[0]), type->scale, type->zero_point, type->dtype, type->axis};
  }

  struct Pair {
    Quantized a, b;
  };
  std::optional<Pair> operands(const Call* call) {
    std::optional<Quantized> a = convert(call->args[0], false), b = convert(call->args[1], false);
    if (!a || !b) return {};
    return Pair{*a, *b};
  }

  std::optional<Quantized> product(const char* op, const Call* call, const Attrs& attrs, int axis) {
    std::optional<Pair> given = operands(call);
    if (!given) return {};
    const auto& [a, b] = *given;
    Expr out = call_op(op, {a.data, b.data, a.zero, b.zero, a.scale, b.scale}, attrs);
    return Quantized{out, scale_product(a.scale, b.scale), make_scalar(0, kInt32), kInt32, axis};
  }

  std::optional<Quantized> convolution(const Call* call) {
    auto* attrs = call->attrs.as<Conv2DAttrs>();
    const String& layout = attrs->out_layout.empty() ? attrs->data_layout : attrs->out_layout;
    return product("qnn.conv2d", call, with_out_dtype(call->attrs, kInt32), make_layout(layout)->index_of('C'));
  }
  std::optional<Quantized> dense(const Call* call) {
    return product("qnn.dense", call, with_out_dtype(call->attrs, kInt32), 1);
  }
  std::optional<Quantized> batch_matmul(const Call* call) {
    return product("qnn.batch_matmul", call, with_out_dtype(call->attrs, kInt32), 1);
  }

  std::optional<Quantized> moved(const Call* call) {
    std::optional<Quantized> out = convert(call->args[0], false);
    if (!out || !scalar_value(out->scale)) return {};  // an axis of scales may be anywhere afterwards
    out->data = with_args(call, {out->data});
    return out;
  }

  std::optional<Quantized> relu(const Call* call) {
    std::optional<Quantized> out = convert(call->args[0], false);
    auto zero = out ? scalar_value(out->zero) : std::nullopt;
    if (!zero) return {};
    out->data = maximum(out->data, make_scalar(*zero, out->dtype));
    return out;
  }

  std::optional<Quantized> binary(const Call* call) {
    std::optional<Pair> given = operands(call);
    if (!given || given->a.dtype != wanted_.dtype || given->b.dtype != wanted_.dtype) return {};
    const auto& [a, b] = *given;
    const std::string name = op_name(call) == "multiply" ? "qnn.mul" : "qnn." + std::string(op_name(call));
    Quantized out = wanted_;
    out.data = call_op(name, {a.data, b.data, a.scale, a.zero, b.scale, b.zero, wanted_.scale, wanted_.zero},
                       make_attrs<BroadcastAttrs>([&](auto& attrs) {
                         attrs.lhs_axis = a.axis;
                         attrs.rhs_axis = b.axis;
                       }));
    return out;
  }

  std::optional<Quantized> concatenated(const Call* call) {
    auto* parts = call->args[0].as<Tuple>();
    if (!parts) return {};
    Array<Expr> data, scales, zeros;
    for (const Expr& part : parts->fields_) {
      std::optional<Quantized> one = convert(part, false);
      if (!one || one->dtype != wanted_.dtype) return {};
      data.push_back(one->data);
      scales.push_back(one->scale);
      zeros.push_back(one->zero);
    }
    Quantized out = wanted_;
    out.data =
        call_op("qnn.concatenate",
                {make_tuple(data), make_tuple(scales), make_tuple(zeros), wanted_.scale, wanted_.zero}, call->attrs);
    return out;
  }

  bool hard_fail_;
  Quantized wanted_;  // empty where no quantize follows
  std::unordered_map<const Object*, std::optional<Quantized>> done_;
};

Expr to_integers(const Expr& root, bool hard_fail) {
  return rewrite(root, [hard_fail](Rewriter& self, const Call* call) -> Expr {
    if (op_name(call) == "qnn.quantize")
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

Globals globals{
    {"relay._transform.FakeQuantizationToInteger",
     [](bool hard_fail, bool use_qat) {
       return function_pass("FakeQuantizationToInteger", 0, [=](const Function& function) {
         Expr body = to_integers(function->body, hard_fail);
         return with(function, &FunctionNode::body, use_qat ? dequantize_late(body) : body);
       });
     }},
};

}  // namespace
}  // namespace tessera::relay
