#include "frontend/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"

namespace tessera::onnx {
namespace {

class File {
 public:
  explicit File(int handle) : handle_(handle) {}
  File(File&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~File() {
    if (handle_ >= 0) close(handle_);
  }
  int get() const { return handle_; }

 private:
  int handle_;
};

[[noreturn]] void reject(const Tensor& tensor, const std::string& why) {
  throw Error(ValueError) << "the data of tensor \"" << std::string(tensor.name) << "\" lies outside the file: " << why;
}

std::string_view entry(const Tensor& tensor, std::string_view key) {
  for (const KeyValue& pair : tensor.external)
    if (pair.key == key) return pair.value;
  return {};
}

uint64_t number(const Tensor& tensor, std::string_view key, uint64_t otherwise) {
  std::string_view text = entry(tensor, key);
  if (text.empty()) return otherwise;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    reject(tensor, "its " + std::string(key) + " is \"" + std::string(text) + "\", which is no number");
  return value;
}

bool is_link(int folder, const std::string& name) {
  struct stat info{};
  return fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

/// Opens folder by folder, following no link, so that what is opened lies under `folder`. Nothing, and the name of the link,
/// where there is one on the way.
std::optional<File> open_under(const Tensor& tensor, const std::string& folder, std::string_view location,
                               std::string* link) {
  File at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) reject(tensor, "cannot open " + folder + ": " + std::strerror(errno));
  while (true) {
    size_t slash = location.find('/');
    std::string part(location.substr(0, slash));
    bool is_last = slash == location.npos;
    if (!part.empty() && part != ".") {
      int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (is_last ? 0 : O_DIRECTORY);
      int handle = openat(at.get(), part.c_str(), flags), problem = errno;
      if (handle < 0 && is_link(at.get(), part)) return *link = part, std::nullopt;
      if (handle < 0) reject(tensor, "cannot open " + part + ": " + std::strerror(problem));
      at = File(handle);
    }
    if (is_last) return at;
    location.remove_prefix(slash + 1);
  }
}

/// The path without links; empty where there is no such file.
std::string resolved(const std::string& path) {
  std::unique_ptr<char, void (*)(void*)> out(realpath(path.c_str(), nullptr), std::free);
  return out ? out.get() : "";
}

/// The file behind links that lead into `folder.links`. It is opened by its path without links, folder by folder, so that a
/// link that is changed meanwhile leads nowhere else.
File open_linked(const Tensor& tensor, const DataFolder& folder, const std::string& location, std::string link) {
  std::string allowed = resolved(folder.links), file = resolved(folder.path + "/" + location);
  if (allowed.empty()) reject(tensor, "there is no folder " + folder.links + " that links may lead into");
  if (file.empty()) reject(tensor, location + " is a symbolic link to a file that is not there");
  if (!allowed.ends_with('/')) allowed += '/';
  if (!file.starts_with(allowed)) reject(tensor, link + " is a symbolic link that leads out of " + folder.links);
  std::optional<File> out = open_under(tensor, allowed, std::string_view(file).substr(allowed.size()), &link);
  if (!out) reject(tensor, link + " became a symbolic link while it was read");
  return std::move(*out);
}

File open_data(const Tensor& tensor, const DataFolder& folder, std::string_view location) {
  if (folder.path.empty()) reject(tensor, "a model in memory has no folder; give the path of the model file instead");
  if (location.empty()) reject(tensor, "it names no file");
  if (location.find('\0') != location.npos) reject(tensor, "the name of the file has a zero byte");
  if (location.front() == '/') reject(tensor, "the path " + std::string(location) + " is absolute");
  if (("/" + std::string(location) + "/").find("/../") != std::string::npos)
    reject(tensor, "the path leads out of the folder of the model");
  std::string link;
  if (std::optional<File> file = open_under(tensor, folder.path, location, &link)) return std::move(*file);
  if (folder.links.empty())
    reject(tensor,
           link + " is a symbolic link; allow_links (--allow-links FOLDER) allows those that lead into a folder");
  return open_linked(tensor, folder, std::string(location), link);
}

}  // namespace

void read_external(const Tensor& tensor, const DataFolder& folder, size_t size, const std::function<char*()>& memory) {
  std::string_view location = entry(tensor, "location");
  File file = open_data(tensor, folder, location);
  struct stat info{};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    reject(tensor, std::string(location) + " is not a plain file");
  if (info.st_nlink > 1)
    reject(tensor, std::string(location) + " is a hard link, which may be to a file outside the folder of the model");
  uint64_t offset = number(tensor, "offset", 0), length = number(tensor, "length", size);
  auto available = static_cast<uint64_t>(info.st_size);
  if (length != size || offset > available || size > available - offset)
    reject(tensor, std::string(location) + " has " + std::to_string(available) + " bytes; " + std::to_string(size) +
                       " are needed from byte " + std::to_string(offset) + ", and the model says " +
                       std::to_string(length));
  char* out = memory();
  while (size > 0) {
    ssize_t count = pread(file.get(), out, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) reject(tensor, "cannot read " + std::string(location) + ": " + std::strerror(errno));
    out += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<size_t>(count);
  }
}

}  // namespace tessera::onnx
