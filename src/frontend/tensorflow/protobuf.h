#pragma once
// The reader of protobuf's wire format, and what it says of a file that is none.

#include "base/error.h"

namespace tessera::tensorflow {

[[noreturn]] inline void damaged(const char* how) {
  throw Error(ValueError) << "this is no TensorFlow graph, or it is damaged: " << how;
}

}  // namespace tessera::tensorflow

// A field of another wire type than its number has is a promise that the file breaks, not we: an error, also in release
// builds, where protozero would not look.
#ifdef protozero_assert
#undef protozero_assert
#endif
#define protozero_assert(condition) \
  ((condition) ? static_cast<void>(0) : tessera::tensorflow::damaged("a field is not of the type it must have"))
#include <protozero/pbf_reader.hpp>
