// The configuration of a model as a list of layers.
//
// A model is a sequence of layers, or layers with the calls that were made of each ("inbound nodes"). A call is known by its layer and
// its number, and its results by their own: "dense_1:0:0". Models among the layers are written out at each call.

#include <algorithm>
#include <deque>

#include "base/json.h"
#include "frontend/errors.h"
#include "frontend/keras/keras.h"

namespace tessera::keras {
namespace {

constexpr int kMaxModels = 50;  // inside each other
constexpr size_t kMaxNodes = 1'000'000;

bool is_model(const std::string& kind) { return kind == "Functional" || kind == "Model" || kind == "Sequential"; }

/// A value that a call takes: a result of another, and by which argument it is given.
struct Reference {
  std::string layer;
  int64_t call = 0, result = 0;
  std::string call_key() const { return layer + ":" + std::to_string(call); }
  std::string key() const { return call_key() + ":" + std::to_string(result); }
};

struct CallOf {
  const Fields* layer;
  std::string key;
  std::vector<Reference> inputs;
  ObjectRef arguments;  // of Keras 3: what is given beside tensors
};

Reference reference_of(const ObjectRef& value, const std::string& what) {
  std::vector<ObjectRef> parts = list_of(value, what);
  if (parts.size() < 3) throw Error(ValueError) << what << " must be a layer's name, and numbers of call and result";
  return {text_of(parts[0], what), integer_of(parts[1], what), integer_of(parts[2], what)};
}

bool is_reference(const ObjectRef& value) {
  auto* array = value.as<ArrayNode>();
  return array && !array->items.empty() && array->items[0].as<StringNode>();
}

/// The tensors of a call of Keras 3, wherever they stand in its arguments.
void collect_tensors(const ObjectRef& value, int depth, std::vector<Reference>* out) {
  if (depth > kMaxModels) throw Error(ValueError) << "the arguments of a layer lie too deep inside each other";
  if (auto* array = value.as<ArrayNode>()) {
    for (const ObjectRef& item : array->items) collect_tensors(item, depth + 1, out);
  } else if (auto* map = value.as<MapNode>()) {
    Fields fields(value, "an argument");
    if (auto kind = fields.get("class_name"); kind.as<StringNode>() && fields.text("class_name") == "__keras_tensor__")
      out->push_back(reference_of(fields.object("config").get("keras_history"), "keras_history"));
    else
      for (const auto& [key, item] : map->entries) collect_tensors(item, depth + 1, out);
  }
}

/// Arguments by name that are tensors, attention's in the order in which it takes them.
void collect_named(const Fields& named, const std::string& layer, bool of_keras_3, std::vector<Reference>* out) {
  std::vector<std::string> names{"query", "value", "key"};
  for (const auto& [name, value] : named.map())
    if (std::find(names.begin(), names.begin() + 3, name.str()) == names.begin() + 3) names.push_back(name.str());
  for (const std::string& name : names) {
    const ObjectRef value = named.get(name);
    if (of_keras_3) {
      collect_tensors(value, 0, out);
      continue;
    }
    auto* items = value.as<ArrayNode>();
    if (!items || items->items.empty()) continue;
    const bool is_one = is_reference(value), are_many = !is_one && is_reference(items->items[0]);
    if (!is_one && !are_many) continue;
    if (name != "value" && name != "key" && name != "query" && name != "initial_state")
      throw Error(OpNotImplemented) << "the layer " << layer << " is given a tensor as its argument " << name;
    if (is_one) out->push_back(reference_of(value, name));
    else
      for (const ObjectRef& item : items->items) out->push_back(reference_of(item, name));
  }
}

std::vector<CallOf> calls_of(const Fields& layer, const std::string& name) {
  std::vector<CallOf> out;
  for (const ObjectRef& node : layer.list("inbound_nodes")) {
    CallOf call{&layer, name + ":" + std::to_string(out.size()), {}, nullptr};
    if (node.as<MapNode>()) {
      Fields fields(node, name);
      collect_tensors(fields.get("args"), 0, &call.inputs);
      collect_named(fields.object("kwargs"), name, true, &call.inputs);
      call.arguments = node;
    } else {
      std::vector<ObjectRef> parts = list_of(node, name + ": inbound_nodes");
      if (is_reference(node)) parts = {node};
      for (const ObjectRef& part : parts) {
        call.inputs.push_back(reference_of(part, name + ": inbound_nodes"));
        const std::vector<ObjectRef> own = list_of(part, name + ": inbound_nodes");
        if (own.size() < 4 || !own[3].as<MapNode>() || own[3].as<MapNode>()->entries.empty()) continue;
        collect_named(Fields(own[3], name), name, false, &call.inputs);
        call.arguments = Map<String, ObjectRef>{{String("kwargs"), own[3]}};
      }
    }
    out.push_back(std::move(call));
  }
  return out;
}

class Reader {
 public:
  Reader(GraphModel& out, const Weights& weights, const std::string& version)
      : out_(out), weights_(weights), version_(version) {}

