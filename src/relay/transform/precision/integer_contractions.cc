// IntegerProducts: convolutions and matmuls of tensors that qnn.dequantize made are computed from the integers, where
// the target has instructions for dot products of int8:
//
//   nn.conv2d(dequantize(x, s, z), dequantize(w, t, 0))  =>  cast(nn.conv2d(x, w) - z * sum(w)) * (s * t)
//
// x is uint8 (int8 is moved by 128), w an int8 constant. Sums are int32, so they are exact; all that follows stays in
// floats, element by element, and fuses with the convolution when operators are fused. To make it cheap:
//
//   quantize(f(sums * s), t)                =>  round(f'(sums * (s / t)))      f: additions, relu; f' with scaled constants
//   quantize(move(dequantize(x, s, z)), s, z)  =>  move(x)                     reshapes, transposes, maxima of windows
//   dequantize(quantize(x)), used once      =>  clip(round(x / s)) * s         no way over integers
//
// Other floats are left to the canonical forms of qnn.quantize and qnn.dequantize.

#include <algorithm>
#include <array>

#include "base/dtypes.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/qnn.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/fuse/affine_view.h"
#include "relay/transform/passes.h"
#include "tir/layout.h"
#include "topi/cpu/contraction/group_dot.h"
#include "topi/nn/conv.h"

namespace tessera::relay {
namespace {

constexpr int kMaxChain = 32;  // of operators through which a scale is pushed
constexpr double kSignedShift = 128;
constexpr float kMinStep = 1e-12F;

/// base * scale, where `scale` is a constant with an element for all, or for each index of a dimension with `behind`
/// others behind it.
struct Scaled {
  Expr self, base;
  std::vector<float> scale;
  int behind = 0;
};

Expr scale_constant(const std::vector<float>& scale, int behind) {
  Expr out = float_constant(scale);
  return scale.size() > 1 && behind > 0 ? expand_dims(out, 1, behind) : out;
}

/// What was rounded before it became integers, with the zero point still to be added.
struct Rounded {
  Expr self, value;
  double zero;
};

class IntegerContractions {
 public:
  IntegerContractions(const Expr& root, int64_t lanes, int64_t least_lanes)
      : lanes_(lanes), least_lanes_(least_lanes), uses_(use_counts(root)) {}

  Expr run(const Expr& root) {
    return rewrite(root, [this](Rewriter& self, const Call* call) -> Expr {
      Ref<Call> post = self.children(call);
      Expr out = change(call, post);
      auto [at, is_new] = single_.emplace(out.get(), std::pair(out, uses_[call] == 1));
      if (!is_new) at->second.second = false;  // it stands for several values
      return out;
    });
  }

 private:
  Expr change(const Call* call, const Ref<Call>& post) {
    const std::string_view name = op_name(call);
    if (name == ops::qnn_quantize) return quantize(call, post);
    if (name == ops::qnn_dequantize) return dequantize(call, post);
    if (name == ops::conv2d) return convolution(call, post);
    if (name == ops::dense || name == ops::matmul) return dense(call, post);
    if (!call->args.empty())
      if (auto at = views_.find(post->args[0].get()); at != views_.end())
        if (std::optional<AffineView> view = moved_view(post.get(), at->second.second, call->args[0]->checked_type_))
          return note_view(post, *view);
    return post;
  }

  Expr note_view(const Expr& expr, const AffineView& view) {
    views_[expr.get()] = {expr, view};
    return expr;
  }
  const AffineView* view_of(const Expr& expr) const {
    auto at = views_.find(expr.get());
    return at == views_.end() ? nullptr : &at->second.second;
  }
  bool is_single(const Expr& expr) const {
    auto at = single_.find(expr.get());
    return at != single_.end() && at->second.second;
  }
  Expr note_scaled(const Expr& base, const std::vector<float>& scale, int behind) {
    Expr out = multiply(base, scale_constant(scale, behind));
    scaled_[out.get()] = {out, base, scale, behind};
    return out;
  }

