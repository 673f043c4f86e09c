#pragma once
// Numbers that came from outside.

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace tessera::frontend {

/// Numbers of a file or a shape, of which there may be fewer than an operator needs: that is an error, not a crash.
class Ints : public std::vector<int64_t> {
 public:
  using vector::vector;
  Ints(std::vector<int64_t> values) : vector(std::move(values)) {}
  int64_t& operator[](size_t i) { return check(i), data()[i]; }
  const int64_t& operator[](size_t i) const { return check(i), data()[i]; }
  int64_t& back() { return (*this)[size() - 1]; }
  const int64_t& back() const { return (*this)[size() - 1]; }

 private:
  void check(size_t i) const {
    if (i >= size())
      throw Error(ValueError) << "there are only " << size() << " numbers or dimensions where the operator needs more";
  }
};

}  // namespace tessera::frontend
