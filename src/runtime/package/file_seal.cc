#include "runtime/package/file_seal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "runtime/archive/files.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// The last bytes of a sealed file.
struct Seal {
  char magic[8];
  uint64_t size;  // of the contents before the seal
  uint64_t hash;  // their XXH3
};
constexpr char kMagic[sizeof Seal::magic + 1] = "TESSERA1";
static_assert(std::endian::native == std::endian::little, "the numbers of a seal are little-endian");

Seal make_seal(uint64_t size, uint64_t hash) {
  Seal seal{.size = size, .hash = hash};
  std::memcpy(seal.magic, kMagic, sizeof seal.magic);
  return seal;
}

class File {
 public:
  File(const std::string& path, const std::string& what) : path_(path), in_(path, std::ios::binary | std::ios::ate) {
    if (!in_) throw Error(file_error(errno)) << "cannot read " << what << " " << path << ": " << std::strerror(errno);
    size_ = static_cast<uint64_t>(in_.tellg());
  }

  uint64_t size() const { return size_; }

  /// The seal at the end, or one of other magic.
  Seal last_seal() {
    Seal seal{};
    if (size_ >= sizeof seal) read(&seal, size_ - sizeof seal, sizeof seal);
    return seal;
  }

  uint64_t hash(uint64_t bytes) {
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
    XXH3_64bits_reset(state.get());
    std::vector<char> chunk(std::min<uint64_t>(bytes, 1 << 20));
    for (uint64_t at = 0; at < bytes; at += chunk.size()) {
      size_t count = std::min<uint64_t>(chunk.size(), bytes - at);
      read(chunk.data(), at, count);
      XXH3_64bits_update(state.get(), chunk.data(), count);
    }
    return XXH3_64bits_digest(state.get());
  }

  /// A form whose readers do not mind what follows.
  bool takes_a_seal() {
    char start[4] = {}, ustar[5] = {};
    if (size_ >= sizeof start) read(start, 0, sizeof start);
    if (size_ >= 512) read(ustar, 257, sizeof ustar);
    return std::memcmp(start, "\177ELF", 4) == 0 || std::memcmp(ustar, "ustar", 5) == 0;
  }

 private:
  void read(void* out, uint64_t at, size_t count) {
    in_.seekg(static_cast<std::streamoff>(at));
    in_.read(static_cast<char*>(out), static_cast<std::streamsize>(count));
    if (!in_) throw Error(file_error(errno)) << "cannot read " << path_ << ": " << std::strerror(errno);
  }

  const std::string& path_;
  std::ifstream in_;
  uint64_t size_ = 0;
};

bool is_seal(const Seal& seal) { return std::memcmp(seal.magic, kMagic, sizeof seal.magic) == 0; }

}  // namespace

uint64_t content_hash(std::string_view contents) { return XXH3_64bits(contents.data(), contents.size()); }

std::string seal_of(std::string_view contents) {
  Seal seal = make_seal(contents.size(), content_hash(contents));
  return {reinterpret_cast<const char*>(&seal), sizeof seal};
}

void seal_file(const std::string& path) {
  File file(path, "the file");
  if (!file.takes_a_seal()) return;
  bool is_sealed = is_seal(file.last_seal());
  uint64_t size = file.size() - (is_sealed ? sizeof(Seal) : 0);
  Seal seal = make_seal(size, file.hash(size));
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(size));
  out.write(reinterpret_cast<const char*>(&seal), sizeof seal);
  if (!out.flush())
    throw Error(file_error(errno)) << "cannot write the checksum of " << path << ": " << std::strerror(errno);
}

void check_seal(const std::string& path, const std::string& what) {
  File file(path, what);
  Seal seal = file.last_seal();
  if (!is_seal(seal)) return;
  uint64_t size = file.size() - sizeof seal;
  if (seal.size == size && seal.hash == file.hash(size)) return;
  throw Error(FileError) << "the " << what << " " << path
                         << " is corrupt: its bytes are not those that were written (the checksum at its end differs); "
                            "copy or export it again";
}

namespace {

Globals file_seal_globals{
    {"runtime.SealFile", seal_file},
    {"runtime.CheckSeal", check_seal},
};

}  // namespace
}  // namespace tessera
