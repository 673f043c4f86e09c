// The layers of a network and their weights: what shape each layer makes says how many numbers the next one has.

#include <algorithm>
#include <bit>
#include <cstring>

#include "frontend/darknet/darknet.h"
#include "frontend/graph/companion.h"
#include "runtime/archive/files.h"

namespace tessera::darknet {
namespace {

static_assert(std::endian::native == std::endian::little, "floats of a file are used as they are");

constexpr int64_t kMaxExtent = INT32_MAX, kMaxCount = int64_t{1} << 40, kMaxAnchors = 10'000;

/// The floats of a file behind its header, in order.
class Weights {
 public:
  Weights(std::string_view bytes, const std::string& name) : rest_(bytes), name_(name) {
    const auto major = next<int32_t>(), minor = next<int32_t>();
    next<int32_t>();  // the revision
    // How many images were seen; older files have fewer bits of it.
    rest_.remove_prefix(std::min<size_t>(rest_.size(), int64_t{major} * 10 + minor >= 2 && major < 1000 && minor < 1000
                                                           ? sizeof(int64_t)
                                                           : sizeof(int32_t)));
    is_transposed_ = major > 1000 || minor > 1000;
  }

  bool is_transposed() const { return is_transposed_; }
  NDArray take(const std::vector<int64_t>& shape, const std::string& layer) {
    int64_t count = 1;
    for (int64_t extent : shape) {
      if (extent < 1 || count > kMaxCount / extent)
        throw Error(ValueError) << "the weights of " << layer << " cannot be so many";
      count *= extent;
    }
    const auto bytes = static_cast<size_t>(count) * sizeof(float);
    if (bytes > rest_.size())
      throw Error(ValueError) << name_ << " ends too early: " << layer << " needs " << count << " numbers, "
                              << rest_.size() / sizeof(float)
                              << " are left; do the cfg and the weights belong together?";
    NDArray out = NDArray::empty(shape, DataType::Float(32));
    std::memcpy(out.data<char>(), rest_.data(), bytes);
    rest_.remove_prefix(bytes);
    return out;
  }
  void must_end() const {
    if (!rest_.empty())
      throw Error(ValueError) << name_ << " has " << rest_.size()
                              << " bytes more than the layers need; do the cfg and the weights belong together?";
  }

 private:
  template <class T>
  T next() {
    T out;
    if (rest_.size() < sizeof(T))
      throw Error(ValueError) << name_ << " is no file of Darknet's weights: it has no header";
    std::memcpy(&out, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return out;
  }

  std::string_view rest_;
  const std::string& name_;
  bool is_transposed_ = false;
};

NDArray integers(const std::vector<int64_t>& values) {
  NDArray out = NDArray::empty(std::vector<int64_t>{static_cast<int64_t>(values.size())}, DataType::Int(32));
  std::transform(values.begin(), values.end(), out.data<int32_t>(), [](int64_t x) { return static_cast<int32_t>(x); });
  return out;
}

/// Channels, rows and columns that a layer makes.
struct Shape {
  int64_t c = 0, h = 1, w = 1;
};

class NetworkReader {
 public:
  NetworkReader(const std::vector<Section>& sections, std::string_view weights, const std::string& name)
      : sections_(sections), weights_(weights, name) {}

