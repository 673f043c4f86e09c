#include "codegen/llvm/machine/link.h"

#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/Magic.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "codegen/llvm/pch.h"
#include "runtime/archive/files.h"

LLD_HAS_DRIVER(elf)

namespace tessera::codegen {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone when this is.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "tessera-link-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw Error(FileError) << "cannot make a temporary folder like " << pattern;
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void run_linker(const std::vector<std::string>& words) {
  static std::mutex mutex;  // LLD keeps its state in globals
  static bool is_broken = false;
  std::lock_guard lock(mutex);
  if (is_broken) throw Error(RuntimeError) << "the linker failed before in this process and cannot be used again";
  std::vector<const char*> args{"ld.lld"};
  for (const std::string& word : words) args.push_back(word.c_str());
  std::string said;
  llvm::raw_string_ostream stream(said);
  lld::Result result = lld::lldMain(args, stream, stream, {{lld::Gnu, &lld::elf::link}});
  is_broken = !result.canRunAgain;
  if (result.retCode != 0) throw Error(RuntimeError) << "linking failed: " << said;
}

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// What an ELF header says of the machine, its byte order and its calling convention.
std::string machine_of(const std::string& object) {
  std::string header(sizeof(llvm::ELF::Elf64_Ehdr), '\0');
  std::ifstream file(object, std::ios::binary);
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  header.resize(static_cast<size_t>(file.gcount()));
  constexpr size_t kClass = 4, kMachine = 18, kFlags32 = 36, kFlags64 = 48;
  if (header.size() < kFlags64 + 4) return header;
  const size_t flags = header[kClass] == llvm::ELF::ELFCLASS64 ? kFlags64 : kFlags32;
  return header.substr(kClass, 2) + header.substr(kMachine, 2) + header.substr(flags, 4);
}

/// A library of a name, for a linker that asks a file for it, and nothing that is looked for in it: what it defines, the objects define
/// themselves. Made once for each machine.
std::string stand_in(const std::string& name, const std::string& object, const TemporaryFolder& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::string> made;
  std::lock_guard lock(mutex);
  const std::string file = folder.file(name);
  std::string& library = made[name + "\n" + machine_of(object)];
  if (library.empty()) {
    run_linker({"-shared", "--build-id=none", "-soname", name, "-o", file, object});
    library = contents(file);
  } else {
    write_whole_file(file, library);
  }
  return file;
}

}  // namespace

std::string merge_objects(const std::vector<std::string>& objects) {
  if (objects.size() == 1) return objects[0];
  TemporaryFolder folder;
  std::vector<std::string> words{"-r", "-o", folder.file("all.o")};
  for (size_t i = 0; i < objects.size(); ++i) {
    words.push_back(folder.file(std::to_string(i) + ".o"));
    write_whole_file(words.back(), objects[i]);
  }
  run_linker(words);
  return contents(words[2]);
}

std::string link_device_code(const std::string& object) {
  TemporaryFolder folder;
  write_whole_file(folder.file("kernels.o"), object);
  run_linker(
      {"-shared", "--no-undefined", "--build-id=none", "-o", folder.file("kernels.hsaco"), folder.file("kernels.o")});
  return contents(folder.file("kernels.hsaco"));
}

void link_shared(const std::vector<std::string>& files, const std::string& output,
                 const std::vector<std::string>& needed, const std::string& blob) {
  for (const std::string& file : files) {
    llvm::file_magic magic;
    if (!llvm::identify_magic(file, magic) && magic == llvm::file_magic::bitcode)
      throw Error(ValueError) << file
                              << " is LLVM bitcode, and the built-in linker takes objects: compile it first, as "
                              << "`llc -filetype=obj` does";
  }
  TemporaryFolder folder;
  std::vector<std::string> words{"-shared", "--build-id=none", "-o", output};
  words.insert(words.end(), files.begin(), files.end());
  for (const std::string& name : needed) words.push_back(stand_in(name, files.at(0), folder));
  if (!blob.empty()) {
    std::string symbol = "_binary_" + blob + "_start";  // as linkers name the bytes of a file
    for (char& c : symbol)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    words.insert(words.end(), {"--format=binary", blob, "--format=default", "--defsym=__tvm_dev_mblob=" + symbol});
  }
  run_linker(words);
}

}  // namespace tessera::codegen
