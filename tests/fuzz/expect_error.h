#pragma once
// What a reader may do with hostile input: succeed, or throw an error that a user can cause.

#include <cstdio>
#include <cstdlib>

#include "base/error.h"

template <class F>
void expect_value_or_error(F&& read) {
  try {
    read();
  } catch (const tessera::Error& error) {
    if (error.kind() != tessera::InternalError) return;
    std::fprintf(stderr, "an internal check failed: %s\n", error.what());
    std::abort();
  }
}
