#pragma once

namespace tessera {

/// An ASCII letter, with which a printed name may begin.
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace tessera
