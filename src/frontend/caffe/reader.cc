#include <algorithm>
#include <cstring>

#include "frontend/caffe/caffe.h"
#include "frontend/graph/companion.h"
#include "frontend/graph/value_names.h"
#include "runtime/archive/files.h"

namespace tessera::caffe {
namespace {

constexpr size_t kLooked = 1 << 16;  // so many bytes tell what a text is
constexpr int64_t kMaxSize = int64_t{1} << 40;

/// The field of a layer that has its numbers.
const char* parameters_of(const std::string& type) {
  static const std::unordered_map<std::string, const char*> names{{"ArgMax", "argmax_param"},
                                                                  {"BatchNorm", "batch_norm_param"},
                                                                  {"Bias", "bias_param"},
                                                                  {"Concat", "concat_param"},
                                                                  {"Convolution", "convolution_param"},
                                                                  {"ConvolutionDepthwise", "convolution_param"},
                                                                  {"Crop", "crop_param"},
                                                                  {"Deconvolution", "convolution_param"},
                                                                  {"DepthwiseConvolution", "convolution_param"},
                                                                  {"DetectionOutput", "detection_output_param"},
                                                                  {"ELU", "elu_param"},
                                                                  {"Eltwise", "eltwise_param"},
                                                                  {"Embed", "embed_param"},
                                                                  {"Exp", "exp_param"},
                                                                  {"Flatten", "flatten_param"},
                                                                  {"InnerProduct", "inner_product_param"},
                                                                  {"Input", "input_param"},
                                                                  {"LRN", "lrn_param"},
                                                                  {"Log", "log_param"},
                                                                  {"MVN", "mvn_param"},
                                                                  {"Normalize", "norm_param"},
                                                                  {"NormalizeBBox", "norm_param"},
                                                                  {"PReLU", "prelu_param"},
                                                                  {"Permute", "permute_param"},
                                                                  {"Pooling", "pooling_param"},
                                                                  {"Power", "power_param"},
                                                                  {"PriorBox", "prior_box_param"},
                                                                  {"ReLU", "relu_param"},
                                                                  {"Reduction", "reduction_param"},
                                                                  {"Reshape", "reshape_param"},
                                                                  {"Scale", "scale_param"},
                                                                  {"Slice", "slice_param"},
                                                                  {"Softmax", "softmax_param"},
                                                                  {"Threshold", "threshold_param"},
                                                                  {"Tile", "tile_param"}};
  auto found = names.find(type);
  return found == names.end() ? nullptr : found->second;
}

std::vector<Fields> layers_of(const Fields& net) { return messages_of(net, net.has("layer") ? "layer" : "layers"); }
std::string type_of(const Fields& layer) { return type_of_old_layer(layer.text("type")); }

/// Does a rule hold while testing, at level 0 and without stages?
bool holds(const Fields& rule) {
  return rule.text("phase", "TEST") == "TEST" && rule.integer("min_level", 0) <= 0 &&
         rule.integer("max_level", 0) >= 0 && rule.texts("stage").empty();
}
bool is_used(const Fields& layer) {
  const std::vector<Fields> include = messages_of(layer, "include"), exclude = messages_of(layer, "exclude");
  if (std::any_of(exclude.begin(), exclude.end(), holds)) return false;
  return include.empty() || std::any_of(include.begin(), include.end(), holds);
}

NDArray blob_of(const Fields& blob, const std::string& owner) {
  std::vector<int64_t> shape = blob.object("shape").integers("dim");
  if (!blob.has("shape"))
    for (const char* name : {"num", "channels", "height", "width"})
      if (blob.has(name)) shape.push_back(blob.integer(name));
  NDArray data = numbers_array(blob, "data"), wide = numbers_array(blob, "double_data");
  if (!data && wide) {
    data = NDArray::empty(wide.shape(), DataType::Float(32));
    std::copy_n(wide.data<double>(), wide.size(), data.data<float>());
  }
  const int64_t count = data ? data.size() : 0;
  int64_t wanted = 1;
  for (int64_t extent : shape) {
    if (extent < 0 || (extent && wanted > kMaxSize / extent))
      throw Error(ValueError) << "a weight of the layer " << owner << " has an impossible shape";
    wanted *= extent;
  }
  if (wanted != count)
    throw Error(ValueError) << "a weight of the layer " << owner << " has " << count << " numbers; its shape says "
                            << wanted;
  if (!data) return NDArray::empty(shape, DataType::Float(32));
  return data.view(shape, DataType::Float(32));
}

/// Statistics are kept as sums, and beside them how many were added.
void scale_statistics(std::vector<NDArray>& blobs, const std::string& owner) {
  if (blobs.size() < 3 || blobs[2].size() != 1)
    throw Error(ValueError) << "the weights of the batch norm " << owner << " must be a mean, a variance and a count";
  const float count = blobs[2].data<float>()[0], factor = count == 0 ? 0 : 1 / count;
  for (size_t i = 0; i < 2; ++i) {
    NDArray scaled = NDArray::empty(blobs[i].shape(), DataType::Float(32));
    std::transform(blobs[i].data<float>(), blobs[i].data<float>() + scaled.size(), scaled.data<float>(),
                   [&](float value) { return value * factor; });
    blobs[i] = scaled;
  }
  blobs.erase(blobs.begin() + 2);
}

class NetReader {
 public:
  NetReader(const Fields& layers, const Fields& weights) : net_(layers) {
    for (const Fields& layer : layers_of(weights))
      if (layer.has("blobs")) weights_.emplace(layer.text("name"), layer);
    for (const Fields& layer : layers_of(net_))
      if (is_used(layer)) layers_.push_back(layer);
  }

