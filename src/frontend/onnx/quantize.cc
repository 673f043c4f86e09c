#include "frontend/onnx/quantize.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <unordered_set>

#include "frontend/onnx/external_data.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/protobuf.h"
#include "frontend/onnx/tensor.h"

#include <protozero/pbf_writer.hpp>

namespace tessera::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

constexpr int64_t kFirstVersion = 10, kChannelsVersion = 13;  // of QuantizeLinear, and with an axis
constexpr int kDataSteps = 255, kWeightSteps = 127;

int64_t version_of(const Model& model) {
  for (const OperatorSet& set : model.operator_sets)
    if (set.domain.empty() || set.domain == "ai.onnx") return set.version;
  return 0;
}

double attribute_or(const Node& node, std::string_view name, double value) {
  for (const Attribute& attribute : node.attributes)
    if (attribute.name == name) return attribute.kind == Attribute::Float ? attribute.f : double(attribute.i);
  return value;
}

/// Where the channels of the result are in the weight; -1 for nodes that are no such layers.
int channel_axis(const Node& node, const Tensor& weight) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return -1;
  if (node.op == "Conv") return weight.dims.size() >= 3 ? 0 : -1;
  if (weight.dims.size() != 2) return -1;
  if (node.op == "MatMul") return 1;
  if (node.op != "Gemm" || attribute_or(node, "transA", 0) != 0) return -1;
  if (attribute_or(node, "alpha", 1) != 1 || attribute_or(node, "beta", 1) != 1) return -1;
  return attribute_or(node, "transB", 0) != 0 ? 0 : 1;
}

// ---- writing -----------------------------------------------------------------------------------------------------------

void copy_field(pbf_reader& in, pbf_writer& out) {
  switch (in.wire_type()) {
    case pbf_wire_type::varint: out.add_uint64(in.tag(), in.get_uint64()); return;
    case pbf_wire_type::fixed64: out.add_fixed64(in.tag(), in.get_fixed64()); return;
    case pbf_wire_type::fixed32: out.add_fixed32(in.tag(), in.get_fixed32()); return;
    case pbf_wire_type::length_delimited: {
      const protozero::pbf_tag_type tag = in.tag();
      protozero::data_view view = in.get_view();
      out.add_bytes(tag, view.data(), view.size());
      return;
    }
    default: damaged("a field is of a type that protobuf does not have");
  }
}

std::string tensor_bytes(const std::string& name, ElementType type, std::span<const int64_t> dims, const void* data,
                         size_t size) {
  std::string out;
  pbf_writer tensor(out);
  for (int64_t extent : dims) tensor.add_int64(1, extent);
  tensor.add_int32(2, static_cast<int32_t>(type));
  tensor.add_string(8, name);
  tensor.add_bytes(9, static_cast<const char*>(data), size);
  return out;
}

std::string node_bytes(const char* op, const std::vector<std::string>& inputs, const std::string& output, int axis) {
  std::string out;
  pbf_writer node(out);
  for (const std::string& input : inputs) node.add_string(1, input);
  node.add_string(2, output);
  node.add_string(3, output);
  node.add_string(4, op);
  if (axis >= 0) {
    pbf_writer attribute(node, 5);
    attribute.add_string(1, "axis");
    attribute.add_int64(3, axis);
    attribute.add_int32(20, Attribute::Int);
  }
  return out;
}

// ---- the model ---------------------------------------------------------------------------------------------------------

class Quantizer {
 public:
  Quantizer(const Model& model, const std::unordered_map<std::string, DataRange>& ranges)
      : model_(model), ranges_(ranges), by_channel_(version_of(model) >= kChannelsVersion) {
    for (const Tensor& tensor : model.graph.initializers) names_.insert(std::string(tensor.name));
    for (const ValueInfo& input : model.graph.inputs) names_.insert(std::string(input.name));
    for (const Node& node : model.graph.nodes)
      for (std::string_view output : node.outputs) names_.insert(std::string(output));
  }

