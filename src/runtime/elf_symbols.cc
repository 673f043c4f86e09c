#include "runtime/elf_symbols.h"

#include <elf.h>

#include <cstring>

namespace tessera {
namespace {

/// A structure at a place of the file; false where it does not lie inside.
template <class T>
bool read(std::string_view file, uint64_t offset, T* out) {
  if (offset > file.size() || sizeof(T) > file.size() - offset) return false;
  std::memcpy(out, file.data() + offset, sizeof(T));
  return true;
}

bool read_header(std::string_view file, Elf64_Ehdr* header) {
  return read(file, 0, header) && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
         header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

/// The bytes that are loaded at an address; without a size, all that lie behind it in its segment.
std::optional<std::string_view> loaded_at(std::string_view file, const Elf64_Ehdr& header, uint64_t address,
                                          uint64_t size) {
  Elf64_Phdr segment;
  for (uint64_t i = 0; i < header.e_phnum && read(file, header.e_phoff + i * sizeof segment, &segment); ++i) {
    uint64_t at = address - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || at > segment.p_filesz) continue;
    if (size > segment.p_filesz - at || segment.p_offset > file.size() || at > file.size() - segment.p_offset) continue;
    uint64_t begin = segment.p_offset + at;
    if (size <= file.size() - begin) return file.substr(begin, size ? size : segment.p_filesz - at);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> elf_data(std::string_view file, std::string_view symbol) {
  Elf64_Ehdr header;
  if (!read_header(file, &header)) return std::nullopt;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table, names;
    if (!read(file, header.e_shoff + i * sizeof table, &table)) return std::nullopt;
    if (table.sh_type != SHT_DYNSYM) continue;
    if (!read(file, header.e_shoff + uint64_t{table.sh_link} * sizeof names, &names)) return std::nullopt;
    if (names.sh_offset > file.size() || names.sh_size > file.size() - names.sh_offset) return std::nullopt;
    std::string_view texts = file.substr(names.sh_offset, names.sh_size);
    Elf64_Sym entry;
    for (uint64_t at = 0; at < table.sh_size && read(file, table.sh_offset + at, &entry); at += sizeof entry) {
      if (entry.st_name >= texts.size()) continue;
      std::string_view name = texts.substr(entry.st_name);
      if (name.substr(0, name.find('\0')) == symbol && entry.st_shndx != SHN_UNDEF)
        return loaded_at(file, header, entry.st_value, entry.st_size);
    }
  }
  return std::nullopt;
}

std::string elf_architecture(std::string_view file) {
  Elf64_Ehdr header;  // the number of the machine stands at the same place in files of 32 bits
  if (!read(file, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "";
  switch (header.e_machine) {
    case EM_X86_64: return "x86_64";
    case EM_386: return "x86";
    case EM_AARCH64: return "aarch64";
    case EM_ARM: return "arm";
    case EM_RISCV: return header.e_ident[EI_CLASS] == ELFCLASS64 ? "riscv64" : "riscv32";
    default: return "ELF machine " + std::to_string(header.e_machine);
  }
}

}  // namespace tessera
