#include "runtime/module/elf_symbols.h"

#include <elf.h>

#include <cstring>

namespace tessera {
namespace {

/// A structure at an offset of the file; false where it does not lie inside.
template <class T>
bool read(std::string_view file, uint64_t offset, T* out) {
  if (offset > file.size() || sizeof(T) > file.size() - offset) return false;
  std::memcpy(out, file.data() + offset, sizeof(T));
  return true;
}

struct Elf64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  static constexpr unsigned char kClass = ELFCLASS64;
};
struct Elf32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  static constexpr unsigned char kClass = ELFCLASS32;
};

/// A little-endian ELF file of one of the two classes, of which nothing is believed.
template <class Elf>
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {
    is_elf_ = read(file, 0, &header_) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
              header_.e_ident[EI_CLASS] == Elf::kClass && header_.e_ident[EI_DATA] == ELFDATA2LSB;
  }

  /// Calls `visit(name, data)` for each exported symbol whose data lies in the file, until it answers false.
  template <class F>
  void each_symbol(F&& visit) const {
    if (!is_elf_) return;
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      typename Elf::Section table, names;
      if (!read(file_, header_.e_shoff + i * sizeof table, &table)) return;
      if (table.sh_type != SHT_DYNSYM) continue;
      if (!read(file_, header_.e_shoff + uint64_t{table.sh_link} * sizeof names, &names)) return;
      if (names.sh_offset > file_.size() || names.sh_size > file_.size() - names.sh_offset) return;
      std::string_view texts = file_.substr(names.sh_offset, names.sh_size);
      typename Elf::Symbol entry;
      for (uint64_t at = 0; at < table.sh_size && read(file_, table.sh_offset + at, &entry); at += sizeof entry) {
        if (entry.st_name >= texts.size() || entry.st_shndx == SHN_UNDEF) continue;
        std::string_view name = texts.substr(entry.st_name);
        auto data = [&] { return loaded_at(entry.st_value, entry.st_size); };
        if (!visit(name.substr(0, name.find('\0')), data)) return;
      }
    }
  }

 private:
  /// The bytes that are loaded at an address; without a size, all that lie behind it in its segment.
  std::optional<std::string_view> loaded_at(uint64_t address, uint64_t size) const {
    typename Elf::Segment segment;
    for (uint64_t i = 0; i < header_.e_phnum && read(file_, header_.e_phoff + i * sizeof segment, &segment); ++i) {
      uint64_t at = address - segment.p_vaddr;
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr || at > segment.p_filesz) continue;
      if (size > segment.p_filesz - at || segment.p_offset > file_.size() || at > file_.size() - segment.p_offset)
        continue;
      uint64_t begin = segment.p_offset + at;
      if (size <= file_.size() - begin) return file_.substr(begin, size ? size : segment.p_filesz - at);
    }
    return std::nullopt;
  }

  std::string_view file_;
  typename Elf::Header header_;
  bool is_elf_ = false;
};

template <class F>
void each_symbol(std::string_view file, F&& visit) {
  Reader<Elf64>(file).each_symbol(visit);
  Reader<Elf32>(file).each_symbol(visit);
}

}  // namespace

std::optional<std::string_view> elf_data(std::string_view file, std::string_view symbol) {
  std::optional<std::string_view> out;
  each_symbol(file, [&](std::string_view name, auto data) {
    if (name != symbol) return true;
    out = data();
    return false;
  });
  return out;
}

std::vector<std::string_view> elf_data_with_prefix(std::string_view file, std::string_view prefix) {
  std::vector<std::string_view> out;
  each_symbol(file, [&](std::string_view name, auto data) {
    if (!name.starts_with(prefix)) return true;
    if (std::optional<std::string_view> found = data()) out.push_back(*found);
    return true;
  });
  return out;
}

std::string elf_architecture(std::string_view file) {
  Elf64_Ehdr header;  // the number of the machine stands at the same offset in files of 32 bits
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
