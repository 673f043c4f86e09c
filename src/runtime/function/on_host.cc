#include "runtime/function/on_host.h"

#include "runtime/ndarray.h"

namespace tessera {
namespace {

/// Its tensor where that is not in host memory.
DLTensor* tensor_elsewhere(const AnyView& arg) {
  if (arg.code() != kTesseraDLTensor && arg.code() != kTesseraNDArray) return nullptr;
  auto* tensor = arg.to<DLTensor*>();
  return tensor->device.device_type == kDLCPU || tensor->device.device_type == kDLCUDAHost ? nullptr : tensor;
}

void wait_for(const DLTensor* tensor) { get_device_api(tensor->device)->sync(tensor->device, nullptr); }

/// A tensor of a device, and a copy of it in host memory.
struct Copied {
  DLTensor* there;
  NDArray here;
  bool is_input;
};

}  // namespace

PackedFunc on_host(PackedFunc function, int inputs) {
  return PackedFunc([function = std::move(function), inputs](Args args, Any* result) {
    std::vector<Copied> copied;
    std::vector<TesseraValue> values(args.values, args.values + args.count);
    std::vector<int> codes(args.codes, args.codes + args.count);
    for (int i = 0, tensors = 0; i < args.count; ++i) {
      const AnyView arg = args[i];
      if (arg.code() != kTesseraDLTensor && arg.code() != kTesseraNDArray) continue;
      const bool is_input = tensors++ < inputs;
      DLTensor* there = tensor_elsewhere(arg);
      if (!there) continue;
      NDArray here = NDArray::empty({there->shape, static_cast<size_t>(there->ndim)}, DataType(there->dtype));
      if (is_input) {
        copy_tensor(there, here.tensor());
        wait_for(there);
      }
      values[static_cast<size_t>(i)].v_handle = here.tensor();
      codes[static_cast<size_t>(i)] = kTesseraDLTensor;
      copied.push_back({there, std::move(here), is_input});
    }
    function.call_packed({values.data(), codes.data(), args.count}, result);
    for (const Copied& each : copied) {
      if (each.is_input) continue;
      copy_tensor(each.here.tensor(), each.there);
      wait_for(each.there);
    }
  });
}

}  // namespace tessera
