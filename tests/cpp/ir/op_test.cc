#include "ir/op.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tessera {
namespace {

// Under a thread sanitizer this fails where any of the three reads or writes the table on its own.
TEST(Op, SlotsAreReadWhileOthersAreFilled) {
  Op op = Op::define("test.slots_of_threads");
  constexpr int kSlots = 2000;
  auto name = [](int i) { return "slot" + std::to_string(i); };
  std::atomic<int> filled = 0;
  std::thread writer([&] {
    for (int i = 0; i < kSlots; ++i) op.set(name(i), Any(int64_t{i})), filled = i + 1;
  });
  std::vector<std::thread> readers;
  std::atomic<int> wrong = 0;
  for (int reader = 0; reader < 2; ++reader)
    readers.emplace_back([&] {
      for (int seen = 0; seen < kSlots; seen = filled)
        for (int i : {0, seen / 2, seen - 1})
          if (i >= 0 && i < seen) wrong += !op.has(name(i)) || op.slot(name(i)).to<int64_t>() != i;
    });
  writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(op.has(name(kSlots)));
}

}  // namespace
}  // namespace tessera