  GraphModel read(const std::vector<int64_t>& given) {
    add_input(given);
    for (size_t i = 1; i < sections_.size(); ++i) add_layer(sections_[i], i - 1);
    weights_.must_end();
    if (shapes_.empty()) throw Error(ValueError) << "this network of Darknet has no layers";
    out_.outputs.push_back(values_.back());
    for (auto layer = decoded_.rbegin(); layer != decoded_.rend(); ++layer) {
      if (layer->front() != values_.back()) out_.outputs.push_back(layer->front());
      out_.outputs.insert(out_.outputs.end(), layer->begin() + 1, layer->end());
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& how) const {
    throw Error(OpAttributeInvalid) << section_->options.owner() << ": " << how;
  }
  int64_t checked(int64_t value, int64_t least, const char* what) const {
    if (value < least)
      fail(std::string(what) + " is " + std::to_string(value) + "; it must be at least " + std::to_string(least));
    if (value > kMaxExtent) fail(std::string(what) + " is " + std::to_string(value) + ", which is too large");
    return value;
  }
  /// All numbers of the layer's input.
  int64_t input_size() const {
    const int64_t image = checked(current_.h * current_.w, 1, "the image");
    return checked(image * current_.c, 1, "its input");
  }
  int64_t option(const char* name, int64_t otherwise, int64_t least) const {
    return checked(section_->options.integer(name, otherwise), least, name);
  }

  void add_input(const std::vector<int64_t>& given) {
    section_ = &sections_[0];
    out_.framework = "Darknet";
    GraphInput input;
    input.name = kInput;
    if (section_->options.has("height") || section_->options.has("width")) {
      current_ = {option("channels", 0, 1), option("height", 0, 1), option("width", 0, 1)};
      input.shape = {1, current_.c, current_.h, current_.w};
    } else {
      current_ = {option("inputs", 0, 1)};
      input.shape = {1, current_.c};
    }
    if (!given.empty()) {
      if (given.size() != input.shape.size())
        throw Error(ValueError) << "the input " << kInput << " has " << input.shape.size() << " dimensions, not "
                                << given.size();
      input.shape = given;
      current_.c = checked(given[1], 1, "the number of channels");
      if (given.size() == 4)
        current_.h = checked(given[2], 1, "the height"), current_.w = checked(given[3], 1, "the width");
    }
    out_.inputs.push_back(std::move(input));
  }

  /// The layer that a number means: one below zero counts back from this one.
  size_t layer(int64_t number, size_t own) const {
    if (number < 0) number += static_cast<int64_t>(own);
    if (number < 0 || number >= static_cast<int64_t>(own))
      fail("there is no layer " + std::to_string(number) + " before it");
    return static_cast<size_t>(number);
  }

  void add_layer(const Section& section, size_t index) {
    section_ = &section;
    GraphNode node;
    node.op = section.kind;
    node.name = section.kind + "_" + std::to_string(index);
    node.attributes = section.options;
    node.inputs = {index ? values_.back() : kInput};
    node_ = &node;
    static const std::unordered_map<std::string, void (NetworkReader::*)(size_t)> kinds{
        {"avgpool", &NetworkReader::global_pool},
        {"connected", &NetworkReader::connected},
        {"convolutional", &NetworkReader::convolutional},
        {"maxpool", &NetworkReader::max_pool},
        {"region", &NetworkReader::region},
        {"reorg", &NetworkReader::reorg},
        {"route", &NetworkReader::route},
        {"sam", &NetworkReader::second_input},
        {"scale_channels", &NetworkReader::scale_channels},
        {"shortcut", &NetworkReader::second_input},
        {"softmax", &NetworkReader::softmax},
        {"upsample", &NetworkReader::upsample},
        {"yolo", &NetworkReader::yolo}};
    if (auto found = kinds.find(section.kind); found != kinds.end()) (this->*found->second)(index);
    node.outputs = {node.name};
    values_.push_back(node.name);
    shapes_.push_back(current_);
    out_.nodes.push_back(std::move(node));
  }

  void weight(const char* name, const std::vector<int64_t>& shape) {
    const std::string full = node_->name + "_" + name;
    node_->weights.push_back(full);
    out_.params.emplace(full, weights_.take(shape, node_->name));
  }
  void norm(int64_t channels) {
    for (const char* name : {"scales", "rolling_mean", "rolling_variance"}) weight(name, {channels});
  }

  void convolutional(size_t) {
    const int64_t filters = option("filters", 1, 1), size = option("size", 1, 1), groups = option("groups", 1, 1);
    const int64_t stride = option("stride", 1, 1), dilation = option("dilation", 1, 1);
    const int64_t rows = option("stride_y", stride, 1), columns = option("stride_x", stride, 1);
    const int64_t padding = option("pad", 0, 0) ? size / 2 : option("padding", 0, 0);
    if (current_.c % groups || filters % groups) fail("groups do not divide the channels and filters");
    weight("biases", {filters});
    if (option("batch_normalize", 0, 0)) norm(filters);
    weight("weights", {filters, current_.c / groups, size, size});
    node_->attributes.set("padding", number_boxes.box_int(padding));
    const int64_t window = checked(dilation * (size - 1) + 1, 1, "the window"),
                  around = checked(2 * padding * dilation, 0, "the padding");
    current_ = {filters, checked((current_.h + around - window) / rows + 1, 1, "the height that it makes"),
                checked((current_.w + around - window) / columns + 1, 1, "the width that it makes")};
  }
  void connected(size_t) {
    const int64_t outputs = option("output", 1, 1), inputs = input_size();
    weight("biases", {outputs});
    const bool is_transposed = weights_.is_transposed();
    weight("weights", is_transposed ? std::vector<int64_t>{inputs, outputs} : std::vector<int64_t>{outputs, inputs});
    node_->attributes.set("transpose", number_boxes.box_int(is_transposed));
    if (option("batch_normalize", 0, 0)) norm(outputs);
    current_ = {outputs};
  }
  void max_pool(size_t) {
    const int64_t stride = option("stride", 1, 1), size = option("size", stride, 1),
                  padding = option("padding", size - 1, 0);
    for (int64_t* extent : {&current_.h, &current_.w})
      *extent = checked((*extent + padding - size) / stride + 1, 1, "the extent that it makes");
  }
  void global_pool(size_t) { current_ = {current_.c}; }
  void softmax(size_t) {
    if (!option("spatial", 0, 0)) current_ = {input_size()};
  }
  void upsample(size_t) {
    const int64_t stride = option("stride", 2, 1);
    current_.h = checked(current_.h * stride, 1, "the height that it makes");
    current_.w = checked(current_.w * stride, 1, "the width that it makes");
  }
  void reorg(size_t) {
    const int64_t stride = option("stride", 1, 1);
    if (stride > 1 << 15 || current_.h % stride || current_.w % stride || current_.c % (stride * stride))
      fail("the stride " + std::to_string(stride) + " does not divide the image, or its square the channels");
    current_ = {checked(current_.c * stride * stride, 1, "the number of channels"), current_.h / stride,
                current_.w / stride};
  }
  void route(size_t index) {
    const Ints numbers = section_->options.integers("layers");
    if (numbers.empty()) fail("it names no layers");
    node_->inputs.clear();
    Shape out;
    for (int64_t number : numbers) {
      const size_t from = layer(number, index);
      node_->inputs.push_back(values_[from]);
      out = {checked(out.c + shapes_[from].c, 1, "the number of channels"), shapes_[from].h, shapes_[from].w};
    }
    const int64_t groups = option("groups", 1, 1);
    if (out.c % groups || option("group_id", 0, 0) >= groups) fail("groups do not divide the channels");
    current_ = {out.c / groups, out.h, out.w};
  }
  void second_input(size_t index) {
    const Ints from = section_->options.integers("from");
    if (from.size() != 1) fail("from must name one layer");
    node_->inputs.push_back(values_[layer(from[0], index)]);
  }
  void scale_channels(size_t index) {
    second_input(index);
    current_ = shapes_[layer(section_->options.integers("from")[0], index)];
  }

  /// What decodes the boxes of a layer.
  void decoded(std::vector<int64_t> numbers, const std::vector<double>& anchors, size_t wanted, const Ints* mask) {
    if (anchors.size() < wanted)
      fail("anchors has " + std::to_string(anchors.size()) + " numbers, not " + std::to_string(wanted));
    NDArray biases = NDArray::empty(std::vector<int64_t>{static_cast<int64_t>(wanted)}, DataType::Float(32));
    std::transform(anchors.begin(), anchors.begin() + static_cast<ptrdiff_t>(wanted), biases.data<float>(),
                   [](double x) { return static_cast<float>(x); });
    std::vector<std::string> outputs{node_->name};
    auto add = [&](const char* name, NDArray value) {
      outputs.push_back(node_->name + "_" + name);
      out_.params.emplace(outputs.back(), std::move(value));
    };
    if (mask) add("mask", integers(*mask));
    add("biases", biases);
    numbers.insert(numbers.begin() + 1, {current_.c, current_.h, current_.w});
    add("attr", integers(numbers));
    decoded_.push_back(outputs);
  }
  void check_boxes(int64_t boxes, int64_t numbers) const {
    if (boxes * numbers != current_.c)
      fail("it needs " + std::to_string(boxes) + " * " + std::to_string(numbers) + " channels, and has " +
           std::to_string(current_.c));
  }
  void yolo(size_t) {
    const int64_t total = option("num", 1, 1), classes = option("classes", 20, 0);
    if (total > kMaxAnchors) fail("num is too large");
    std::vector<int64_t> all;
    if (!section_->options.has("mask"))
      for (int64_t i = 0; i < total; ++i) all.push_back(i);
    const Ints mask = section_->options.integers("mask", all);
    const auto count = static_cast<int64_t>(mask.size());
    for (int64_t one : mask)
      if (one < 0 || one >= total)
        fail("the mask names the anchor " + std::to_string(one) + " of " + std::to_string(total));
    check_boxes(checked(count, 1, "the size of the mask"), classes + 5);
    decoded({count, classes, total}, section_->options.numbers("anchors"), 2 * static_cast<size_t>(total), &mask);
    node_->attributes.set("num", number_boxes.box_int(count));
  }
  void region(size_t) {
    const int64_t count = option("num", 1, 1), classes = option("classes", 20, 0), coords = option("coords", 4, 2);
    check_boxes(count, classes + coords + 1);
    decoded({count, classes, coords, option("background", 0, 0)}, section_->options.numbers("anchors"),
            2 * static_cast<size_t>(count), nullptr);
  }

  const std::vector<Section>& sections_;
  Weights weights_;
  const Section* section_ = nullptr;
  GraphNode* node_ = nullptr;
  Shape current_;
  std::vector<Shape> shapes_;
  std::vector<std::string> values_;
  std::vector<std::vector<std::string>> decoded_;  // of each layer of boxes: its value, and what decodes it
  GraphModel out_;
};

}  // namespace

GraphModel read_network(const std::vector<Section>& sections, std::string_view weights,
                        const std::vector<int64_t>& shape, const std::string& name) {
  GraphModel layers;  // what is unsupported is told before weights are looked at: nobody knows how many it has
  layers.framework = "Darknet";
  for (size_t i = 1; i < sections.size(); ++i) {
    GraphNode node;
    node.op = sections[i].kind, node.name = sections[i].options.owner();
    layers.nodes.push_back(std::move(node));
  }
  reject_missing(layers, converters());
  return NetworkReader(sections, weights, name).read(shape);
}

GraphModel read_files(const std::string& path, const std::vector<int64_t>& shape) {
  const std::string stem = stem_of(path);
  MappedFile given(path, "the network");
  const bool is_text = is_cfg(given.bytes());
  const std::string other = is_text
                                ? companion_of(path, {stem + ".weights"}, {".weights"}, "the weights of the network")
                                : companion_of(path, {stem + ".cfg"}, {".cfg"}, "the layers of the network, a cfg,");
  MappedFile second(other, "the network");
  return read_network(read_cfg(is_text ? given.bytes() : second.bytes(), is_text ? path : other),
                      is_text ? second.bytes() : given.bytes(), shape, is_text ? other : path);
}

const LayerTable& converters() {
  static const LayerTable table = table_of({layer_rows});
  return table;
}

}  // namespace tessera::darknet
