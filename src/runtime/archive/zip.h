#pragma once
// Zip archives, as far as NumPy's .npz files need them: members that are stored or deflated, sizes beyond 4 GiB included.
//
// Reading trusts nothing: offsets and sizes must lie inside the file, names must not climb out, encrypted members and other
// methods of compression are rejected, a member gives exactly the bytes that it announces (a bomb stops there), and
// its CRC must be right.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/byte_stream.h"

namespace tessera {

struct ZipMember {
  std::string name;
  uint64_t size = 0;         // once unpacked
  std::string_view packed;   // in the file
  bool is_deflated = false;  // else stored
  uint32_t crc = 0;
};

/// The members of an archive in memory, in the order of its directory. `what` names the file in messages. Members that
/// share bytes, and an archive that unpacks to more than 4 GiB and a hundred times its size, are rejected: both are
/// bombs.
std::vector<ZipMember> read_zip(std::string_view bytes, const std::string& what);

/// Unpacks a member into memory of `member.size` bytes.
void unpack(const ZipMember& member, void* out, const std::string& what);

/// Unpacks a member piece by piece: no piece is larger than it was asked for.
class ZipStream {
 public:
  ZipStream(const ZipMember& member, const std::string& what);
  ~ZipStream();
  ZipStream(const ZipStream&) = delete;
  ZipStream& operator=(const ZipStream&) = delete;
  /// Exactly so many bytes; an error when the member has fewer.
  void read(void* out, size_t bytes);
  /// An error unless all was read and the CRC is right.
  void finish();

 private:
  struct State;
  [[noreturn]] void fail(const std::string& problem) const;
  State* state_;
  const ZipMember& member_;
  const std::string& what_;
  uint64_t done_ = 0;
  uint32_t crc_ = 0;
};

/// Writes an archive of stored members piece by piece, so that large ones need no second copy in memory.
class ZipWriter {
 public:
  /// `write` takes the bytes of the file in order.
  explicit ZipWriter(Sink write) : write_(std::move(write)) {}
  /// A member that consists of these pieces.
  void add(const std::string& name, std::initializer_list<std::string_view> pieces);
  /// Writes the directory; call once, last.
  void finish();

 private:
  struct Written {
    std::string name;
    uint64_t size, offset;
    uint32_t crc;
  };
  void put(std::string_view bytes);
  static void write_facts(ByteWriter& head, const Written& member);

  Sink write_;
  std::vector<Written> written_;
  uint64_t at_ = 0;
};

}  // namespace tessera
