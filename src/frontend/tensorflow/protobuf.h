#pragma once
// The reader of protobuf's wire format, and what it says of a file that is none.

#include "frontend/common/wire.h"

namespace tessera::tensorflow {

[[noreturn]] inline void damaged(const char* how) {
  throw Error(ValueError) << "this is no TensorFlow graph, or it is damaged: " << how;
}

}  // namespace tessera::tensorflow
