// Losses: nn.cross_entropy, nn.cross_entropy_with_logits, nn.nll_loss.

#include "ir/prim/ops.h"
#include "op/nn/gradients.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"
#include "te/reduce.h"
#include "topi/operand.h"
#include "topi/safe_index.h"

namespace tessera::op {
namespace {

using relay::may_equal;
using relay::NLLLossAttrs;

Array<IterVar> reduce_all(const Array<PrimExpr>& shape) {
  Array<IterVar> out;
  for (size_t i = 0; i < shape.size(); ++i)
    out.push_back(te::reduce_axis(make_range(make_zero(shape[i].dtype()), shape[i]), "k" + std::to_string(i)));
  return out;
}

using Element = std::function<PrimExpr(const Array<PrimExpr>&)>;
/// The sum of `element` over all of `shape`, without dimensions.
te::Tensor total(const Array<PrimExpr>& shape, const Element& element, const String& name) {
  Array<IterVar> axes = reduce_all(shape);
  Array<PrimExpr> at;
  for (const IterVar& axis : axes) at.push_back(axis->var);
  return topi::compute(
      {}, "ax", [&](const Array<PrimExpr>&) { return te::sum(element(at), axes); }, name, topi::kReduce);
}

bool cross_entropy_type(TypeQuery& query) {
  auto *x = query.tensor(0), *y = query.tensor(1);
  if (!x || !y) return false;
  bool fits = x->shape.size() == 2 && y->shape.size() == 2 && x->dtype == y->dtype;
  for (size_t i = 0; fits && i < 2; ++i) fits = may_equal(x->shape[i], y->shape[i]);
  if (!fits)
    throw Error(TypeError)
        << "predictions and targets must have one type with two dimensions (batch, classes), but are "
        << to_text(query.type(0)) << " and " << to_text(query.type(1));
  query.result(TensorType(Array<PrimExpr>{}, x->dtype));
  return true;
}

/// Minus the mean over the batch of the sum of target times (logarithm of) prediction.
template <bool with_logits>
Array<te::Tensor> cross_entropy(const Attrs&, const Array<te::Tensor>& in, const Type&) {
  te::Tensor sum = total(
      in[0]->shape,
      [&](const Array<PrimExpr>& at) {
        PrimExpr x = te::load(in[0], at);
        return (with_logits ? x : unary_intrin("tir.log", x)) * te::load(in[1], at);
      },
      "T_cross_entropy_sum");
  PrimExpr count = tessera::cast(in[0]->dtype, in[0]->shape[0]);
  return {topi::compute(
      {}, "ax", [&](const Array<PrimExpr>&) { return div(make_zero(in[0]->dtype) - te::load(sum, {}), count); },
      "T_cross_entropy", topi::kElementwise)};
}

/// predictions (n, classes, ...), targets (n, ...), weights (classes); or of one sample: (classes), (), (classes).
bool nll_loss_type(TypeQuery& query) {
  auto *predictions = query.tensor(0), *targets = query.tensor(1), *weights = query.tensor(2);
  if (!predictions || !targets || !weights) return false;
  auto* attrs = query.attrs_as<NLLLossAttrs>();
  const Array<PrimExpr>& p = predictions->shape;
  bool single = p.size() == 1;
  if (p.empty() || targets->shape.size() + 1 != p.size())
    throw Error(TypeError) << "predictions must have one dimension, the classes, more than targets, but they are "
                           << to_text(query.type(0)) << " and " << to_text(query.type(1));
  for (size_t i = 0; i < targets->shape.size(); ++i)
    if (!may_equal(targets->shape[i], p[i ? i + 1 : 0]))
      throw Error(TypeError) << "targets is " << to_text(query.type(1)) << ", which does not fit predictions of "
                             << to_text(query.type(0));
  if (weights->shape.size() != 1 || !may_equal(weights->shape[0], p[single ? 0 : 1]))
    throw Error(TypeError) << "weights must be one value for each class, but is " << to_text(query.type(2));
  if (!targets->dtype.is_int()) throw Error(TypeError) << "targets must be integers, but is " << to_text(query.type(1));
  if (attrs->reduction != "mean" && attrs->reduction != "sum" && attrs->reduction != "none")
    throw Error(TypeError) << "reduction is " << attrs->reduction << ", but must be mean, sum or none";
  Array<PrimExpr> shape = attrs->reduction == "none" ? targets->shape : Array<PrimExpr>{};
  query.result(TensorType(shape, predictions->dtype));
  return true;
}

Array<te::Tensor> nll_loss(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<NLLLossAttrs>();
  const te::Tensor &predictions = in[0], &targets = in[1], &weights = in[2];
  bool single = predictions->shape.size() == 1;
  PrimExpr zero = make_zero(predictions->dtype);
  auto counts = [&](const Array<PrimExpr>& at, const PrimExpr& value) {
    PrimExpr target = te::load(targets, at);
    return if_then_else(not_equal(target, make_const(target.dtype(), attrs->ignore_index)), value, zero);
  };
  /// An element of class `at` of `x`, in the axis of classes.
  auto of_class = [&](const te::Tensor& x, Array<PrimExpr> chosen, int axis, const Array<PrimExpr>& at) {
    topi::SafeAccess access({});
    chosen.insert(axis, access.index(te::load(targets, at), x->shape[axis], axis));
    for (int i = 0, k = 0; i < static_cast<int>(x->shape.size()); ++i)
      if (i != axis) access.shares(targets->shape[k++], x->shape[i], i);
    return access.load(x, chosen);
  };
  auto weight_of = [&](const Array<PrimExpr>& at) { return of_class(weights, {}, 0, at); };
  Element weight = [&](const Array<PrimExpr>& at) { return counts(at, weight_of(at)); };
  Element loss = [&](const Array<PrimExpr>& at) {
    return counts(at, (zero - of_class(predictions, at, single ? 0 : 1, at)) * weight_of(at));
  };
  if (attrs->reduction == "none") return {topi::compute(targets->shape, "ax", loss, "nll_loss", topi::kInjective)};
  te::Tensor sum = total(targets->shape, loss, "nll_loss_sum");
  if (attrs->reduction == "sum") return {sum};
  te::Tensor scale = total(targets->shape, weight, "nll_loss_weight");
  return {topi::compute(
      {}, "ax", [&](const Array<PrimExpr>&) { return div(te::load(sum, {}), te::load(scale, {})); }, "nll_loss",
      topi::kElementwise)};
}

void cross_entropy_record(const char* name, const char* doc, relay::Compute compute, Gradient gradient) {
  OpRecord(name)
      .doc(doc)
      .input("x", "predictions, (batch, classes)", "1D Tensor")
      .input("y", "targets, (batch, classes)", "1D Tensor")
      .support_level(10)
      .type("CrossEntropy", cross_entropy_type)
      .fusion(Fusion::Opaque)
      .precision(Precision::Never)
      .compute(std::move(compute))
      .gradient(std::move(gradient));
}

}  // namespace

static void loss_records() {
  cross_entropy_record("nn.cross_entropy", "Minus the mean over the batch of target times log of prediction.",
                       cross_entropy<false>, cross_entropy_gradient);
  cross_entropy_record("nn.cross_entropy_with_logits", "Minus the mean over the batch of target times log-prediction.",
                       cross_entropy<true>, cross_entropy_with_logits_gradient);
  OpRecord("nn.nll_loss")
      .doc("Minus the log-probability of the right class, weighted by class.")
      .attrs<NLLLossAttrs>()
      .input("predictions", "log-probabilities, (n, classes, ...)")
      .input("targets", "the right classes, (n, ...)")
      .input("weights", "one for each class")
      .support_level(10)
      .type("NLLLoss", nll_loss_type)
      .fusion(Fusion::OutputElementwise)
      .compute(nll_loss)
      .gradient(nll_loss_gradient);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily loss_family{loss_records};

}  // namespace tessera::op
