#pragma once
// SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104), with which the two sides of a connection prove that they know a secret.

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera::rpc {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view data);
Digest hmac_sha256(std::string_view key, std::string_view message);

/// Equality in a time that does not depend on the contents.
bool same_digest(std::string_view a, std::string_view b);

inline std::string_view text_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace tessera::rpc
