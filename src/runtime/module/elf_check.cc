#include "runtime/module/elf_check.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "runtime/archive/files.h"

namespace tessera {
namespace {

#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#elif defined(__arm__)
constexpr int kMachine = EM_ARM;
#elif defined(__riscv)
constexpr int kMachine = EM_RISCV;
#else
#error "say which ELF machine this is"
#endif

constexpr int kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr uint64_t kMaxMemory = uint64_t{1} << (sizeof(void*) == 8 ? 46 : 32);

std::string machine_name(int machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_386: return "32-bit x86";
    case EM_AARCH64: return "64-bit ARM";
    case EM_ARM: return "32-bit ARM";
    case EM_RISCV: return "RISC-V";
    default: return "another kind of machine (ELF number " + std::to_string(machine) + ")";
  }
}

/// Entries of the dynamic section that give the address and the size of a table, and how its memory is used.
struct Table {
  int64_t address, bytes;
  uint32_t flags;
};
constexpr Table kTables[] = {
    {DT_STRTAB, DT_STRSZ, PF_R},
    {DT_SYMTAB, DT_SYMENT, PF_R},
    {DT_RELA, DT_RELASZ, PF_R},
    {DT_JMPREL, DT_PLTRELSZ, PF_R},
    {DT_GNU_HASH, DT_NULL, PF_R},
    {DT_HASH, DT_NULL, PF_R},
    {DT_VERSYM, DT_NULL, PF_R},
    {DT_VERNEED, DT_NULL, PF_R},
    {DT_INIT, DT_NULL, PF_X},
    {DT_FINI, DT_NULL, PF_X},
    {DT_INIT_ARRAY, DT_INIT_ARRAYSZ, PF_W},
    {DT_FINI_ARRAY, DT_FINI_ARRAYSZ, PF_W},
};

/// The parts of an ELF file that the loader follows blindly.
class Checker {
 public:
  explicit Checker(const std::string& path) : path_(path), in_(path, std::ios::binary | std::ios::ate) {
    if (!in_) throw Error(file_error(errno)) << "cannot read the library " << path << ": " << std::strerror(errno);
    size_ = static_cast<uint64_t>(in_.tellg());
  }

  void run() {
    ElfW(Ehdr) header;
    read(&header, 0, sizeof header, "its header");
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) fail("it is no ELF file");
    bool is_native = header.e_ident[EI_CLASS] == kClass && header.e_ident[EI_DATA] == ELFDATA2LSB;
    if (!is_native || header.e_machine != kMachine)
      fail("it is for " + machine_name(header.e_machine) + ", and this is " + machine_name(kMachine));
    if (header.e_type != ET_DYN) fail("it is an ELF file, but no shared library; link it with -shared");
    if (header.e_phentsize != sizeof(ElfW(Phdr))) fail("its program headers have a wrong size");
    segments_.resize(header.e_phnum);
    read(segments_.data(), header.e_phoff, segments_.size() * sizeof(ElfW(Phdr)), "its program headers");
    check_segments();
    check_dynamic();
  }

 private:
  using Segment = ElfW(Phdr);

  void check_segments() const {
    uint64_t end = 0;  // of what is loaded so far
    for (const Segment& segment : segments_) {
      if (segment.p_offset > size_ || segment.p_filesz > size_ - segment.p_offset)
        fail("it ends after " + std::to_string(size_) + " bytes, where a segment says " +
             std::to_string(segment.p_offset) + " + " + std::to_string(segment.p_filesz) + "; was it copied whole?");
      if (segment.p_type != PT_LOAD) continue;
      uint64_t align = std::max<uint64_t>(segment.p_align, 1);
      bool is_sound = segment.p_filesz <= segment.p_memsz && segment.p_vaddr >= end && segment.p_memsz < kMaxMemory &&
                      segment.p_vaddr < kMaxMemory && (align & (align - 1)) == 0 &&
                      segment.p_vaddr % align == segment.p_offset % align && (segment.p_flags & PF_R);
      if (!is_sound) fail("it has segments that cannot be loaded");
      end = segment.p_vaddr + segment.p_memsz;
    }
    for (const Segment& segment : segments_)
      if (segment.p_type == PT_GNU_RELRO || segment.p_type == PT_TLS)
        if (!find_loaded(segment.p_vaddr, segment.p_type == PT_TLS ? segment.p_filesz : segment.p_memsz, PF_W))
          fail("it has a segment outside of what is loaded");
  }

  /// Tables that the dynamic section points to must lie in what is loaded from the file.
  void check_dynamic() {
    auto dynamic = std::find_if(segments_.begin(), segments_.end(), [](auto& s) { return s.p_type == PT_DYNAMIC; });
    if (dynamic == segments_.end()) fail("it has no dynamic section");
    const Segment* holder = find_loaded(dynamic->p_vaddr, dynamic->p_filesz, PF_W);
    if (!holder || dynamic->p_vaddr - holder->p_vaddr != dynamic->p_offset - holder->p_offset)
      fail("its dynamic section lies outside of what is loaded");
    std::vector<ElfW(Dyn)> entries(dynamic->p_filesz / sizeof(ElfW(Dyn)));
    read(entries.data(), dynamic->p_offset, entries.size() * sizeof(ElfW(Dyn)), "its dynamic section");
    auto value = [&](int64_t tag) {
      auto found = std::find_if(entries.begin(), entries.end(), [&](auto& e) { return e.d_tag == tag; });
      return found == entries.end() ? uint64_t{0} : uint64_t{found->d_un.d_val};
    };
    if (value(DT_STRTAB) == 0 || value(DT_SYMTAB) == 0) fail("its dynamic section has no symbols");
    for (auto [address, bytes, flags] : kTables)
      if (value(address) != 0 && !find_loaded(value(address), std::max<uint64_t>(1, value(bytes)), flags))
        fail("a table of its dynamic section lies outside of what is loaded");
  }

  /// The segment that loads these bytes from the file and may be used so, or null.
  const Segment* find_loaded(uint64_t address, uint64_t bytes, uint32_t flags) const {
    for (const Segment& s : segments_)
      if (s.p_type == PT_LOAD && (s.p_flags & flags) == flags && address >= s.p_vaddr &&
          address - s.p_vaddr <= s.p_memsz && bytes <= s.p_memsz - (address - s.p_vaddr))
        return &s;
    return nullptr;
  }

  void read(void* out, uint64_t offset, size_t bytes, const char* what) {
    if (offset > size_ || bytes > size_ - offset)
      fail("it ends after " + std::to_string(size_) + " bytes, before the end of " + what);
    in_.seekg(static_cast<std::streamoff>(offset));
    in_.read(static_cast<char*>(out), static_cast<std::streamsize>(bytes));
    if (!in_) fail(std::string("cannot read ") + what);
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(FileError) << "Failed to load dynamic shared library " << path_ << ": " << problem;
  }

  const std::string& path_;
  std::ifstream in_;
  uint64_t size_ = 0;
  std::vector<Segment> segments_;
};

}  // namespace

void check_library_file(const std::string& path) { Checker(path).run(); }

}  // namespace tessera
