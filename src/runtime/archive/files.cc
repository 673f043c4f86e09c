#include "runtime/archive/files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tessera {

namespace fs = std::filesystem;

ErrorKind file_error(int problem) {
  switch (problem) {
    case ENOENT: return "FileNotFoundError";
    case EACCES: return "PermissionError";
    case EISDIR: return "IsADirectoryError";
    default: return FileError;
  }
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

MappedFile::MappedFile(const std::string& path, const std::string& what) {
  auto fail = [&](const std::string& why, int problem = errno) {
    throw Error(file_error(problem)) << "cannot read " << what << " " << path << ": " << why;
  };
  int handle = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // opening a pipe must not wait
  if (handle < 0) fail(std::strerror(errno));
  struct Closer {
    int handle;
    ~Closer() { close(handle); }
  } closer{handle};
  struct stat info;
  if (fstat(handle, &info) != 0) fail(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("it is a folder", EISDIR);
  if (!S_ISREG(info.st_mode)) fail("it is no plain file", EINVAL);
  auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return;
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, handle, 0);
  if (data == MAP_FAILED) fail(std::strerror(errno));
  owner_ = std::shared_ptr<const void>(data, [size](const void* p) { munmap(const_cast<void*>(p), size); });
  bytes_ = {static_cast<const char*>(data), size};
}

namespace {

/// What is written as it is: devices and pipes, and what is open already (/dev/stdout, whatever it leads to).
bool is_stream(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) return true;
  return fs::is_symlink(path, ignored) && fs::read_symlink(path, ignored).string().starts_with("/proc/");
}

}  // namespace

void write_whole_file(const std::string& path, const std::function<void(const std::string&)>& write) {
  if (path.empty()) throw Error(FileError) << "cannot write a file without a name";
  if (fs::is_directory(path)) throw Error(file_error(EISDIR)) << "cannot write " << path << ": it is a folder";
  if (is_stream(path)) return write(path);
  std::error_code ignored;
  const std::string file = fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored).string() : path;
  static std::atomic<int> count{0};
  std::string temporary = file + "." + std::to_string(getpid()) + "-" + std::to_string(count++) + ".tmp";
  int handle = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (handle < 0) throw Error(file_error(errno)) << "cannot write " << path << ": " << std::strerror(errno);
  close(handle);
  try {
    write(temporary);
    if (std::rename(temporary.c_str(), file.c_str()) != 0)
      throw Error(FileError) << "cannot write " << path << ": " << std::strerror(errno);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
}

void write_whole_file(const std::string& path, const std::function<void(const Sink&)>& write) {
  write_whole_file(path, [&](const std::string& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    write([&](std::string_view part) { out.write(part.data(), static_cast<std::streamsize>(part.size())); });
    if (!out.flush()) throw Error(file_error(errno)) << "cannot write " << path << ": " << std::strerror(errno);
  });
}

void write_whole_file(const std::string& path, std::string_view contents) {
  write_whole_file(path, [&](const Sink& out) { out(contents); });
}

LineFile::LineFile(std::string path, const std::string& what)
    : path_(std::move(path)), what_(what), file_(open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail();
}

LineFile::~LineFile() {
  if (file_ >= 0) close(file_);
}

void LineFile::fail() const {
  throw Error(file_error(errno)) << "cannot write " << what_ << " " << path_ << ": " << std::strerror(errno);
}

void LineFile::append(std::string_view lines) {
  struct Turn {
    int file;
    explicit Turn(int file) : file(file) { flock(file, LOCK_EX); }
    ~Turn() { flock(file, LOCK_UN); }
  } turn(file_);
  char last = '\n';
  const off_t size = lseek(file_, 0, SEEK_END);
  std::string text = size > 0 && pread(file_, &last, 1, size - 1) == 1 && last != '\n' ? "\n" : "";
  text += lines;
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = write(file_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    rest.remove_prefix(static_cast<size_t>(count));
  }
}

TemporaryFolder::TemporaryFolder() {
  path_ = (fs::temp_directory_path() / "tessera-XXXXXX").string();
  if (!mkdtemp(path_.data()))
    throw Error(FileError) << "cannot make a temporary folder like " << path_ << ": " << std::strerror(errno);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace tessera
