#pragma once
// A compiled model as one file: the uncompressed tar that `tvmc compile` writes.
//
//   classic   mod.so (or mod.tar, an archive of objects), mod.json (the graph), mod.params
//   vm        lib.so (or lib.tar): a program of the virtual machine holds its constants itself
//   mlf       a Model Library Format tree with metadata.json: recognised, not run
//   model     model.json, model.params: a model that is not compiled yet (TVMCModel.save)
//   objects   object files alone: what `export_library` of a module writes to a .tar

#include "runtime/archive/tar.h"
#include "runtime/module.h"
#include "runtime/ndarray.h"

namespace tessera {

struct Package {
  enum Kind { Classic, VM, MLF, Model, Objects };

  /// Reads and checks the archive; a file that is none of these is a ValueError that says what it holds.
  explicit Package(const std::string& path);
  /// True for a tar archive, whatever it holds.
  static bool is_package(const std::string& path) { return TarReader::is_tar(path); }

  Kind kind;
  TarReader archive;
  std::string library;  // the member with the code: "mod.so", "lib.tar"; empty for the other kinds

  /// "classic", "vm", "mlf", "model" or "objects".
  const char* kind_name() const;
  /// The graph and the bytes of the parameters of a classic package.
  std::string_view graph() const { return archive["mod.json"]; }
  std::string_view params() const { return archive["mod.params"]; }
};

/// What runs it: a factory of graph executors (`<name>(device)`), or a program of the virtual machine; `Model` takes
/// both. The library is loaded through a temporary file. Archives of objects are linked first, where the compiler is
/// there. A package for another machine, or of kind MLF or Model, is an error that says so.
Module load_package(const Package& package);

/// Writes a package of this library (a file; one that ends in .tar holds objects) by rename: classic with a graph, else one for the virtual machine.
void write_package(const std::string& path, const std::string& library_file, const std::string& graph,
                   const Map<String, NDArray>& params);

}  // namespace tessera
