#include "driver/cli/diff/sides.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_set>

#include "base/stack.h"
#include "driver/cli/diff/compare.h"
#include "frontend/onnx/importer.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/scopes.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "relay/type/type_of.h"
#include "relay/walk.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/thread_pool.h"

namespace tessera::cli {
namespace {

using relay::Expr;
using relay::Function;

/// The tensors in the order of the inputs, and in their float types: those of the other side may be wider.
std::vector<NDArray> in_order(const std::vector<TensorInfo>& inputs, const NamedTensors& tensors) {
  std::vector<NDArray> out;
  for (const TensorInfo& input : inputs)
    for (const auto& [name, tensor] : tensors)
      if (name == input.name) out.push_back(as_float_type(tensor, input.dtype));
  return out;
}

DataType narrower(DataType a, DataType b) { return b.is_floating() && b.bits < a.bits ? b : a; }

DataType narrowest(const std::vector<TensorInfo>& tensors) {
  DataType out = DataType::Float(32);
  for (const TensorInfo& tensor : tensors) out = narrower(out, tensor.dtype);
  return out;
}

// ---- models that are compiled here ----------------------------------------------------------------------------------

/// A model as Relay, with the expressions of its layers.
struct LayeredModel {
  IRModule mod;
  Map<String, NDArray> params;
  std::string format;
  std::vector<LayerInfo> layers;
  std::map<std::string, Expr> values;
  std::vector<std::string> outputs;  // names, where the file has them

  void add(LayerInfo layer, const Expr& value) {
    auto* type = value->checked_type_.as<TensorTypeNode>();
    bool is_given = value.as<relay::VarNode>() || value.as<relay::Constant>();
    if (!type || is_given || !values.emplace(layer.name, value).second) return;
    uint64_t bytes = type->dtype.bytes();
    for (const PrimExpr& extent : type->shape) bytes *= as_int(extent) ? static_cast<uint64_t>(*as_int(extent)) : 0;
    layer.bytes = bytes;
    layers.push_back(std::move(layer));
  }
};

/// Names of values that something uses. Others (the mask of a Dropout that leaves nothing out) may be anything.
void add_used(const std::vector<onnx::Node>& nodes, std::unordered_set<std::string_view>* out) {
  for (const onnx::Node& node : nodes) {
    out->insert(node.inputs.begin(), node.inputs.end());
    for (const onnx::Attribute& attribute : node.attributes)
      for (const auto& graph : attribute.graphs)
        on_enough_stack([&] {
          add_used(graph->nodes, out);
          for (const onnx::ValueInfo& output : graph->outputs) out->insert(output.name);
        });
  }
}

std::unordered_set<std::string_view> used_values(const onnx::Model& model) {
  std::unordered_set<std::string_view> out;
  add_used(model.graph.nodes, &out);
  for (const onnx::ValueInfo& output : model.graph.outputs) out.insert(output.name);
  for (const onnx::Function& function : model.functions) {
    add_used(function.nodes, &out);
    out.insert(function.outputs.begin(), function.outputs.end());
  }
  return out;
}

LayeredModel read_onnx(const ModelFlags& flags) {
  onnx::Model model = onnx::read_model(flags.path, flags.allow_links);
  onnx::ImportOptions options;
  options.keep_layers = true;
  options.shapes = flags.shapes();
  onnx::Imported imported = onnx::import_model(model, options);
  LayeredModel out{.mod = imported.mod, .params = imported.params, .format = "onnx"};
  std::unordered_set<const Object*> seen;
  std::unordered_set<std::string_view> used = used_values(model);
  for (const onnx::Layer& layer : imported.layers) {
    if (!used.count(layer.output)) continue;
    relay::type_of(layer.value);
    if (seen.insert(layer.value.get()).second)
      out.add({layer.output, layer.op, layer.node, layer.in_function}, layer.value);
  }
  for (const onnx::ValueInfo& output : model.graph.outputs) out.outputs.emplace_back(output.name);
  return out;
}

/// The calls of "main" that are evaluated whenever it is.
LayeredModel read_others(const ModelFlags& flags) {
  LoadedModel loaded = flags.load();
  LayeredModel out{.mod = loaded.mod, .params = loaded.params, .format = loaded.format};
  Function main = downcast<Function>(out.mod.lookup("main"));
  relay::Scopes scopes(main);
  std::map<std::string, int> counts;
  relay::post_order(main->body, [&](const Expr& expr) {
    auto* call = expr.as<relay::Call>();
    std::string op = call ? std::string(relay::op_name(call)) : "";
    if (op.empty() || scopes.of(expr) != scopes.inner(main)) return;
    out.add({fmt::format("{}_{}", op, counts[op]++), op, ""}, expr);
  });
  return out;
}

class ModelSide final : public Side {
 public:
  ModelSide(const ModelFlags& flags, CompileOptions options, std::string title)
      : options_(std::move(options)), title_(std::move(title)) {
    std::string format = flags.format.empty() ? guess_model_format(flags.path) : flags.format;
    model_ = format == "onnx" ? read_onnx(flags) : read_others(flags);
    plain_ = compile({});
  }

