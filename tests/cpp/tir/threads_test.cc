#include "tir/threads.h"

#include <gtest/gtest.h>

#include "expect_error.h"

namespace tessera {
namespace {

TEST(Threads, ShareMemoryByItsRank) {
  struct Case {
    const char* scope;
    bool blocks, threads_x, threads_y, virtual_threads;
  };
  for (const Case& c : {Case{"global", true, true, true, true}, Case{"", true, true, true, true},
                        Case{"shared.dyn", false, true, true, true}, Case{"warp", false, true, false, false},
                        Case{"local", false, false, false, false}, Case{"wmma.matrix_a", false, false, false, false}}) {
    StorageRank rank = storage_rank(c.scope);
    EXPECT_EQ(spans_threads(rank, "blockIdx.x"), c.blocks) << c.scope;
    EXPECT_EQ(spans_threads(rank, "threadIdx.x"), c.threads_x) << c.scope;
    EXPECT_EQ(spans_threads(rank, "threadIdx.y"), c.threads_y) << c.scope;
    EXPECT_EQ(spans_threads(rank, "vthread"), c.virtual_threads) << c.scope;
  }
  EXPECT_THAT(error_of([] { spans_threads(StorageRank::Global, "core"); }),
              testing::HasSubstr("unknown thread tag \"core\""));
}

TEST(Threads, KnowTheScopesOfMemory) {
  for (const char* scope : {"global", "shared", "shared.dyn", "global.vtcm", "warp", "local", "wmma.accumulator"})
    EXPECT_TRUE(is_storage_scope(scope)) << scope;
  for (const char* scope : {"", "share", "registers", "sharedmemory"}) EXPECT_FALSE(is_storage_scope(scope)) << scope;
}

}  // namespace
}  // namespace tessera
