// An operator whole in one place: attributes, type, compute, gradient and layout. docs/architecture.md shows it.

#include "op/records.h"

#include <gtest/gtest.h>

#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/rules.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"
#include "runtime/packed_func.h"
#include "topi/elementwise.h"

namespace tessera::op {
namespace {

struct BentAttrs : AttrsNode {
  double slope = 0.1;
  static constexpr NodeInfo info{"relay.attrs.BentAttrs", &AttrsNode::info};
  static void fields(auto f) { f("slope", &BentAttrs::slope); }
};
register_types<BentAttrs> attributes;

Tensors bent(const Attrs& attrs, const Tensors& in, const Type&) {
  const double slope = attrs.as<BentAttrs>()->slope;
  return {topi::elementwise(in[0], [&](const PrimExpr& x) { return max(x, x * make_const(x.dtype(), slope)); })};
}

Array<Expr> bent_gradient(const Expr& call, const Expr& gradient) {
  auto* bent = call.as<relay::Call>();
  const Expr &x = bent->args[0], zero = relay::zeros_like(x);
  const Expr slope = relay::make_scalar(bent->attrs_as<BentAttrs>()->slope, relay::dtype_of(x));
  return {relay::where(relay::less(x, zero), relay::multiply(gradient, slope), gradient)};
}

void bent_record() {
  OpRecord("test.bent")
      .doc("x where it is positive, else slope * x.")
      .attrs<BentAttrs>()
      .input("data", "the input")
      .support_level(10)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .layout(layout::elementwise)
      .precision(Precision::Follow)
      .keeps_positive_scale()
      .compute(bent)
      .gradient(bent_gradient);
}

/// Noted after the operators of the library were made: it is made at once.
const OpFamily family{bent_record};

Expr bent_call() {
  Expr x = relay::make_local("x", TensorType({2, 3}, DataType::Float(32)));
  return relay::typed(relay::call_op("test.bent", {x}, relay::make_attrs<BentAttrs>([](auto& a) { a.slope = 0.5; })));
}

TEST(OpRecord, SaysWhatPassesAskFor) {
  Expr call = bent_call();
  auto* bent = call.as<relay::Call>();
  Op op = Op::get("test.bent");
  EXPECT_EQ(relay::fixed_shape(call->checked_type_), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(relay::fusion_of(op), Fusion::Elementwise);
  EXPECT_EQ(relay::moves_of(bent), Moves::None);
  EXPECT_TRUE(relay::has_flag(op.get(), relay::kKeepsPositiveScale));
  auto precision = op.slot(relay::kMixedPrecision).to<PackedFunc>()(call, String("float16")).to<Array<ObjectRef>>();
  EXPECT_EQ(Any::of_object(precision[0].get()).to<int64_t>(), static_cast<int64_t>(Precision::Follow));
}

TEST(OpRecord, FollowsALayout) {
  Expr call = bent_call();
  relay::LayoutQuery query{call.as<relay::Call>()->attrs, {make_layout("CN")}, {make_layout("NC")}, {}};
  relay::LayoutAnswer answer = relay::ask_layout_rule(call.as<relay::Call>(), query);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->output_layouts[0]->name.str(), "CN");
}

TEST(OpRecord, HasAComputeAndAGradient) {
  Expr call = bent_call();
  Op op = Op::get("test.bent");
  te::Tensor x = te::placeholder({2, 3}, DataType::Float(32), "x");
  auto out = op.slot(relay::kCompute)
                 .to<PackedFunc>()(call.as<relay::Call>()->attrs, Tensors{x}, call->checked_type_)
                 .to<Tensors>();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0]->shape.size(), 2u);
  auto gradients = op.slot(relay::kGradient).to<PackedFunc>()(call, relay::ones_like(call)).to<Array<Expr>>();
  ASSERT_EQ(gradients.size(), 1u);
  EXPECT_EQ(relay::fixed_shape(relay::typed(gradients[0])->checked_type_), (std::vector<int64_t>{2, 3}));
}

}  // namespace
}  // namespace tessera::op
