#pragma once
// A compiled model as one file: the uncompressed tar that `tvmc compile` writes.
//
//   classic   mod.so (or mod.tar, an archive of objects), mod.json (the graph), mod.params
//   vm        lib.so (or lib.tar): a program of the virtual machine, and lib.params: its constants but for small ones;
//             without it, the program holds all of them
//   mlf       a Model Library Format tree with metadata.json: recognised, not run
//   model     model.json, model.params: a model that is not compiled yet (TVMCModel.save)
//   objects   object files alone: what `export_library` of a module writes to a .tar
//   portable  several classic or vm packages, each for one CPU: see runtime/package/portable_package.h

#include <map>

#include "runtime/archive/tar.h"
#include "runtime/module/module.h"
#include "runtime/ndarray.h"

namespace tessera {

struct Package {
  enum Kind { Classic, VM, MLF, Model, Objects };

  /// What a portable package has for one CPU.
  struct Variant {
    std::string cpu;
    std::vector<std::string> needs;              // features, as the libraries say it
    std::map<std::string, std::string> weights;  // members of the archive by name of parameter
    bool runs_here() const;
  };

  /// Reads and checks the archive; a file that is none of these is a ValueError that says what it holds.
  explicit Package(const std::string& path);
  /// True for a tar archive, whatever it holds.
  static bool is_package(const std::string& path) { return TarReader::is_tar(path); }

  Kind kind;
  TarReader archive;
  std::string library;            // the member with the code: "mod.so", "lib.tar"; empty for the other kinds
  std::vector<Variant> variants;  // of a portable package, the best first
  size_t chosen = 0;              // of them: the first that runs here, else the last, which needs least

  /// "classic", "vm", "mlf", "model" or "objects".
  const char* kind_name() const;
  /// The graph of a classic package.
  std::string_view graph() const { return archive[folder() + "mod.json"]; }
  /// True where constants of a program are not part of its library.
  bool has_constants() const;
  /// Parameters of a classic package; those constants of a program.
  Map<String, NDArray> params() const;

 private:
  /// Of the chosen variant: "x86-64-v3/".
  std::string folder() const { return variants.empty() ? "" : variants[chosen].cpu + "/"; }
};

/// What runs it: a factory of graph executors (`<name>(device)`), or a program of the virtual machine; `Model` takes
/// both. The library is loaded through a temporary file. Archives of objects are linked first, where the compiler is
/// there. A package for another machine, or of kind MLF or Model, is an error that says so.
Module load_package(const Package& package);

/// Writes a package of this library (a file; one that ends in .tar holds objects) by rename: classic with a graph, else one for the virtual machine.
void write_package(const std::string& path, const std::string& library_file, const std::string& graph,
                   const Map<String, NDArray>& params);

}  // namespace tessera
