#include "frontend/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
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

[[noreturn]] void refuse(const Tensor& tensor, const std::string& why) {
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
    refuse(tensor, "its " + std::string(key) + " is \"" + std::string(text) + "\", which is no number");
  return value;
}

/// Opens folder by folder, following no link, so that what is opened lies under `folder`.
File open_under(const Tensor& tensor, const std::string& folder, std::string_view location) {
  if (folder.empty()) refuse(tensor, "a model in memory has no folder; give the path of the model file instead");
  if (location.empty()) refuse(tensor, "it names no file");
  if (location.find('\0') != location.npos) refuse(tensor, "the name of the file has a zero byte");
  if (location.front() == '/') refuse(tensor, "the path " + std::string(location) + " is absolute");
  File at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) refuse(tensor, "cannot open " + folder + ": " + std::strerror(errno));
  while (true) {
    size_t slash = location.find('/');
    std::string part(location.substr(0, slash));
    bool is_last = slash == location.npos;
    if (part == "..") refuse(tensor, "the path leads out of the folder of the model");
    if (!part.empty() && part != ".") {
      int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (is_last ? 0 : O_DIRECTORY);
      int handle = openat(at.get(), part.c_str(), flags);
      if (handle < 0 && errno == ELOOP) refuse(tensor, part + " is a symbolic link");
      if (handle < 0) refuse(tensor, "cannot open " + part + ": " + std::strerror(errno));
      at = File(handle);
    }
    if (is_last) return at;
    location.remove_prefix(slash + 1);
  }
}

}  // namespace

void read_external(const Tensor& tensor, const std::string& folder, size_t size, const std::function<char*()>& memory) {
  std::string_view location = entry(tensor, "location");
  File file = open_under(tensor, folder, location);
  struct stat info{};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    refuse(tensor, std::string(location) + " is not a plain file");
  if (info.st_nlink > 1)
    refuse(tensor, std::string(location) + " is a hard link, which may be to a file outside the folder of the model");
  uint64_t offset = number(tensor, "offset", 0), length = number(tensor, "length", size);
  auto available = static_cast<uint64_t>(info.st_size);
  if (length != size || offset > available || size > available - offset)
    refuse(tensor, std::string(location) + " has " + std::to_string(available) + " bytes; " + std::to_string(size) +
                       " are needed from byte " + std::to_string(offset) + ", and the model says " +
                       std::to_string(length));
  char* out = memory();
  while (size > 0) {
    ssize_t count = pread(file.get(), out, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refuse(tensor, "cannot read " + std::string(location) + ": " + std::strerror(errno));
    out += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<size_t>(count);
  }
}

}  // namespace tessera::onnx
