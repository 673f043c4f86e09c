#include "runtime/cuda/device.h"

#include <algorithm>
#include <cstring>

#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera::cuda {
namespace {

thread_local int current_id = 0;
thread_local std::vector<Stream> current_streams;

struct Context {
  std::once_flag started;
  CUcontext context = nullptr;
};

Context& context_of(int id) {
  static auto* contexts = new std::vector<Context>(static_cast<size_t>(driver().device_count));
  return (*contexts)[static_cast<size_t>(id)];
}

CUdeviceptr address(const DLTensor* tensor) { return reinterpret_cast<CUdeviceptr>(data_of(tensor)); }

}  // namespace

CudaDevice& CudaDevice::instance() {
  static auto* device = new CudaDevice;
  return *device;
}

CUcontext CudaDevice::enter(DLDevice device) {
  const Driver& cu = driver();
  if (device.device_id < 0 || device.device_id >= cu.device_count)
    throw Error(RuntimeError) << device_text(device) << " does not exist: this machine has " << cu.device_count
                              << " CUDA devices";
  Context& out = context_of(device.device_id);
  std::call_once(out.started, [&] {
    CUdevice handle = 0;
    check(cu.cuDeviceGet(&handle, device.device_id), "finding " + device_text(device));
    check(cu.cuDevicePrimaryCtxRetain(&out.context, handle), "starting " + device_text(device));
  });
  check(cu.cuCtxSetCurrent(out.context), "entering " + device_text(device));
  return out.context;
}

DLDevice CudaDevice::current() const { return make_device(kDLCUDA, current_id); }

void CudaDevice::set_device(DLDevice device) {
  enter(device);
  current_id = device.device_id;
}

CUstream CudaDevice::stream_of(DLDevice device, Stream stream) const {
  auto id = static_cast<size_t>(device.device_id);
  if (!stream && id < current_streams.size()) stream = current_streams[id];
  return static_cast<CUstream>(stream);
}

int CudaDevice::attribute(DLDevice device, int which) {
  enter(device);
  CUdevice handle = 0;
  int value = 0;
  check(driver().cuDeviceGet(&handle, device.device_id), "finding " + device_text(device));
  check(driver().cuDeviceGetAttribute(&value, which, handle), "asking " + device_text(device));
  return value;
}

std::string CudaDevice::arch(DLDevice device) {
  const std::string out = "sm_" + std::to_string(attribute(device, kComputeCapabilityMajor)) +
                          std::to_string(attribute(device, kComputeCapabilityMinor));
  return out == "sm_90" ? "sm_90a" : out;
}

Any CudaDevice::get_attr(DLDevice device, DeviceAttr attr) {
  if (attr == DeviceAttr::Exist) {
    const Driver* found = find_driver();
    return Any(found && device.device_id >= 0 && device.device_id < found->device_count ? 1 : 0);
  }
  switch (attr) {
    case DeviceAttr::MaxThreadsPerBlock: return Any(attribute(device, kMaxThreadsPerBlock));
    case DeviceAttr::WarpSize: return Any(attribute(device, kWarpSize));
    case DeviceAttr::MaxSharedMemoryPerBlock: return Any(attribute(device, kMaxSharedMemoryPerBlock));
    case DeviceAttr::ComputeVersion:
      return Any(std::to_string(attribute(device, kComputeCapabilityMajor)) + "." +
                 std::to_string(attribute(device, kComputeCapabilityMinor)));
    case DeviceAttr::DeviceName: {
      enter(device);
      char name[256] = "";
      CUdevice handle = 0;
      check(driver().cuDeviceGet(&handle, device.device_id), "finding " + device_text(device));
      check(driver().cuDeviceGetName(name, sizeof name, handle), "asking " + device_text(device));
      return Any(std::string(name));
    }
    case DeviceAttr::MaxClockRate: return Any(attribute(device, kClockRate));
    case DeviceAttr::MultiProcessorCount: return Any(attribute(device, kMultiprocessorCount));
    case DeviceAttr::MaxThreadDimensions: {
      std::string text = "[";
      for (int which : {kMaxBlockDimX, kMaxBlockDimY, kMaxBlockDimZ})
        text += (text.size() > 1 ? ", " : "") + std::to_string(attribute(device, which));
      return Any(text + "]");
    }
    case DeviceAttr::MaxRegistersPerBlock: return Any(attribute(device, kMaxRegistersPerBlock));
    case DeviceAttr::ApiVersion:
    case DeviceAttr::DriverVersion: {
      int version = 0;
      check(driver().cuDriverGetVersion(&version), "asking the driver");
      return attr == DeviceAttr::ApiVersion
                 ? Any(version)
                 : Any(std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
    }
    default: return Any();
  }
}

void* CudaDevice::alloc(DLDevice device, size_t bytes, size_t, DataType) {
  enter(device);
  CUdeviceptr data = 0;
  check(driver().cuMemAlloc_v2(&data, std::max<size_t>(bytes, 1)),
        "allocating " + std::to_string(bytes) + " bytes on " + device_text(device));
  return reinterpret_cast<void*>(data);
}

void CudaDevice::free(DLDevice device, void* data) {
  // At the end of the process the driver may be gone already; there is nothing left to free then.
  try {
    enter(device);
  } catch (const Error&) {
    return;
  }
  driver().cuMemFree_v2(reinterpret_cast<CUdeviceptr>(data));
}

void CudaDevice::copy(const DLTensor* from, DLTensor* to, Stream stream) {
  size_t bytes = tensor_bytes(from);
  if (bytes == 0) return;
  const Driver& cu = driver();
  bool from_device = from->device.device_type == kDLCUDA, to_device = to->device.device_type == kDLCUDA;
  DLDevice device = from_device ? from->device : to->device;
  CUcontext context = enter(device);
  CUstream queue = stream_of(device, stream);
  if (from_device && to_device && !same_device(from->device, to->device)) {
    CUcontext other = enter(to->device);
    enter(device);
    check(cu.cuMemcpyPeerAsync(address(to), other, address(from), context, bytes, queue), "a copy between devices");
  } else if (from_device && to_device) {
    check(cu.cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, queue), "a copy on the device");
  } else if (from_device) {
    check(cu.cuMemcpyDtoHAsync_v2(data_of(to), address(from), bytes, queue), "a copy from the device");
  } else {
    check(cu.cuMemcpyHtoDAsync_v2(address(to), data_of(from), bytes, queue), "a copy to the device");
  }
}

