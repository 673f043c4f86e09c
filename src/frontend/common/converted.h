#pragma once
// What converters throw, as errors of their nodes.

#include <new>
#include <stdexcept>

#include "frontend/common/node_context.h"

namespace tessera::frontend {

/// What `convert()` gives. What the standard library throws, for numbers of the file, is an error of the node.
template <class Convert>
auto converted(const NodeContext& in, Convert&& convert) {
  constexpr const char* kTooLarge = "its numbers ask for more memory than there is";
  try {
    return convert();
  } catch (const std::bad_alloc&) {
    in.invalid(kTooLarge);
  } catch (const std::length_error&) {
    in.invalid(kTooLarge);
  } catch (const std::out_of_range&) {
    in.invalid("the node has fewer inputs or attributes than its operator needs");
  }
}

}  // namespace tessera::frontend
