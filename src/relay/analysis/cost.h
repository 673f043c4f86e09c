#pragma once
// How much arithmetic the call of an operator is.

#include "relay/expr.h"

namespace tessera::relay {

struct Cost {
  int64_t macs = 0;         // multiply-accumulates: convolutions and matmuls
  int64_t flops = 0;        // arithmetic of any kind; a multiply-accumulate counts as two
  bool is_dynamic = false;  // some extent is not known and was counted as 1

  Cost& operator+=(const Cost& other);
};

/// An estimate from the types, which must be known. Operators that only move values cost nothing; functions like exp count
/// as one. What depends on values (sorting, loops) is not counted. Numbers beyond int64 stay at its end.
Cost cost_of(const Call* call);

}  // namespace tessera::relay
