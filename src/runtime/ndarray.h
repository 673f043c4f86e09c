#pragma once
// Tensors: a counted object around a DLTensor. Memory is shared with other systems through DLPack, never copied there.

#include <memory>

#include "runtime/device_api.h"

namespace tessera {

/// Slots and C callers hold the address of `tensor`, which therefore does not move.
struct NDArrayNode : Object {
  alignas(16) DLTensor tensor{};        // at kTensorOffset also where pointers take four bytes
  std::vector<int64_t> shape, strides;  // what `tensor` points at; strides are empty for row-major tensors
  std::shared_ptr<void> memory;         // keeps tensor.data alive; views share it

  static constexpr NodeInfo info{"runtime.NDArray", &Object::info, Role::Identity, kTesseraNDArray};
  static void fields(auto) {}

  NDArrayNode() = default;
  NDArrayNode(const NDArrayNode&) = delete;
};

class NDArray : public Ref<NDArrayNode> {
 public:
  using Ref::Ref;
  NDArray(const Ref<NDArrayNode>& ref) : Ref(ref) {}

  /// A new row-major tensor with undefined contents, 64-byte aligned.
  static NDArray empty(std::span<const int64_t> shape, DataType dtype, DLDevice device = cpu(),
                       const std::string& scope = "");
  /// Takes over `managed` (also when it throws). Wants row-major data at a multiple of its element size.
  static NDArray from_dlpack(DLManagedTensor* managed);
  /// A description of the same memory that keeps this tensor alive; the taker calls its deleter.
  DLManagedTensor* to_dlpack() const;

  /// The same memory with another shape and element type, which must not need more bytes than there are.
  NDArray view(std::span<const int64_t> shape, DataType dtype) const;

  DLTensor* tensor() const { return &edit()->tensor; }
  DLTensor* operator->() const { return tensor(); }
  std::span<const int64_t> shape() const { return checked()->shape; }
  DataType dtype() const { return DataType(checked()->tensor.dtype); }
  DLDevice device() const { return checked()->tensor.device; }
  int64_t size() const;  // number of elements
  size_t bytes() const;
  template <class T>
  T* data() const;  // host memory only

  /// Whole contents at once; `count` must be bytes(). Return when the copy is done.
  void copy_from_bytes(const void* data, size_t count) const;
  void copy_to_bytes(void* data, size_t count) const;
  void copy_from(const NDArray& other) const;
  NDArray copy_to(DLDevice device, const std::string& scope = "") const;
};

/// Bytes of a row-major tensor. Negative extents and sizes beyond 2^63 are errors.
size_t tensor_bytes(std::span<const int64_t> shape, DataType dtype);
size_t tensor_bytes(const DLTensor* tensor);
bool is_contiguous(const DLTensor* tensor);
inline void* data_of(const DLTensor* tensor) { return static_cast<char*>(tensor->data) + tensor->byte_offset; }
/// Copies between tensors of any two devices, element types and sizes being equal. Does not wait for the stream.
void copy_tensor(const DLTensor* from, DLTensor* to, Stream stream = nullptr);
/// "(2, 3) float32", for messages.
std::string describe(const DLTensor* tensor);
std::string shape_text(std::span<const int64_t> shape);

template <class T>
T* NDArray::data() const {
  ICHECK(device().device_type == kDLCPU) << "data on " << device_text(device()) << " is not host memory";
  return static_cast<T*>(data_of(&checked()->tensor));
}

}  // namespace tessera
