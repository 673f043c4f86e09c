#pragma once

#include "tir/stmt.h"

namespace tessera {

/// The rectangle of `buffer` that `body` touches by loads, stores or both, its loops relaxed to their ranges. Empty when
/// it does not touch the buffer; an axis without bounds is an error.
Array<Range> domain_touched(const Stmt& body, const Buffer& buffer, bool consider_loads, bool consider_stores);

}  // namespace tessera
