#include "relay/analysis/cost.h"

#include <gtest/gtest.h>

#include "ir/prim/expr.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pool.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::relay {
namespace {

Expr input(Array<PrimExpr> shape) { return make_local("x", TensorType(std::move(shape), DataType::Float(32))); }
PrimExpr any() { return PrimExpr(make(AnyDim{})); }

Cost cost(const Expr& expr) {
  type_of(expr);
  return cost_of(expr.as<Call>());
}

Expr dense(Expr x, Expr w) { return call_op("nn.dense", {std::move(x), std::move(w)}, make(DenseAttrs())); }

TEST(Cost, AProductThatIsSummedCountsAsTwo) {
  Cost of = cost(dense(input({3, 20}), input({7, 20})));
  EXPECT_EQ(of.macs, 3 * 7 * 20);
  EXPECT_EQ(of.flops, 2 * of.macs);
  EXPECT_FALSE(of.is_dynamic);
}

TEST(Cost, AGroupedConvolutionSumsOverItsOwnChannels) {
  Conv2DAttrs attrs;
  attrs.groups = 4;
  attrs.kernel_size = {3, 3};
  attrs.channels = 8;
  attrs.padding = {1, 1, 1, 1};
  Expr conv = call_op("nn.conv2d", {input({1, 4, 10, 10}), input({8, 1, 3, 3})}, make(std::move(attrs)));
  EXPECT_EQ(cost(conv).macs, 8 * 10 * 10 * 1 * 3 * 3);
}

TEST(Cost, AWindowCostsItsElements) {
  MaxPool2DAttrs attrs;
  attrs.pool_size = {2, 3};
  attrs.strides = {2, 3};
  Cost of = cost(call_op("nn.max_pool2d", {input({1, 1, 4, 6})}, make(std::move(attrs))));
  EXPECT_EQ(of.flops, 2 * 2 * 2 * 3);
  EXPECT_EQ(of.macs, 0);
}

TEST(Cost, ElementsCountOnceAndMovingThemNothing) {
  Expr x = input({4, 5});
  EXPECT_EQ(cost(call_op("tanh", {x})).flops, 20);
  EXPECT_EQ(cost(add(x, input({1, 5}))).flops, 20);
  EXPECT_EQ(cost(sum(x, {1})).flops, 20);
  EXPECT_EQ(cost(reshape(x, {20})).flops, 0);
}

TEST(Cost, UnknownExtentsCountAsOneAndAreTold) {
  Cost of = cost(dense(input({any(), 20}), input({7, 20})));
  EXPECT_EQ(of.macs, 7 * 20);
  EXPECT_TRUE(of.is_dynamic);
}

TEST(Cost, NumbersBeyondTheLargestStayThere) {
  int large = 1 << 28;  // its square can be counted in bytes, its cube not in multiplications
  Cost of = cost(dense(input({large, large}), input({large, large})));
  of += of;
  EXPECT_EQ(of.flops, INT64_MAX);
}

}  // namespace
}  // namespace tessera::relay
