#include "runtime/model.h"

#include "runtime/containers.h"
#include "runtime/graph_executor/graph.h"
#include "runtime/model_workers.h"
#include "runtime/registry.h"
#include "runtime/vm/executable.h"

namespace tessera {
namespace {

bool is_machine_program(const Module& compiled) { return compiled->type_key() == "VMExecutable"; }

/// The first device of the kind that the model was compiled for.
DLDevice device_of(const Module& compiled) {
  int type = 0;
  if (is_machine_program(compiled)) {
    const auto& types = vm::program_of(compiled)->device_types;
    if (!types.empty()) type = types[0];
  } else if (PackedFunc json = compiled.get_function("get_graph_json")) {
    Graph graph = Graph::parse(json().to<std::string>());
    if (!graph.entries.empty()) type = graph.entries[0].device_type;
  }
  return make_device(type ? type : kDLCPU, 0);
}

bool fits(std::span<const int64_t> given, const std::vector<int64_t>& wanted) {
  if (given.size() != wanted.size()) return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (wanted[i] >= 0 && given[i] != wanted[i]) return false;
  return true;
}

/// "(2, ?) float32"
std::string text_of(const TensorInfo& info) {
  std::string out;
  for (int64_t extent : info.shape) out += (out.empty() ? "" : ", ") + (extent < 0 ? "?" : std::to_string(extent));
  return "(" + out + (info.shape.size() == 1 ? ",) " : ") ") + to_text(info.dtype);
}

}  // namespace

/// An executor for the time of one run; goes back to the idle ones also when the run fails.
struct Model::Lease {
  const Model& model;
  Worker worker;

  explicit Lease(const Model& model) : model(model) {
    {
      std::lock_guard lock(model.mutex_);
      if (!model.idle_.empty()) {
        worker = std::move(model.idle_.back());
        model.idle_.pop_back();
        return;
      }
    }
    worker = model.make_worker();
  }
  ~Lease() {
    std::lock_guard lock(model.mutex_);
    model.idle_.push_back(std::move(worker));  // room was made when the worker was
  }
};

Model::Model(Module compiled, std::optional<DLDevice> device) : compiled_(std::move(compiled)) {
  if (!compiled_) throw Error(TypeError) << "a model needs a compiled module";
  device_ = device ? *device : device_of(compiled_);
  Worker first = make_worker();  // what is wrong with the module shows now
  inputs_ = first->inputs();
  outputs_ = first->outputs();
  idle_.push_back(std::move(first));
}

Model::Worker Model::make_worker() const {
  Worker out;
  {
    std::lock_guard lock(making_);
    out = is_machine_program(compiled_) ? make_machine_worker(compiled_, device_)
                                        : make_executor_worker(compiled_, device_);
  }
  std::lock_guard lock(mutex_);
  ++made_;
  idle_.reserve(made_);
  return out;
}

size_t Model::executors() const {
  std::lock_guard lock(mutex_);
  return made_;
}

size_t Model::input_index(const std::string& name) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].name == name) return i;
  Error error(ValueError);
  error << "the model has no input \"" << name << "\"; its inputs are";
  for (size_t i = 0; i < inputs_.size(); ++i) error << (i ? ", " : " ") << inputs_[i].name;
  throw error;
}

void Model::check(size_t index, const NDArray& given) const {
  const TensorInfo& wanted = inputs_[index];
  if (!given) throw Error(ValueError) << "input \"" << wanted.name << "\" is missing; it is " << text_of(wanted);
  if (!fits(given.shape(), wanted.shape) || given.dtype() != wanted.dtype)
    throw Error(ValueError) << "input \"" << wanted.name << "\" is " << text_of(wanted) << ", but the tensor given is "
                            << describe(given.tensor());
}

std::vector<NDArray> Model::run(std::span<const NDArray> inputs) const {
  if (inputs.size() > inputs_.size())
    throw Error(ValueError) << "the model takes " << inputs_.size() << " inputs, got " << inputs.size();
  for (size_t i = 0; i < inputs_.size(); ++i) check(i, i < inputs.size() ? inputs[i] : NDArray());
  Lease lease(*this);
  return lease.worker->run(inputs);
}

namespace {

class ModelModule final : public ModuleBody {
 public:
  ModelModule(Module compiled, std::optional<DLDevice> device) : model_(std::move(compiled), device) {}

  std::string type_key() const override { return "Model"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "run")
      return PackedFunc([self, this](Args args, Any* result) {
        std::vector<NDArray> inputs, results;
        for (int i = 0; i < args.size(); ++i) inputs.push_back(args[i].to<NDArray>());
        results = model_.run(inputs);
        *result = Any(Array<NDArray>(results.begin(), results.end()));
      });
    if (name == "input_index")
      return typed(name, [self, this](std::string input) { return model_.input_index(input); });
    if (name == "inputs") return typed(name, [self, this] { return describe(model_.inputs()); });
    if (name == "outputs") return typed(name, [self, this] { return describe(model_.outputs()); });
    if (name == "device") return typed(name, [self, this] { return model_.device(); });
    if (name == "executors") return typed(name, [self, this] { return model_.executors(); });
    return nullptr;
  }

 private:
  /// [name, shape, element type] of each.
  static Array<ObjectRef> describe(const std::vector<TensorInfo>& infos) {
    Array<ObjectRef> out;
    for (const TensorInfo& info : infos)
      out.push_back(Array<ObjectRef>{String(info.name), ShapeTuple(info.shape), String(to_text(info.dtype))});
    return out;
  }

  Model model_;
};

Globals globals{
    {"runtime.Model",
     [](Module compiled, AnyView device) {
       return make_module<ModelModule>(
           compiled, device.is_null() ? std::nullopt : std::optional<DLDevice>(device.to<DLDevice>()));
     }},
};

}  // namespace
}  // namespace tessera
