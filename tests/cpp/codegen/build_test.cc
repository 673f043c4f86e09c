#include <gtest/gtest.h>

#include "codegen/jit.h"

namespace tessera::test {
namespace {

TEST(Build, AddsTwoVectorsInMemory) {
  for (int lanes : {1, 16}) {
    Compiled add = elementwise(f32, {f32, f32}, 64, lanes, [](auto& in) { return in[0] + in[1]; });
    std::vector<float> a(64), b(64), c(64);
    for (int i = 0; i < 64; ++i) a[i] = i, b[i] = 2.5f * i;
    EXPECT_EQ(add(a.data(), b.data(), c.data()), 0);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(c[i], a[i] + b[i]);
  }
}

}  // namespace
}  // namespace tessera::test
