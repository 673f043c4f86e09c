// Whether tensors that others may write to still hold what they held: a hash of some of their contents.

#include <cstring>

#include "runtime/containers.h"
#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

constexpr size_t kWholeBytes = 512;  // smaller tensors are read whole
constexpr size_t kSamples = 16;      // of larger ones: words of 8 bytes, each in a cache line of its own

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

uint64_t word_at(const char* data) {
  uint64_t word = 0;
  std::memcpy(&word, data, sizeof word);
  return word;
}

uint64_t fingerprint_of(uint64_t hash, const DLTensor* tensor) {
  const auto* data = static_cast<const char*>(data_of(tensor));
  const size_t bytes = tensor_bytes(tensor);
  const bool is_whole = bytes <= kWholeBytes;
  const size_t count = is_whole ? bytes / sizeof(uint64_t) : kSamples;
  const size_t step = is_whole ? sizeof(uint64_t) : (bytes - sizeof(uint64_t)) / (kSamples - 1);
  for (size_t i = 0; i < count; ++i) hash = mixed(hash, word_at(data + i * step));
  if (is_whole)
    for (size_t i = count * sizeof(uint64_t); i < bytes; ++i) hash = mixed(hash, static_cast<uint8_t>(data[i]));
  return hash;
}

Globals fingerprint_globals{
    {"runtime.fingerprint",
     [](Array<NDArray> tensors) {
       uint64_t hash = 0;
       for (const NDArray& tensor : tensors) {
         if (!tensor || tensor.device().device_type != kDLCPU || !is_contiguous(tensor.tensor()))
           throw Error(ValueError) << "fingerprint: tensors in host memory without gaps are needed";
         hash = fingerprint_of(hash, tensor.tensor());
       }
       return static_cast<int64_t>(hash);
     }},
};

}  // namespace
}  // namespace tessera
