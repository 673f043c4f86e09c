#include "runtime/archive/zip.h"

#ifdef TESSERA_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "base/string.h"
#include "runtime/byte_stream.h"

namespace tessera {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint16_t kZip64 = 1;  // the extra field with 64-bit numbers
constexpr uint32_t kOpen32 = 0xffffffff;
constexpr size_t kMaxZipMembers = 1000000;
constexpr uint64_t kMaxUnpacked = uint64_t{4} << 30;  // of an archive that is a hundred times smaller

// CRC-32 as Ethernet and zip have it, eight bits a step.
constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> out{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320u ^ (value >> 1) : value >> 1;
    out[i] = value;
  }
  return out;
}

uint32_t add_to_crc(uint32_t crc, std::string_view bytes) {
#ifdef TESSERA_ZLIB
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
#else
  static constexpr auto table = crc_table();
  crc = ~crc;
  for (char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 255] ^ (crc >> 8);
  return ~crc;
#endif
}

bool leads_out(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != name.npos || name.find('\\') != name.npos) return true;
  for (size_t at = 0; at <= name.size();) {
    size_t slash = std::min(name.find('/', at), name.size());
    if (name.substr(at, slash - at) == "..") return true;
    at = slash + 1;
  }
  return false;
}

/// Where the directory lies and how many members it lists.
struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};

Directory find_directory(std::string_view bytes, const std::string& what) {
  constexpr size_t kEndSize = 22, kLocatorSize = 20;
  size_t lowest = bytes.size() < kEndSize + 0xffff ? 0 : bytes.size() - kEndSize - 0xffff;  // a comment may follow
  for (size_t at = bytes.size() < kEndSize ? 0 : bytes.size() - kEndSize + 1; at-- > lowest;) {
    ByteReader in(bytes.substr(at), what);
    if (in.read<uint32_t>("the end") != kEnd) continue;
    in.raw(6, "the end");
    Directory out;
    out.count = in.read<uint16_t>("the end");
    out.size = in.read<uint32_t>("the end");
    out.offset = in.read<uint32_t>("the end");
    if (out.count != 0xffff && out.size != kOpen32 && out.offset != kOpen32) return out;
    if (at < kLocatorSize) break;
    ByteReader locator(bytes.substr(at - kLocatorSize), what);
    if (locator.read<uint32_t>("the end") != kLocator64) return out;
    locator.read<uint32_t>("the end");
    auto offset = locator.read<uint64_t>("the end");
    if (offset > bytes.size()) break;
    ByteReader end(bytes.substr(offset), what);
    if (end.read<uint32_t>("the end") != kEnd64) break;
    end.raw(28, "the end");
    out.count = end.read<uint64_t>("the end");
    out.size = end.read<uint64_t>("the end");
    out.offset = end.read<uint64_t>("the end");
    return out;
  }
  throw Error(ValueError) << what << " is no zip archive, or was cut short: the directory at its end is missing";
}

/// Replaces the numbers that did not fit by those of the 64-bit field.
void read_zip64(std::string_view extra, std::array<uint64_t*, 3> numbers, const std::string& what) {
  ByteReader in(extra, what);
  while (in.left() >= 4) {
    auto id = in.read<uint16_t>("an extra field");
    auto size = in.read<uint16_t>("an extra field");
    ByteReader field(in.raw(size, "an extra field"), what);
    if (id != kZip64) continue;
    for (uint64_t* number : numbers)
      if (*number == kOpen32) *number = field.read<uint64_t>("a 64-bit size");
  }
}

