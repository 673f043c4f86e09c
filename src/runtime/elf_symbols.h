#pragma once
// Data in a shared library, read from its bytes: nothing of the library is loaded or run.

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// Where the exported symbol of that name lies in the file, as far as its size says (a linker may not give it one: then to
/// the end of what is loaded there); nothing where there is no such symbol or the file is no ELF file of 64 bits. Whatever
/// the file says is checked.
std::optional<std::string_view> elf_data(std::string_view file, std::string_view symbol);

/// The machine that a file is for, as targets name it ("x86_64", "aarch64"); empty for other files.
std::string elf_architecture(std::string_view file);

}  // namespace tessera
