#pragma once

namespace tessera::relay {

/// With how many channels, padding included, a layer (slots.h, LayerChannels) is best computed: as a PackedFunc
/// (channels of the result, target) -> their number. PadChannels asks it.
inline constexpr const char* kPaddedChannels = "FPaddedChannels";

}  // namespace tessera::relay