  QuantizedModel run(const std::vector<QuantizableLayer>& layers) {
    for (const QuantizableLayer& layer : layers) quantize(layer);
    QuantizedModel out{{}, by_channel_};
    pbf_writer model(out.bytes);
    pbf_reader in = frontend::reader_of(model_.bytes);
    while (in.next()) in.tag() == 7 ? model.add_message(7, graph(in.get_message())) : copy_field(in, model);
    return out;
  }

 private:
  struct Changed {
    std::vector<std::string> before;  // nodes that stand before it
    std::unordered_map<size_t, std::string> inputs;
  };
  struct Quantized {
    std::string dequantized;  // the tensor that layers read
    std::vector<float> scale;
  };

  std::string fresh(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }
  std::string add_tensor(const std::string& name, ElementType type, std::span<const int64_t> dims, const void* data,
                         size_t size) {
    std::string unique = fresh(name);
    added_.push_back(tensor_bytes(unique, type, dims, data, size));
    return unique;
  }
  template <class T>
  std::string add_scalars(const std::string& name, ElementType type, const std::vector<T>& values) {
    const std::vector<int64_t> dims =
        values.size() > 1 ? std::vector<int64_t>{int64_t(values.size())} : std::vector<int64_t>{};
    return add_tensor(name, type, dims, values.data(), values.size() * sizeof(T));
  }

  void quantize(const QuantizableLayer& layer) {
    const Node& node = model_.graph.nodes[layer.node];
    Changed& changed = changed_[layer.node];
    const Quantized& data = data_of(layer.data, &changed);
    const Quantized& weight = weight_of(layer, &changed);
    changed.inputs = {{0, data.dequantized}, {1, weight.dequantized}};
    if (node.inputs.size() > 2 && !node.inputs[2].empty()) quantize_bias(node.inputs[2], data, weight, &changed);
  }

  const Quantized& data_of(const std::string& name, Changed* changed) {
    auto [at, is_new] = data_.try_emplace(name);
    if (!is_new) return at->second;
    const DataRange given = ranges_.at(name);
    const float low = std::min(given.low, 0.0F), high = std::max(given.high, 0.0F);  // 0 is exact
    const float step = high > low ? (high - low) / kDataSteps : 1.0F;
    const auto zero = static_cast<uint8_t>(std::clamp(std::round(-low / step), 0.0F, float(kDataSteps)));
    const std::vector<std::string> scale{add_scalars<float>(name + "_scale", ElementType::Float, {step}),
                                         add_scalars<uint8_t>(name + "_zero_point", ElementType::UInt8, {zero})};
    const std::string integers = fresh(name + "_quantized");
    at->second = {fresh(name + "_dequantized"), {step}};
    changed->before.push_back(node_bytes("QuantizeLinear", {name, scale[0], scale[1]}, integers, -1));
    changed->before.push_back(
        node_bytes("DequantizeLinear", {integers, scale[0], scale[1]}, at->second.dequantized, -1));
    return at->second;
  }

