#include "runtime/opencl/device.h"

#include <algorithm>
#include <optional>

#include "runtime/ndarray.h"
#include "runtime/registry.h"

namespace tessera::opencl {
namespace {

thread_local int current_id = 0;
thread_local std::vector<Stream> current_streams;

const Library& library() {
  const Library* found = find_library();
  if (!found)
    throw Error(RuntimeError) << "there is no OpenCL on this machine: libOpenCL.so.1 was not found; install an ICD "
                                 "loader (ocl-icd-libopencl1) and a driver (pocl-opencl-icd runs on the CPU)";
  return *found;
}

template <class T>
T info(const Device& device, cl_device_info what) {
  T value{};
  check(library().clGetDeviceInfo(device.id, what, sizeof value, &value, nullptr), "clGetDeviceInfo");
  return value;
}

std::string text_info(const Device& device, cl_device_info what) {
  size_t size = 0;
  check(library().clGetDeviceInfo(device.id, what, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(library().clGetDeviceInfo(device.id, what, size, text.data(), nullptr), "clGetDeviceInfo");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::vector<std::unique_ptr<Device>> list_devices() {
  std::vector<std::unique_ptr<Device>> out;
  const Library* cl = find_library();
  cl_uint count = 0;
  if (!cl || cl->clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return out;
  std::vector<cl_platform_id> platforms(count);
  check(cl->clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_device_type type : {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU}) {
    for (cl_platform_id platform : platforms) {
      cl_uint found = 0;
      if (cl->clGetDeviceIDs(platform, type, 0, nullptr, &found) != CL_SUCCESS || found == 0) continue;
      std::vector<cl_device_id> ids(found);
      check(cl->clGetDeviceIDs(platform, type, found, ids.data(), nullptr), "clGetDeviceIDs");
      for (cl_device_id id : ids) {
        out.push_back(std::make_unique<Device>());
        out.back()->id = id;
        out.back()->platform = platform;
      }
    }
  }
  return out;
}

}  // namespace

OpenCLDevice& OpenCLDevice::instance() {
  static auto* device = new OpenCLDevice;
  return *device;
}

const std::vector<std::unique_ptr<Device>>& OpenCLDevice::devices() {
  static const auto* list = new std::vector<std::unique_ptr<Device>>(list_devices());
  return *list;
}

Device& OpenCLDevice::get(DLDevice device) {
  library();
  const auto& all = devices();
  if (device.device_id < 0 || static_cast<size_t>(device.device_id) >= all.size())
    throw Error(RuntimeError) << device_text(device) << " does not exist: this machine has " << all.size()
                              << " OpenCL devices"
                              << (all.empty() ? "; pocl-opencl-icd is a driver that runs on the CPU" : "");
  Device& out = *all[static_cast<size_t>(device.device_id)];
  std::call_once(out.started, [&] {
    const Library& cl = library();
    cl_int code = CL_SUCCESS;
    out.context = cl.clCreateContext(nullptr, 1, &out.id, nullptr, nullptr, &code);
    check(code, "making a context");
    out.queue = cl.clCreateCommandQueue(out.context, out.id, 0, &code);
    check(code, "making a queue");
  });
  return out;
}

DLDevice OpenCLDevice::current() const { return make_device(kDLOpenCL, current_id); }

void OpenCLDevice::set_device(DLDevice device) {
  get(device);
  current_id = device.device_id;
}

cl_command_queue OpenCLDevice::queue_of(DLDevice device, Stream stream) {
  Device& on = get(device);
  auto id = static_cast<size_t>(device.device_id);
  if (!stream && id < current_streams.size()) stream = current_streams[id];
  return stream ? static_cast<cl_command_queue>(stream) : on.queue;
}

Any OpenCLDevice::get_attr(DLDevice device, DeviceAttr attr) {
  if (attr == DeviceAttr::Exist)
    return Any(device.device_id >= 0 && static_cast<size_t>(device.device_id) < devices().size() ? 1 : 0);
  Device& on = get(device);
  switch (attr) {
    case DeviceAttr::MaxThreadsPerBlock: return Any(info<size_t>(on, CL_DEVICE_MAX_WORK_GROUP_SIZE));
    case DeviceAttr::WarpSize: return Any(1);  // what the target assumes: no two threads run in step
    case DeviceAttr::MaxSharedMemoryPerBlock: return Any(info<cl_ulong>(on, CL_DEVICE_LOCAL_MEM_SIZE));
    case DeviceAttr::ComputeVersion: {
      std::string version = text_info(on, CL_DEVICE_VERSION);  // "OpenCL 3.0 vendor's words"
      size_t space = version.find(' ', 7);
      return Any(version.substr(7, space == version.npos ? space : space - 7));
    }
    case DeviceAttr::DeviceName: return Any(text_info(on, CL_DEVICE_NAME));
    case DeviceAttr::MaxClockRate: return Any(int64_t{info<cl_uint>(on, CL_DEVICE_MAX_CLOCK_FREQUENCY)} * 1000);
    case DeviceAttr::MultiProcessorCount: return Any(info<cl_uint>(on, CL_DEVICE_MAX_COMPUTE_UNITS));
    case DeviceAttr::MaxThreadDimensions: {
      size_t sizes[3];
      check(library().clGetDeviceInfo(on.id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, nullptr),
            "clGetDeviceInfo");
      std::string text = "[";
      for (size_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
      return Any(text + "]");
    }
    case DeviceAttr::DriverVersion: return Any(text_info(on, CL_DRIVER_VERSION));
    default: return Any();
  }
}

void* OpenCLDevice::alloc(DLDevice device, size_t bytes, size_t, DataType) {
  Device& on = get(device);
  cl_int code = CL_SUCCESS;
  cl_mem buffer = library().clCreateBuffer(on.context, CL_MEM_READ_WRITE, std::max<size_t>(bytes, 1), nullptr, &code);
  check(code, "allocating " + std::to_string(bytes) + " bytes on " + device_text(device));
  return new Memory{buffer};
}

void OpenCLDevice::free(DLDevice, void* data) {
  auto* memory = static_cast<Memory*>(data);
  // The driver keeps the memory until the kernels that use it are done.
  library().clReleaseMemObject(memory->buffer);
  delete memory;
}

void OpenCLDevice::copy(const DLTensor* from, DLTensor* to, Stream stream) {
  size_t bytes = tensor_bytes(from);
  if (bytes == 0) return;
  const Library& cl = library();
  bool from_device = from->device.device_type == kDLOpenCL, to_device = to->device.device_type == kDLOpenCL;
  auto buffer = [](const DLTensor* tensor) { return static_cast<Memory*>(tensor->data)->buffer; };
  if (from_device && to_device) {
    if (!same_device(from->device, to->device))
      throw Error(ValueError) << "cannot copy from " << device_text(from->device) << " to " << device_text(to->device)
                              << " directly; copy to cpu first";
    check(cl.clEnqueueCopyBuffer(queue_of(to->device, stream), buffer(from), buffer(to), from->byte_offset,
                                 to->byte_offset, bytes, 0, nullptr, nullptr),
          "a copy on the device");
  } else if (from_device) {
    check(cl.clEnqueueReadBuffer(queue_of(from->device, stream), buffer(from), CL_TRUE, from->byte_offset, bytes,
                                 data_of(to), 0, nullptr, nullptr),
          "a copy from the device");
  } else {
    check(cl.clEnqueueWriteBuffer(queue_of(to->device, stream), buffer(to), CL_TRUE, to->byte_offset, bytes,
                                  data_of(from), 0, nullptr, nullptr),
          "a copy to the device");
  }
}

Stream OpenCLDevice::create_stream(DLDevice device) {
  Device& on = get(device);
  cl_int code = CL_SUCCESS;
  cl_command_queue queue = library().clCreateCommandQueue(on.context, on.id, 0, &code);
  check(code, "making a queue");
  return queue;
}

void OpenCLDevice::free_stream(DLDevice, Stream stream) {
  for (Stream& current : current_streams)
    if (current == stream) current = nullptr;
  take_watched(static_cast<cl_command_queue>(stream));
  check(library().clReleaseCommandQueue(static_cast<cl_command_queue>(stream)), "freeing a queue");
}

void OpenCLDevice::set_stream(DLDevice device, Stream stream) {
  get(device);
  auto id = static_cast<size_t>(device.device_id);
  if (id >= current_streams.size()) current_streams.resize(id + 1);
  current_streams[id] = stream;
}

void OpenCLDevice::sync(DLDevice device, Stream stream) {
  const Library& cl = library();
  cl_command_queue queue = queue_of(device, stream);
  Watched watched = take_watched(queue);
  std::vector<std::vector<IndexErrorRecord>> records;
  for (const auto& errors : watched) {  // done after the kernels before them: one wait for all
    records.emplace_back(errors->texts.size());
    check(cl.clEnqueueReadBuffer(queue, errors->buffer, CL_FALSE, 0, errors->bytes(), records.back().data(), 0, nullptr,
                                 nullptr),
          "reading noted indices");
  }
  check(cl.clFinish(queue), "waiting for " + device_text(device));
  std::optional<Error> first;
  for (size_t i = 0; i < watched.size(); ++i) {
    try {
      throw_index_errors(records[i], watched[i]->texts);
    } catch (const Error& error) {
      if (!first) first = error;
      check(cl.clEnqueueWriteBuffer(queue, watched[i]->buffer, CL_TRUE, 0, watched[i]->bytes(), records[i].data(), 0,
                                    nullptr, nullptr),
            "clearing noted indices");
    }
  }
  if (first) throw *first;
}

IndexErrors::IndexErrors(cl_context context, std::vector<std::string> given) : texts(std::move(given)) {
  cl_int code = CL_SUCCESS;
  std::vector<IndexErrorRecord> none(texts.size());
  buffer = library().clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes(), none.data(), &code);
  check(code, "allocating memory for noted indices");
}

IndexErrors::~IndexErrors() { library().clReleaseMemObject(buffer); }

void OpenCLDevice::watch_indices(cl_command_queue queue, const std::shared_ptr<IndexErrors>& errors) {
  std::lock_guard lock(mutex_);
  Watched& list = watched_[queue];
  if (std::find(list.begin(), list.end(), errors) == list.end()) list.push_back(errors);
}

OpenCLDevice::Watched OpenCLDevice::take_watched(cl_command_queue queue) {
  std::lock_guard lock(mutex_);
  auto it = watched_.find(queue);
  if (it == watched_.end()) return {};
  Watched out = std::move(it->second);
  watched_.erase(it);
  return out;
}

void OpenCLDevice::sync_streams(DLDevice device, Stream from, Stream to) {
  const Library& cl = library();
  cl_event done = nullptr;
  check(cl.clEnqueueMarkerWithWaitList(queue_of(device, from), 0, nullptr, &done), "marking a queue");
  cl_int code = cl.clEnqueueBarrierWithWaitList(queue_of(device, to), 1, &done, nullptr);
  cl.clFlush(queue_of(device, from));
  cl.clReleaseEvent(done);
  check(code, "making a queue wait");
}

namespace {

const bool registered = [] {
  register_device_api(kDLOpenCL, &OpenCLDevice::instance());
  return true;
}();

Globals device_globals{{"device_api.opencl", [] { return static_cast<void*>(&OpenCLDevice::instance()); }}};

}  // namespace
}  // namespace tessera::opencl
