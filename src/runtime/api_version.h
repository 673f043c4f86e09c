#pragma once

namespace tessera {

/// The release of TVM whose API this is. Files say it too, so that TVM's tools take them for theirs.
inline constexpr const char* kApiVersion = "0.10.0";

}  // namespace tessera