  // ---- between floats and integers ----------------------------------------------------------------------------------

  Expr dequantize(const Call* call, const Ref<Call>& post) {
    const int axis = call->attrs.as<DequantizeAttrs>()->axis;
    std::optional<AffineView> view = affine_view(call->args, dtype_of(call->args[0]), axis, rank_of(call->args[0]));
    if (!view) return post;
    view->data = post->args[0];
    if (auto twin = unsigned_.find(view->data.get()); twin != unsigned_.end()) {
      view->data = twin->second.second;
      view->dtype = kUInt8;
      view->zero += kSignedShift;
    }
    if (rank_of(call->args[0]) <= 1 && view->data.as<Constant>())  // a bias
      return float_constant_of(*view);
    auto rounded = rounded_.find(view->data.get());
    if (rounded != rounded_.end() && uses_[call->args[0].get()] == 1 && view->has_one_scale() &&
        rounded->second.zero == view->zero) {
      const double zero = view->zero;
      return note_view(note_scaled(clip(rounded->second.value, 0 - zero, 255 - zero), view->scale, 0), *view);
    }
    return note_view(dequantized(*view), *view);
  }

  static Expr dequantized(const AffineView& view) {
    return call_op(ops::qnn_dequantize, {view.data, float_constant(view.scale), make_scalar(view.zero, kInt32)},
                   make_attrs<DequantizeAttrs>([&](auto& attrs) { attrs.axis = view.axis; }));
  }

  static Expr float_constant_of(const AffineView& view) {
    auto* constant = view.data.as<Constant>();
    std::vector<float> values = *constant_floats(view.data);
    NDArray out =
        NDArray::empty(std::vector<int64_t>(constant->data.shape().begin(), constant->data.shape().end()), kFloat32);
    for (size_t i = 0; i < values.size(); ++i)
      out.data<float>()[i] = (values[i] - static_cast<float>(view.zero)) * view.scale[view.has_one_scale() ? 0 : i];
    return make_constant(out);
  }

  Expr quantize(const Call* call, const Ref<Call>& post) {
    auto* attrs = call->attrs.as<QuantizeAttrs>();
    std::optional<AffineView> wanted = affine_view(call->args, attrs->out_dtype, attrs->axis, rank_of(call->args[0]));
    if (!wanted || !wanted->has_one_scale() || dtype_of(call->args[0]) != kFloat32) return post;
    if (wanted->dtype != kUInt8 && wanted->dtype != kInt8) return post;
    const bool is_signed = wanted->dtype == kInt8;
    const double zero = wanted->zero + (is_signed ? kSignedShift : 0);
    if (zero < 0 || zero > 255) return post;
    Expr x = post->args[0];
    const AffineView* view = view_of(x);
    if (view && view->dtype == kUInt8 && view->has_one_scale() && view->scale == wanted->scale && view->zero == zero)
      return result(view->data, is_signed);
    auto* relu = as_call(x, ops::relu);
    if (relu && zero == 0 && is_single(x)) x = relu->args[0];  // clipping to the range does it
    const float step = wanted->scale[0], inverse = 1.0F / step;
    const bool is_usual = step > kMinStep && inverse > kMinStep;  // no scale that it meets leaves the range of floats
    Expr scaled = is_usual && can_scale(x, 0) ? rescaled(x, inverse, 0) : divide(x, float_constant(wanted->scale));
    Expr rounded = call_op(attrs->rounding == "TOEVEN" ? ops::round_to_even : ops::round, {scaled});
    Expr moved = zero == 0 ? rounded : add(rounded, make_scalar(zero, kFloat32));
    Expr out = cast(clip(moved, 0, 255), kUInt8);
    rounded_[out.get()] = {out, rounded, zero};
    return result(out, is_signed);
  }

  /// uint8 as what the program has there; its consumers find the uint8 again.
  Expr result(const Expr& data, bool is_signed) {
    if (!is_signed) return data;
    Expr out = as_signed(data);
    unsigned_[out.get()] = {out, data};
    return out;
  }

