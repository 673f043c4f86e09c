#include "relay/analysis/cost.h"

#include <map>

#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pool.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

int64_t times(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}

/// Counts what one call does.
class Counter {
 public:
  explicit Counter(const Call* call) : call_(call) {}

  Cost count() {
    auto* op = call_->op.as<OpNode>();
    if (!op) return {};
    out_.macs = macs();
    out_.flops = out_.macs ? times(2, out_.macs) : others(Op(op));
    if (!out_.flops) return {};
    return out_;
  }

 private:
  int64_t macs() {
    if (auto* conv = call_->attrs.as<ConvAttrs>()) return convolution(conv->out_layout, conv->data_layout);
    if (auto* conv = call_->attrs.as<ConvTransposeAttrs>()) return convolution(conv->out_layout, conv->data_layout);
    if (auto* conv = call_->attrs.as<DeformableConv2DAttrs>())
      return times(elements(result()),
                   elements(argument(2)) / std::max<int64_t>(1, channels(conv->out_layout, conv->data_layout)));
    if (op_name(call_) == ops::dense) return times(elements(result()), extent(argument(1), -1));
    if (auto* matmul = call_->attrs.as<MatmulAttrs>())
      return times(elements(result()), extent(argument(0), matmul->transpose_a ? -2 : -1));
    if (auto* matmul = call_->attrs.as<BatchMatmulAttrs>())
      return times(elements(result()), extent(argument(0), matmul->transpose_a ? -2 : -1));
    if (auto* einsum = call_->attrs.as<EinsumAttrs>()) return sums(einsum->equation.str());
    return 0;
  }

  /// Each result of a convolution takes as many multiply-accumulates as the weight has elements for one output channel.
  int64_t convolution(const String& out_layout, const String& data_layout) {
    int64_t count = channels(out_layout, data_layout);
    return count ? times(elements(result()), elements(argument(1)) / count) : 0;
  }

  int64_t channels(const String& out_layout, const String& data_layout) {
    Layout layout = make_layout(out_layout.empty() ? data_layout : out_layout);
    int64_t out = 1;
    for (size_t i = 0; i < layout->axes.size(); ++i)
      if (layout->primal(i) == 'C') out = times(out, extent(result(), static_cast<int>(i)));
    return out;
  }

  /// Multiply-accumulates of an equation like "bij,bjk->bik": one for each value of all its letters. Ellipses are left
  /// out.
  int64_t sums(const std::string& equation) {
    auto* inputs = checked_type(call_->args[0]).as<TupleType>();
    if (!inputs) return 0;
    std::map<char, int64_t> extents;
    size_t input = 0, at = 0;
    for (char letter : equation.substr(0, equation.find("->"))) {
      if (letter == ',') ++input, at = 0;
      if (!isalpha(static_cast<unsigned char>(letter)) || input >= inputs->fields_.size()) continue;
      auto* type = inputs->fields_[input].as<TensorTypeNode>();
      if (type && at < type->shape.size()) extents[letter] = known(type->shape[at++]);
    }
    int64_t out = input > 0 ? 1 : 0;
    for (auto [_, count] : extents) out = times(out, count);
    return out;
  }

  int64_t others(const Op& op) {
    if (Any flops = op.slot(kFlopsPerElement); !flops.is_null()) return times(elements(result()), flops.to<int64_t>());
    if (const Moves moves = moves_of(call_); moves != Moves::None && moves != Moves::Extremum) return 0;
    if (auto* pool = call_->attrs.as<PoolAttrs>()) {
      int64_t out = elements(result());
      for (const PrimExpr& window : pool->pool_size) out = times(out, known(window));
      return out;
    }
    Fusion fusion = fusion_of(op);
    bool reduces = call_->attrs.as<ReduceAttrs>() || call_->attrs.as<AdaptivePoolAttrs>() ||
                   call_->attrs.as<GlobalPool2DAttrs>() || fusion == Fusion::Reduction;
    if (reduces) return call_->args.empty() ? 0 : elements(argument(0));
    return fusion == Fusion::Elementwise || fusion == Fusion::Broadcast ? elements(result()) : 0;
  }

  /// The type of the result, of a tuple its first; null where it is something else.
  const TensorTypeNode* result() { return tensor(checked_type(Expr(call_))); }
  const TensorTypeNode* argument(size_t i) {
    return i < call_->args.size() ? tensor(checked_type(call_->args[i])) : nullptr;
  }
  static const TensorTypeNode* tensor(const Type& type) {
    if (auto* tuple = type.as<TupleType>()) return tuple->fields_.empty() ? nullptr : tensor(tuple->fields_[0]);
    return type.as<TensorTypeNode>();
  }

  int64_t known(const PrimExpr& extent) {
    auto value = as_int(extent);
    if (!value) out_.is_dynamic = true;
    return value ? *value : 1;
  }
  int64_t elements(const TensorTypeNode* type) {
    int64_t out = type ? 1 : 0;
    if (type)
      for (const PrimExpr& extent : type->shape) out = times(out, known(extent));
    return out;
  }
  int64_t extent(const TensorTypeNode* type, int at) {
    int rank = type ? static_cast<int>(type->shape.size()) : 0;
    int dimension = at < 0 ? at + rank : at;
    return dimension < 0 || dimension >= rank ? 1 : known(type->shape[static_cast<size_t>(dimension)]);
  }

  const Call* call_;
  Cost out_;
};

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  macs = plus(macs, other.macs);
  flops = plus(flops, other.flops);
  is_dynamic = is_dynamic || other.is_dynamic;
  return *this;
}

Cost cost_of(const Call* call) { return Counter(call).count(); }

}  // namespace tessera::relay