ZipMember read_member(ByteReader& in, std::string_view bytes, const std::string& what) {
  if (in.read<uint32_t>("the directory") != kCentral) in.fail("the directory", "is damaged");
  in.raw(4, "the directory");
  auto flags = in.read<uint16_t>("the directory"), method = in.read<uint16_t>("the directory");
  in.raw(4, "the directory");
  ZipMember out;
  out.crc = in.read<uint32_t>("the directory");
  uint64_t packed = in.read<uint32_t>("the directory"), size = in.read<uint32_t>("the directory");
  auto name = in.read<uint16_t>("the directory"), extra = in.read<uint16_t>("the directory");
  auto comment = in.read<uint16_t>("the directory");
  in.raw(8, "the directory");
  uint64_t offset = in.read<uint32_t>("the directory");
  out.name = std::string(in.raw(name, "a name"));
  read_zip64(in.raw(extra, "an extra field"), {&size, &packed, &offset}, what);
  in.raw(comment, "a comment");
  auto reject = [&](const std::string& problem) {
    throw Error(ValueError) << what << ": the member " << tessera::quoted(out.name) << " " << problem;
  };
  if (leads_out(out.name)) reject("has a name that leads out of the archive");
  if (flags & 1) reject("is encrypted");
  if (method != 0 && method != 8)
    reject("is compressed by method " + std::to_string(method) + "; stored and deflated members can be read");
  if (offset > bytes.size()) reject("lies beyond the end of the file");
  ByteReader local(bytes.substr(offset), what);
  if (local.read<uint32_t>("a header") != kLocal) reject("does not begin where the directory says");
  local.raw(22, "a header");
  auto local_name = local.read<uint16_t>("a header"), local_extra = local.read<uint16_t>("a header");
  local.raw(size_t{local_name} + local_extra, "a header");
  if (packed > local.left())
    reject("announces " + std::to_string(packed) + " bytes, but " + std::to_string(local.left()) + " are left");
  out.packed = local.raw(packed, "a member");
  out.size = size;
  out.is_deflated = method == 8;
  if (!out.is_deflated && packed != size) reject("is stored with two different sizes");
  return out;
}

}  // namespace

std::vector<ZipMember> read_zip(std::string_view bytes, const std::string& what) {
  Directory directory = find_directory(bytes, what);
  if (directory.offset > bytes.size() || directory.size > bytes.size() - directory.offset)
    throw Error(ValueError) << what << ": the directory of the archive lies beyond its end";
  ByteReader in(bytes.substr(directory.offset, directory.size), what);
  if (directory.count > std::min(kMaxZipMembers, in.left() / 46))
    throw Error(ValueError) << what << " announces " << directory.count << " members, more than its directory can hold";
  std::vector<ZipMember> out;
  std::unordered_set<std::string> names;
  uint64_t packed = 0, unpacked = 0, most = std::max<uint64_t>(kMaxUnpacked, bytes.size() * 100);
  for (uint64_t i = 0; i < directory.count; ++i) {
    out.push_back(read_member(in, bytes, what));
    if (!names.insert(out.back().name).second)
      throw Error(ValueError) << what << ": the member " << tessera::quoted(out.back().name) << " comes twice";
    packed += out.back().packed.size();
    if (packed > bytes.size()) throw Error(ValueError) << what << ": members of the archive share their bytes";
    if (out.back().size > most - unpacked)
      throw Error(ValueError) << what << ": its " << bytes.size() << " bytes unpack to more than " << most
                              << ", which looks like a bomb; store the members uncompressed (numpy.savez)";
    unpacked += out.back().size;
  }
  return out;
}

// ---- unpacking ---------------------------------------------------------------------------------------------------

struct ZipStream::State {
#ifdef TESSERA_ZLIB
  z_stream stream{};
#endif
  std::string_view left;  // of the packed bytes
};

void ZipStream::fail(const std::string& problem) const {
  throw Error(ValueError) << what_ << ": the member " << tessera::quoted(member_.name) << " " << problem;
}

ZipStream::ZipStream(const ZipMember& member, const std::string& what) : state_(nullptr), member_(member), what_(what) {
#ifndef TESSERA_ZLIB
  if (member.is_deflated)
    fail(
        "is compressed, and this build was made without zlib; write the file with numpy.savez instead of "
        "savez_compressed");
#endif
  state_ = new State;
  state_->left = member.packed;
#ifdef TESSERA_ZLIB
  if (member.is_deflated && inflateInit2(&state_->stream, -MAX_WBITS) != Z_OK) {
    delete state_;
    fail("cannot be unpacked: there is no memory for it");
  }
#endif
}

ZipStream::~ZipStream() {
#ifdef TESSERA_ZLIB
  if (member_.is_deflated) inflateEnd(&state_->stream);
#endif
  delete state_;
}

