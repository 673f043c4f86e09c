#pragma once
// Models of two files: one says the layers, the other holds their weights.

#include <string>
#include <vector>

namespace tessera::frontend {

/// The file that belongs to `path`: one of `names` in its folder, or the only one there that ends in one of `suffixes`
/// (".weights"). A FileNotFoundError that says what was looked for where there is none or more than one; `what` is it in words.
std::string companion_of(const std::string& path, const std::vector<std::string>& names,
                         const std::vector<std::string>& suffixes, const std::string& what);
/// The name of the file without its folder and last suffix.
std::string stem_of(const std::string& path);

}  // namespace tessera::frontend
