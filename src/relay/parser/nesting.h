#pragma once
// Recursion of the parser, bounded and on enough stack.

#include "base/stack.h"
#include "relay/parser/parser.h"

namespace tessera::relay {

template <class F>
auto Parser::nested(F&& body) {
  struct Level {
    int& depth;
    ~Level() { --depth; }
  } level{++depth_};
  if (depth_ > kDeepest) fail(peek(), "the program is nested deeper than " + std::to_string(kDeepest) + " levels");
  return on_enough_stack(body);
}

}  // namespace tessera::relay
