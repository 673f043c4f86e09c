#pragma once
// Text between quotes, with what cannot stand there written as escapes.

#include <string>
#include <string_view>

namespace tessera {

/// `text` in double quotes; \n, \t, \r, \" and \\ as usual, other control characters as `control_prefix` and two hex digits.
std::string escaped(std::string_view text, std::string_view control_prefix);

}  // namespace tessera
