#include "driver/cli/subject.h"

#include <chrono>
#include <filesystem>

#include "runtime/archive/files.h"
#include "runtime/package/package.h"

namespace tessera::cli {
namespace {

uint64_t package_bytes(const CompiledModel& compiled) {
  TemporaryFolder folder;
  std::string file = folder.file("model.tar");
  try {
    export_package(compiled, file);
  } catch (const Error&) {  // code for a machine that cannot be linked for here: the size is not known
    return 0;
  }
  return std::filesystem::file_size(file);
}

Module load_compiled(const Subject& subject) {
  return subject.format == "package" ? load_package(Package(subject.path)) : load_module(subject.path);
}

}  // namespace

bool is_compiled(const ModelFlags& model) {
  if (!model.format.empty()) return false;
  return model.path.ends_with(".so") || guess_model_format(model.path) == "package";
}

Subject make_subject(const ModelFlags& model, const CompileOptions& options, bool with_size) {
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  MappedFile exists(model.path, "the model");  // says what is wrong before its format is thought about
  Subject out{.path = model.path};
  if (is_compiled(model)) {
    out.format = model.path.ends_with(".so") ? "library" : "package";
    out.runnable = load_compiled(out);
    out.executor = out.runnable->type_key() == "VMExecutable" ? "vm" : "graph";
    out.seconds = seconds();
    out.bytes = exists.bytes().size();
    return out;
  }
  LoadedModel loaded = model.load();
  out.format = loaded.format;
  CompiledModel compiled = compile_model(loaded, options);
  out.executor = compiled.executor;
  out.runnable = compiled.runnable;
  out.seconds = seconds();
  if (with_size) out.bytes = package_bytes(compiled);
  return out;
}

}  // namespace tessera::cli
