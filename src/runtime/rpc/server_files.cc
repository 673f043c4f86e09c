#include "runtime/rpc/server_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/archive/files.h"
#include "runtime/module/module.h"
#include "runtime/registry.h"
#include "runtime/rpc/client_session.h"

namespace tessera::rpc {
namespace {

constexpr size_t kMaxName = 1024;
std::string folder_path;

[[noreturn]] void throw_file_error(const std::string& what, const std::string& name) {
  throw Error(file_error(errno)) << what << " " << name << ": " << std::strerror(errno);
}

void make_parents(const std::string& path) {
  for (size_t at = session_folder().size() + 1; (at = path.find('/', at)) != path.npos; ++at)
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST)
      throw_file_error("cannot make a folder of", path);
}

/// upload(name, bytes[, append])
void upload(Args args, Any*) {
  if (args.size() < 2) throw_argument_count("tvm.rpc.server.upload", 2, args.size());
  std::string name = args[0].to<std::string>(), path = session_path(name);
  auto data = args[1].to<Bytes>();
  bool appends = args.size() > 2 && args[2].to<bool>();
  make_parents(path);
  int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (appends ? O_APPEND : O_TRUNC);
  Descriptor file(open(path.c_str(), flags, 0600));
  if (!file) throw_file_error("cannot write", name);
  for (std::string_view left = data.str(); !left.empty();) {
    ssize_t wrote = write(file.get(), left.data(), left.size());
    if (wrote < 0 && errno != EINTR) throw_file_error("cannot write", name);
    if (wrote > 0) left.remove_prefix(static_cast<size_t>(wrote));
  }
}

Bytes download(std::string name) {
  return Bytes(std::string(MappedFile(session_path(name), "the file of the session").bytes()));
}

void remove_file(std::string name) {
  if (unlink(session_path(name).c_str()) != 0 && errno != ENOENT) throw_file_error("cannot remove", name);
}

std::string list_files(std::string name) {
  std::string path = name.empty() || name == "." ? session_folder() : session_path(name);
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  if (!folder) throw_file_error("cannot list", name);
  std::vector<std::string> names;
  while (dirent* entry = readdir(folder.get()))
    if (std::string_view each = entry->d_name; each != "." && each != "..") names.emplace_back(each);
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& each : names) out += (out.empty() ? "" : ",") + each;
  return out;
}

Globals server_files_globals{
    {"tvm.rpc.server.workpath", [](std::string name) { return session_path(name); }},
    {"tvm.rpc.server.upload", upload},
    {"tvm.rpc.server.download", download},
    {"tvm.rpc.server.remove", remove_file},
    {"tvm.rpc.server.listdir", list_files},
    {"tvm.rpc.server.load_module", [](std::string name) { return load_module(session_path(name)); }},
    {"tvm.rpc.server.ModuleGetFunction",
     [](Module module, std::string name, bool query_imports) { return module.get_function(name, query_imports); }},
    {"tvm.rpc.server.ImportModule", [](Module parent, Module child) { parent.import_module(child); }},
};

}  // namespace

const std::string& session_folder() {
  if (folder_path.empty()) {
    static TemporaryFolder own;
    folder_path = own.file("");
    folder_path.pop_back();
  }
  return folder_path;
}

void set_session_folder(const std::string& path) { folder_path = path; }

std::string session_path(const std::string& name) {
  bool is_fine = !name.empty() && name.size() <= kMaxName && name.find('\0') == name.npos;
  for (size_t begin = 0; is_fine && begin <= name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    std::string_view part = std::string_view(name).substr(begin, end - begin);
    is_fine = !part.empty() && part != "." && part != "..";
    begin = end + 1;
  }
  if (!is_fine)
    throw Error(ValueError) << quoted(name.substr(0, kMaxName))
                            << " is no name of a file of the session; names are relative and have no \"..\"";
  return session_folder() + "/" + name;
}

}  // namespace tessera::rpc
