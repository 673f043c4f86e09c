#include "runtime/ndarray.h"

#include "runtime/containers.h"
#include "runtime/registry.h"

namespace tessera {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(NDArrayNode, tensor) == kTensorOffset, "slots point at the DLTensor inside the object");
#pragma GCC diagnostic pop

namespace {

constexpr int kMaxRank = 1 << 16;
constexpr uint8_t kDLPackBool = 6;  // DLPack's own code for bool; ours is uint1, and both take a byte

/// An object around memory that somebody keeps alive; the other members are set by the caller.
NDArrayNode* new_node(std::span<const int64_t> shape, DataType dtype, DLDevice device, void* data) {
  auto* node = new NDArrayNode;
  node->type_ = &type_of<NDArrayNode>;
  node->shape.assign(shape.begin(), shape.end());
  node->tensor = {.data = data,
                  .device = device,
                  .ndim = static_cast<int>(shape.size()),
                  .dtype = dtype,
                  .shape = node->shape.data(),
                  .strides = nullptr,
                  .byte_offset = 0};
  return node;
}

void require_contiguous(const DLTensor* tensor, const char* what) {
  if (!is_contiguous(tensor))
    throw Error(ValueError) << what << " needs a row-major tensor without gaps; this one, " << describe(tensor)
                            << ", has strides. Copy it first";
}

void require_bytes(const DLTensor* tensor, size_t count, const char* what) {
  if (size_t bytes = tensor_bytes(tensor); bytes != count)
    throw Error(ValueError) << what << ": the tensor " << describe(tensor) << " has " << bytes << " bytes, not "
                            << count;
}

DLTensor host_view(const DLTensor* like, void* data) {
  DLTensor host = *like;
  host.data = data;
  host.device = cpu();
  host.byte_offset = 0;
  host.strides = nullptr;
  return host;
}

void wait_for(DLDevice device) { get_device_api(device)->sync(device, nullptr); }

}  // namespace

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string describe(const DLTensor* tensor) {
  return shape_text({tensor->shape, static_cast<size_t>(tensor->ndim)}) + " " + DataType(tensor->dtype).str();
}

size_t tensor_bytes(std::span<const int64_t> shape, DataType dtype) {
  // A zero extent makes the tensor empty, but must not hide that the others are impossible.
  int64_t bytes = (dtype.bits * std::max<int>(dtype.lanes, 1) + 7) / 8;
  bool is_empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) throw Error(ValueError) << "a tensor cannot have shape " << shape_text(shape);
    if (extent == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(bytes, extent, &bytes)) {
      bytes = -1;
    }
    if (bytes < 0 || static_cast<uint64_t>(bytes) > SIZE_MAX)  // a 32-bit machine counts to 2^32
      throw Error(ValueError) << "a tensor of shape " << shape_text(shape) << " and type " << dtype
                              << " has more bytes than can be counted";
  }
  return is_empty ? 0 : static_cast<size_t>(bytes);
}

size_t tensor_bytes(const DLTensor* tensor) {
  return tensor_bytes({tensor->shape, static_cast<size_t>(tensor->ndim)}, DataType(tensor->dtype));
}

bool is_contiguous(const DLTensor* tensor) {
  if (!tensor->strides) return true;
  int64_t expected = 1;
  for (int i = tensor->ndim - 1; i >= 0; --i) {
    if (tensor->shape[i] == 0) return true;
    if (tensor->shape[i] != 1 && tensor->strides[i] != expected) return false;
    expected *= tensor->shape[i];
  }
  return true;
}

void copy_tensor(const DLTensor* from, DLTensor* to, Stream stream) {
  require_contiguous(from, "a copy");
  require_contiguous(to, "a copy");
  if (tensor_bytes(from) != tensor_bytes(to))
    throw Error(ValueError) << "cannot copy " << describe(from) << " to " << describe(to) << ": " << tensor_bytes(from)
                            << " bytes are not " << tensor_bytes(to);
  bool from_host = from->device.device_type == kDLCPU || from->device.device_type == kDLCUDAHost;
  bool to_host = to->device.device_type == kDLCPU || to->device.device_type == kDLCUDAHost;
  if (!from_host && !to_host && from->device.device_type != to->device.device_type)
    throw Error(ValueError) << "cannot copy from " << device_text(from->device) << " to " << device_text(to->device)
                            << " directly; copy to cpu first";
  get_device_api(from_host ? to->device : from->device)->copy(from, to, stream);
}

