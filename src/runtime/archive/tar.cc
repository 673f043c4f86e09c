#include "runtime/archive/tar.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <unordered_set>

#include "base/string.h"
#include "runtime/archive/files.h"
#include "runtime/package/file_seal.h"

namespace tessera {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxTarMembers = 100000;
constexpr size_t kMaxName = 4096;

/// A header of the ustar form; numbers are octal text.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
  char magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Header) == kBlock);

template <size_t N>
std::string text(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

/// An octal number; GNU's binary form (highest bit set) of up to eight bytes too. Nothing when it is neither.
template <size_t N>
std::optional<uint64_t> number(const char (&field)[N]) {
  if (static_cast<unsigned char>(field[0]) == 0x80) {
    uint64_t value = 0;
    for (size_t i = 1; i < N; ++i) {
      if (value >> 56) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(field[i]);
    }
    return value;
  }
  std::string digits = text(field);
  size_t begin = digits.find_first_not_of(' '), end = digits.find_last_not_of(' ');
  if (begin == digits.npos) return 0;
  uint64_t value = 0;
  auto [at, error] = std::from_chars(digits.data() + begin, digits.data() + end + 1, value, 8);
  if (error != std::errc() || at != digits.data() + end + 1) return std::nullopt;
  return value;
}

/// The sum of all bytes, those of the sum itself counted as blanks.
uint32_t checksum_of(const Header& header) {
  auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  uint32_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    bool is_sum = i >= offsetof(Header, checksum) && i < offsetof(Header, checksum) + sizeof header.checksum;
    sum += is_sum ? ' ' : bytes[i];
  }
  return sum;
}

bool is_zero(const Header& header) {
  auto* bytes = reinterpret_cast<const char*>(&header);
  return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, kBlock - 1) == 0;
}

/// "./a/b" is "a/b". Nothing for names that do not stay inside.
std::optional<std::string> inner_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\0') != name.npos || name.size() > kMaxName)
    return std::nullopt;
  std::string out;
  while (!name.empty()) {
    size_t slash = std::min(name.find('/'), name.size());
    std::string_view part = name.substr(0, slash);
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") out += (out.empty() ? "" : "/") + std::string(part);
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return out;
}

/// What pax and GNU headers say of the member that follows.
struct Extension {
  std::optional<std::string> name;
  std::optional<uint64_t> size;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path, const std::string& what)
      : bytes_(bytes), path_(path), what_(what) {}

  std::vector<TarReader::Member> members() {
    Extension extension;
    while (at_ + kBlock <= bytes_.size()) {
      Header header;
      std::memcpy(&header, bytes_.data() + at_, kBlock);
      if (is_zero(header)) return std::move(members_);
      member(header, extension);
    }
    fail("it ends without the two empty blocks that close an archive: it was cut short");
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ValueError) << what_ << " " << path_ << " is not a sound tar archive: " << problem;
  }
  [[noreturn]] void reject(const std::string& name, const std::string& problem) const {
    throw Error(ValueError) << what_ << " " << path_ << ": the member " << tessera::quoted(name) << " " << problem;
  }

  void member(const Header& header, Extension& extension) {
    if (std::memcmp(header.magic, "ustar", 5) != 0 || number(header.checksum) != checksum_of(header))
      fail("the header at byte " + std::to_string(at_) + " is damaged");
    std::string prefix = text(header.prefix), name = text(header.name);
    bool has_prefix = header.magic[5] == 0 && !prefix.empty();  // GNU's older form keeps dates there
    name = extension.name.value_or(has_prefix ? prefix + "/" + name : name);
    bool is_extension = header.type == 'x' || header.type == 'g' || header.type == 'L';
    std::optional<uint64_t> size = !is_extension && extension.size ? extension.size : number(header.size);
    size_t left = bytes_.size() - at_ - kBlock;
    if (!size || *size > left)
      reject(name, "announces " + (size ? std::to_string(*size) : "no readable number of") + " bytes, but " +
                       std::to_string(left) + " are left in the file");
    std::string_view data = bytes_.substr(at_ + kBlock, *size);
    at_ += kBlock + (*size + kBlock - 1) / kBlock * kBlock;
    if (is_extension) return extend(header.type, data, extension);
    extension = {};
    add(header.type, name, data);
  }

  void add(char type, const std::string& name, std::string_view data) {
    std::optional<std::string> inner = inner_name(name);
    if (!inner) reject(name, "would lie outside the folder that it is unpacked into");
    if (type == '5') return;  // folders hold nothing themselves
    if (type == '1' || type == '2') reject(name, "is a link; links are not followed");
    if (type != '0' && type != '\0' && type != '7')
      reject(name, "is no plain file (its type is " + tessera::quoted(std::string(1, type)) + ")");
    if (inner->empty()) reject(name, "has no name");
    if (!names_.insert(*inner).second) reject(name, "comes twice");
    if (members_.size() == kMaxTarMembers) fail("it has more than " + std::to_string(kMaxTarMembers) + " members");
    members_.push_back({*inner, data});
  }

  void extend(char type, std::string_view data, Extension& extension) {
    if (type == 'g') return;
    if (type == 'L') {
      extension.name = std::string(data.substr(0, data.find('\0')));
      return;
    }
    // Records "21 path=some/name\n"; the number counts all of the record.
    while (!data.empty()) {
      size_t length = 0;
      auto [end, error] = std::from_chars(data.data(), data.data() + data.size(), length);
      auto digits = static_cast<size_t>(end - data.data());
      if (error != std::errc() || length <= digits + 1 || length > data.size() || data[length - 1] != '\n')
        fail("the extended header before byte " + std::to_string(at_) + " is damaged");
      std::string_view record = data.substr(digits + 1, length - digits - 2);
      data.remove_prefix(length);
      size_t equals = record.find('=');
      if (equals == record.npos) continue;
      std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") extension.name = std::string(value);
      if (key == "size") {
        uint64_t size = 0;
        auto [last, problem] = std::from_chars(value.data(), value.data() + value.size(), size);
        if (problem != std::errc() || last != value.data() + value.size()) fail("a size in it is no number");
        extension.size = size;
      }
    }
  }

  std::string_view bytes_;
  const std::string &path_, &what_;
  size_t at_ = 0;
  std::vector<TarReader::Member> members_;
  std::unordered_set<std::string> names_;
};

