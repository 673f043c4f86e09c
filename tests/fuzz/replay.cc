// Runs a fuzz target once on each file of the folders and files that are given: how the corpora are kept passing where
// no libFuzzer is. `make fuzz` links the same targets with libFuzzer instead. `--seconds N` gives it random bytes for so long;
// those at hand are in the file random-input when it crashes.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

int run_random(double seconds) {
  constexpr int kMaxLength = 400;
  std::random_device seed;
  std::mt19937 random(seed());
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t count = 0;
  std::FILE* note = std::fopen("random-input", "wb+");
  if (!note) return 1;
  for (; std::chrono::steady_clock::now() < until; ++count) {
    std::vector<uint8_t> bytes(random() % kMaxLength);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    std::rewind(note);
    std::fwrite(bytes.data(), 1, bytes.size(), note);
    std::fflush(note);
    if (ftruncate(fileno(note), static_cast<off_t>(bytes.size())) != 0) return 1;
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::fclose(note);
  std::remove("random-input");
  std::printf("%zu random inputs\n", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc == 3 && std::string_view(argv[1]) == "--seconds") return run_random(std::atof(argv[2]));
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::fprintf(stderr, "%s\n", path.c_str());  // the last line names the file that crashed
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
