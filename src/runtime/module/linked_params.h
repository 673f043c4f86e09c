#pragma once

#include "runtime/module/module.h"
#include "runtime/ndarray.h"

namespace tessera {

/// A library that holds the parameters of its model: executors made of it need none.
Module link_params(const Module& library, Map<String, NDArray> params);

}  // namespace tessera