NDArray NDArray::empty(std::span<const int64_t> shape, DataType dtype, DLDevice device, const std::string& scope) {
  if (shape.size() > kMaxRank) throw Error(ValueError) << "a tensor cannot have " << shape.size() << " dimensions";
  size_t bytes = tensor_bytes(shape, dtype);
  DeviceAPI* api = get_device_api(device);
  void* data = scope.empty() ? api->alloc(device, bytes, kAllocAlignment, dtype)
                             : api->alloc_in_scope(device, shape, dtype, scope);
  std::shared_ptr<void> memory(data, [api, device](void* p) { api->free(device, p); });
  NDArrayNode* node = new_node(shape, dtype, device, data);
  node->memory = std::move(memory);
  return NDArray(node);
}

NDArray NDArray::from_dlpack(DLManagedTensor* managed) {
  std::shared_ptr<DLManagedTensor> keep(managed, [](DLManagedTensor* m) {
    if (m->deleter) m->deleter(m);
  });
  const DLTensor& given = managed->dl_tensor;
  if (given.ndim < 0 || given.ndim > kMaxRank)
    throw Error(ValueError) << "from_dlpack: a tensor cannot have " << given.ndim << " dimensions";
  require_contiguous(&given, "from_dlpack");
  DataType dtype(given.dtype);
  if (dtype.code == kDLPackBool) dtype = DataType::Bool(dtype.lanes);
  std::span<const int64_t> shape(given.shape, static_cast<size_t>(given.ndim));
  auto address = reinterpret_cast<uintptr_t>(data_of(&given));
  auto element = static_cast<uintptr_t>(std::max(1, dtype.bytes()));
  if (given.device.device_type == kDLCPU && tensor_bytes(shape, dtype) > 0 && address % element != 0)
    throw Error(ValueError) << "from_dlpack: data of the tensor " << describe(&given)
                            << " does not start at a multiple of its element size. Copy it with nd.array instead";
  NDArrayNode* node = new_node(shape, dtype, given.device, given.data);
  node->tensor.byte_offset = given.byte_offset;
  node->memory = std::move(keep);
  return NDArray(node);
}

DLManagedTensor* NDArray::to_dlpack() const {
  auto* managed = new DLManagedTensor{};
  managed->dl_tensor = checked()->tensor;
  if (dtype().is_bool()) managed->dl_tensor.dtype = {kDLPackBool, 8, checked()->tensor.dtype.lanes};
  checked()->retain();
  managed->manager_ctx = edit();
  managed->deleter = [](DLManagedTensor* self) {
    static_cast<NDArrayNode*>(self->manager_ctx)->release();
    delete self;
  };
  return managed;
}

NDArray NDArray::view(std::span<const int64_t> shape, DataType dtype) const {
  require_contiguous(&checked()->tensor, "a view");
  if (tensor_bytes(shape, dtype) > bytes())
    throw Error(ValueError) << "a view of shape " << shape_text(shape) << " and type " << dtype
                            << " needs more bytes than the tensor " << describe(&checked()->tensor) << " has";
  NDArrayNode* out = new_node(shape, dtype, device(), checked()->tensor.data);
  out->tensor.byte_offset = checked()->tensor.byte_offset;
  out->memory = checked()->memory;
  return NDArray(out);
}

int64_t NDArray::size() const {
  int64_t count = 1;
  for (int64_t extent : checked()->shape) count *= extent;
  return count;
}

size_t NDArray::bytes() const { return tensor_bytes(&checked()->tensor); }

void NDArray::copy_from_bytes(const void* data, size_t count) const {
  require_bytes(&checked()->tensor, count, "copy from bytes");
  DLTensor host = host_view(&checked()->tensor, const_cast<void*>(data));
  copy_tensor(&host, tensor());
  wait_for(device());
}

void NDArray::copy_to_bytes(void* data, size_t count) const {
  require_bytes(&checked()->tensor, count, "copy to bytes");
  DLTensor host = host_view(&checked()->tensor, data);
  copy_tensor(&checked()->tensor, &host);
  wait_for(device());
}

void NDArray::copy_from(const NDArray& other) const {
  copy_tensor(&other.checked()->tensor, tensor());
  wait_for(other.device().device_type == kDLCPU ? device() : other.device());
}

NDArray NDArray::copy_to(DLDevice device, const std::string& scope) const {
  NDArray out = empty(shape(), dtype(), device, scope);
  out.copy_from(*this);
  return out;
}

namespace {

register_types<NDArrayNode> ndarray_types;

Globals ndarray_globals{
    {"runtime.TVMArrayAllocWithScope",
     [](void* shape, size_t rank, DataType dtype, DLDevice device, Any scope) {
       return NDArray::empty({static_cast<const int64_t*>(shape), rank}, dtype, device,
                             scope.is_null() ? "" : scope.to<std::string>());
     }},
    {"runtime.TVMArrayCreateView",
     [](NDArray array, ShapeTuple shape) { return array.view(shape.span(), array.dtype()); }},
};

}  // namespace
}  // namespace tessera
