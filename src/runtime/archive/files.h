#pragma once
// Files as whole things: read through memory that the system maps, written so that readers see all of them or none.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "runtime/byte_stream.h"

namespace tessera {

/// The kind of error for what the system says of a file (`errno`): that of Python's class for it, all of them FileErrors.
ErrorKind file_error(int problem);

/// False also where there is nothing of that name.
bool is_folder(const std::string& path);

/// The bytes of a file, mapped: pages are read when they are looked at. A FileError names the file and what is wrong.
class MappedFile {
 public:
  /// `what` says what kind of file it is, for messages ("the package").
  MappedFile(const std::string& path, const std::string& what);
  std::string_view bytes() const { return bytes_; }
  /// The same bytes, with a share of the mapping.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
};

/// Calls `write` with the name of a new file in the folder of `path`, which then replaces `path` in one step. When
/// it throws, or when the process is killed, `path` is as it was. What is no plain file (/dev/stdout, a pipe) is written itself.
void write_whole_file(const std::string& path, const std::function<void(const std::string& temporary)>& write);
/// The same for contents that are made one part after another.
void write_whole_file(const std::string& path, const std::function<void(const Sink& out)>& write);
/// The same for contents that are at hand.
void write_whole_file(const std::string& path, std::string_view contents);

/// A file that grows by whole lines, whoever else appends to it. What a writer that was killed left half of is ended by the next one,
/// so that it costs no line but itself.
class LineFile {
 public:
  /// `what` says what kind of file it is, for messages ("tuning records").
  LineFile(std::string path, const std::string& what);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  /// `lines` end with a line break.
  void append(std::string_view lines);

 private:
  [[noreturn]] void fail() const;

  std::string path_, what_;
  int file_ = -1;
};

/// A folder for files that nobody else needs; it is gone when this is.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace tessera
