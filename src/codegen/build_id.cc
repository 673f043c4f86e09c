// The build id of the library or program that holds this file: a note that the linker computes from its contents.

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>

#include "codegen/kernel_cache.h"

namespace tessera::codegen {
namespace {

std::string id_in_notes(const char* at, const char* end) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
    const char* name = at + sizeof note;
    const char* data = name + padded(note.n_namesz);
    if (data + note.n_descsz > end) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string out;
      for (size_t i = 0; i < note.n_descsz; ++i) out += fmt::format("{:02x}", static_cast<unsigned char>(data[i]));
      return out;
    }
    at = data + padded(note.n_descsz);
  }
  return "";
}

struct Search {
  const void* inside;
  std::string id;
};

int visit(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  auto address = reinterpret_cast<ElfW(Addr)>(search->inside);
  bool is_here = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    ElfW(Addr) begin = info->dlpi_addr + part.p_vaddr;
    is_here |= part.p_type == PT_LOAD && address >= begin && address < begin + part.p_memsz;
  }
  if (!is_here) return 0;
  for (int i = 0; i < info->dlpi_phnum && search->id.empty(); ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    if (part.p_type == PT_NOTE) search->id = id_in_notes(notes, notes + part.p_memsz);
  }
  return 1;
}

}  // namespace

const std::string& compiler_build_id() {
  static const std::string id = [] {
    Search search{reinterpret_cast<const void*>(&compiler_build_id), ""};
    dl_iterate_phdr(visit, &search);
    return search.id;
  }();
  return id;
}

}  // namespace tessera::codegen