  /// Writes out a model on these values; without them its inputs become those of the whole. Its results.
  std::vector<std::string> model(const Fields& model, const std::string& path, const std::string& prefix,
                                 const std::vector<std::string>* inputs, int depth) {
    if (depth > kMaxModels) throw Error(ValueError) << "models lie inside each other deeper than " << kMaxModels;
    Fields config = model.has("config") && model.get("config").as<ArrayNode>() ? model : model.object("config");
    bool is_sequence = model.text("class_name") == "Sequential" || !config.has("input_layers");
    return is_sequence ? sequence(config, path, prefix, inputs, depth) : graph(config, path, prefix, inputs, depth);
  }

 private:
  std::vector<std::string> sequence(const Fields& config, const std::string& path, const std::string& prefix,
                                    const std::vector<std::string>* inputs, int depth) {
    std::vector<std::string> now;
    if (inputs) now = *inputs;
    std::vector<ObjectRef> layers = config.list(config.has("layers") ? "layers" : "config");
    if (layers.empty()) throw Error(ValueError) << "the model has no layers";
    for (const ObjectRef& item : layers) {
      Fields layer(item, "a layer");
      Fields own = layer.object("config");
      const std::string name = own.text("name", layer.text("name"));
      const bool is_input = layer.text("class_name") == "InputLayer";
      if (now.empty()) {
        now = {add_input(own, is_input ? name : name + "_input", config.get("build_input_shape"))};
        if (is_input) out_.inputs.back().name = now[0];
      }
      if (is_input) continue;
      now = call(layer, path, prefix + name, now, 1, nullptr, depth);
    }
    return now;
  }

  std::vector<std::string> graph(const Fields& config, const std::string& path, const std::string& prefix,
                                 const std::vector<std::string>* inputs, int depth) {
    std::deque<Fields> layers;
    std::vector<CallOf> calls;
    std::unordered_map<std::string, std::string> values;  // of this model's own names
    std::unordered_map<std::string, int64_t> results;     // how many of each call are used
    std::vector<Reference> entries = references(config.get("input_layers")),
                           exits = references(config.get("output_layers"));
    for (const ObjectRef& item : config.list("layers")) {
      layers.emplace_back(item, "a layer");
      const std::string name = layers.back().text("name", layers.back().object("config").text("name"));
      if (layers.back().text("class_name") == "InputLayer") {
        auto entry = std::find_if(entries.begin(), entries.end(), [&](auto& one) { return one.layer == name; });
        if (inputs) {
          size_t at = static_cast<size_t>(entry - entries.begin());
          if (at >= inputs->size()) throw Error(ValueError) << "the model " << path << " is given too few inputs";
          values[name + ":0:0"] = (*inputs)[at];
        } else {
          values[name + ":0:0"] = add_input(layers.back().object("config"), name, nullptr);
        }
        continue;
      }
      for (CallOf& call : calls_of(layers.back(), name)) calls.push_back(std::move(call));
    }
    if (!inputs) sort_inputs(entries);
    auto note = [&](const Reference& used) {
      int64_t& count = results[used.call_key()];
      if (used.result < 0 || used.result >= 1000)
        throw Error(ValueError) << used.layer << " has no result " << used.result;
      count = std::max(count, used.result + 1);
    };
    for (const CallOf& call : calls)
      for (const Reference& input : call.inputs) note(input);
    for (const Reference& exit : exits) note(exit);
    for (size_t index : in_order(calls, values)) {
      const CallOf& one = calls[index];
      std::vector<std::string> given;
      for (const Reference& input : one.inputs) given.push_back(values.at(input.key()));
      int64_t count = std::max<int64_t>(results[one.key], 1);
      std::vector<std::string> made = call(*one.layer, path, prefix + one.key, given, count, one.arguments, depth);
      for (size_t i = 0; i < made.size(); ++i) values[one.key + ":" + std::to_string(i)] = made[i];
    }
    std::vector<std::string> out;
    for (const Reference& exit : exits) {
      auto found = values.find(exit.key());
      if (found == values.end()) throw Error(ValueError) << "nothing makes the output " << exit.key();
      out.push_back(found->second);
    }
    return out;
  }

  /// Producers before consumers. A call whose inputs nothing makes is an error.
  static std::vector<size_t> in_order(const std::vector<CallOf>& calls,
                                      const std::unordered_map<std::string, std::string>& given) {
    std::unordered_map<std::string, size_t> by_key;
    for (size_t i = 0; i < calls.size(); ++i) by_key.emplace(calls[i].key, i);
    std::vector<std::vector<size_t>> consumers(calls.size());
    std::vector<size_t> missing(calls.size(), 0), out;
    for (size_t i = 0; i < calls.size(); ++i)
      for (const Reference& input : calls[i].inputs) {
        if (given.count(input.key())) continue;
        auto maker = by_key.find(input.call_key());
        if (maker == by_key.end())
          throw Error(ValueError) << "the layer " << calls[i].key << " takes " << input.key()
                                  << ", which nothing makes";
        consumers[maker->second].push_back(i);
        ++missing[i];
      }
    for (size_t i = 0; i < calls.size(); ++i)
      if (missing[i] == 0) out.push_back(i);
    for (size_t done = 0; done < out.size(); ++done)
      for (size_t next : consumers[out[done]])
        if (--missing[next] == 0) out.push_back(next);
    if (out.size() != calls.size())
      throw Error(ValueError) << "the layers of the model take each other's results in a circle";
    return out;
  }