  const Quantized& weight_of(const QuantizableLayer& layer, Changed* changed) {
    const std::string name(layer.weight->name);
    auto [at, is_new] = weights_.try_emplace(name + "/" + std::to_string(layer.channel));
    if (!is_new) return at->second;
    NDArray weight = to_ndarray(*layer.weight, model_.folder);
    const auto* values = weight.data<float>();
    int64_t inside = 1;
    for (size_t i = static_cast<size_t>(layer.channel) + 1; i < weight.shape().size(); ++i) inside *= weight.shape()[i];
    const int64_t channels = by_channel_ ? weight.shape()[static_cast<size_t>(layer.channel)] : 1,
                  count = weight.size();
    std::vector<float> scale(static_cast<size_t>(channels), 0.0F);
    auto scale_of = [&](int64_t i) -> float& { return scale[static_cast<size_t>(i / inside % channels)]; };
    for (int64_t i = 0; i < count; ++i) scale_of(i) = std::max(scale_of(i), std::abs(values[i]));
    for (float& each : scale) each = each > 0 && std::isfinite(each) ? each / kWeightSteps : 1.0F;
    std::vector<int8_t> integers(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      integers[static_cast<size_t>(i)] = static_cast<int8_t>(
          std::clamp(std::nearbyint(values[i] / scale_of(i)), float(-kWeightSteps), float(kWeightSteps)));
    const std::string tensor =
        add_tensor(name + "_quantized", ElementType::Int8, weight.shape(), integers.data(), integers.size());
    const std::string scales = add_scalars(name + "_scale", ElementType::Float, scale);
    const std::string zeros =
        add_scalars(name + "_zero_point", ElementType::Int8, std::vector<int8_t>(scale.size(), 0));
    at->second = {fresh(name + "_dequantized"), scale};
    changed->before.push_back(node_bytes("DequantizeLinear", {tensor, scales, zeros}, at->second.dequantized,
                                         channels > 1 ? layer.channel : -1));
    return at->second;
  }

  /// As steps of the sums; left as it is where it is no vector of constants, or too large for int32.
  void quantize_bias(std::string_view name, const Quantized& data, const Quantized& weight, Changed* changed) {
    auto given = std::find_if(model_.graph.initializers.begin(), model_.graph.initializers.end(),
                              [&](const Tensor& tensor) { return tensor.name == name; });
    if (given == model_.graph.initializers.end() || given->type != ElementType::Float || given->dims.size() != 1)
      return;
    NDArray bias = to_ndarray(*given, model_.folder);
    std::vector<float> scale = weight.scale;
    for (float& each : scale) each *= data.scale[0];
    if (scale.size() > 1 && int64_t(scale.size()) != bias.size()) return;
    std::vector<int32_t> integers;
    for (int64_t i = 0; i < bias.size(); ++i) {
      const double value = std::nearbyint(double(bias.data<float>()[i]) / scale[scale.size() > 1 ? size_t(i) : 0]);
      if (!(std::abs(value) < double(std::numeric_limits<int32_t>::max()))) return;
      integers.push_back(static_cast<int32_t>(value));
    }
    const std::string base(name);
    const std::string tensor =
        add_tensor(base + "_quantized", ElementType::Int32, bias.shape(), integers.data(), integers.size() * 4);
    const std::string scales = add_scalars(base + "_scale", ElementType::Float, scale);
    changed->inputs[2] = fresh(base + "_dequantized");
    changed->before.push_back(
        node_bytes("DequantizeLinear", {tensor, scales}, changed->inputs[2], scale.size() > 1 ? 0 : -1));
  }

  /// Initialisers that a node of this graph or one inside it still reads, or that are results.
  std::unordered_set<std::string_view> still_read() const {
    std::unordered_set<std::string_view> out;
    std::function<void(const Graph&, bool)> visit = [&](const Graph& graph, bool is_main) {
      for (size_t i = 0; i < graph.nodes.size(); ++i) {
        auto changed = is_main ? changed_.find(i) : changed_.end();
        for (size_t k = 0; k < graph.nodes[i].inputs.size(); ++k)
          if (changed == changed_.end() || !changed->second.inputs.count(k)) out.insert(graph.nodes[i].inputs[k]);
        for (const Attribute& attribute : graph.nodes[i].attributes)
          for (const auto& inner : attribute.graphs) visit(*inner, false);
      }
      for (const ValueInfo& output : graph.outputs) out.insert(output.name);
    };
    visit(model_.graph, true);
    return out;
  }

  std::string graph(pbf_reader in) {
    const std::unordered_set<std::string_view> read = still_read();
    std::unordered_set<std::string_view> gone;
    for (std::string_view each : replaced())
      if (!read.count(each)) gone.insert(each);
    std::string out;
    pbf_writer graph(out);
    size_t node = 0, tensor = 0;
    while (in.next()) switch (in.tag()) {
        case 1: add_node(in.get_message(), node++, graph); break;
        case 5: {
          const Tensor& given = model_.graph.initializers[tensor++];
          if (gone.count(given.name)) in.skip();
          else if (given.is_external) in.skip(), graph.add_message(5, embedded(given));
          else copy_field(in, graph);
          break;
        }
        case 11: {  // files of old versions name their initialisers among the inputs
          protozero::data_view view = in.get_view();
          if (!gone.count(name_of(view))) graph.add_message(11, view);
          break;
        }
        default: copy_field(in, graph);
      }
    for (const std::string& each : added_) graph.add_message(5, each);
    return out;
  }

  /// Weights and biases that layers no longer read.
  std::vector<std::string_view> replaced() const {
    std::vector<std::string_view> out;
    for (const auto& [index, changed] : changed_)
      for (const auto& [position, _] : changed.inputs)
        if (position > 0) out.push_back(model_.graph.nodes[index].inputs[position]);
    return out;
  }

  static std::string_view name_of(const protozero::data_view& value_info) {
    pbf_reader in(value_info);
    while (in.next()) {
      if (in.tag() == 1) return frontend::next_view(in);
      in.skip();
    }
    return {};
  }

  std::string embedded(const Tensor& tensor) const {
    const int small = small_bits(tensor.type), bits = small ? small : memory_type(tensor.type).bits;
    const auto size = static_cast<size_t>((to_ndarray(tensor, model_.folder).size() * bits + 7) / 8);
    std::string bytes;
    read_external(tensor, model_.folder, size, [&] {
      bytes.resize(size);
      return bytes.data();
    });
    return tensor_bytes(std::string(tensor.name), tensor.type, tensor.dims, bytes.data(), size);
  }

  void add_node(pbf_reader in, size_t index, pbf_writer& graph) {
    auto changed = changed_.find(index);
    static const Changed none;
    const Changed& change = changed == changed_.end() ? none : changed->second;
    for (const std::string& each : change.before) graph.add_message(1, each);
    std::string bytes;
    pbf_writer node(bytes);
    for (size_t input = 0; in.next();) {
      auto replaced = in.tag() == 1 ? change.inputs.find(input++) : change.inputs.end();
      if (replaced == change.inputs.end()) copy_field(in, node);
      else in.skip(), node.add_string(1, replaced->second);
    }
    graph.add_message(1, bytes);
  }

  const Model& model_;
  const std::unordered_map<std::string, DataRange>& ranges_;
  bool by_channel_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, Quantized> data_, weights_;
  std::unordered_map<size_t, Changed> changed_;
  std::vector<std::string> added_;
};

}  // namespace

std::vector<QuantizableLayer> quantizable_layers(const Model& model) {
  std::unordered_map<std::string_view, const Tensor*> constants;
  for (const Tensor& tensor : model.graph.initializers) constants[tensor.name] = &tensor;
  std::vector<QuantizableLayer> out;
  for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const Node& node = model.graph.nodes[i];
    if (node.inputs.size() < 2 || constants.count(node.inputs[0])) continue;
    auto weight = constants.find(node.inputs[1]);
    if (weight == constants.end() || weight->second->type != ElementType::Float) continue;
    const int channel = channel_axis(node, *weight->second);
    if (channel >= 0) out.push_back({i, node_label(node), std::string(node.inputs[0]), weight->second, channel});
  }
  return out;
}

QuantizedModel quantize_model(const Model& model, const std::vector<QuantizableLayer>& layers,
                              const std::unordered_map<std::string, DataRange>& ranges) {
  if (version_of(model) < kFirstVersion)
    throw Error(ValueError) << "the model is of version " << version_of(model)
                            << " of ONNX's operators, which has no QuantizeLinear; export it with version "
                            << kChannelsVersion << " or later";
  return Quantizer(model, ranges).run(layers);
}

}  // namespace tessera::onnx
