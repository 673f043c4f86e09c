#pragma once
// Data in a shared library, read from its bytes: nothing of the library is loaded or run.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Where the exported symbol of that name lies in the file, as far as its size says (a linker may not give it one: then to
/// the end of what is loaded there); nothing where there is no such symbol or the file is no ELF file. Whatever the file says is
/// checked.
std::optional<std::string_view> elf_data(std::string_view file, std::string_view symbol);

/// The data of all exported symbols whose names begin so.
std::vector<std::string_view> elf_data_with_prefix(std::string_view file, std::string_view prefix);

/// The machine that a file is for, as targets name it ("x86_64", "aarch64"); empty for other files.
std::string elf_architecture(std::string_view file);

}  // namespace tessera
