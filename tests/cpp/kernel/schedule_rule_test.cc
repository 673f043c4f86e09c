// The table of schedule rules: the cheapest that fits is applied and named, and one that fails is reported.

#include "kernel/schedule_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/prim/ops.h"
#include "kernel/schedule_blocks.h"
#include "te/create_prim_func.h"

namespace tessera::kernel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// out[i, j] = a[i, j] + 1
PrimFunc add_one() {
  te::Tensor a = te::placeholder({64, 64}, DataType::Float(32), "a");
  te::Tensor out = te::compute(
      a->shape, [&](const Array<PrimExpr>& i) { return te::load(a, i) + float_imm(DataType::Float(32), 1); }, "out",
      "elemwise");
  return te::create_prim_func({a, out});
}

std::optional<Plan> always(Subject&) { return Plan(true); }

ScheduleRule stage_rule(const char* name, double least_cost, std::function<void(Subject&, const Plan&)> apply) {
  return {name, "", RuleScope::Stage, least_cost, always, std::move(apply)};
}

void parallel(Subject& subject, const Plan&) {
  schedule::State& state = subject.program->state;
  schedule::parallel(state, schedule::get_loops(state, subject.block)[0]);
}

void fail_half_way(Subject& subject, const Plan& plan) {
  parallel(subject, plan);
  throw Error(ScheduleError) << "no more";
}

std::vector<std::string> chosen_by(const std::vector<ScheduleRule>& rules, PrimFunc* out = nullptr) {
  Choices chosen;
  PrimFunc made = schedule_blocks(add_one(), {}, &chosen, "fused_add", rules);
  if (out) *out = made;
  return chosen.rules;
}

TEST(ScheduleRules, TheCheapestThatFitsIsAppliedAndNamed) {
  ScheduleRule never = stage_rule("never", 0, parallel);
  never.match = [](Subject&) -> std::optional<Plan> { return std::nullopt; };
  EXPECT_THAT(chosen_by({never, stage_rule("first", 1, parallel), stage_rule("second", 2, parallel)}),
              ElementsAre("first"));
}

TEST(ScheduleRules, AModelOfCostsDecidesAmongPlans) {
  ScheduleRule dear = stage_rule("dear", 1, parallel), cheap = stage_rule("cheap", 2, parallel);
  dear.cost = [](const Plan&, const topi::Machine&) { return 30.0; };
  cheap.cost = [](const Plan&, const topi::Machine&) { return 20.0; };
  EXPECT_THAT(chosen_by({dear, cheap}), ElementsAre("cheap"));
}

TEST(ScheduleRules, PlansThatCannotBeCheaperAreNotMade) {
  ScheduleRule late = stage_rule("late", 2, parallel);
  late.match = [](Subject&) -> std::optional<Plan> { throw Error(RuntimeError) << "asked for nothing"; };
  EXPECT_THAT(chosen_by({stage_rule("first", 1, parallel), late}), ElementsAre("first"));
}

TEST(ScheduleRules, ARuleThatFailsIsReportedAndTheNextOneTaken) {
  const int64_t before = rule_failures();
  PrimFunc made, wanted;
  chosen_by({stage_rule("second", 2, [](Subject&, const Plan&) {})}, &wanted);
  testing::internal::CaptureStderr();
  EXPECT_THAT(
      chosen_by({stage_rule("broken", 1, fail_half_way), stage_rule("second", 2, [](Subject&, const Plan&) {})}, &made),
      ElementsAre("second"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("rule broken fits the kernel fused_add but failed"));
  EXPECT_EQ(rule_failures(), before + 1);
  EXPECT_EQ(to_text(made), to_text(wanted)) << "what it had done is undone";
}

TEST(ScheduleRules, OtherErrorsGoOn) {
  auto wrong = [](Subject&, const Plan&) { throw Error(RuntimeError) << "a mistake"; };
  EXPECT_THROW(chosen_by({stage_rule("wrong", 1, wrong)}), Error);
}

}  // namespace
}  // namespace tessera::kernel
