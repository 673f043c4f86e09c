#include "runtime/package/model.h"

#include "runtime/containers.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

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

/// An executor for the time of one run; goes back to the idle ones also when the run fails.
struct Model::Lease {
  const Model& model;
  std::unique_ptr<Executable> executor;

  explicit Lease(const Model& model) : model(model) {
    {
      std::lock_guard lock(model.mutex_);
      if (!model.idle_.empty()) {
        executor = std::move(model.idle_.back());
        model.idle_.pop_back();
        return;
      }
    }
    executor = model.make_executor();
  }
  ~Lease() {
    std::lock_guard lock(model.mutex_);
    model.idle_.push_back(std::move(executor));  // room was made when the executor was
  }
};

Model::Model(Module compiled, std::optional<DLDevice> device, std::unique_ptr<Threads> threads)
    : compiled_(std::move(compiled)), threads_(std::move(threads)) {
  if (!compiled_) throw Error(TypeError) << "a model needs a compiled module";
  device_ = device ? *device : default_device(compiled_);
  std::unique_ptr<Executable> first = make_executor();  // what is wrong with the module shows now
  inputs_ = first->inputs();
  outputs_ = first->outputs();
  idle_.push_back(std::move(first));
}

std::unique_ptr<Executable> Model::make_executor() const {
  std::unique_ptr<Executable> out;
  {
    std::lock_guard lock(making_);
    out = make_executable(compiled_, {device_});
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
  check_inputs(inputs_, inputs);
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
    results = lease.executor->run(inputs, direct);
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

Globals model_globals{
    {"runtime.Model",
     // 0 threads and no CPUs: those of the process.
     [](Module compiled, AnyView device, int num_threads, ShapeTuple affinity) {
       std::vector<int> cpus(affinity.span().begin(), affinity.span().end());
       bool has_own = num_threads != 0 || !cpus.empty();
       return make_module<ModelModule>(compiled,
                                       device.is_null() ? std::nullopt : std::optional<DLDevice>(device.to<DLDevice>()),
                                       has_own ? std::make_unique<Threads>(num_threads, std::move(cpus)) : nullptr);
     }},
};

}  // namespace
}  // namespace tessera
