// Files of Keras models: `.keras` (a zip of configuration and weights) and `.h5`.

#include <algorithm>

#include "base/json.h"
#include "frontend/errors.h"
#include "frontend/keras/files.h"
#include "frontend/keras/hdf5.h"
#include "runtime/archive/zip.h"

namespace tessera::keras {
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kWeights = "model.weights.h5";
constexpr int kMaxDepth = 50;

/// "DepthwiseConv2D" as Keras names such layers in files: "depthwise_conv2d".
std::string snake_case(const std::string& name) {
  std::string out;
  auto is = [&](size_t i, int (*kind)(int)) { return i < name.size() && kind(static_cast<unsigned char>(name[i])); };
  for (size_t i = 0; i < name.size(); ++i) {
    if (!is(i, std::isalnum)) continue;
    const bool begins = is(i, std::isupper) && i > 0 && (is(i - 1, std::islower) || is(i + 1, std::islower));
    if (begins && !out.empty()) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return out;
}

std::vector<ObjectRef> layers_of(const Fields& layer) {
  ObjectRef config = layer.get("config");
  if (auto* list = config.as<ArrayNode>()) return {list->items.begin(), list->items.end()};
  auto* map = config.as<MapNode>();
  return map ? layer.object("config").list("layers") : std::vector<ObjectRef>();
}

std::string name_of(const Fields& layer) {
  ObjectRef config = layer.get("config");
  return config.as<MapNode>() ? layer.object("config").text("name", layer.text("name")) : layer.text("name");
}

// ---- .keras ---------------------------------------------------------------------------------------------------------

/// Variables of a layer and of the parts that it holds, in the order in which Keras lists a layer's weights.
void gather(Hdf5File& file, const std::string& group, int depth, std::vector<NDArray>* out) {
  if (depth > kMaxDepth)
    throw Error(ValueError) << "layers lie inside each other deeper than " << kMaxDepth << " levels";
  std::vector<std::string> vars = file.names(group + "/vars"), parts = file.names(group);
  auto by_number = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  std::sort(vars.begin(), vars.end(), by_number);
  for (const std::string& name : vars) out->push_back(file.dataset(group + "/vars/" + name));
  constexpr std::string_view kFirst[] = {"forward_layer", "query_dense", "key_dense", "value_dense", "output_dense"};
  auto rank = [&](const std::string& name) {  // Keras 2 writes "_query_dense"
    return std::find(std::begin(kFirst), std::end(kFirst), name.starts_with('_') ? name.substr(1) : name);
  };
  std::sort(parts.begin(), parts.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(rank(a), std::string_view(a)) < std::pair(rank(b), std::string_view(b));
  });
  for (const std::string& name : parts)
    if (name != "vars" && name != "seed_generator") gather(file, group + "/" + name, depth + 1, out);
}

void weights_of_archive(Hdf5File& file, const Fields& model, const std::string& group, const std::string& path,
                        int depth, Weights* out) {
  if (depth > kMaxDepth)
    throw Error(ValueError) << "models lie inside each other deeper than " << kMaxDepth << " levels";
  std::unordered_map<std::string, int> counts;
  for (const ObjectRef& item : layers_of(model)) {
    Fields layer(item, "a layer");
    std::string own = snake_case(layer.text("class_name"));
    if (int before = counts[own]++) own += "_" + std::to_string(before);
    if (!file.has(group + "/" + own)) own = name_of(layer);  // some versions write layers by their names
    const std::string where = group + "/" + own, name = path + name_of(layer);
    if (!layers_of(layer).empty()) {
      weights_of_archive(file, layer, where + "/layers", name + "/", depth + 1, out);
    } else {
      gather(file, where, depth, &(*out)[name]);
    }
  }
}

GraphModel read_archive(std::string_view bytes, const std::string& path) {
  std::string config, weights;
  std::string metadata;
  for (const ZipMember& member : read_zip(bytes, path)) {
    std::string* into = member.name == kConfig           ? &config
                        : member.name == kWeights        ? &weights
                        : member.name == "metadata.json" ? &metadata
                                                         : nullptr;
    if (!into) continue;
    into->resize(member.size);
    unpack(member, into->data(), path);
  }
  if (config.empty() || weights.empty())
    throw Error(ValueError) << path << " is no Keras model: it has no " << (config.empty() ? kConfig : kWeights);
  Weights values;
  Fields model(parse_json(config), "the configuration of the model");
  Hdf5File file(weights, path + ": " + kWeights);
  weights_of_archive(file, model, file.has("layers") ? "layers" : "_layer_checkpoint_dependencies", "", 0, &values);
  if (!metadata.empty() && !model.has("keras_version"))
    model.set("keras_version", Fields(parse_json(metadata), "metadata.json").get("keras_version"));
  return read_config(to_json(model.map()), values);
}

// ---- .h5 ------------------------------------------------------------------------------------------------------------

/// The path of the layer inside `model` that a weight of this name belongs to.
std::string owner_of(const Fields& layer, const std::string& path, const std::string& weight, size_t begin) {
  std::vector<ObjectRef> inner = layers_of(layer);
  while (!inner.empty() && begin < weight.size()) {
    const size_t end = weight.find('/', begin);
    if (end == weight.npos) break;
    const std::string part = weight.substr(begin, end - begin);
    begin = end + 1;
    for (const ObjectRef& item : inner) {
      Fields one(item, "a layer");
      if (name_of(one) == part) return owner_of(one, path + "/" + part, weight, begin);
    }
  }
  return path;
}

GraphModel read_old(std::string_view bytes, const std::string& path) {
  Hdf5File file(bytes, path);
  auto config = file.texts("", "model_config");
  if (!config || config->size() != 1)
    throw Error(ValueError) << path << " holds weights without a model; save the whole model, with model.save";
  Fields model(parse_json((*config)[0]), "the configuration of the model");
  if (auto version = file.texts("", "keras_version"); version && version->size() == 1)
    model.set("keras_version", String((*version)[0]));
  Weights values;
  for (const ObjectRef& item : layers_of(model)) {
    Fields layer(item, "a layer");
    const std::string name = name_of(layer), group = "model_weights/" + name;
    std::vector<std::string> names;
    if (auto all = file.texts(group, "weight_names")) names = *all;
    for (int part = 0; names.empty() || part > 0; ++part) {  // long lists are in parts
      auto more = file.texts(group, "weight_names" + std::to_string(part));
      if (!more) break;
      names.insert(names.end(), more->begin(), more->end());
    }
    for (const std::string& weight : names)
      values[owner_of(layer, name, weight, 0)].push_back(file.dataset(group + "/" + weight));
  }
  return read_config(to_json(model.map()), values);
}

}  // namespace

bool is_keras_file(std::string_view bytes) {
  if (Hdf5File::is_hdf5(bytes)) return true;
  constexpr size_t kDirectory = 4096;  // the archive has four members
  std::string_view end = bytes.substr(bytes.size() - std::min(bytes.size(), kDirectory));
  return bytes.substr(0, 4) == std::string_view("PK\3\4", 4) && end.find(kConfig) != end.npos &&
         end.find(kWeights) != end.npos;
}

GraphModel read_file(std::string_view bytes, const std::string& path) {
  return Hdf5File::is_hdf5(bytes) ? read_old(bytes, path) : read_archive(bytes, path);
}

}  // namespace tessera::keras