// ---- writing -----------------------------------------------------------------------------------------------------

template <size_t N>
void octal(char (&field)[N], uint64_t value) {
  for (size_t i = N - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
  field[N - 1] = 0;
}

Header header_of(const std::string& name, uint64_t size) {
  if (name.size() >= sizeof Header::name || size >> 33)
    throw Error(ValueError) << "cannot put " << name << " of " << size
                            << " bytes into an archive: names take at most 99 bytes, files 8 GiB";
  Header out{};
  std::memcpy(out.name, name.data(), name.size());
  octal(out.mode, 0644);
  octal(out.uid, 0);
  octal(out.gid, 0);
  octal(out.size, size);
  octal(out.mtime, 0);
  out.type = '0';
  std::memcpy(out.magic, "ustar", 6);
  std::memcpy(out.version, "00", 2);
  octal(out.major, 0);
  octal(out.minor, 0);
  uint32_t sum = checksum_of(out);
  char digits[7];
  octal(digits, sum);
  std::memcpy(out.checksum, digits, sizeof digits);
  out.checksum[7] = ' ';
  return out;
}

}  // namespace

TarReader::TarReader(const std::string& path, std::string what) : path_(path), what_(std::move(what)) {
  MappedFile file(path, what_);
  check_seal(path, what_.starts_with("the ") ? what_.substr(4) : what_);
  owner_ = file.owner();
  read(file.bytes());
}

TarReader::TarReader(std::string_view bytes, std::string name, std::string what)
    : path_(std::move(name)), what_(std::move(what)) {
  read(bytes);
}

void TarReader::read(std::string_view bytes) { members_ = Reader(bytes, path_, what_).members(); }

bool TarReader::is_tar(const std::string& path) {
  char start[kBlock] = {};
  std::ifstream in(path, std::ios::binary);
  in.read(start, sizeof start);
  return in.gcount() == kBlock && std::memcmp(start + offsetof(Header, magic), "ustar", 5) == 0;
}

const TarReader::Member* TarReader::find(std::string_view name) const {
  for (const Member& member : members_)
    if (member.name == name) return &member;
  return nullptr;
}

std::string_view TarReader::operator[](std::string_view name) const {
  if (const Member* found = find(name)) return found->bytes;
  Error error(ValueError);
  error << what_ << " " << path_ << " has no member " << name << "; it holds";
  for (size_t i = 0; i < members_.size() && i < 20; ++i) error << (i ? ", " : " ") << members_[i].name;
  if (members_.size() > 20) error << " and more";
  if (members_.empty()) error << " nothing";
  throw error;
}

void write_tar(const std::string& path, const std::vector<TarEntry>& entries) {
  write_whole_file(path, [&](const std::string& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    const std::string zeros(2 * kBlock, '\0');
    auto put = [&](std::string_view bytes) { out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); };
    for (const TarEntry& entry : entries) {
      std::optional<MappedFile> file;
      if (!entry.file.empty()) file.emplace(entry.file, "the file");
      std::string_view bytes = file ? file->bytes() : std::string_view(entry.bytes);
      size_t size = bytes.size();
      if (entry.parts) entry.parts([&](std::string_view part) { size += part.size(); });
      Header header = header_of(entry.name, size);
      put({reinterpret_cast<const char*>(&header), kBlock});
      entry.parts ? entry.parts(put) : put(bytes);
      put(std::string_view(zeros).substr(0, (kBlock - size % kBlock) % kBlock));
    }
    put(zeros);
    if (!out.flush()) throw Error(file_error(errno)) << "cannot write " << path << ": " << std::strerror(errno);
    out.close();
    seal_file(temporary);
  });
}

}  // namespace tessera
