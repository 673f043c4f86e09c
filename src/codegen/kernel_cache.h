#pragma once
// Results of compilation on disk: the second compile of anything is a look-up.
//
// An entry is a file named by the hash of its key. It holds the key itself, which is compared: a hash alone is never
// trusted. Entries are written to a file of another name and renamed, so that readers and other writers see whole ones
// or none, also when a process is killed in between. A damaged entry is a miss. Nothing here throws for what the disk
// does: without a cache, compiling just takes longer.
//
//   TESSERA_CACHE_DIR    the folder; else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera
//   TESSERA_CACHE_BYTES  about how much may lie there (default 1 GiB); the entries longest unused go first
//   TESSERA_CACHE=0      no cache

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace tessera::codegen {

class KernelCache {
 public:
  /// The cache of this process, in the folder that the environment names now.
  static KernelCache& get();

  /// An empty folder: a cache that keeps nothing.
  KernelCache(std::string folder, uint64_t max_bytes);

  bool is_on() const { return off_because_.empty(); }
  std::optional<std::string> find(const std::string& key);
  void add(const std::string& key, const std::string& value);

  struct Info {
    std::string folder, off_because;  // why nothing is cached; empty when the cache works
    uint64_t entries = 0, bytes = 0, max_bytes = 0;
    uint64_t hits = 0, misses = 0;  // of this process
  };
  Info info();
  /// Removes all entries; how many.
  uint64_t clear();

 private:
  std::string path_of(const std::string& key) const;
  void make_room();

  std::string folder_, off_because_;
  uint64_t max_bytes_;
  std::mutex mutex_;               // of what follows
  std::optional<uint64_t> bytes_;  // in the folder, as far as known
  uint64_t hits_ = 0, misses_ = 0;
};

/// What identifies the code of this compiler: the build id that the linker wrote into it; empty when there is none, in
/// which case results must not be cached.
const std::string& compiler_build_id();

}  // namespace tessera::codegen
