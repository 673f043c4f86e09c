#pragma once
// Names of passes as users give them. A pass has the title in its PassInfo, which is v0.10's, and the name of its row.

#include <string_view>

namespace tessera {

/// Whether `name` is the title, or names a row with that title: "Inline" and "InlineGlobals" are one pass.
bool names_pass(std::string_view name, std::string_view title);
/// Whether a row of the tables under `prefix` has that name or title.
bool has_pass(std::string_view prefix, std::string_view name);

}  // namespace tessera