  /// The layer on these values: a node, or the nodes of a model. The names of its results.
  std::vector<std::string> call(const Fields& layer, const std::string& path, const std::string& key,
                                const std::vector<std::string>& inputs, int64_t results, const ObjectRef& arguments,
                                int depth) {
    const std::string kind = layer.text("class_name");
    Fields config = is_model(kind) && layer.get("config").as<ArrayNode>() ? layer : layer.object("config");
    const std::string own = path + config.text("name", layer.text("name"));
    if (is_model(kind)) return model(layer, own + "/", key + "/", &inputs, depth + 1);
    if (out_.nodes.size() >= kMaxNodes)
      throw Error(ValueError) << "with its models written out, the model has more than " << kMaxNodes << " layers";
    GraphNode node;
    const bool is_function = layer.text("module").find(".ops.") != std::string::npos;
    node.op = is_function ? "ops." + kind : kind;
    node.name = own;
    node.inputs = inputs;
    node.attributes = Fields(config.map(), own);
    const bool is_3 = version_.empty() ? layer.has("module") : version_[0] >= '3';
    node.attributes.set("of_keras_3", String(is_3 ? "1" : "0"));
    if (arguments.defined()) node.attributes.set("call", arguments);
    if (auto found = weights_.find(own); found != weights_.end())
      for (size_t i = 0; i < found->second.size(); ++i) {
        node.weights.push_back(own + "." + std::to_string(i));
        out_.params.emplace(node.weights.back(), found->second[i]);
      }
    for (int64_t i = 0; i < results; ++i) node.outputs.push_back(key + ":" + std::to_string(i));
    std::vector<std::string> out = node.outputs;
    out_.nodes.push_back(std::move(node));
    return out;
  }

  std::string add_input(const Fields& config, const std::string& name, const ObjectRef& build_shape) {
    GraphInput input;
    input.name = name;
    ObjectRef shape;
    for (const char* field : {"batch_shape", "batch_input_shape"})
      if (config.has(field)) shape = config.get(field);
    if (!shape.defined()) shape = build_shape;
    input.has_shape = shape.defined();
    if (shape.defined())
      for (const ObjectRef& extent : list_of(shape, name + ": the shape"))
        input.shape.push_back(extent.defined()      ? integer_of(extent, name + ": the shape")
                              : input.shape.empty() ? 1
                                                    : -1);
    ObjectRef dtype = config.get("dtype");
    if (dtype.as<StringNode>() && config.text("class_name") != "DTypePolicy")
      input.dtype = DataType(config.text("dtype"));
    if (!shape.defined() || dtype.as<MapNode>()) input.dtype = DataType::Float(32);
    out_.inputs.push_back(input);
    return name;
  }

  /// One reference, or a list or map of them.
  static std::vector<Reference> references(const ObjectRef& value) {
    std::vector<Reference> out;
    if (is_reference(value)) return {reference_of(value, "an input or output of the model")};
    if (auto* map = value.as<MapNode>()) {
      for (const auto& [key, item] : map->entries) out.push_back(reference_of(item, "an input or output of the model"));
      return out;
    }
    for (const ObjectRef& item : list_of(value, "the model's inputs and outputs"))
      out.push_back(reference_of(item, "an input or output of the model"));
    return out;
  }

  void sort_inputs(const std::vector<Reference>& entries) {
    auto at = [&](const GraphInput& input) {
      return std::find_if(entries.begin(), entries.end(), [&](auto& one) { return one.layer == input.name; });
    };
    std::stable_sort(out_.inputs.begin(), out_.inputs.end(), [&](auto& a, auto& b) { return at(a) < at(b); });
  }

  GraphModel& out_;
  const Weights& weights_;
  std::string version_;  // of Keras, where the file says it
};

}  // namespace

GraphModel read_config(std::string_view json, const Weights& weights) {
  Fields model(parse_json(json), "the configuration of the model");
  if (!model.has("class_name") || !model.has("config"))
    throw Error(ValueError) << "this is no configuration of a Keras model: it has no class_name and config";
  if (!is_model(model.text("class_name")))
    throw Error(OpNotImplemented) << "the Keras model is a " << model.text("class_name")
                                  << ", whose layers are code; only Sequential and Functional models can be read";
  GraphModel out;
  out.framework = "Keras";
  out.outputs = Reader(out, weights, model.text("keras_version")).model(model, "", "", nullptr, 0);
  return out;
}

}  // namespace tessera::keras
