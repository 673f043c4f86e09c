// Compiled modules as files: a shared library, or a package of a whole model.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/progress.h"
#include "codegen/llvm/host.h"
#include "codegen/llvm/machine/link.h"
#include "driver/compile_model.h"
#include "runtime/archive/files.h"
#include "runtime/package/file_seal.h"
#include "runtime/package/portable_package.h"
#include "runtime/registry.h"
#include "runtime/vm/executable.h"

extern char** environ;

namespace tessera {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// Runs a program to its end; an error with what it said when it fails.
void run_program(const std::vector<std::string>& words, const TemporaryFolder& folder) {
  std::string log = folder.file("compiler.log");
  std::vector<char*> args;
  for (const std::string& word : words) args.push_back(const_cast<char*>(word.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  int problem = posix_spawnp(&child, args[0], &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem)
    throw Error(FileError) << "cannot start the compiler " << words[0] << ": " << std::strerror(problem)
                           << "; install it, or give another with --cross-compiler";
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::ifstream said(log);
  std::ostringstream text;
  text << said.rdbuf();
  throw Error(RuntimeError) << "the compiler could not link the library:\n"
                            << text.str() << "\nit was called as: " << joined(words);
}

/// Objects, and C sources, of a module and its imports, as files of a folder.
struct Parts {
  std::vector<std::string> files;
  Module blob;         // not null: a blob says which modules it imports that no linker takes
  std::string target;  // text of the LLVM target among the modules
  bool has_source = false;

  Parts(const Module& module, const TemporaryFolder& folder);
  std::vector<std::string> needed() const;
};

Parts::Parts(const Module& module, const TemporaryFolder& folder) {
  std::vector<Module> code;
  for (const Module& each : reachable_modules(module))
    if (each->is_dso_exportable()) code.push_back(each);
  for (size_t i = 0; i < code.size(); ++i) {
    const Module& each = code[i];
    bool is_c = each->type_key() == "c";
    has_source |= is_c;
    files.push_back(folder.file("lib" + std::to_string(i) + (is_c ? ".c" : ".o")));
    each->save_to_file(files.back(), is_c ? "c" : "o");
    if (PackedFunc text = each.get_function("_get_target_string"); text && target.empty())
      target = text().to<std::string>();
  }
  bool stands_alone = code.size() == 1 && code[0].same_as(module) && module.imports().empty();
  if (!stands_alone) blob = module;
}

/// What the code calls that is not in it: functions of C's library for mathematics.
std::vector<std::string> Parts::needed() const {
  std::string triple = Target::parse(target.empty() ? "llvm" : target).option("mtriple").value_or("linux-gnu");
  bool is_glibc = triple.find("linux") != triple.npos && triple.find("musl") == triple.npos &&
                  triple.find("android") == triple.npos;
  return is_glibc ? std::vector<std::string>{"libm.so.6"} : std::vector<std::string>();
}

/// The blob as an object file, for linkers of other kinds and for libraries without code of their own.
std::string blob_object(const Parts& parts, const TemporaryFolder& folder) {
  std::string file = folder.file("imports.o");
  Module object = codegen::build_blob(Bytes(pack_imports(parts.blob)), false, parts.target);
  object->save_to_file(file, "o");
  return file;
}

/// The blob with its length, as the loader reads it.
std::string blob_file(const Parts& parts, const TemporaryFolder& folder) {
  std::string file = folder.file("imports.bin");
  write_whole_file(file, [&](const Sink& out) {
    ByteWriter bytes(out);
    write_sized(bytes, [&](ByteWriter& to) { write_imports(to, parts.blob); });
    bytes.flush();
  });
  return file;
}

void link_here(Parts& parts, const std::string& output, const TemporaryFolder& folder) {
  std::string blob;
  if (parts.blob && parts.files.empty()) parts.files.push_back(blob_object(parts, folder));
  if (parts.blob) blob = blob_file(parts, folder);
  codegen::link_shared(parts.files, output, parts.needed(), blob);
}

void link_by_compiler(const Parts& parts, const std::string& output, const LinkOptions& options,
                      const TemporaryFolder& folder) {
  std::vector<std::string> words{options.compiler.empty() ? "cc" : options.compiler, "-shared", "-fPIC", "-o", output};
  words.insert(words.end(), parts.files.begin(), parts.files.end());
  if (parts.blob) words.push_back(blob_object(parts, folder));
  words.insert(words.end(), options.compiler_options.begin(), options.compiler_options.end());
  if (parts.has_source) words.insert(words.end(), {"-O2", "-lm"});
  run_program(words, folder);
}

}  // namespace

void export_library(const Module& module, const std::string& path, const LinkOptions& options) {
  begin_stage("link");
  TemporaryFolder folder;
  Parts parts(module, folder);
  if (parts.files.empty() && !parts.blob)
    throw Error(ValueError) << "a module of type " << module->type_key() << " has nothing that can be written into "
                            << path;
  write_whole_file(path, [&](const std::string& temporary) {
    options.compiler.empty() && !parts.has_source ? link_here(parts, temporary, folder)
                                                  : link_by_compiler(parts, temporary, options, folder);
    seal_file(temporary);
  });
}

namespace {

/// A program whose large constants are bound when it is loaded, and those constants.
Module without_constants(const Module& executable, Map<String, NDArray>* constants) {
  constexpr int64_t kLarge = 4096;
  *constants = executable.get_function("get_late_bound_consts")(kLarge).to<Map<String, NDArray>>();
  vm::Program program = *vm::program_of(executable);
  for (size_t i = 0; i < program.constants.size(); ++i)
    if (constants->count(String(program.constant_names[i]))) program.constants[i] = NDArray();
  return vm::make_executable(std::move(program), vm::library_of(executable));
}

/// The library of a package; parameters that are not part of it are added to `params`.
void export_code(const CompiledModel& model, const std::string& path, const LinkOptions& options,
                 Map<String, NDArray>* params) {
  *params = model.params;
  export_library(model.executor == "vm" ? without_constants(model.runnable, params) : model.library, path, options);
}

}  // namespace

void export_package(const CompiledModel& model, const std::string& path, const LinkOptions& options) {
  TemporaryFolder folder;
  const std::string library = folder.file("model.so");
  Map<String, NDArray> params;
  export_code(model, library, options, &params);
  begin_stage("write");
  write_package(path, library, model.graph_json, params);
}

void export_portable_package(const std::vector<std::pair<std::string, CompiledModel>>& models, const std::string& path,
                             const LinkOptions& options) {
  TemporaryFolder folder;
  std::vector<PackagePart> parts;
  for (const auto& [cpu, model] : models) {
    if (std::ranges::any_of(parts, [&](const PackagePart& part) { return part.cpu == cpu; }))
      throw Error(ValueError) << "the CPU " << cpu << " is named twice";
    PackagePart part{cpu, folder.file(std::to_string(parts.size()) + ".so"), model.graph_json, {}};
    export_code(model, part.library_file, options, &part.params);
    parts.push_back(std::move(part));
  }
  begin_stage("write");
  write_portable_package(path, std::move(parts));
}

static Globals export_library_globals{
    {"driver.export_library",
     [](Module module, std::string path, std::string compiler, Array<String> options) {
       export_library(module, path, {compiler, {options.begin(), options.end()}});
     }},
};

}  // namespace tessera
