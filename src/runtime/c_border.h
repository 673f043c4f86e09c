#pragma once
// What every function of the C border does: no exception leaves it, and the thread's last error says what happened.

#include "runtime/packed_func.h"

namespace tessera {

/// The error a C function described as "Kind: message"; a text without a kind is a RuntimeError.
Error error_from_text(std::string_view text);

/// Makes the exception being handled the thread's last error.
void keep_current_exception() noexcept;

template <class F>
int at_border(F&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    keep_current_exception();
    return -1;
  }
}

}  // namespace tessera
