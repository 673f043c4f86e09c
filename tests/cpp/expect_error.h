#pragma once
// "Kind: message" of the error that a call throws.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tessera {

template <class F>
std::string error_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tessera
