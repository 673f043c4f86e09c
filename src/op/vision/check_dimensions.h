#pragma once

#include "op/record.h"

namespace tessera::op {

/// An error that names input `i` and says its `form` when it has another rank.
inline void check_dimensions(const TypeQuery& query, int i, const char* name, size_t rank, const char* form) {
  if (query.tensor(i)->shape.size() != rank)
    throw Error(TypeError) << name << " must be " << form << ", but is " << to_text(query.type(i));
}

}  // namespace tessera::op