  // ---- scales pushed towards contractions ---------------------------------------------------------------------------

  static bool is_addition(std::string_view name) {
    return name == ops::add || name == ops::subtract || name == ops::bias_add;
  }

  /// A contraction or a dequantised tensor, or sums of such that nobody else reads.
  bool can_scale(const Expr& x, int depth) const {
    auto* call = x.as<Call>();
    if (!call || depth > kMaxChain || !is_single(x)) return false;
    if (scaled_.contains(x.get())) return true;
    const std::string_view name = op_name(call);
    if (name == ops::relu || name == ops::clip) return can_scale(call->args[0], depth + 1);
    return is_addition(name) && (can_scale(call->args[0], depth + 1) || can_scale(call->args[1], depth + 1));
  }

  Expr rescaled(const Expr& x, float factor, int depth) const {
    if (auto values = x.as<Constant>() ? constant_floats(x) : std::nullopt) {
      const NDArray& given = x.as<Constant>()->data;
      NDArray out = NDArray::empty(std::vector<int64_t>(given.shape().begin(), given.shape().end()), kFloat32);
      for (size_t i = 0; i < values->size(); ++i) out.data<float>()[i] = (*values)[i] * factor;
      return make_constant(out);
    }
    auto* call = x.as<Call>();
    if (call && depth <= kMaxChain) {
      if (auto at = scaled_.find(x.get()); at != scaled_.end() && is_single(x))
        return multiply(at->second.base, scale_constant(times(at->second.scale, factor), at->second.behind));
      if (const AffineView* view = view_of(x)) {
        AffineView out = *view;
        out.scale = times(view->scale, factor);
        return dequantized(out);
      }
      if (is_single(x) && op_name(call) == ops::relu)
        return with_args(call, {rescaled(call->args[0], factor, depth + 1)});
      if (auto* range = call->attrs.as<ClipAttrs>(); range && is_single(x))
        return clip(rescaled(call->args[0], factor, depth + 1), range->a_min * factor, range->a_max * factor);
      if (is_single(x) && is_addition(op_name(call)))
        return with_args(call,
                         {rescaled(call->args[0], factor, depth + 1), rescaled(call->args[1], factor, depth + 1)});
    }
    return multiply(x, make_scalar(factor, kFloat32));
  }

  static std::vector<float> times(std::vector<float> values, float factor) {
    for (float& value : values) value *= factor;
    return values;
  }

  // ---- contractions -------------------------------------------------------------------------------------------------

  struct Operands {
    Expr data, weight;  // uint8 and int8
    double zero;        // of the data
    std::vector<float> scale;
  };
  /// The operands of a contraction; `channel` is the weight's axis that has a scale for each index.
  std::optional<Operands> operands(const Call* call, const Ref<Call>& post, int channel) {
    const AffineView *data = view_of(post->args[0]), *weight = view_of(post->args[1]);
    if (!data || !weight || !data->has_one_scale() || dtype_of(Expr(call)) != kFloat32) return {};
    if (weight->dtype != kInt8 || weight->zero != 0) return {};
    if (!weight->has_one_scale() && weight->axis != channel) return {};
    if (!weight->data.as<Constant>() || !fixed_shape(call->args[0]->checked_type_)) return {};
    Operands out{data->data, weight->data, data->zero, times(weight->scale, data->scale[0])};
    if (data->dtype == kInt8) {
      out.data = as_unsigned(data->data);
      out.zero += kSignedShift;
    } else if (data->dtype != kUInt8) {
      return {};
    }
    return out;
  }

  /// (sums - zero * sums of the weight) * scale, with `behind` dimensions behind that of the channels. The weight has
  /// `channels` at axis `channel`.
  Expr real(const Operands& given, const Expr& sums, int channel, int behind) {
    Expr centred = sums;
    if (given.zero != 0) {
      const size_t rank = given.weight.as<Constant>()->data.shape().size();
      Expr correction = channel_sums(given.weight, channel, rank, static_cast<int64_t>(given.zero));
      centred = subtract(sums, behind > 0 ? expand_dims(correction, 1, behind) : correction);
    }
    return note_scaled(cast(centred, kFloat32), given.scale, behind);
  }

