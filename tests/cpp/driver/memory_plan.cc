#include "driver/executor/memory_plan.h"

#include <gtest/gtest.h>

namespace tessera::relay {
namespace {

using Storages = std::vector<uint32_t>;

constexpr uint64_t kLarge = 1 << 16;

/// A chain: each value is read by the next step only.
std::vector<PlannedValue> chain(uint32_t count, uint64_t bytes = kLarge) {
  std::vector<PlannedValue> values;
  for (uint32_t i = 0; i < count; ++i)
    values.push_back({.bytes = bytes, .made_at = i, .last_use = i + 1, .device_type = 1});
  return values;
}

TEST(MemoryPlan, AValueTakesMemoryThatIsFree) {
  std::vector<PlannedValue> values = chain(6);
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(plan_memory(values).bytes, 2 * kLarge);
  EXPECT_EQ(most_live_bytes(values), 2 * kLarge);
  values[0].stays = true;
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 1, 2, 1, 2, 1}));
  values[3].bytes = kLarge * 17;  // too large for what is free
  EXPECT_EQ(plan_memory(values).storage[3], 3u);
}

TEST(MemoryPlan, AValueIsWrittenOverWhereTheStepMayAndThePlanGetsSmaller) {
  std::vector<PlannedValue> values = chain(4);
  for (uint32_t i = 1; i < 4; ++i) values[i].may_replace = {i - 1};
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 0, 0, 0}));
  EXPECT_EQ(plan_memory(values).bytes, kLarge);
  values[2].may_replace.clear();  // two storages are needed anyhow, so the plan stays the plain one
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 1, 0, 1}));
  values = chain(2, kLarge - 1);  // not worth it
  values[1].may_replace = {0};
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 1}));
}

TEST(MemoryPlan, AValueThatIsStillNeededIsNotWrittenOver) {
  std::vector<PlannedValue> values = chain(3);
  values[1].may_replace = {0};
  values[0].last_use = 2;
  EXPECT_NE(plan_memory(values).storage[1], plan_memory(values).storage[0]);
  values = chain(2);
  values[1].may_replace = {0};
  values[0].stays = true;
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 1}));
  values = chain(2);
  values[1].may_replace = {0};
  values[1].bytes = 32;  // another size: the elements do not lie where they did
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 1}));
}

TEST(MemoryPlan, OneValueIsWrittenOverByOneOnly) {
  // two results of one step that may both replace what it reads
  std::vector<PlannedValue> values = chain(1);
  values[0].last_use = 1;
  for (int i = 0; i < 2; ++i)
    values.push_back({.bytes = kLarge, .made_at = 1, .last_use = 2, .device_type = 1, .may_replace = {0}});
  EXPECT_EQ(plan_memory(values).storage, (Storages{0, 0, 1}));
}

TEST(MemoryPlan, ValuesThatLiveTogetherNeverShare) {
  uint32_t random = 1;
  auto draw = [&](uint32_t n) { return (random = random * 1664525u + 1013904223u) / (UINT32_MAX / n + 1); };
  for (int round = 0; round < 400; ++round) {
    std::vector<PlannedValue> values;
    for (uint32_t i = 0; i < 30; ++i) {
      values.push_back({.bytes = round % 2 ? 1 + draw(2000) : kLarge,
                        .made_at = i,
                        .last_use = i + draw(8),
                        .device_type = int(1 + draw(2)),
                        .stays = draw(6) == 0});
      if (i > 1 && draw(2)) values[i].may_replace = {draw(i)};
    }
    MemoryPlan plan = plan_memory(values);
    for (uint32_t a = 0; a < 30; ++a) {
      for (uint32_t b = a + 1; b < 30; ++b) {
        if (plan.storage[a] != plan.storage[b]) continue;
        EXPECT_FALSE(values[a].stays || values[b].stays);
        EXPECT_EQ(values[a].device_type, values[b].device_type);
        bool replaces = !values[b].may_replace.empty() && values[b].may_replace[0] == a;
        if (replaces && values[a].bytes == values[b].bytes) EXPECT_LE(values[a].last_use, values[b].made_at);
        else EXPECT_LT(values[a].last_use, values[b].made_at);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::relay