  GraphModel read() {
    out_.framework = "Caffe";
    for (const Fields& layer : layers_)
      if (type_of(layer) != "Input")
        for (const std::string& top : layer.texts("top")) names_.will_be_written(top);
    inputs_of_net();
    for (const Fields& layer : layers_) {
      if (type_of(layer) == "Input") input_layer(layer);
      else add(layer);
    }
    out_.outputs = names_.unread();
    return std::move(out_);
  }

 private:
  void add_input(const std::string& name, const Fields& shape) {
    GraphInput input;
    input.name = name;
    input.shape = shape.integers("dim");
    input.has_shape = !input.shape.empty();
    names_.add_input(name);
    out_.inputs.push_back(std::move(input));
  }
  void inputs_of_net() {
    const std::vector<std::string> names = net_.texts("input");
    const std::vector<Fields> shapes = messages_of(net_, "input_shape");
    const Ints dims = net_.integers("input_dim");
    for (size_t i = 0; i < names.size(); ++i) {
      Fields shape = i < shapes.size() ? shapes[i] : Fields();
      if (shapes.empty() && dims.size() >= 4 * (i + 1)) {
        Array<ObjectRef> four;
        for (size_t k = 4 * i; k < 4 * (i + 1); ++k) four.push_back(number_boxes.box_int(dims[k]));
        shape.set("dim", four);
      }
      add_input(names[i], shape);
    }
  }
  void input_layer(const Fields& layer) {
    const std::vector<Fields> shapes = messages_of(layer.object("input_param"), "shape");
    const std::vector<std::string> tops = layer.texts("top");
    for (size_t i = 0; i < tops.size(); ++i)
      add_input(tops[i], shapes.empty() ? Fields() : shapes[std::min(i, shapes.size() - 1)]);
  }

  void add(const Fields& layer) {
    GraphNode node;
    node.name = layer.text("name"), node.op = type_of(layer);
    for (const std::string& bottom : layer.texts("bottom")) {
      if (!names_.has(bottom))
        throw Error(ValueError) << "the layer " << node.name << " reads " << bottom
                                << ", which no layer before it makes";
      node.inputs.push_back(names_.read(bottom));
    }
    for (const std::string& top : layer.texts("top")) node.outputs.push_back(names_.write(top));
    if (const char* name = parameters_of(node.op)) node.attributes = Fields(layer.get(name), name);
    auto weights = weights_.find(node.name);
    std::vector<NDArray> blobs;
    for (const Fields& blob : messages_of(weights == weights_.end() ? layer : weights->second, "blobs"))
      blobs.push_back(blob_of(blob, node.name));
    if (node.op == "BatchNorm" && !blobs.empty()) scale_statistics(blobs, node.name);
    for (size_t i = 0; i < blobs.size(); ++i) {
      node.weights.push_back(node.name + ":" + std::to_string(i));
      out_.params.emplace(node.weights.back(), blobs[i]);
    }
    out_.nodes.push_back(std::move(node));
  }

  const Fields& net_;
  std::vector<Fields> layers_;
  std::unordered_map<std::string, Fields> weights_;
  ValueNames names_;
  GraphModel out_;
};

}  // namespace

bool is_prototxt(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, kLooked);
  auto has = [&](std::string_view text) { return begin.find(text) != begin.npos; };
  return begin.find('\0') == begin.npos && has("top:") &&
         (has("layer {") || has("layer{") || has("layers {") || has("layers{"));
}

bool is_caffemodel(std::string_view bytes) { return fits_protobuf(bytes, net_message()); }

GraphModel read_net(const Fields& layers, const Fields& weights) {
  if (layers_of(layers).empty()) throw Error(ValueError) << "this network of Caffe has no layers";
  return NetReader(layers, weights).read();
}

GraphModel read_net(std::string_view layers, std::string_view weights, const std::string& name) {
  const ProtoSource source{name, "network of Caffe"};
  const Fields net = is_prototxt(layers) ? read_protobuf_text(layers, net_message(), source)
                                         : read_protobuf(layers, net_message(), source);
  return read_net(net, read_protobuf(weights, net_message(), source));
}

GraphModel read_files(const std::string& path) {
  const std::string stem = stem_of(path);
  MappedFile given(path, "the network");
  const bool is_text = is_prototxt(given.bytes());
  const std::string other =
      is_text ? companion_of(path, {stem + ".caffemodel"}, {".caffemodel"}, "the weights of the network, a caffemodel,")
              : companion_of(path, {stem + ".prototxt", stem + "_deploy.prototxt", "deploy.prototxt"}, {".prototxt"},
                             "the layers of the network, a prototxt,");
  MappedFile second(other, "the network");
  const std::string_view text = is_text ? given.bytes() : second.bytes(),
                         model = is_text ? second.bytes() : given.bytes();
  const Fields layers = read_protobuf_text(text, net_message(), {is_text ? path : other, "prototxt of Caffe"});
  return read_net(layers, read_protobuf(model, net_message(), {is_text ? other : path, "caffemodel"}));
}

const LayerTable& converters() {
  static const LayerTable table = table_of({detection_rows, elementwise_rows, shape_rows, window_rows});
  return table;
}

}  // namespace tessera::caffe
