// Files that are written whole: what was there stays until all of the new contents are on disk.

#include "runtime/archive/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) { return std::string(MappedFile(path, "the file").bytes()); }

size_t entries(const std::string& file) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(fs::path(file).parent_path()), {}));
}

TEST(WholeFile, PartsReplaceWhatWasThere) {
  TemporaryFolder folder;
  const std::string file = folder.file("a");
  write_whole_file(file, "what was there, and longer");
  write_whole_file(file, [](const Sink& out) {
    out("one ");
    out("two");
  });
  EXPECT_EQ(text_of(file), "one two");
  EXPECT_EQ(entries(file), 1u);
}

TEST(WholeFile, AWriterThatFailsLeavesWhatWasThere) {
  TemporaryFolder folder;
  const std::string file = folder.file("a");
  write_whole_file(file, "before");
  auto fail = [](const Sink& out) {
    out("half of ");
    throw Error(RuntimeError) << "no more";
  };
  EXPECT_THROW(write_whole_file(file, fail), Error);
  EXPECT_EQ(text_of(file), "before");
  EXPECT_EQ(entries(file), 1u);
}

TEST(WholeFile, ALinkStaysALink) {
  TemporaryFolder folder;
  const std::string file = folder.file("a"), link = folder.file("link");
  write_whole_file(file, "before");
  fs::create_symlink("a", link);
  write_whole_file(link, "after");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(file), "after");
}

TEST(WholeFile, DevicesAreWrittenAsTheyAre) {
  write_whole_file("/dev/null", "anything");
  struct stat info;
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

TEST(WholeFile, FoldersAreRejectedByName) {
  TemporaryFolder folder;
  const std::string inner = folder.file("inner");
  fs::create_directory(inner);
  try {
    write_whole_file(inner, "x");
    FAIL() << "a folder was written";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("it is a folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
