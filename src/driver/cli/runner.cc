#include "driver/cli/runner.h"

#include <chrono>
#include <map>
#include <random>

#include "runtime/containers.h"
#include "runtime/function/element.h"
#include "runtime/graph_executor/module.h"
#include "runtime/package/model_names.h"
#include "runtime/profiling/time_evaluator.h"
#include "runtime/registry.h"
#include "runtime/vm/executable.h"
#include "runtime/vm/graph_like.h"

namespace tessera::cli {
namespace {

PackedFunc function_of(const Module& executor, const char* name) {
  PackedFunc found = executor.get_function(name);
  ICHECK(found) << "executors have the function " << name;
  return found;
}

std::string model_name(const Module& factory) {
  PackedFunc named = factory.get_function("get_model_name");
  if (!named)
    throw Error(ValueError) << "a module of type " << factory->type_key()
                            << " is no compiled model; a package that `tessera compile` wrote can be run";
  return named().to<std::string>();
}

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

DLDevice device_of(const std::string& name) {
  int type = find_device_type(name == "cl" ? "opencl" : name);
  if (type < 0)
    throw Error(ValueError) << "there is no kind of device \"" << name
                            << "\"; the kinds are cpu, cuda, cl, metal, vulkan, rocm";
  DLDevice device = make_device(type, 0);
  DeviceAPI* api = find_device_api(static_cast<DLDeviceType>(type));
  if (!api || api->get_attr(device, DeviceAttr::Exist).to<int64_t>() == 0)
    throw Error(RuntimeError) << "this machine has no device \"" << name
                              << "\" that can be used; `tessera doctor` says what it has";
  return device;
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

Runner::Runner(Module compiled, DLDevice device) : compiled_(std::move(compiled)), device_(device) {
  is_machine_ = compiled_->type_key() == "VMExecutable";
  executor_ = is_machine_ ? vm::make_graph_like(compiled_, {device})
                          : compiled_.get_function(model_name(compiled_))(device).to<Module>();
  set_input_ = function_of(executor_, "set_input");
  run_ = function_of(executor_, "run");
  get_output_ = function_of(executor_, "get_output");
  get_num_outputs_ = function_of(executor_, "get_num_outputs");
  output_names_ = function_of(executor_, "get_output_names")().to<Array<String>>();
  auto infos = function_of(executor_, "get_input_info")().to<Map<String, ObjectRef>>();
  auto types = downcast<Map<String, ObjectRef>>(infos["dtype"]);
  Map<String, ObjectRef> dims;
  if (infos.count("dim_names")) dims = downcast<Map<String, ObjectRef>>(infos["dim_names"]);
  for (const auto& [name, shape] : downcast<Map<String, ObjectRef>>(infos["shape"])) {
    const auto& extents = downcast<ShapeTuple>(shape)->values;
    inputs_.push_back({name.str(), {extents.begin(), extents.end()}, DataType(downcast<String>(types[name]).str())});
    if (!dims.count(name)) continue;
    for (const String& dim : downcast<Array<String>>(dims[name])) inputs_.back().dims.push_back(dim.str());
  }
}

void Runner::set_inputs(const NamedTensors& tensors) {
  given_ = tensors;
  for (const auto& [name, tensor] : given_) set_input_(name, tensor);
}

NamedTensors Runner::outputs() const {
  NamedTensors out;
  auto count = get_num_outputs_().to<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    auto place = static_cast<size_t>(i);
    out.emplace_back(place < output_names_.size() ? output_names_[place].str() : output_name(place),
                     get_output_(i).to<NDArray>().copy_to(cpu()));
  }
  return out;
}

std::vector<double> Runner::measure(int64_t number, int64_t repeat, bool end_to_end) {
  TimePlan plan{device_, number, repeat};
  plan.check("run");
  PackedFunc whole([this](Args, Any*) {
    for (const auto& [name, tensor] : given_) set_input_(name, tensor);
    run_();
    outputs();
  });
  return measure_calls(end_to_end ? whole : run_, {}, plan);
}

profiling::Report Runner::profile(int64_t runs) {
  constexpr auto kTime = std::chrono::milliseconds(500);
  constexpr size_t kMaxRuns = 10;
  std::function<profiling::Report()> run = profiled_run();
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

std::function<profiling::Report()> Runner::profiled_run() {
  if (!is_machine_) {
    auto debug = compiled_.get_function("debug_create")(model_name(compiled_), device_).to<Module>();
    PackedFunc set_input = function_of(debug, "set_input");
    for (const auto& [name, tensor] : given_) set_input(name, tensor);
    return [profile = function_of(debug, "profile"), debug] {
      return profile(profiling::Collectors()).to<profiling::Report>();
    };
  }
  auto machine = get_global("runtime._VirtualMachineDebug")(compiled_).to<Module>();
  constexpr int kPooled = 2;
  PackedFunc init = function_of(machine, "init"), set_input = function_of(machine, "set_one_input");
  if (device_.device_type == kDLCPU) {
    init(static_cast<int>(kDLCPU), device_.device_id, kPooled);
  } else {
    init(static_cast<int>(device_.device_type), device_.device_id, kPooled, static_cast<int>(kDLCPU), 0, kPooled);
  }
  for (const auto& [name, tensor] : given_) set_input("main", name, tensor);
  return [profile = function_of(machine, "profile"), machine] {
    return profile("main", profiling::Collectors()).to<profiling::Report>();
  };
}

}  // namespace tessera::cli
