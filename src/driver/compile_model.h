#pragma once
// A model compiled as the command line and `tvmc.compile` do it: everything that is chosen, in one place.

#include <string>

#include "frontend/load_model.h"
#include "ir/target/target.h"
#include "runtime/module/module.h"

namespace tessera {

struct CompileOptions {
  Target target;  // with its host, if it has one
  int opt_level = 3;
  std::string executor;      // "graph" or "vm"; empty: the graph executor where it can, else the virtual machine
  bool link_params = false;  // the library alone holds the parameters of a graph
  Array<String> disabled_pass;
  Map<String, ObjectRef> pass_config;
  std::string desired_layout;      // "NCHW" or "NHWC" for convolutions; empty: as they are
  std::string precision = "fp32";  // a row of `precisions`
  std::string module_name = "default";
};

struct CompiledModel {
  std::string executor;         // "graph" or "vm"
  std::string graph_json;       // of a graph
  Map<String, NDArray> params;  // of a graph
  Module library;               // the kernels; of a graph, what mod.so holds
  Module runnable;              // what `Model` and load_package's callers take: a factory of executors, or a program
  IRModule optimized;           // after all graph passes
};

/// Compiles "main". Stages are reported as progress (base/progress.h). A "graph" executor for a model that needs decisions
/// at run time is an error that says so.
CompiledModel compile_model(const LoadedModel& model, const CompileOptions& options);

/// The module with convolutions in this layout, "NCHW" or "NHWC"; constants are laid out anew.
IRModule convert_layout(const IRModule& mod, const std::string& layout);

/// What layers compute with, as --precision says it: "fp32" (as the model is), "fp16", "bf16".
const std::vector<std::string>& precisions();

/// The model with layers of fp32 on "fp16" or "bf16"; inputs and outputs keep their types. Where the target has arithmetic of
/// that type, ToMixedPrecision decides which operators compute with it; on other CPUs weights alone are narrow in memory and
/// are widened as they are read. "fp32" changes nothing.
LoadedModel convert_precision(const LoadedModel& model, const std::string& precision, const Target& target);

/// How a library is linked.
struct LinkOptions {
  std::string compiler;                       // a C++ compiler for the target's machine; empty: the built-in linker
  std::vector<std::string> compiler_options;  // words that the compiler is given
};

/// Writes the module and what it imports as a shared library. Without a compiler this needs nothing but this process, also
/// for other machines of the ELF kind; modules of C source, and targets that need a compiler, say so.
void export_library(const Module& module, const std::string& path, const LinkOptions& options = {});

/// Writes the package that `tessera run` and `tvmc.run` take: see runtime/package/package.h.
void export_package(const CompiledModel& model, const std::string& path, const LinkOptions& options = {});

/// Writes one package of a model that was compiled for several CPUs, given with their names. The best that a CPU can run is
/// chosen when it is loaded.
void export_portable_package(const std::vector<std::pair<std::string, CompiledModel>>& models, const std::string& path,
                             const LinkOptions& options = {});

}  // namespace tessera
