// LLD can also link LLVM's bitcode, by optimising and compiling it first. We give it objects only, and these few
// functions stand in for that part of it: the real ones would bring every pass that LLVM has and a text form for each.

#include <llvm/LTO/LTO.h>

#include <vector>

#define HIDDEN __attribute__((visibility("hidden")))

namespace lld::elf {

class BitcodeFile;
class InputFile;

// LLD's own, declared anew since its header is not installed. Driver.cc makes one only where a file is bitcode.
class BitcodeCompiler {
 public:
  BitcodeCompiler();
  ~BitcodeCompiler();
  void add(BitcodeFile& file);
  std::vector<InputFile*> compile();
};

HIDDEN BitcodeCompiler::BitcodeCompiler() {}
HIDDEN BitcodeCompiler::~BitcodeCompiler() {}
HIDDEN void BitcodeCompiler::add(BitcodeFile&) {}
HIDDEN std::vector<InputFile*> BitcodeCompiler::compile() { return {}; }

}  // namespace lld::elf

namespace llvm::lto {

HIDDEN InputFile::~InputFile() = default;

// link_shared looks at files before; bitcode in an archive comes here, and LLD ends as for any file that it cannot read.
HIDDEN Expected<std::unique_ptr<InputFile>> InputFile::create(MemoryBufferRef) {
  return createStringError("LLVM bitcode is not linked");
}

HIDDEN SmallVector<const char*> LTO::getRuntimeLibcallSymbols(const Triple&) { return {}; }

}  // namespace llvm::lto
