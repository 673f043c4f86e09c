#include "codegen/kernel_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "base/map.h"
#include "base/string.h"
#include "ir/prim/ops.h"
#include "runtime/compiler_hooks.h"
#include "runtime/registry.h"

namespace tessera::codegen {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDefaultBytes = uint64_t{1} << 30;
constexpr auto kAbandonedAfter = std::chrono::hours(1);

/// The first bytes of an entry. Behind them come the key and the value, compressed together (keys are long and repeat
/// themselves), and a checksum of all that stands before it.
struct Header {
  char magic[8] = {'T', 'S', 'R', 'K', 'E', 'R', 'N', '2'};
  uint64_t key_size = 0, value_size = 0;
};
constexpr int kCompression = 1;  // the quickest
constexpr uint64_t kMaxValue = uint64_t{1} << 31;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string default_folder() {
  if (variable("TESSERA_CACHE") == "0") return "";
  if (std::string folder = variable("TESSERA_CACHE_DIR"); !folder.empty()) return folder;
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/tessera";
  if (std::string home = variable("HOME"); !home.empty()) return home + "/.cache/tessera";
  return "";
}

uint64_t default_bytes() {
  std::string text = variable("TESSERA_CACHE_BYTES");
  char* end = nullptr;
  uint64_t bytes = std::strtoull(text.c_str(), &end, 10);
  return text.empty() || *end ? kDefaultBytes : bytes;
}

/// Why the folder cannot be used: code that others may write must not be run.
std::string trouble_with(const std::string& folder) {
  if (folder.empty()) return "TESSERA_CACHE=0, or there is no home folder";
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fmt::format("cannot make {}: {}", folder, std::strerror(errno));
  struct stat info{};
  if (stat(folder.c_str(), &info) != 0) return fmt::format("cannot read {}: {}", folder, std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return folder + " is not a folder";
  if (info.st_uid != geteuid()) return folder + " belongs to another user";
  if (info.st_mode & (S_IWGRP | S_IWOTH)) return folder + " can be written by other users";
  if (access(folder.c_str(), W_OK) != 0) return folder + " cannot be written";
  return "";
}

/// The file of an entry, and what it holds when it is whole and has this key.
std::string pack(const std::string& key, const std::string& value) {
  Header header;
  header.key_size = key.size();
  header.value_size = value.size();
  std::string content = key + value, out(sizeof header + ZSTD_compressBound(content.size()), '\0');
  std::memcpy(out.data(), &header, sizeof header);
  size_t size = ZSTD_compress(out.data() + sizeof header, out.size() - sizeof header, content.data(), content.size(),
                              kCompression);
  if (ZSTD_isError(size)) return "";
  out.resize(sizeof header + size);
  uint64_t sum = XXH3_64bits(out.data(), out.size());
  return out.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

std::optional<std::string> unpack(const std::string& file, const std::string& key) {
  Header header;
  const Header expected;
  uint64_t sum = 0;
  if (file.size() < sizeof header + sizeof sum) return {};
  const size_t end = file.size() - sizeof sum;
  std::memcpy(&header, file.data(), sizeof header);
  std::memcpy(&sum, file.data() + end, sizeof sum);
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 || sum != XXH3_64bits(file.data(), end) ||
      header.key_size != key.size() || header.value_size > kMaxValue)
    return {};
  std::string content(header.key_size + header.value_size, '\0');
  size_t size = ZSTD_decompress(content.data(), content.size(), file.data() + sizeof header, end - sizeof header);
  if (ZSTD_isError(size) || size != content.size() || content.compare(0, key.size(), key) != 0) return {};
  return content.substr(key.size());
}

std::optional<std::string> read_entry(const std::string& path, const std::string& key) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  return unpack(std::string(std::istreambuf_iterator<char>(file), {}), key);
}

bool write_all(int file, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = write(file, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

struct Entry {
  fs::path path;
  uint64_t bytes;
};

/// The entries by the time of their last use. Files that a killed process left half-written are removed on the way.
std::multimap<fs::file_time_type, Entry> entries_of(const std::string& folder) {
  std::multimap<fs::file_time_type, Entry> out;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    std::error_code gone;  // another process may be cleaning up too
    if (!file.is_regular_file(gone)) continue;
    fs::file_time_type time = file.last_write_time(gone);
    uint64_t bytes = file.file_size(gone);
    if (gone) continue;
    if (file.path().extension() == ".kernel") out.emplace(time, Entry{file.path(), bytes});
    else if (file.path().extension() == ".new" && fs::file_time_type::clock::now() - time > kAbandonedAfter)
      fs::remove(file.path(), gone);
  }
  return out;
}

}  // namespace

KernelCache& KernelCache::get() {
  static std::mutex mutex;
  static std::map<std::pair<std::string, uint64_t>, std::unique_ptr<KernelCache>> caches;
  std::lock_guard lock(mutex);
  auto [it, is_new] = caches.try_emplace({default_folder(), default_bytes()});
  if (is_new) it->second = std::make_unique<KernelCache>(it->first.first, it->first.second);
  return *it->second;
}

KernelCache::KernelCache(std::string folder, uint64_t max_bytes)
    : folder_(std::move(folder)), off_because_(trouble_with(folder_)), max_bytes_(max_bytes) {
  if (off_because_.empty() && compiler_build_id().empty()) off_because_ = "the compiler was linked without a build id";
}

std::string KernelCache::path_of(const std::string& key) const {
  XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return fmt::format("{}/{:016x}{:016x}.kernel", folder_, hash.high64, hash.low64);
}

std::optional<std::string> KernelCache::find(const std::string& key) {
  if (!off_because_.empty()) return {};
  std::string path = path_of(key);
  std::optional<std::string> value = read_entry(path, key);
  if (value) utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
  std::lock_guard lock(mutex_);
  ++(value ? hits_ : misses_);
  return value;
}

void KernelCache::add(const std::string& key, const std::string& value) {
  if (!off_because_.empty()) return;
  static std::atomic<uint64_t> counter{0};
  std::string path = path_of(key), fresh = fmt::format("{}/{}-{}.new", folder_, getpid(), counter++);
  int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  std::string bytes = pack(key, value);
  bool is_whole = !bytes.empty() && write_all(file, bytes.data(), bytes.size());
  is_whole = close(file) == 0 && is_whole;
  if (!is_whole || rename(fresh.c_str(), path.c_str()) != 0) {
    unlink(fresh.c_str());
    return;
  }
  std::lock_guard lock(mutex_);
  if (bytes_) *bytes_ += bytes.size();
  make_room();
}

void KernelCache::make_room() {
  if (bytes_ && *bytes_ <= max_bytes_) return;
  auto entries = entries_of(folder_);
  uint64_t total = 0;
  for (const auto& [time, entry] : entries) total += entry.bytes;
  const uint64_t aim = total > max_bytes_ ? max_bytes_ / 5 * 4 : max_bytes_;  // room for some time
  for (auto it = entries.begin(); it != entries.end() && total > aim; ++it) {
    std::error_code gone;
    fs::remove(it->second.path, gone);
    total -= it->second.bytes;
  }
  bytes_ = total;
}

KernelCache::Info KernelCache::info() {
  Info out{.folder = folder_, .off_because = off_because_, .max_bytes = max_bytes_};
  if (off_because_.empty())
    for (const auto& [time, entry] : entries_of(folder_)) ++out.entries, out.bytes += entry.bytes;
  std::lock_guard lock(mutex_);
  out.hits = hits_;
  out.misses = misses_;
  return out;
}

uint64_t KernelCache::clear() {
  if (!off_because_.empty()) return 0;
  uint64_t removed = 0;
  for (const auto& [time, entry] : entries_of(folder_)) {
    std::error_code gone;
    removed += fs::remove(entry.path, gone);
  }
  std::lock_guard lock(mutex_);
  bytes_.reset();
  return removed;
}

[[maybe_unused]] static const bool caches_for_the_runtime = [] {
  compiler_hooks().cached = [](const std::string& key, const std::function<std::string()>& make_it) {
    KernelCache& cache = KernelCache::get();
    if (std::optional<std::string> known = cache.find(key)) return *known;
    std::string made = make_it();
    cache.add(key, made);
    return made;
  };
  return true;
}();

static Globals kernel_cache_globals{
    {"codegen.cache_info",
     [] {
       KernelCache::Info info = KernelCache::get().info();
       auto number = [](uint64_t value) { return int_imm(DataType::Int(64), static_cast<int64_t>(value)); };
       return Map<String, ObjectRef>{{"folder", String(info.folder)},       {"off_because", String(info.off_because)},
                                     {"entries", number(info.entries)},     {"bytes", number(info.bytes)},
                                     {"max_bytes", number(info.max_bytes)}, {"hits", number(info.hits)},
                                     {"misses", number(info.misses)}};
     }},
    {"codegen.cache_clear", [] { return static_cast<int64_t>(KernelCache::get().clear()); }},
};

}  // namespace tessera::codegen
