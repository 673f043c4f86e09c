#pragma once
// Numbers and tensors of binary files, one behind the other.

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runtime/ndarray.h"

namespace tessera::frontend {

/// Bytes in order; what is missing is an error.
class ByteReader {
 public:
  /// `name` is the file's, `kind` what it ought to be: "is no file of MXNet's parameters".
  ByteReader(std::string_view bytes, const std::string& name, const char* kind)
      : rest_(bytes), name_(name), kind_(kind) {}

  template <class T>
  T next() {
    T out;
    std::memcpy(&out, take(sizeof(T)).data(), sizeof(T));
    return out;
  }
  std::string_view take(uint64_t size);
  /// The elements of a tensor. Extents are looked at before memory is taken.
  NDArray tensor(const std::vector<int64_t>& shape, DataType dtype);

  const std::string& name() const { return name_; }
  uint64_t left() const { return rest_.size(); }
  [[noreturn]] void fail(const std::string& how) const;

 private:
  std::string_view rest_;
  const std::string& name_;
  const char* kind_;
};

}  // namespace tessera::frontend
