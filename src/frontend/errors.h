#pragma once
// Kinds of errors that importers of models throw, beside those of base/error.h.

#include "base/error.h"

namespace tessera {

inline constexpr ErrorKind OpNotImplemented = "OpNotImplemented";        // an operator is not known
inline constexpr ErrorKind OpAttributeRequired = "OpAttributeRequired";  // an attribute is missing
inline constexpr ErrorKind OpAttributeInvalid = "OpAttributeInvalid";    // an attribute cannot have this value
inline constexpr ErrorKind OpAttributeUnImplemented = "OpAttributeUnImplemented";  // a value that is not supported
inline constexpr ErrorKind MissingFrontend = "ImportError";  // models of this format cannot be read here

}  // namespace tessera
