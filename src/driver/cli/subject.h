#pragma once
// A model that a command runs, whatever it is given as: a model file that is compiled first, a package, a library.

#include "driver/cli/model_flags.h"
#include "runtime/module/module.h"

namespace tessera::cli {

struct Subject {
  std::string path;
  std::string format;    // "onnx", "relay", "model", "package", "library"
  std::string executor;  // "graph" or "vm"
  Module runnable;       // as `Model` takes it
  double seconds = 0;    // to read and compile it
  uint64_t bytes = 0;    // of the file that is deployed: the package, or the one that would be written
};

/// Reads the model and compiles it where it is not compiled yet. Flags about compiling are an error for what is.
/// `with_size`: find out how large its package would be, which takes linking one.
Subject make_subject(const ModelFlags& model, const CompileOptions& options, bool with_size = false);

/// True for a package or a library.
bool is_compiled(const ModelFlags& model);

}  // namespace tessera::cli
