#pragma once
// Padding of channels: how it lies, and where convolutions in groups want it.

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "relay/expr.h"
#include "relay/slots.h"

namespace tessera::relay {

/// `channels` in `groups` of as many, each with its padding behind it: `padded` in all.
struct ChannelPadding {
  int64_t channels, padded;
  int64_t groups = 1;
  bool operator==(const ChannelPadding&) const = default;
};

/// Data of groups of a multiple of so many channels is read where it lies, wherever a group begins in a block.
inline constexpr int64_t kReadTogether = 4;

/// An axis of channels with padding of zeros; the other extents may be known at run time only.
Expr pad_axis(const Expr& x, DataType dtype, size_t rank, size_t axis, const ChannelPadding& padding);
/// The channels alone.
Expr crop_axis(const Expr& x, size_t axis, const ChannelPadding& padding);

/// The axes of a convolution in groups, of more than one channel each; nothing for other calls.
std::optional<LayerChannels> grouped_channels(const Call* call);

/// The layout of a pool; empty for other calls.
String pool_layout(const Call* call);

/// True for a tensor of float32 whose rank, and whose extent along `axis`, is known.
bool is_float_of(const Expr& value, size_t axis);

/// Convolutions in groups whose channels fill no vector, and what shares its channels with them: the layers before and behind, up
/// to which element-wise operators, pools and depthwise convolutions reach. Each such set of values has padding by groups where
/// that saves the convolution more than it costs the layers.
class GroupedChannels {
 public:
  /// `padded`: with how many channels a layer is best computed.
  using PaddedCount = std::function<int64_t(const Call* layer, int64_t channels)>;
  GroupedChannels(const Expr& root, const PaddedCount& padded);

  /// True for a convolution in groups that is to be padded.
  bool wants_padding(const Call* convolution) const { return padded_.count(convolution) != 0; }
  /// In how many groups the padding of a value lies.
  int64_t groups_of(const Call* value) const;

 private:
  struct Convolution;
  const Object* set_of(const Object* value) const;
  void unite(const Call* value, const Expr& other);

  mutable std::unordered_map<const Object*, const Object*> next_;  // towards the one that stands for a set
  std::unordered_map<const Object*, int64_t> groups_;              // by it
  std::unordered_set<const Call*> padded_;
};

}  // namespace tessera::relay
