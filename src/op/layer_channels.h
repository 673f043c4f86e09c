#pragma once
// Where the channels of layers lie, by which scales of their data and results are taken in by their weights.

#include "relay/slots.h"

namespace tessera::op {

std::optional<relay::LayerChannels> conv_channels(const relay::Call* call);
std::optional<relay::LayerChannels> dense_channels(const relay::Call* call);

}  // namespace tessera::op
