// A nest instead of blocks: what others may read of them, and what stands there in the end.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/prim/ops.h"
#include "te/create_prim_func.h"
#include "tir/buffer_access.h"
#include "topi/block_rule.h"

namespace tessera::schedule {
namespace {

using testing::HasSubstr;

constexpr int kElements = 16;

/// twice = 2 * a;  sum = twice + a, and where `is_read_again` also out = twice + 1.
PrimFunc program(bool is_read_again) {
  const DataType dtype = DataType::Float(32);
  te::Tensor a = te::placeholder({kElements}, dtype, "a");
  auto compute = [&](const char* name, auto element) {
    return te::compute(a->shape, [&](const Array<PrimExpr>& i) -> PrimExpr { return element(i); }, name, "elemwise");
  };
  te::Tensor twice = compute("twice", [&](const Array<PrimExpr>& i) { return te::load(a, i) * float_imm(dtype, 2); });
  te::Tensor sum = compute("sum", [&](const Array<PrimExpr>& i) { return te::load(twice, i) + te::load(a, i); });
  if (!is_read_again) return te::create_prim_func({a, sum});
  te::Tensor out = compute("out", [&](const Array<PrimExpr>& i) { return te::load(twice, i) + float_imm(dtype, 1); });
  return te::create_prim_func({a, sum, out});
}

/// for i: sum[i] = a[i] * 3
Stmt nest_of(const PrimFunc& function) {
  Buffer a = function->buffer_map[function->params[0]], sum = function->buffer_map[function->params[1]];
  Var i = make_var("i");
  PrimExpr value = vload(a, {i}, a->dtype) * float_imm(DataType::Float(32), 3);
  Stmt store = make(BufferStore{.buffer = sum, .value = value, .indices = {i}});
  return make(For{.loop_var = i, .min = 0, .extent = kElements, .body = store});
}

TEST(ReplaceByNest, TheNestStandsForAllBlocksUntilItIsOpened) {
  topi::BlockProgram made(program(false));
  std::vector<BlockRef> stages = made.stages();
  ASSERT_EQ(stages.size(), 2u);
  replace_by_nest(made.state, stages[1], {stages[0]}, nest_of(made.function()));
  ASSERT_EQ(made.stages().size(), 1u);
  for (const BlockRef& old : stages) EXPECT_TRUE(is_nest(made.state.find(old)));
  EXPECT_TRUE(topi::is_scheduled(made.state.find(made.stages()[0])));
  std::string text = to_text(made.finished());
  EXPECT_THAT(text, testing::Not(HasSubstr("twice[i")));
  EXPECT_THAT(text, testing::Not(HasSubstr("block(\"sum\")")));
}

TEST(ReplaceByNest, WhatAnotherBlockReadsMustBeStored) {
  topi::BlockProgram made(program(true));
  std::vector<BlockRef> stages = made.stages();
  ASSERT_EQ(stages.size(), 3u);
  const std::string before = to_text(made.function());
  try {
    replace_by_nest(made.state, stages[1], {stages[0]}, nest_of(made.function()));
    FAIL() << "block out reads what the nest does not store";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ScheduleError);
    EXPECT_THAT(error.message(), HasSubstr("block out reads twice, which the nest does not store"));
  }
  EXPECT_EQ(to_text(made.function()), before);
}

TEST(ReplaceByNest, ItIsAConsumerOfAllThatItsBlocksRead) {
  topi::BlockProgram made(program(false));
  std::vector<BlockRef> stages = made.stages();
  replace_by_nest(made.state, stages[1], {}, nest_of(made.function()));
  std::vector<BlockRef> consumers = get_consumers(made.state, stages[0]);
  ASSERT_EQ(consumers.size(), 1u);
  EXPECT_TRUE(is_nest(made.state.find(consumers[0])));
}

}  // namespace
}  // namespace tessera::schedule
