#pragma once
// The records that come with the package: <folder of the library>/../tuning_records/*.jsonl.

#include "base/map.h"
#include "base/string.h"

namespace tessera::kernel {

/// Plans by workload. They hold for the machines they were measured on, which is part of their keys. Read once.
const Map<String, ObjectRef>& shipped_records();

}  // namespace tessera::kernel
