#pragma once
// Graphs that oneDNN runs.

#include "base/array.h"
#include "runtime/module/module.h"

namespace tessera {

/// The module of type "dnnl_json" for a graph in JSON with these constants; the library is asked when it is first called.
Module make_dnnl_json(std::string symbol, std::string json, Array<String> const_names);

}  // namespace tessera
