#include "runtime/cuda/toolkit.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

namespace tessera::cuda {
namespace {

bool is_there(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

/// Ends of paths are added to these.
std::vector<std::string> library_folders() {
  std::vector<std::string> out;
  if (const char* given = std::getenv("TESSERA_CUDA_LIBRARIES"); given && *given) {
    std::istringstream folders(given);
    for (std::string folder; std::getline(folders, folder, ':');) out.push_back(folder + "/");
    return out;
  }
  if (const std::string toolkit = toolkit_folder(); !toolkit.empty()) out.push_back(toolkit + "/lib64/");
  out.emplace_back();
  return out;
}

}  // namespace

std::string toolkit_folder() {
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"})
    if (const char* value = std::getenv(name); value && is_there(std::string(value) + "/include")) return value;
  for (const char* path : {"/usr/local/cuda", "/opt/cuda"})
    if (is_there(std::string(path) + "/include")) return path;
  return "";
}

void* open_toolkit_library(std::initializer_list<const char*> names) {
  for (const std::string& folder : library_folders())
    for (const char* name : names)
      if (void* handle = dlopen((folder + name).c_str(), RTLD_LAZY | RTLD_LOCAL)) return handle;
  return nullptr;
}

}  // namespace tessera::cuda
