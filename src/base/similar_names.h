#pragma once
// Names that a user may have meant.

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The known names within a few edits of `name`, nearest first, at most three.
std::vector<std::string> similar_names(std::string_view name, const std::vector<std::string>& known);

/// "; did you mean a, b", for the end of a message; empty where nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace tessera
