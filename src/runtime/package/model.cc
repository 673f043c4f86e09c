#include "runtime/package/model.h"

#include "runtime/containers.h"
#include "runtime/graph_executor/graph.h"
#include "runtime/package/model_workers.h"
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

/// What would give a tensor the wanted shape; empty where nothing simple does.
std::string shape_cure(std::span<const int64_t> given, const std::vector<int64_t>& wanted) {
  if (wanted.size() == given.size() + 1 && (wanted[0] == 1 || wanted[0] < 0) &&
      fits(given, {wanted.begin() + 1, wanted.end()}))
    return "its first dimension is missing: give x[None]";
  if (given.size() == wanted.size() + 1 && given[0] == 1 && fits(given.subspan(1), wanted))
    return "it has a first dimension too many: give x[0]";
  static const std::vector<std::vector<size_t>> orders{{1, 0}, {2, 0, 1}, {1, 2, 0}, {0, 3, 1, 2}, {0, 2, 3, 1}};
  for (const std::vector<size_t>& order : orders) {
    if (order.size() != given.size()) continue;
    std::vector<int64_t> moved;
    std::string axes;
    for (size_t axis : order) {
      moved.push_back(given[axis]);
      axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
    }
    if (fits(moved, wanted)) return "its dimensions are in another order: give x.transpose(" + axes + ")";
  }
  return "";
}

void check_result(size_t index, const NDArray& result, const NDArray& out) {
  bool same_shape = std::equal(result.shape().begin(), result.shape().end(), out.shape().begin(), out.shape().end());
  if (!same_shape || result.dtype() != out.dtype())
    throw Error(ValueError) << "output " << index << " is " << describe(result.tensor())
                            << " in this run, but the tensor given for it is " << describe(out.tensor());
}

bool overlap(const DLTensor* a, const DLTensor* b) {
  if (a->device.device_type != b->device.device_type || a->device.device_id != b->device.device_id) return false;
  const char *begin_a = static_cast<const char*>(data_of(a)), *begin_b = static_cast<const char*>(data_of(b));
  return std::less<>()(begin_a, begin_b + tensor_bytes(b)) && std::less<>()(begin_b, begin_a + tensor_bytes(a));
}

}  // namespace

std::string text_of(const TensorInfo& info) {
  std::string out;
  for (size_t i = 0; i < info.shape.size(); ++i) {
    std::string open = info.dims.empty() || info.dims[i].empty() ? "?" : info.dims[i];
    out += (i ? ", " : "") + (info.shape[i] < 0 ? open : std::to_string(info.shape[i]));
  }
  return "(" + out + (info.shape.size() == 1 ? ",) " : ") ") + to_text(info.dtype);
}

void check_input(const TensorInfo& wanted, const DLTensor* given) {
  std::span<const int64_t> shape(given->shape, static_cast<size_t>(given->ndim));
  const bool has_shape = fits(shape, wanted.shape), has_type = DataType(given->dtype) == wanted.dtype;
  if (has_shape && has_type) return;
  Error error(ValueError);
  error << "input \"" << wanted.name << "\" is " << text_of(wanted) << ", but the tensor given is " << describe(given);
  if (!has_type) error << "; convert it with .astype(\"" << to_text(wanted.dtype) << "\")";
  if (std::string cure = has_shape ? "" : shape_cure(shape, wanted.shape); !cure.empty()) error << "; " << cure;
  throw error;
}

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

Model::Model(Module compiled, std::optional<DLDevice> device, std::unique_ptr<Threads> threads)
    : compiled_(std::move(compiled)), threads_(std::move(threads)) {
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

void Model::check_outs(std::span<const NDArray> outs) const {
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!outs[i]) continue;
    if (!is_contiguous(outs[i].tensor())) throw Error(ValueError) << "the tensor for output " << i << " has gaps";
    if (i < outputs_.size() && (!fits(outs[i].shape(), outputs_[i].shape) || outs[i].dtype() != outputs_[i].dtype))
      throw Error(ValueError) << "output \"" << outputs_[i].name << "\" is " << text_of(outputs_[i])
                              << ", but the tensor given for it is " << describe(outs[i].tensor());
    for (size_t k = 0; k < i; ++k)
      if (outs[k] && overlap(outs[i].tensor(), outs[k].tensor()))
        throw Error(ValueError) << "the tensors given for outputs " << k << " and " << i << " overlap";
  }
}

std::vector<NDArray> Model::run(std::span<const NDArray> inputs, std::span<const NDArray> outs) const {
  if (inputs.size() > inputs_.size())
    throw Error(ValueError) << "the model takes " << inputs_.size() << " inputs, got " << inputs.size();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (i >= inputs.size() || !inputs[i])
      throw Error(ValueError) << "input \"" << inputs_[i].name << "\" is missing; it is " << text_of(inputs_[i]);
    check_input(inputs_[i], inputs[i].tensor());
  }
  check_outs(outs);
  // An input is read while results are written: a tensor that is both gets its result when the run is over.
  std::vector<NDArray> direct(outs.begin(), outs.end());
  for (NDArray& out : direct)
    for (const NDArray& input : inputs)
      if (out && overlap(out.tensor(), input.tensor())) out = nullptr;
  std::vector<NDArray> results;
  {
    Lease lease(*this);
    ThreadsScope scope(threads_.get());
    results = lease.worker->run(inputs, direct);
  }
  if (outs.size() > results.size())
    throw Error(ValueError) << "the model gives " << results.size() << " results, but tensors for " << outs.size()
                            << " are given";
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!outs[i] || results[i].same_as(outs[i])) continue;
    check_result(i, results[i], outs[i]);
    outs[i].copy_from(results[i]);
    results[i] = outs[i];
  }
  return results;
}

namespace {

class ModelModule final : public ModuleBody {
 public:
  ModelModule(Module compiled, std::optional<DLDevice> device, std::unique_ptr<Threads> threads)
      : model_(std::move(compiled), device, std::move(threads)) {}

  std::string type_key() const override { return "Model"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "run")
      return PackedFunc([self, this](Args args, Any* result) {
        std::vector<NDArray> inputs, results;
        for (int i = 0; i < args.size(); ++i) inputs.push_back(args[i].to<NDArray>());
        results = model_.run(inputs);
        *result = Any(Array<NDArray>(results.begin(), results.end()));
      });
    if (name == "run_into")  // the inputs; a tensor or none for each output
      return typed(name, [self, this](Array<NDArray> inputs, Array<NDArray> outs) {
        std::vector<NDArray> results = model_.run(inputs.vec(), outs.vec());
        return Array<NDArray>(results.begin(), results.end());
      });
    if (name == "num_threads")
      return typed(name, [self, this] { return model_.threads() ? model_.threads()->count() : 0; });
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
     // 0 threads and no processors: those of the process.
     [](Module compiled, AnyView device, int num_threads, ShapeTuple affinity) {
       std::vector<int> processors(affinity.span().begin(), affinity.span().end());
       bool has_own = num_threads != 0 || !processors.empty();
       return make_module<ModelModule>(
           compiled, device.is_null() ? std::nullopt : std::optional<DLDevice>(device.to<DLDevice>()),
           has_own ? std::make_unique<Threads>(num_threads, std::move(processors)) : nullptr);
     }},
};

}  // namespace
}  // namespace tessera
