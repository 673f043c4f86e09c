#include "driver/cli/runner.h"

#include <chrono>
#include <map>
#include <random>

#include "runtime/containers.h"
#include "runtime/executable/remote.h"
#include "runtime/function/element.h"
#include "runtime/package/model_names.h"
#include "runtime/profiling/time_evaluator.h"
#include "runtime/registry.h"

namespace tessera::cli {
namespace {

void fill_random(const NDArray& tensor, uint64_t seed) {
  std::mt19937_64 generator(seed);
  DataType dtype = tensor.dtype();
  auto step = static_cast<size_t>(dtype.bytes());
  char* at = tensor.data<char>();
  for (int64_t i = 0, count = tensor.size(); i < count; ++i, at += step) {
    uint64_t bits = generator() >> 11;
    if (dtype.is_floating()) {
      write_float(dtype, static_cast<double>(bits) * 0x1p-53, at);
    } else {
      write_int(dtype, static_cast<int64_t>(dtype.bits == 8 ? bits % 128 : bits % 2), at);
    }
  }
}

/// What tensors and --input-shapes say of named dimensions.
using NamedDims = std::map<std::string, int64_t>;

NDArray filled(const TensorInfo& info, Fill fill, const InputShapes& shapes, const NamedDims& named, uint64_t seed) {
  std::vector<int64_t> shape = info.shape;
  auto wanted = shapes.find(info.name);
  if (wanted != shapes.end() && wanted->second.size() != shape.size())
    throw Error(ValueError) << "input \"" << info.name << "\" is " << text_of(info) << "; --input-shapes gives it "
                            << wanted->second.size() << " dimensions";
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t given = wanted == shapes.end() ? -1 : wanted->second[i];
    if (shape[i] >= 0 && given >= 0 && given != shape[i])
      throw Error(ValueError) << "input \"" << info.name << "\" is " << text_of(info)
                              << "; --input-shapes gives extent " << i << " as " << given;
    auto known = info.dims.empty() ? named.end() : named.find(info.dims[i]);
    if (shape[i] < 0) shape[i] = given >= 0 ? given : known != named.end() ? known->second : 1;
  }
  NDArray out = NDArray::empty(shape, info.dtype);
  if (fill == Fill::Random) {
    fill_random(out, seed);
  } else {
    auto step = static_cast<size_t>(info.dtype.bytes());
    char* at = out.data<char>();
    for (int64_t i = 0, count = out.size(); i < count; ++i, at += step)
      info.dtype.is_floating() ? write_float(info.dtype, fill == Fill::Ones, at)
                               : write_int(info.dtype, fill == Fill::Ones, at);
  }
  return out;
}

}  // namespace

static int device_type_of(const std::string& name) {
  int type = find_device_type(name == "cl" ? "opencl" : name);
  if (type < 0)
    throw Error(ValueError) << "there is no kind of device \"" << name
                            << "\"; the kinds are cpu, cuda, cl, metal, vulkan, rocm";
  return type;
}

DLDevice device_of(const std::string& name) {
  const int type = device_type_of(name);
  DLDevice device = make_device(type, 0);
  DeviceAPI* api = find_device_api(static_cast<DLDeviceType>(type));
  if (!api || api->get_attr(device, DeviceAttr::Exist).to<int64_t>() == 0)
    throw Error(RuntimeError) << "this machine has no device \"" << name
                              << "\" that can be used; `tessera doctor` says what it has";
  return device;
}

std::pair<std::string, int> tracker_address(const std::string& text) {
  constexpr int kTrackerPort = 9090;
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return {text, kTrackerPort};
  const std::string port = text.substr(colon + 1);
  if (colon == 0 || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != port.npos)
    throw Error(ValueError) << "--rpc-tracker is host:port, not \"" << text << "\"";
  return {text.substr(0, colon), std::stoi(port)};
}

Runner remote_runner(const std::string& package, const std::string& device, const std::string& host, int port,
                     const std::string& key) {
  const int type = device_type_of(device);
  std::shared_ptr<rpc::ClientSession> session = remote_session(host, port, key);
  return {make_remote_executable(session, Package(package), make_device(type, 0)),
          make_device(session->masked(type), 0)};
}

Fill fill_of(const std::string& name) {
  return name == "zeros" ? Fill::Zeros : name == "ones" ? Fill::Ones : Fill::Random;
}

