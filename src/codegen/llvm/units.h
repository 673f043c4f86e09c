#pragma once
// The machine code of a library, in units: functions that refer to each other are compiled to one object, independent
// ones apart, side by side on all cores, and each only once as long as the kernel cache keeps it.

#include "codegen/llvm/generate.h"

namespace tessera::codegen {

/// A symbol that others may use.
struct Symbol {
  enum Kind : char { Data = 'd', Plain = 'f', Packed = 'p' };  // packed: a function of the one calling convention
  std::string name;
  Kind kind = Data;
};

struct Unit {
  std::vector<Symbol> symbols;
  std::string object;
};

/// A unit as it is cached on disk, and back.
std::string to_bytes(const Unit& unit);
Unit from_bytes(const std::string& bytes);

/// The symbols that a module defines for others.
std::vector<Symbol> defined_symbols(const llvm::Module& module);

/// All functions as machine code.
std::vector<Unit> compile_units(const NamedFunctions& functions, const Machine& machine, const std::string& entry);

}  // namespace tessera::codegen
