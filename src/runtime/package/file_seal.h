#pragma once
// A checksum behind the last byte of the files we write: libraries, objects and archives of them.
//
// Readers of those formats ignore what follows (the system's loader, linkers and tar go by the offsets in the file), so a
// sealed file is used like any other. A file that was changed on its way is rejected by name here, where the loader would
// map it, follow a wrong pointer and end the process.

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

/// The hash in a seal.
uint64_t content_hash(std::string_view contents);

/// Adds the seal to an ELF file or a tar archive, in place of one that is there; leaves files of other forms alone.
void seal_file(const std::string& path);

/// The bytes that `seal_file` adds to a file with these contents.
std::string seal_of(std::string_view contents);

/// Throws FileError when the file has a seal and its contents are not those that were sealed. A file without a seal (made
/// by another program, or stripped) passes. `what` says what kind of file it is, for the message.
void check_seal(const std::string& path, const std::string& what);

}  // namespace tessera
