// Expressions built in C++: types, folding and effects that Python cannot reach.

#include "ir/prim/ops.h"

#include "expect_error.h"
#include "ir/builtin.h"
#include "ir/prim/match.h"

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(PrimOps, numbers_take_part_in_expressions) {
  Var x = make_var("x");
  PrimExpr e = x * 2 + 1;
  EXPECT_EQ(to_text(e), "((x*2) + 1)");
  EXPECT_EQ(e.dtype(), DataType::Int(32));
}

TEST(PrimOps, minimum_divided_by_minus_one_wraps) {
  for (int bits : {32, 64}) {
    PrimExpr least = min_value(DataType::Int(bits)), minus_one = make_const(DataType::Int(bits), -1);
    EXPECT_TRUE(is_const_int(floordiv(least, minus_one), *as_int(least)));
    EXPECT_TRUE(is_const_int(truncdiv(least, minus_one), *as_int(least)));
    EXPECT_TRUE(is_zero(floormod(least, minus_one)));
    EXPECT_TRUE(is_zero(truncmod(least, minus_one)));
  }
}

TEST(PrimOps, constants_beyond_int64_are_two_halves) {
  PrimExpr large = wrapped_const(DataType::UInt(64), ~uint64_t{0});
  ASSERT_TRUE(builtin::is(large, builtin::large_uint_imm()));
  EXPECT_EQ(to_text(large), "tir.large_uint_imm((uint32)4294967295, (uint32)4294967295)");
}

TEST(PrimOps, scalars_are_broadcast_to_vectors) {
  PrimExpr ramp = make_ramp(make_var("x"), 1, 4);
  EXPECT_EQ(to_text(ramp + 2), "(ramp(x, 1, 4) + x4(2))");
  EXPECT_EQ((ramp < 2).dtype(), DataType::Bool(4));
  EXPECT_EQ(to_text(ramp * make_const(DataType::Int(64), 3)), "(int64x4(ramp(x, 1, 4))*x4((int64)3))");
}

TEST(PrimOps, select_decides_where_it_can) {
  Var x = make_var("x"), y = make_var("y");
  EXPECT_TRUE(select(bool_imm(true), x, y).same_as(x));
  EXPECT_TRUE(if_then_else(bool_imm(false), x, y).same_as(y));
  EXPECT_EQ(to_text(select(x < y, x, y)), "select((x < y), x, y)");
}

TEST(PrimOps, missing_operands_are_named) {
  EXPECT_THAT(error_of([] { PrimExpr(1) + PrimExpr(); }), HasSubstr("+: the right operand is missing"));
}

TEST(PrimOps, effects_of_an_expression_are_its_worst) {
  Var x = make_var("x");
  EXPECT_EQ(side_effect(x + 1), CallEffect::Pure);
  EXPECT_EQ(side_effect(likely(x < 1)), CallEffect::Pure);
  PrimExpr read = make_call(DataType::Int(32), builtin::tvm_struct_get(), {x, 0, 0});
  EXPECT_EQ(side_effect(read + 1), CallEffect::ReadState);
  PrimExpr call = make_call(DataType::Int(32), builtin::call_extern(), {string_imm("f")});
  EXPECT_EQ(side_effect(read + call), CallEffect::UpdateState);
  PrimExpr jump = make_call(DataType::Int(32), builtin::ret(), {x});
  EXPECT_EQ(side_effect(jump), CallEffect::UpdateState);
}

TEST(PrimOps, long_sums_are_no_danger) {
  PrimExpr sum = make_var("x");
  for (int i = 0; i < 200000; ++i) sum = sum + 1;
  EXPECT_EQ(side_effect(sum), CallEffect::Pure);
}

TEST(Builtin, every_row_is_an_operator_with_its_effect) {
  EXPECT_TRUE(builtin::likely().same_as(Op::get("tir.likely")));
  EXPECT_EQ(Op::get("tir.tvm_access_ptr")->num_inputs, 5);
  EXPECT_EQ(Op::get("tir.tvm_access_ptr").slot("TCallEffectKind").to<CallEffect>(), CallEffect::SpecialCallArg);
  EXPECT_TRUE(Op::get("tir.exp").has("TVectorizable"));
  EXPECT_FALSE(Op::get("tir.call_extern").has("TVectorizable"));
}

}  // namespace
}  // namespace tessera