void ZipStream::read(void* out, size_t bytes) {
  if (bytes > member_.size - done_) fail("ends too early");
  if (!member_.is_deflated) {
    std::memcpy(out, state_->left.data(), bytes);
    state_->left.remove_prefix(bytes);
  }
#ifdef TESSERA_ZLIB
  z_stream& stream = state_->stream;
  for (size_t done = 0; member_.is_deflated && done < bytes;) {
    constexpr size_t kMax = 1u << 30;  // zlib counts in 32 bits
    size_t room = std::min(bytes - done, kMax), given = std::min(state_->left.size(), kMax);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(state_->left.data()));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = static_cast<Bytef*>(out) + done;
    stream.avail_out = static_cast<uInt>(room);
    int status = inflate(&stream, Z_NO_FLUSH);
    state_->left.remove_prefix(given - stream.avail_in);
    size_t made = room - stream.avail_out;
    done += made;
    if (status == Z_STREAM_END && done < bytes) fail("unpacks to fewer bytes than it announces");
    if (status != Z_OK && status != Z_STREAM_END) fail("is damaged: its compressed bytes make no sense");
    if (made == 0 && state_->left.empty() && done < bytes) fail("is cut short");
  }
#endif
  done_ += bytes;
  crc_ = add_to_crc(crc_, {static_cast<const char*>(out), bytes});
}

void ZipStream::finish() {
  if (done_ != member_.size) fail("has more bytes than its contents need");
  if (crc_ != member_.crc) fail("is damaged: its checksum is wrong");
}

void unpack(const ZipMember& member, void* out, const std::string& what) {
  ZipStream stream(member, what);
  stream.read(out, member.size);
  stream.finish();
}

// ---- writing -----------------------------------------------------------------------------------------------------

namespace {

constexpr uint16_t kVersion = 45;     // the first with 64-bit sizes
constexpr uint16_t kFirstDay = 0x21;  // 1980-01-01: equal contents give equal files
constexpr uint16_t kUtf8 = 1u << 11;  // of names

}  // namespace

void ZipWriter::put(std::string_view bytes) {
  write_(bytes);
  at_ += bytes.size();
}

/// What both heads of a member say, in this order: version to read it, flags, stored, time, checksum, sizes (in a field of 64 bits
/// that follows) and the length of its name.
void ZipWriter::write_facts(ByteWriter& head, const Written& member) {
  head.write(kVersion);
  head.write(kUtf8);
  head.write(uint16_t{0});
  head.write(uint16_t{0});
  head.write(kFirstDay);
  head.write(member.crc);
  head.write(kOpen32);
  head.write(kOpen32);
  head.write(static_cast<uint16_t>(member.name.size()));
}

void ZipWriter::add(const std::string& name, std::initializer_list<std::string_view> pieces) {
  if (name.size() > 0xffff)
    throw Error(ValueError) << "a name of " << name.size() << " bytes is too long for a zip file";
  Written member{name, 0, at_, 0};
  for (std::string_view piece : pieces) {
    member.size += piece.size();
    member.crc = add_to_crc(member.crc, piece);
  }
  ByteWriter head;
  head.write(kLocal);
  write_facts(head, member);
  head.write(uint16_t{20});
  head.raw(name.data(), name.size());
  head.write(kZip64);
  head.write(uint16_t{16});
  head.write(member.size);
  head.write(member.size);
  put(head.take());
  for (std::string_view piece : pieces) put(piece);
  written_.push_back(std::move(member));
}

void ZipWriter::finish() {
  uint64_t begin = at_;
  for (const Written& member : written_) {
    ByteWriter row;
    row.write(kCentral);
    row.write(kVersion);
    write_facts(row, member);
    row.write(uint16_t{28});
    row.write(uint16_t{0});
    row.write(uint16_t{0});
    row.write(uint16_t{0});
    row.write(uint32_t{0600u << 16});
    row.write(kOpen32);
    row.raw(member.name.data(), member.name.size());
    row.write(kZip64);
    row.write(uint16_t{24});
    row.write(member.size);
    row.write(member.size);
    row.write(member.offset);
    put(row.take());
  }
  uint64_t end = at_;
  ByteWriter tail;
  tail.write(kEnd64);
  tail.write(uint64_t{44});
  tail.write(kVersion);
  tail.write(kVersion);
  tail.write(uint32_t{0});
  tail.write(uint32_t{0});
  tail.write(uint64_t{written_.size()});
  tail.write(uint64_t{written_.size()});
  tail.write(end - begin);
  tail.write(begin);
  tail.write(kLocator64);
  tail.write(uint32_t{0});
  tail.write(end);
  tail.write(uint32_t{1});
  tail.write(kEnd);
  tail.write(uint16_t{0});
  tail.write(uint16_t{0});
  tail.write(uint16_t{0xffff});
  tail.write(uint16_t{0xffff});
  tail.write(kOpen32);
  tail.write(kOpen32);
  tail.write(uint16_t{0});
  put(tail.take());
}

}  // namespace tessera
