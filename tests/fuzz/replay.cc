// Runs a fuzz target once on each file of the folders and files that are given: how the corpora are kept passing where
// no libFuzzer is. `make fuzz` links the same targets with libFuzzer instead. Without it, `--seconds N` gives the target random
// bytes for so long, or where files follow, those with bytes changed. What is at hand is in the file random-input when it crashes,
// or takes longer than 20 seconds.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

std::vector<fs::path> files_of(char** begin, char** end) {
  std::vector<fs::path> out;
  for (char** given = begin; given != end; ++given) {
    if (!fs::is_directory(*given)) {
      out.emplace_back(*given);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(*given))
      if (entry.is_regular_file()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Bytes contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  return {bytes.begin(), bytes.end()};
}

/// Inputs that are not there yet: random ones, or well-formed ones that are changed.
class Inputs {
 public:
  explicit Inputs(std::vector<Bytes> examples) : examples_(std::move(examples)) {}

  Bytes next() {
    if (examples_.empty()) {
      constexpr size_t kMaxLength = 400;
      Bytes out(below(kMaxLength));
      for (uint8_t& byte : out) byte = static_cast<uint8_t>(random_());
      return out;
    }
    constexpr size_t kMostChanges = 8;
    Bytes out = one_of(examples_);
    for (size_t left = 1 + below(kMostChanges); left > 0 && !out.empty(); --left) change(&out);
    return out;
  }

 private:
  size_t below(size_t count) { return random_() % count; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

  void change(Bytes* bytes) {
    const size_t at = below(bytes->size());
    const size_t length = 1 + below(std::min<size_t>(bytes->size() - at, 64));
    const auto begin = bytes->begin() + static_cast<ptrdiff_t>(at), end = begin + static_cast<ptrdiff_t>(length);
    switch (below(8)) {
      case 0: *begin ^= static_cast<uint8_t>(1u << below(8)); break;
      case 1: *begin = static_cast<uint8_t>(random_()); break;
      case 2: write_number(bytes, at); break;
      case 3: write_digits(bytes, at); break;
      case 4: bytes->erase(begin, end); break;
      case 5: {
        const Bytes again(begin, end);
        bytes->insert(begin, again.begin(), again.end());
        break;
      }
      case 6: {
        const Bytes& other = one_of(examples_);
        if (other.empty()) break;
        const size_t from = below(other.size());
        const size_t count = std::min({length, other.size() - from});
        std::memcpy(bytes->data() + at, other.data() + from, count);
        break;
      }
      default:
        if (below(4) == 0) bytes->resize(at);
    }
  }
  void write_number(Bytes* bytes, size_t at) {
    static const std::vector<int64_t> kNumbers{0,         1,         -1,       127,       128,       255,
                                               256,       32767,     65536,    INT32_MAX, INT32_MIN, 0xffffffffLL,
                                               1LL << 40, INT64_MAX, INT64_MIN};
    const int64_t number = one_of(kNumbers);
    std::memcpy(bytes->data() + at, &number, std::min(size_t{1} << below(4), bytes->size() - at));
  }
  /// Where a number is written out, another one.
  void write_digits(Bytes* bytes, size_t at) {
    static const std::vector<std::string_view> kNumbers{"0",   "-1", "1e999", "2147483648", "9223372036854775807",
                                                        "nan", ""};
    auto is_digit = [&](size_t i) { return i < bytes->size() && (*bytes)[i] >= '0' && (*bytes)[i] <= '9'; };
    while (at < bytes->size() && !is_digit(at)) ++at;
    size_t end = at;
    while (is_digit(end)) ++end;
    const std::string_view number = one_of(kNumbers);
    bytes->erase(bytes->begin() + static_cast<ptrdiff_t>(at), bytes->begin() + static_cast<ptrdiff_t>(end));
    bytes->insert(bytes->begin() + static_cast<ptrdiff_t>(at), number.begin(), number.end());
  }

  std::vector<Bytes> examples_;
  std::mt19937 random_{std::random_device()()};
};

int run_new_inputs(double seconds, const std::vector<fs::path>& files) {
  constexpr unsigned kMostSeconds = 20;  // for one input
  std::vector<Bytes> examples;
  for (const fs::path& path : files) examples.push_back(contents(path));
  Inputs inputs(std::move(examples));
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t count = 0;
  std::FILE* note = std::fopen("random-input", "wb+");
  if (!note) return 1;
  for (; std::chrono::steady_clock::now() < until; ++count) {
    const Bytes bytes = inputs.next();
    std::rewind(note);
    std::fwrite(bytes.data(), 1, bytes.size(), note);
    std::fflush(note);
    if (ftruncate(fileno(note), static_cast<off_t>(bytes.size())) != 0) return 1;
    alarm(kMostSeconds);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    alarm(0);
  }
  std::fclose(note);
  std::remove("random-input");
  std::printf("%zu new inputs\n", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 3 && std::string_view(argv[1]) == "--seconds")
    return run_new_inputs(std::atof(argv[2]), files_of(argv + 3, argv + argc));
  const std::vector<fs::path> files = files_of(argv + 1, argv + argc);
  for (const fs::path& path : files) {
    const Bytes bytes = contents(path);
    std::fprintf(stderr, "%s\n", path.c_str());  // the last line names the file that crashed
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
