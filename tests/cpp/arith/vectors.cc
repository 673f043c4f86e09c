// Simplified vectors have the lanes of the originals.

#include <gtest/gtest.h>

#include "random_expressions.h"

namespace tessera::arith {
namespace {

using Lanes = std::optional<std::vector<int64_t>>;

Lanes lanes_at(const PrimExpr& e, const Point& at) {
  if (const auto* ramp = e.as<Ramp>()) {
    auto base = value_at(ramp->base, at), stride = value_at(ramp->stride, at);
    if (!base || !stride) return {};
    std::vector<int64_t> out;
    for (int i = 0; i < ramp->lanes; ++i) out.push_back(*base + i * *stride);
    return out;
  }
  if (const auto* same = e.as<Broadcast>()) {
    auto value = value_at(same->value, at);
    if (!value) return {};
    return std::vector<int64_t>(same->lanes, *value);
  }
  if (const auto* negation = e.as<Not>()) {
    Lanes out = lanes_at(negation->a, at);
    if (out)
      for (int64_t& v : *out) v = !v;
    return out;
  }
  Lanes a = lanes_at(as_binary(e)->a, at), b = lanes_at(as_binary(e)->b, at);
  if (!a || !b) return {};
  for (size_t i = 0; i < a->size(); ++i) {
    auto value = evaluate(kind_of(e), (*a)[i], (*b)[i]);
    if (!value) return {};
    (*a)[i] = *value;
  }
  return a;
}

TEST(Vectors, SimplifyingKeepsEveryLane) {
  RandomExpressions random(7);
  Analyzer analyzer;
  random.bind(&analyzer);
  int changed = 0;
  auto vector = [&]() -> PrimExpr {
    PrimExpr x = random.vars()[random.below(4)];
    switch (random.below(5)) {
      case 0: return make_broadcast(x * random.below(9), 4);
      case 1: return make_broadcast(PrimExpr(1 + random.below(16)), 4);
      case 2: return make_ramp(x, PrimExpr(random.below(5)), 4);
      case 3: return make_ramp(PrimExpr(random.below(9)), PrimExpr(random.below(5)), 4);
      default: return make_ramp(x * (4 * random.below(5)) + random.below(4), PrimExpr(random.below(3)), 4);
    }
  };
  const Kind kinds[] = {Kind::Add, Kind::Sub, Kind::Mul, Kind::FloorDiv, Kind::FloorMod, Kind::Div, Kind::Mod,
                        Kind::Min, Kind::Max, Kind::EQ,  Kind::LT,       Kind::LE,       Kind::GT,  Kind::NE};
  for (int i = 0; i < 3000; ++i) {
    PrimExpr e = bare_node(kinds[random.below(14)], vector(), vector());
    PrimExpr out;
    try {
      out = analyzer.simplify(e);
    } catch (const Error& error) {  // of a division by zeros, which has no value anywhere
      ASSERT_NE(error.message().find("Divide by zero"), std::string::npos) << error.message();
      ASSERT_FALSE(lanes_at(e, random.point()));
      continue;
    }
    ASSERT_EQ(out.dtype(), e.dtype());
    changed += !out.same_as(e);
    for (int k = 0; k < 20; ++k) {
      Point at = random.point();
      Lanes expected = lanes_at(e, at);
      if (!expected) continue;
      ASSERT_EQ(lanes_at(out, at), expected)
          << "node " << e->type_key() << " became " << out->type_key() << " at " << show(at);
    }
  }
  EXPECT_GT(changed, 800);
}

TEST(Vectors, AlignedRampsDivideToOneValue) {
  Analyzer analyzer;
  Var w = make_var("w");
  PrimExpr row = analyzer.simplify(bare_node(Kind::FloorDiv, make_ramp(w * 4, 1, 4), make_broadcast(4, 4)));
  ASSERT_TRUE(row.as<Broadcast>());
  EXPECT_EQ(show(row.as<Broadcast>()->value), "w");
  PrimExpr column = analyzer.simplify(bare_node(Kind::FloorMod, make_ramp(w * 4, 1, 4), make_broadcast(4, 4)));
  ASSERT_TRUE(column.as<Ramp>());
  EXPECT_EQ(show(column.as<Ramp>()->base), "0");
}

}  // namespace
}  // namespace tessera::arith
