#pragma once
// What importers give.

#include <vector>

#include "frontend/common/survey.h"
#include "ir/module.h"
#include "runtime/ndarray.h"

namespace tessera::frontend {

struct Imported {
  IRModule mod;
  Map<String, NDArray> params;
};

/// A model imported as far as it goes: a node that is rejected does not stop the rest.
template <class What = Imported>
struct Surveyed {
  std::vector<UnsupportedNode> unsupported;
  What imported;  // its module is empty where something is rejected
};
using Survey = Surveyed<>;

}  // namespace tessera::frontend
