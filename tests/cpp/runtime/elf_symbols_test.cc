#include "runtime/module/elf_symbols.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tessera {
namespace {

std::string this_program() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ElfSymbols, FilesThatAreNoLibrariesHaveNone) {
  EXPECT_EQ(elf_architecture("no library"), "");
  EXPECT_FALSE(elf_data("no library", "x"));
  EXPECT_FALSE(elf_data(std::string("\x7f") + "ELF", "x"));
}

TEST(ElfSymbols, CutAndForgedFilesAreSurvived) {
  std::string file = this_program();
  EXPECT_NE(elf_architecture(file), "");
  EXPECT_FALSE(elf_data(file, "there is no such symbol"));
  std::string head = file.substr(0, 4096);
  for (size_t size = 0; size < head.size(); size += 64) elf_data(head.substr(0, size), "x");
  for (size_t at = 16; at < 64; ++at) {
    std::string forged = head;
    forged[at] = static_cast<char>(0xff);
    elf_data(forged, "x");
  }
}

}  // namespace
}  // namespace tessera
