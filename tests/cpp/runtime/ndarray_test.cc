#include "runtime/ndarray.h"

#include <cstdlib>
#include <thread>

#include "expect_error.h"
#include "runtime/containers.h"
#include "runtime/cpu/workspace_pool.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

NDArray counting(std::vector<int64_t> shape) {
  NDArray array = NDArray::empty(shape, DataType::Float(32));
  for (int64_t i = 0; i < array.size(); ++i) array.data<float>()[i] = static_cast<float>(i);
  return array;
}

TEST(NDArray, HasAlignedMemoryOfTheRightSizeForEveryType) {
  struct Case {
    const char* dtype;
    size_t bytes;
  };
  for (auto [dtype, bytes] : {Case{"float32", 24},
                              {"float64", 48},
                              {"float16", 12},
                              {"bfloat16", 12},
                              {"bool", 6},
                              {"int8", 6},
                              {"uint16", 12},
                              {"int64", 48},
                              {"int4", 6},
                              {"float32x4", 96}}) {
    NDArray array = NDArray::empty(std::vector<int64_t>{2, 3}, DataType(std::string_view(dtype)));
    EXPECT_EQ(array.bytes(), bytes) << dtype;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array->data) % kAllocAlignment, 0u);
    EXPECT_EQ(array.dtype(), DataType(std::string_view(dtype)));
  }
}

TEST(NDArray, MayBeEmptyOrAScalar) {
  EXPECT_EQ(NDArray::empty(std::vector<int64_t>{0, 3}, DataType::Float(32)).bytes(), 0u);
  EXPECT_EQ(NDArray::empty({}, DataType::Float(32)).size(), 1);
}

TEST(NDArray, ImpossibleShapesAreErrors) {
  auto make_shape = [](std::vector<int64_t> shape) {
    return error_of([&] { NDArray::empty(shape, DataType::Float(32)); });
  };
  EXPECT_EQ(make_shape({2, -3}), "ValueError: a tensor cannot have shape (2, -3)");
  EXPECT_THAT(make_shape({int64_t{1} << 40, int64_t{1} << 40}), testing::HasSubstr("more bytes than can be counted"));
  EXPECT_THAT(make_shape({0, int64_t{1} << 40, int64_t{1} << 40}),
              testing::HasSubstr("more bytes than can be counted"));
  EXPECT_THAT(make_shape({int64_t{1} << 58}), testing::HasSubstr("out of memory"));
}

TEST(NDArray, TravelsInASlotAsTheAddressOfItsDLTensor) {
  NDArray array = counting({2, 3});
  Any slot(array);
  EXPECT_EQ(slot.code(), kTesseraNDArray);
  EXPECT_EQ(slot.raw().v_handle, array.tensor());
  EXPECT_TRUE(slot.to<NDArray>().same_as(array));
  EXPECT_EQ(slot.to<DLTensor*>(), array.tensor());
  EXPECT_EQ(array.get()->use_count(), 2);
}

TEST(NDArray, CopiesWholeContents) {
  NDArray a = counting({2, 3});
  NDArray b = a.copy_to(cpu());
  a.data<float>()[0] = 100;
  EXPECT_EQ(b.data<float>()[0], 0);
  EXPECT_EQ(b.data<float>()[5], 5);
  EXPECT_EQ(error_of([&] { a.copy_from(counting({7})); }),
            "ValueError: cannot copy (7,) float32 to (2, 3) float32: 28 bytes are not 24");
  char bytes[10];
  EXPECT_EQ(error_of([&] { a.copy_to_bytes(bytes, 10); }),
            "ValueError: copy to bytes: the tensor (2, 3) float32 has 24 bytes, not 10");
}

TEST(NDArray, AViewSharesMemoryAndKeepsIt) {
  NDArray view;
  {
    NDArray a = counting({2, 3});
    view = a.view(std::vector<int64_t>{6}, a.dtype());
    a.data<float>()[1] = 50;
  }
  EXPECT_EQ(view.data<float>()[1], 50);
  EXPECT_EQ(view.data<float>()[5], 5);
  EXPECT_THAT(error_of([&] { view.view(std::vector<int64_t>{7}, view.dtype()); }), testing::HasSubstr("more bytes"));
}

TEST(NDArray, DLPackSharesMemoryBothWays) {
  NDArray a = counting({4});
  float* data = a.data<float>();
  NDArray b = NDArray::from_dlpack(a.to_dlpack());
  a = nullptr;
  EXPECT_EQ(b.data<float>(), data);
  EXPECT_EQ(b.data<float>()[3], 3);
}

TEST(NDArray, BoolIsDLPacksOwnBoolOutside) {
  DLManagedTensor* managed = NDArray::empty(std::vector<int64_t>{4}, DataType::Bool()).to_dlpack();
  EXPECT_EQ(managed->dl_tensor.dtype.code, 6);
  EXPECT_EQ(managed->dl_tensor.dtype.bits, 8);
  EXPECT_EQ(NDArray::from_dlpack(managed).dtype(), DataType::Bool());
}

