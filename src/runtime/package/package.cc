#include "runtime/package/package.h"

#include <algorithm>

#include "runtime/compiler_hooks.h"
#include "runtime/cpu/features.h"
#include "runtime/graph_executor/module.h"
#include "runtime/package/params.h"
#include "runtime/package/portable_package.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

bool is_object(const TarReader::Member& member) { return member.name.ends_with(".o"); }

Package::Kind kind_of(const TarReader& archive, const std::string& folder, std::string* library) {
  if (archive.find("metadata.json")) return Package::MLF;
  for (const char* name : {"mod.so", "mod.tar", "lib.so", "lib.tar"}) {
    if (!archive.find(folder + name)) continue;
    *library = folder + name;
    return *name == 'm' ? Package::Classic : Package::VM;
  }
  if (!folder.empty())
    throw Error(ValueError) << archive.path() << " has no code for " << folder.substr(0, folder.size() - 1)
                            << ", which its " << kPortable << " names";
  if (archive.find("model.json")) return Package::Model;
  if (!archive.members().empty() && std::ranges::all_of(archive.members(), is_object)) return Package::Objects;
  Error error(ValueError);
  error << archive.path()
        << " is a tar archive, but no package of a model: it has neither mod.so (or mod.tar) nor lib.so "
        << "(or lib.tar). It holds";
  for (size_t i = 0; i < archive.members().size() && i < 10; ++i)
    error << (i ? ", " : " ") << archive.members()[i].name;
  throw error;
}

/// Links the objects of an archive into a library.
void link_objects(const TarReader& objects, const TemporaryFolder& folder, const std::string& output) {
  const auto& link = compiler_hooks().link_shared;
  if (!link)
    throw Error(RuntimeError) << objects.path()
                              << " holds objects that must be linked first, and this build has no linker; "
                              << "compile it again to a library (.so)";
  Array<String> files;
  for (const TarReader::Member& member : objects.members()) {
    if (!is_object(member))
      throw Error(NotImplementedError) << objects.path() << " holds " << member.name
                                       << ", which is no object file and cannot be linked here";
    files.push_back(String(folder.file(std::to_string(files.size()) + ".o")));
    write_whole_file(files.back().str(), member.bytes);
  }
  link(files, output, Array<String>{"libm.so.6"}, "");
}

Module load_library(const Package& package) {
  TemporaryFolder folder;  // the system keeps a loaded file after its name is gone
  std::string file = folder.file("model.so");
  if (package.kind == Package::Objects) {
    link_objects(package.archive, folder, file);
  } else if (package.library.ends_with(".tar")) {
    std::string name = package.archive.path() + "/" + package.library;
    link_objects(TarReader(package.archive[package.library], name, "the archive"), folder, file);
  } else {
    write_whole_file(file, package.archive[package.library]);
  }
  try {
    return load_module(file);
  } catch (const Error& error) {
    std::string message = error.message();  // the name of the temporary file tells a reader nothing
    for (size_t at; (at = message.find(file)) != message.npos;)
      message.replace(at, file.size(), package.archive.path() + "/" + package.library);
    throw Error(error.kind(), message);
  }
}

}  // namespace

bool Package::Variant::runs_here() const {
  return std::ranges::all_of(needs, [](const std::string& text) { return missing_cpu_features(text).empty(); });
}

Package::Package(const std::string& path) : archive(path, "the package") {
  if (archive.find(kPortable)) {
    variants = read_variants(archive);
    auto best = std::ranges::find_if(variants, &Variant::runs_here);
    chosen = best == variants.end() ? variants.size() - 1 : static_cast<size_t>(best - variants.begin());
  }
  kind = kind_of(archive, folder(), &library);
}

bool Package::has_constants() const { return kind == VM && (!variants.empty() || archive.find("lib.params")); }

Map<String, NDArray> Package::params() const {
  Map<String, NDArray> out;
  const char* name = kind == Classic ? "mod.params" : "lib.params";
  if (const TarReader::Member* own = archive.find(folder() + name)) out = load_params(own->bytes);
  if (variants.empty()) return out;
  for (const auto& [param, member] : variants[chosen].weights) {
    ByteReader in(archive[member], member + " of " + archive.path());
    out.set(String(param), read_tensor(in));
  }
  return out;
}

const char* Package::kind_name() const {
  constexpr const char* names[] = {"classic", "vm", "mlf", "model", "objects"};
  return names[kind];
}

Module load_package(const Package& package) {
  if (package.kind == Package::MLF)
    throw Error(NotImplementedError)
        << package.archive.path()
        << " is in Model Library Format, which is source for microcontrollers; compile the "
           "model with --output-format so to run it here";
  if (package.kind == Package::Model)
    throw Error(ValueError) << package.archive.path() << " holds a model that is not compiled yet; compile it first";
  Module library = load_library(package);
  if (package.kind == Package::Classic)
    return make_graph_factory(std::string(package.graph()), library, package.params(), "default");
  if (package.has_constants()) {
    PackedFunc bind = library.get_function("load_late_bound_consts_from_map");
    if (!bind)
      throw Error(ValueError) << "corrupt package " << package.archive.path() << ": " << package.library
                              << " holds no program of the virtual machine";
    bind(package.params());
  }
  return library;
}

void write_package(const std::string& path, const std::string& library_file, const std::string& graph,
                   const Map<String, NDArray>& params) {
  const char* form = library_file.ends_with(".tar") ? ".tar" : ".so";
  const std::string stem = graph.empty() ? "lib" : "mod";
  std::vector<TarEntry> entries{{stem + form, "", library_file}};
  if (!graph.empty()) entries.push_back({stem + ".json", graph, ""});
  if (!graph.empty() || !params.empty())
    entries.push_back({stem + ".params", "", "", [&](const Sink& out) { write_params(out, params); }});
  write_tar(path, entries);
}

namespace {

/// type, lib_name, the CPUs of a portable package, and for a classic one graph and params, as Python's TVMCPackage has them.
Map<String, ObjectRef> describe(const Package& package) {
  Map<String, ObjectRef> out{{"type", String(package.kind_name())}, {"lib_name", String(package.library)}};
  if (package.kind == Package::Classic) {
    out.set("graph", String(package.graph()));
    out.set("params", Bytes(save_params(package.params())));
  }
  Array<String> cpus;
  for (const Package::Variant& variant : package.variants) cpus.push_back(String(variant.cpu));
  out.set("cpus", cpus);
  return out;
}

Globals package_globals{
    {"runtime.ReadPackage", [](std::string path) { return describe(Package(path)); }},
    {"runtime.LoadPackage", [](std::string path) { return load_package(Package(path)); }},
    {"runtime.ReadPackageMember",
     [](std::string path, std::string name) { return Bytes(std::string(TarReader(path, "the package")[name])); }},
    {"runtime.WritePackage", write_package},
    {"runtime.ReadTar",
     [](std::string path) {
       TarReader archive(path);
       Map<String, Bytes> out;
       for (const TarReader::Member& member : archive.members())
         out.set(String(member.name), Bytes(std::string(member.bytes)));
       return out;
     }},
    {"runtime.WriteTar",
     [](std::string path, Map<String, Bytes> members) {
       std::vector<TarEntry> entries;
       for (const auto& [name, bytes] : members) entries.push_back({name.str(), bytes.str(), ""});
       write_tar(path, entries);
     }},
};

}  // namespace
}  // namespace tessera
