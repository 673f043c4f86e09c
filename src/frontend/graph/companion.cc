#include "frontend/graph/companion.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "runtime/archive/files.h"

namespace tessera::frontend {

namespace fs = std::filesystem;

std::string stem_of(const std::string& path) { return fs::path(path).stem().string(); }

std::string companion_of(const std::string& path, const std::vector<std::string>& names,
                         const std::vector<std::string>& suffixes, const std::string& what) {
  const fs::path own(path), folder = own.has_parent_path() ? own.parent_path() : fs::path(".");
  std::error_code problem;
  for (const std::string& name : names)
    if (name != own.filename() && fs::is_regular_file(folder / name, problem)) return (folder / name).string();
  std::vector<std::string> fitting;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    if (entry.path().filename() == own.filename()) continue;
    if (std::find(suffixes.begin(), suffixes.end(), entry.path().extension()) != suffixes.end())
      fitting.push_back(entry.path().string());
  }
  if (fitting.size() == 1) return fitting[0];
  std::sort(fitting.begin(), fitting.end());
  std::string wanted, found;
  for (const std::string& name : names) wanted += (wanted.empty() ? "" : " or ") + name;
  for (const std::string& name : fitting) found += (found.empty() ? "" : ", ") + fs::path(name).filename().string();
  throw Error(file_error(ENOENT)) << path << ": " << what << " must lie beside it, as " << wanted
                                  << (found.empty() ? "; no such file is there"
                                                    : "; of several files there it is not clear which: " + found);
}

}  // namespace tessera::frontend