/// A foreign tensor that notes when it is deleted.
struct Foreign {
  alignas(64) float data[16] = {};
  int64_t shape[2] = {2, 3}, strides[2] = {3, 1};
  bool is_deleted = false;
  DLManagedTensor managed{};
  Foreign(size_t offset, std::pair<int64_t, int64_t> stride) {
    strides[0] = stride.first;
    strides[1] = stride.second;
    managed.dl_tensor = {data + offset, cpu(), 2, DataType::Float(32), shape, strides, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { static_cast<Foreign*>(self->manager_ctx)->is_deleted = true; };
  }
};

TEST(NDArray, AForeignTensorIsDeletedWithItsLastHolder) {
  Foreign foreign(0, {3, 1});
  NDArray array = NDArray::from_dlpack(&foreign.managed);
  NDArray view = array.view(std::vector<int64_t>{6}, array.dtype());
  array = nullptr;
  EXPECT_FALSE(foreign.is_deleted);
  view = nullptr;
  EXPECT_TRUE(foreign.is_deleted);
}

TEST(NDArray, ForeignTensorsWithGapsOrOddAddressesAreRejectedAndDeleted) {
  Foreign strided(0, {4, 1}), crooked(0, {3, 1});
  crooked.managed.dl_tensor.byte_offset = 2;
  EXPECT_THAT(error_of([&] { NDArray::from_dlpack(&strided.managed); }), testing::HasSubstr("has strides"));
  EXPECT_THAT(error_of([&] { NDArray::from_dlpack(&crooked.managed); }),
              testing::HasSubstr("does not start at a multiple of its element size"));
  EXPECT_TRUE(strided.is_deleted && crooked.is_deleted);
}

TEST(Device, AKindThatIsNotBuiltInIsNamed) {
  EXPECT_THAT(error_of([] { NDArray::empty({}, DataType::Float(32), make_device(kDLMetal, 0)); }),
              testing::StartsWith("TVMError: Device API metal is not enabled: this build knows cpu"));
  EXPECT_EQ(get_global("runtime.GetDeviceAttr")(make_device(kDLMetal, 0), 0).to<int>(), 0);
  EXPECT_EQ(get_global("runtime.GetDeviceAttr")(cpu(), 0).to<int>(), 1);
  EXPECT_EQ(device_text(make_device(kDLCUDA, 2)), "cuda(2)");
}

TEST(Workspace, IsReusedFreedInAnyOrderAndPerThread) {
  DeviceAPI* api = get_device_api(cpu());
  void* a = api->alloc_workspace(cpu(), 100);
  void* b = api->alloc_workspace(cpu(), 10000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % kAllocAlignment, 0u);
  api->free_workspace(cpu(), a);
  api->free_workspace(cpu(), b);
  EXPECT_EQ(api->alloc_workspace(cpu(), 9000), b);
  EXPECT_EQ(api->alloc_workspace(cpu(), 64), a);
  std::thread([&] {
    EXPECT_THAT(error_of([&] { api->free_workspace(cpu(), a); }), testing::HasSubstr("did not allocate"));
  }).join();
  api->free_workspace(cpu(), a);
  api->free_workspace(cpu(), b);
}

TEST(Workspace, OfWorkThatIsRecordedComesFromAPoolOfItsOwn) {
  class Counted final : public DeviceAPI {
   public:
    int taken = 0, given_back = 0;
    Any get_attr(DLDevice, DeviceAttr) override { return Any(1); }
    void* alloc(DLDevice, size_t bytes, size_t, DataType) override { return ++taken, std::malloc(bytes); }
    void free(DLDevice, void* data) override { ++given_back, std::free(data); }
    void copy(const DLTensor*, DLTensor*, Stream) override {}
    void sync(DLDevice, Stream) override {}
  } api;
  const DLDevice device = make_device(kDLMetal, 0);
  void* others = api.alloc_workspace(device, 5000);
  api.free_workspace(device, others);
  {
    WorkspacePool own;
    WorkspacePool::Instead instead(kDLMetal, own);
    for (int run = 0; run < 3; ++run) {
      void* data = api.alloc_workspace(device, 5000);
      EXPECT_NE(data, others);
      api.free_workspace(device, data);
    }
    EXPECT_EQ(own.times_taken(), 1u);
  }
  EXPECT_EQ(api.given_back, 1);
  EXPECT_EQ(api.alloc_workspace(device, 5000), others);
  api.free_workspace(device, others);
  WorkspacePool::of_thread(kDLMetal).clear();
  EXPECT_EQ(api.given_back, api.taken);
}

TEST(Containers, ShapesAndTuplesAreIndexed) {
  Any shape = get_global("runtime.ShapeTuple")(2, 3);
  EXPECT_EQ(get_global("runtime.GetShapeTupleSize")(shape).to<int>(), 2);
  EXPECT_EQ(get_global("runtime.GetShapeTupleElem")(shape, 1).to<int>(), 3);
  EXPECT_THAT(error_of([&] { get_global("runtime.GetShapeTupleElem")(shape, 2); }), testing::StartsWith("IndexError"));
  Any adt = get_global("runtime.ADT")(5, 2, "x", counting({1}));
  EXPECT_EQ(get_global("runtime.GetADTTag")(adt).to<int>(), 5);
  EXPECT_EQ(get_global("runtime.GetADTSize")(adt).to<int>(), 2);
  EXPECT_EQ(get_global("runtime.GetADTFields")(adt, 0).to<std::string>(), "x");
}

}  // namespace
}  // namespace tessera
