#pragma once
// Tar archives, uncompressed: what packages of compiled models are.
//
// Reading trusts nothing. Names that are absolute or climb out (".."), links, devices, names that come twice, headers with a
// wrong checksum and sizes beyond the end of the file are each a ValueError that says which member is meant. Nothing is
// unpacked by name: a caller asks for the bytes of a member.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/archive/files.h"

namespace tessera {

/// The plain files of an archive, in order. Their bytes stay in the file until they are looked at.
class TarReader {
 public:
  struct Member {
    std::string name;  // without a leading "./"
    std::string_view bytes;
  };

  /// Checks every header, and the checksum that `seal_file` added where there is one. `what` is for messages.
  explicit TarReader(const std::string& path, std::string what = "the archive");
  /// The same for an archive in memory, which must outlive the reader.
  TarReader(std::string_view bytes, std::string name, std::string what);

  /// True when the file begins as a tar archive does.
  static bool is_tar(const std::string& path);

  const std::vector<Member>& members() const { return members_; }
  const Member* find(std::string_view name) const;
  /// The bytes of a member; a ValueError that lists what there is when it is missing.
  std::string_view operator[](std::string_view name) const;
  const std::string& path() const { return path_; }
  /// Keeps the bytes of members alive.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  void read(std::string_view bytes);

  std::string path_, what_;
  std::shared_ptr<const void> owner_;
  std::vector<Member> members_;
};

/// One file that goes into an archive: its bytes, those of another file, or what a function hands on.
struct TarEntry {
  std::string name;
  std::string bytes;
  std::string file;  // not empty: what to copy instead of `bytes`
  /// Not null: what gives them instead, part by part. Called twice, as their number comes first.
  std::function<void(const Sink& out)> parts = nullptr;
};
/// Writes an archive by rename. Equal contents give equal bytes: no dates, no owners. The end is sealed (`file_seal.h`).
void write_tar(const std::string& path, const std::vector<TarEntry>& entries);

}  // namespace tessera
