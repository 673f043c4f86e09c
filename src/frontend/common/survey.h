#pragma once
// Everything in a model that cannot be imported, found in one go.

#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace tessera::frontend {

/// A node that cannot be imported.
struct UnsupportedNode {
  std::string op, domain, node;  // `node`: its name, or where it has none that of its first output
  int64_t version = 0;           // of the operator set
  std::string reason;
  bool is_invalid = false;       // the file is wrong, rather than that something is not supported
  bool follows_another = false;  // it uses what another rejected node makes, of which only the type is known
};

/// The kind of error of a node that is not listed itself: it needs what a rejected one makes, or is listed already.
inline constexpr ErrorKind kFollowsUnsupported = "FollowsUnsupported";

/// Unsupported nodes as they are found, each once: the body of a loop or function may be imported many times.
class UnsupportedNodes {
 public:
  explicit UnsupportedNodes(std::vector<UnsupportedNode>* out) : out_(out) {}

  explicit operator bool() const { return out_ != nullptr; }  // false: the first error ends the import
  bool empty() const { return out_->empty(); }
  /// The reason is the error's.
  void add(UnsupportedNode found, const Error& error);

 private:
  std::vector<UnsupportedNode>* out_;
  std::set<std::string> seen_;
};

}  // namespace tessera::frontend
