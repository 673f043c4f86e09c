#include "driver/measured_kernels.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <random>

#include "driver/build_module.h"
#include "driver/executor/kernel_library.h"
#include "ir/prim/ops.h"
#include "runtime/device_api.h"
#include "runtime/function/element.h"
#include "runtime/recorded_work.h"
#include "tir/attrs.h"
#include "tune/task.h"

namespace tessera {
namespace {

constexpr int kCalls = 10, kLaunches = 5;
constexpr size_t kDrawn = size_t{1} << 14;  // elements that are drawn; longer tensors repeat them

DLDevice device_of(const Target& target) { return make_device(target->kind->default_device_type, 0); }

NDArray drawn(const Buffer& buffer, DLDevice device) {
  std::vector<int64_t> shape;
  for (const PrimExpr& extent : buffer->shape) {
    if (!as_int(extent)) throw Error(ValueError) << "a kernel of dynamic extents is not measured";
    shape.push_back(*as_int(extent));
  }
  static std::minstd_rand generator(1);
  std::uniform_real_distribution<double> reals(-1, 1);
  NDArray host = NDArray::empty(shape, buffer->dtype);
  char* data = host.data<char>();
  const size_t bytes = tensor_bytes(host.tensor()), each = std::max<size_t>(1, buffer->dtype.bytes()),
               first = std::min(bytes, kDrawn * each);
  for (size_t at = 0; at + each <= first; at += each) {
    if (buffer->dtype.is_float() || buffer->dtype.is_bfloat()) write_float(buffer->dtype, reals(generator), data + at);
    else write_int(buffer->dtype, static_cast<int64_t>(generator() % 2), data + at);
  }
  for (size_t at = first; at < bytes; at += first) std::memcpy(data + at, data, std::min(first, bytes - at));
  return host.copy_to(device);
}

}  // namespace

bool can_measure(const Target& target) {
  DeviceAPI* api = find_device_api(target->kind->default_device_type);
  return target->kind->name == "cuda" && api && api->get_attr(device_of(target), DeviceAttr::Exist).to<int>() != 0;
}

double measured_seconds(const PrimFunc& program, const Target& target, const Target& host, const PassContext& passes) {
  const DLDevice device = device_of(target);
  constexpr const char* kName = "measured";
  const IRModule mod =
      tune::module_of(with_attr(with_attr(program, attr::kGlobalSymbol, String(kName)), attr::kTarget, target), kName);
  const auto environment = kernel::CompileEnvironment::make(target, host, passes);
  Module library = build(relay::lower_kernels({{target, mod}}, environment), host, passes);
  PackedFunc function = library.get_function(kName);
  ICHECK(function) << "what was compiled has its function";
  static std::mutex mutex;
  std::lock_guard lock(mutex);  // the device is one kernel's alone; others are compiled meanwhile
  std::vector<Any> tensors;
  for (const Var& param : program->params) tensors.emplace_back(drawn(program->buffer_map[param], device));
  std::vector<TesseraValue> values;
  std::vector<int> codes;
  for (const Any& tensor : tensors) {
    values.push_back(tensor.raw());
    codes.push_back(tensor.code());
  }
  DeviceAPI* api = get_device_api(device);
  auto call = [&] {
    Any result;
    function.call_packed({values.data(), codes.data(), static_cast<int>(values.size())}, &result);
  };
  api->set_device(device);
  const auto work = record_work(device, [&] {
    for (int i = 0; i < kCalls; ++i) call();
  });
  double best = 0;
  for (int i = 0; i < kLaunches; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work->launch();
    api->sync(device, nullptr);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kCalls;
    best = i == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace tessera
