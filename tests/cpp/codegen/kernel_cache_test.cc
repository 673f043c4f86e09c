#include "codegen/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

namespace tessera::codegen {
namespace {

namespace fs = std::filesystem;

/// Bytes that do not compress.
std::string noise(size_t size, unsigned seed) {
  std::minstd_rand random(seed + 1);
  std::string out(size, ' ');
  for (char& c : out) c = static_cast<char>(random() >> 8);
  return out;
}

class KernelCacheTest : public testing::Test {
 protected:
  KernelCacheTest() : folder_(testing::TempDir() + "/kernel_cache_" + std::to_string(getpid())) {
    fs::remove_all(folder_);
  }
  ~KernelCacheTest() override { fs::remove_all(folder_); }

  fs::path only_file() const { return fs::directory_iterator(folder_)->path(); }

  std::string folder_;
};

TEST_F(KernelCacheTest, WhatWasAddedIsFoundByItsKey) {
  KernelCache cache(folder_, 1 << 20);
  ASSERT_EQ(cache.info().off_because, "");
  EXPECT_FALSE(cache.find("a"));
  cache.add("a", std::string("x\0y", 3));
  cache.add("b", "");
  EXPECT_EQ(cache.find("a"), std::string("x\0y", 3));
  EXPECT_EQ(cache.find("b"), "");
  EXPECT_EQ(KernelCache(folder_, 1 << 20).find("a"), std::string("x\0y", 3));  // another process
  EXPECT_EQ(cache.info().entries, 2u);
  EXPECT_EQ(cache.info().hits, 2u);
  EXPECT_EQ(cache.clear(), 2u);
  EXPECT_FALSE(cache.find("a"));
}

TEST_F(KernelCacheTest, ADamagedEntryIsAMiss) {
  KernelCache cache(folder_, 1 << 20);
  cache.add("key", "value of some length");
  const auto size = fs::file_size(only_file());
  for (uintmax_t at = 0; at < size; ++at) {
    cache.add("key", "value of some length");
    std::fstream file(only_file(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(std::streamoff(at));
    char byte = static_cast<char>(file.get());
    file.seekp(std::streamoff(at));
    file.put(static_cast<char>(byte ^ 0x10));
    file.close();
    EXPECT_FALSE(cache.find("key")) << at;
  }
  for (uintmax_t length = 0; length < size; ++length) {
    cache.add("key", "value of some length");
    fs::resize_file(only_file(), length);
    EXPECT_FALSE(cache.find("key")) << length;
  }
}

TEST_F(KernelCacheTest, TheKeyIsComparedNotItsHash) {
  KernelCache cache(folder_, 1 << 20);
  cache.add("one", "1");
  fs::path first = only_file();
  cache.add("two", "2");
  for (const auto& file : fs::directory_iterator(folder_))
    if (file.path() != first) fs::copy_file(first, file.path(), fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.find("two"));
}

TEST_F(KernelCacheTest, TheOldestGoWhenThereIsTooMuch) {
  KernelCache cache(folder_, 10'000);
  for (int i = 0; i < 100; ++i) {
    cache.add("key" + std::to_string(i), noise(1000, i));
    cache.find("key0");  // in use
  }
  EXPECT_LE(cache.info().bytes, 10'000u);
  EXPECT_GE(cache.info().entries, 5u);
  EXPECT_TRUE(cache.find("key99"));
}

TEST_F(KernelCacheTest, AFolderThatOthersMayWriteIsNotUsed) {
  fs::create_directories(folder_);
  chmod(folder_.c_str(), 0777);
  KernelCache cache(folder_, 1 << 20);
  EXPECT_NE(cache.info().off_because.find("other users"), std::string::npos);
  cache.add("a", "1");
  EXPECT_FALSE(cache.find("a"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(KernelCacheTest, ManyWritersAndReadersAtOnceSeeWholeEntries) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      KernelCache cache(folder_, 40'000);
      for (int i = 0; i < 200; ++i) {
        std::string key = "key" + std::to_string(i % 40), value(1000 + i % 40, 'v');
        if (t % 2) cache.add(key, value);
        else if (auto found = cache.find(key); found && *found != value) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tessera::codegen