Stream CudaDevice::create_stream(DLDevice device) {
  enter(device);
  CUstream stream = nullptr;
  check(driver().cuStreamCreate(&stream, 0), "making a stream");
  return stream;
}

void CudaDevice::free_stream(DLDevice device, Stream stream) {
  enter(device);
  for (Stream& current : current_streams)
    if (current == stream) current = nullptr;
  check(driver().cuStreamDestroy_v2(static_cast<CUstream>(stream)), "freeing a stream");
}

void CudaDevice::set_stream(DLDevice device, Stream stream) {
  auto id = static_cast<size_t>(device.device_id);
  if (id >= current_streams.size()) current_streams.resize(id + 1);
  current_streams[id] = stream;
}

void CudaDevice::sync(DLDevice device, Stream stream) {
  enter(device);
  check(driver().cuStreamSynchronize(stream_of(device, stream)), "waiting for " + device_text(device));
  throw_noted_errors(device);
}

IndexErrors::IndexErrors(DLDevice device, std::vector<std::string> texts) : device(device), texts(std::move(texts)) {
  void* data = nullptr;
  CudaDevice::instance().enter(device);
  check(driver().cuMemAllocHost_v2(&data, this->texts.size() * sizeof(IndexErrorRecord)), "allocating pinned memory");
  records = static_cast<IndexErrorRecord*>(data);
  std::fill_n(records, this->texts.size(), IndexErrorRecord());
}

IndexErrors::~IndexErrors() {
  try {
    CudaDevice::instance().enter(device);
  } catch (const Error&) {  // the driver is gone already
    return;
  }
  driver().cuMemFreeHost(records);
}

std::shared_ptr<IndexErrors> CudaDevice::watch_indices(DLDevice device, const std::vector<std::string>& texts) {
  auto out = std::make_shared<IndexErrors>(device, texts);
  std::lock_guard lock(mutex_);
  watched_.push_back(out);
  return out;
}

void CudaDevice::throw_noted_errors(DLDevice device) {
  std::lock_guard lock(mutex_);
  for (const auto& errors : watched_)
    if (same_device(errors->device, device)) throw_index_errors({errors->records, errors->texts.size()}, errors->texts);
  std::erase_if(watched_,
                [&](const auto& errors) { return same_device(errors->device, device) && errors.use_count() == 1; });
}

void CudaDevice::sync_streams(DLDevice device, Stream from, Stream to) {
  enter(device);
  const Driver& cu = driver();
  CUevent done = nullptr;
  constexpr unsigned kDisableTiming = 2;
  check(cu.cuEventCreate(&done, kDisableTiming), "making an event");
  CUresult code = cu.cuEventRecord(done, stream_of(device, from));
  if (code == kSuccess) code = cu.cuStreamWaitEvent(stream_of(device, to), done, 0);
  cu.cuEventDestroy_v2(done);
  check(code, "making a stream wait");
}

namespace {

/// Memory of the host that devices read and write directly.
class PinnedMemory final : public DeviceAPI {
 public:
  Any get_attr(DLDevice, DeviceAttr attr) override {
    return CudaDevice::instance().get_attr(make_device(kDLCUDA, 0), attr);
  }
  void* alloc(DLDevice, size_t bytes, size_t, DataType) override {
    CudaDevice::instance().enter(make_device(kDLCUDA, 0));
    void* data = nullptr;
    check(driver().cuMemAllocHost_v2(&data, std::max<size_t>(bytes, 1)),
          "allocating " + std::to_string(bytes) + " bytes of pinned memory");
    return data;
  }
  void free(DLDevice, void* data) override { driver().cuMemFreeHost(data); }
  void copy(const DLTensor* from, DLTensor* to, Stream) override {
    std::memmove(data_of(to), data_of(from), tensor_bytes(from));
  }
  void sync(DLDevice, Stream stream) override { CudaDevice::instance().sync(make_device(kDLCUDA, 0), stream); }
};

const bool registered = [] {
  register_device_api(kDLCUDA, &CudaDevice::instance());
  register_device_api(kDLCUDAHost, new PinnedMemory);
  return true;
}();

Globals device_globals{{"device_api.cuda", [] { return static_cast<void*>(&CudaDevice::instance()); }}};

}  // namespace
}  // namespace tessera::cuda