  std::string title() const override { return title_; }
  std::vector<TensorInfo> inputs() override { return plain_->inputs(); }
  std::vector<LayerInfo> layers() override { return model_.layers; }
  bool names_layers() const override { return model_.format == "onnx"; }
  std::vector<std::string> output_names() override { return model_.outputs; }
  DataType narrowest_float() override {
    DataType out = narrowest(plain_->inputs());
    for (const auto& [_, value] : model_.values)
      if (auto* type = value->checked_type_.as<TensorTypeNode>()) out = narrower(out, type->dtype);
    return out;
  }

  std::vector<NDArray> outputs(const NamedTensors& inputs) override {
    return plain_->run(in_order(plain_->inputs(), inputs));
  }

  std::vector<NDArray> values(const NamedTensors& inputs, const std::vector<std::string>& layers) override {
    std::unique_ptr<Model> compiled = compile(layers);
    std::vector<NDArray> out = compiled->run(in_order(compiled->inputs(), inputs));
    ICHECK(out.size() >= layers.size()) << "every layer is an output";
    out.erase(out.begin(), out.end() - static_cast<ptrdiff_t>(layers.size()));
    return out;
  }

 private:
  /// The model with these layers as further outputs.
  std::unique_ptr<Model> compile(const std::vector<std::string>& layers) const {
    IRModule mod = model_.mod.copy();
    if (!layers.empty()) {
      Function main = downcast<Function>(mod.lookup("main"));
      auto* tuple = main->body.as<relay::Tuple>();
      Array<Expr> fields = tuple ? tuple->fields_ : Array<Expr>{main->body};
      for (const std::string& layer : layers) fields.push_back(model_.values.at(layer));
      mod.update(mod.get_global_var("main"), relay::make_function(main->params, relay::make_tuple(fields)));
    }
    mod = relay::infer_type(mod);
    if (model_.format == "onnx") mod = relay::fold_constant_pass(false)(mod);  // as load_model
    return std::make_unique<Model>(compile_model({mod, model_.params, model_.format}, options_).runnable);
  }

  CompileOptions options_;
  std::string title_;
  LayeredModel model_;
  std::unique_ptr<Model> plain_;
};

// ---- others ---------------------------------------------------------------------------------------------------------

class CompiledSide final : public Side {
 public:
  explicit CompiledSide(const ModelFlags& flags) : subject_(make_subject(flags, {})), model_(subject_.runnable) {}
  std::string title() const override { return fmt::format("{}, {} executor", subject_.path, subject_.executor); }
  std::vector<TensorInfo> inputs() override { return model_.inputs(); }
  std::vector<std::string> output_names() override {
    std::vector<std::string> out;
    for (const TensorInfo& output : model_.outputs()) out.push_back(output.name);
    return out;
  }
  DataType narrowest_float() override { return narrower(narrowest(model_.inputs()), narrowest(model_.outputs())); }
  std::vector<NDArray> outputs(const NamedTensors& inputs) override {
    return model_.run(in_order(model_.inputs(), inputs));
  }
  std::vector<NDArray> values(const NamedTensors&, const std::vector<std::string>&) override {
    throw Error(ValueError) << subject_.path << " is compiled: values inside it cannot be seen";
  }

 private:
  Subject subject_;
  Model model_;
};

class PeerSide final : public Side {
 public:
  PeerSide(std::string peer, std::string path) : peer_(std::move(peer)), path_(std::move(path)) {}
  std::string title() const override { return path_ + ", " + title_; }
  bool names_layers() const override { return true; }
  bool has_layers_by_name() const override { return peer_ == "ort"; }
  std::vector<std::string> output_names() override { return names_; }

  std::vector<NDArray> outputs(const NamedTensors& inputs) override {
    Peer peer(request(inputs, {}));
    names_ = peer.outputs;
    title_ = peer.name + " " + peer.version;
    return peer.results();
  }

  std::vector<NDArray> values(const NamedTensors& inputs, const std::vector<std::string>& layers) override {
    Peer peer(request(inputs, layers));
    std::vector<NDArray> results = peer.results(), out;
    for (const std::string& layer : layers) {
      auto at = std::find(peer.outputs.begin(), peer.outputs.end(), layer);
      if (at == peer.outputs.end()) throw Error(ValueError) << title() << " has no value \"" << layer << "\"";
      out.push_back(results.at(static_cast<size_t>(at - peer.outputs.begin())));
    }
    return out;
  }

 private:
  Peer::Request request(const NamedTensors& inputs, const std::vector<std::string>& layers) {
    std::string file = folder_.file("inputs.npz");
    save_npz(file, inputs);
    return {peer_, path_, file, num_threads(), layers};
  }

  std::string peer_, path_, title_ = peer_;
  std::vector<std::string> names_;
  TemporaryFolder folder_;
};

}  // namespace

std::unique_ptr<Side> make_model_side(const ModelFlags& model, const CompileOptions& options, std::string title) {
  return std::make_unique<ModelSide>(model, options, std::move(title));
}
std::unique_ptr<Side> make_compiled_side(const ModelFlags& model) { return std::make_unique<CompiledSide>(model); }
std::unique_ptr<Side> make_peer_side(const std::string& peer, const std::string& path) {
  return std::make_unique<PeerSide>(peer, path);
}

}  // namespace tessera::cli