  Expr dense(const Call* call, const Ref<Call>& post) {
    bool by_rows = true;  // (units, k)
    if (auto* matmul = call->attrs.as<MatmulAttrs>()) {
      if (matmul->transpose_a) return post;
      by_rows = matmul->transpose_b;
    }
    std::optional<Operands> given = operands(call, post, by_rows ? 0 : 1);
    if (!given) return post;
    Expr sums = make_call(post->op, {given->data, given->weight}, with_out_dtype(post->attrs, kInt32));
    return real(*given, sums, by_rows ? 0 : 1, 0);
  }

  Expr convolution(const Call* call, const Ref<Call>& post) {
    auto* attrs = call->attrs.as<Conv2DAttrs>();
    if (attrs->data_layout != "NCHW" || attrs->kernel_layout != "OIHW" ||
        (!attrs->out_layout.empty() && attrs->out_layout != "NCHW"))
      return post;
    std::optional<Operands> given = operands(call, post, 0);
    if (!given) return post;
    const NDArray& weight = given->weight.as<Constant>()->data;
    auto shape = *fixed_shape(call->args[0]->checked_type_);
    const int64_t outs = weight.shape()[0];
    const bool by_channel = attrs->groups == shape[1] && outs == shape[1] && attrs->groups > 1;
    if ((attrs->groups != 1 && !by_channel) || outs % (by_channel ? lanes_ : least_lanes_) != 0) return post;
    std::optional<std::vector<int64_t>> padding = fixed_ints(topi::full_padding(attrs->padding, 2));
    if (!padding) return post;

    // What lies outside is 0, of which the zero point is the integer.
    const bool pads = std::any_of(padding->begin(), padding->end(), [](int64_t p) { return p != 0; });
    const bool pads_apart = pads && given->zero != 0;
    Expr data = given->data;
    if (pads_apart)
      data =
          padded(data, {{0, 0}, {0, 0}, {(*padding)[0], (*padding)[2]}, {(*padding)[1], (*padding)[3]}}, given->zero);
    Attrs exact = changed_attrs<Conv2DAttrs>(call->attrs, [&](auto& a) {
      a.out_dtype = kInt32;
      if (pads_apart) a.padding = {0, 0, 0, 0};
    });
    Expr sums = make_call(call->op, {data, given->weight}, exact);
    return real(*given, sums, 0, 2);
  }

  static Expr padded(const Expr& x, const std::vector<std::array<int64_t, 2>>& around, double value) {
    return pad_around(x, around, value, kUInt8);
  }

  int64_t lanes_, least_lanes_;  // of vectors, and of half ones where dot products have them
  std::unordered_map<const Object*, int> uses_;
  // By what the pass made, which is kept alive here.
  std::unordered_map<const Object*, std::pair<Expr, bool>> single_;       // nobody else reads it
  std::unordered_map<const Object*, std::pair<Expr, AffineView>> views_;  // of floats
  std::unordered_map<const Object*, std::pair<Expr, Expr>> unsigned_;     // of int8: the same as uint8
  std::unordered_map<const Object*, Scaled> scaled_;
  std::unordered_map<const Object*, Rounded> rounded_;
};

}  // namespace

Function integer_contractions(const Function& function, const GraphEnvironment& environment) {
  if (!environment.is_for_cpu()) return function;
  topi::Machine machine = topi::machine_of(environment.target);
  const topi::Isa* isa = topi::int8_isa(machine);
  if (!isa) return function;
  const int64_t lanes = isa->vector_bytes / kInt32.bytes();
  const bool has_half = topi::group_isa(machine, topi::kInt8Dot, lanes / 2) != nullptr;
  IntegerContractions pass(function->body, lanes, has_half ? lanes / 2 : lanes);
  return with(function, &FunctionNode::body, pass.run(function->body));
}

}  // namespace tessera::relay
