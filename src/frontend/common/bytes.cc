#include "frontend/common/bytes.h"

namespace tessera::frontend {

std::string_view ByteReader::take(uint64_t size) {
  if (size > rest_.size()) fail("it ends too early");
  std::string_view out = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return out;
}

NDArray ByteReader::tensor(const std::vector<int64_t>& shape, DataType dtype) {
  constexpr size_t kMaxDims = 64;
  if (shape.size() > kMaxDims) fail("a tensor has too many dimensions");
  auto size = static_cast<uint64_t>(dtype.bytes());
  for (int64_t extent : shape) {
    if (extent < 0 || extent > INT32_MAX) fail("a dimension has an impossible extent");
    if (extent && size > left() / static_cast<uint64_t>(extent)) fail("a tensor is larger than the file");
    size *= static_cast<uint64_t>(extent);
  }
  std::string_view data = take(size);
  NDArray out = NDArray::empty(shape, dtype);
  std::memcpy(out.data<char>(), data.data(), data.size());
  return out;
}

void ByteReader::fail(const std::string& how) const {
  throw Error(ValueError) << name_ << " " << kind_ << ", or it is damaged: " << how;
}

}  // namespace tessera::frontend