NamedTensors make_inputs(const std::vector<TensorInfo>& inputs, const NamedTensors& given, Fill fill,
                         const InputShapes& shapes, uint64_t seed) {
  auto find = [](const auto& list, const std::string& name, auto name_of) {
    return std::find_if(list.begin(), list.end(), [&](const auto& item) { return name_of(item) == name; });
  };
  auto no_input = [&](const std::string& what, const std::string& name) {
    Error error(ValueError);
    error << what << " has \"" << name << "\", which is no input of the model; its inputs are";
    for (size_t i = 0; i < inputs.size(); ++i) error << (i ? ", " : " ") << inputs[i].name << " " << text_of(inputs[i]);
    throw error;
  };
  auto info_name = [](const TensorInfo& info) { return info.name; };
  for (const auto& [name, _] : given)
    if (find(inputs, name, info_name) == inputs.end()) no_input("the file of inputs", name);
  for (const auto& [name, _] : shapes)
    if (find(inputs, name, info_name) == inputs.end()) no_input("--input-shapes", name);
  auto item_name = [](const auto& item) { return item.first; };
  NamedDims named;
  for (const TensorInfo& info : inputs) {
    auto tensor = find(given, info.name, item_name);
    auto wanted = shapes.find(info.name);
    std::span<const int64_t> shape;
    if (tensor != given.end()) shape = tensor->second.shape();
    else if (wanted != shapes.end()) shape = wanted->second;
    for (size_t i = 0; i < std::min(shape.size(), info.dims.size()); ++i)
      if (!info.dims[i].empty() && shape[i] >= 0) named.emplace(info.dims[i], shape[i]);
  }
  NamedTensors out;
  for (const TensorInfo& info : inputs) {
    auto found = find(given, info.name, item_name);
    if (found == given.end()) {
      out.emplace_back(info.name, filled(info, fill, shapes, named, seed + out.size()));
    } else {
      check_input(info, found->second.tensor());
      out.emplace_back(info.name, found->second);
    }
  }
  return out;
}

Runner::Runner(Module compiled, DLDevice device) : Runner(make_executable(compiled, {device}), device) {}

Runner::Runner(std::unique_ptr<Executable> program, DLDevice device)
    : program_(std::move(program)), device_(device), inputs_(inputs().size()) {}

void Runner::set_inputs(const NamedTensors& tensors) {
  given_ = tensors;
  for (const auto& [name, tensor] : given_)
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs()[i].name == name) inputs_[i] = tensor.copy_to(device_);
}

void Runner::run() {
  check_inputs(inputs(), inputs_);
  results_ = program_->run(inputs_, results_);
}

NamedTensors Runner::outputs() const {
  NamedTensors out;
  const std::vector<TensorInfo>& infos = program_->outputs();
  for (size_t i = 0; i < results_.size(); ++i)
    out.emplace_back(i < infos.size() ? infos[i].name : output_name(i), results_[i].copy_to(cpu()));
  return out;
}

std::vector<double> Runner::measure(int64_t number, int64_t repeat, bool end_to_end) {
  TimePlan plan{device_, number, repeat};
  plan.check("run");
  if (!end_to_end)
    if (std::vector<double> seconds = program_->measure(number, repeat); !seconds.empty()) return seconds;
  PackedFunc inside([this](Args, Any*) { results_ = program_->run(inputs_, results_); });
  PackedFunc whole([this](Args, Any*) {
    set_inputs(NamedTensors(given_));
    run();
    outputs();
  });
  return measure_calls(end_to_end ? whole : inside, {}, plan);
}

profiling::Report Runner::profile(int64_t runs) {
  constexpr auto kTime = std::chrono::milliseconds(500);
  constexpr size_t kMaxRuns = 10;
  auto run = [this] { return program_->profile(inputs_, profiling::Collectors()); };
  run();  // finds kernels and warms caches
  std::vector<profiling::Report> reports;
  const auto end = std::chrono::steady_clock::now() + kTime;
  do reports.push_back(run());
  while (runs > 0 ? reports.size() < static_cast<size_t>(runs)
                  : reports.size() < kMaxRuns && std::chrono::steady_clock::now() < end);
  profiling::Report out = profiling::mean_report(reports);
  auto* node = const_cast<profiling::ReportNode*>(out.get());  // nobody else has it yet
  node->configuration.set("Runs", profiling::count(static_cast<int64_t>(reports.size())));
  return out;
}

}  // namespace tessera::cli
