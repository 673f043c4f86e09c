#include <algorithm>

#include "frontend/coreml/coreml.h"
#include "frontend/coreml/weights.h"
#include "frontend/graph/value_names.h"

namespace tessera::coreml {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 31;

/// The shape that a layer's numbers give to one of its weights; the others have one dimension.
struct WeightShape {
  const char *layer, *field;
  std::vector<int64_t> (*shape)(const Fields& layer);
};
std::vector<int64_t> matrix(const Fields& of, const char* rows, const char* columns) {
  return {of.integer(rows, 0), of.integer(columns, 0)};
}
const WeightShape kShapes[] = {
    {"convolution", "weights",
     [](const Fields& of) {
       const int64_t groups = std::max<int64_t>(of.integer("nGroups", 1), 1), outputs = of.integer("outputChannels", 0),
                     inputs = of.integer("kernelChannels", 0);
       const Ints kernel = of.integers("kernelSize", {3, 3});
       if (of.flag("isDeconvolution", false))
         return std::vector<int64_t>{inputs, outputs / groups, kernel[0], kernel[1]};
       return std::vector<int64_t>{outputs, inputs, kernel[0], kernel[1]};
     }},
    {"innerProduct", "weights", [](const Fields& of) { return matrix(of, "outputChannels", "inputChannels"); }},
    {"embedding", "weights", [](const Fields& of) { return matrix(of, "outputChannels", "inputDim"); }},
    {"embeddingND", "weights", [](const Fields& of) { return matrix(of, "embeddingSize", "vocabSize"); }},
    {"batchedMatmul", "weights",
     [](const Fields& of) { return matrix(of, "weightMatrixFirstDimension", "weightMatrixSecondDimension"); }},
    {"scale", "scale", [](const Fields& of) -> std::vector<int64_t> { return of.integers("shapeScale"); }},
    {"scale", "bias", [](const Fields& of) -> std::vector<int64_t> { return of.integers("shapeBias"); }},
    {"bias", "bias", [](const Fields& of) -> std::vector<int64_t> { return of.integers("shape"); }},
    {"loadConstant", "data", [](const Fields& of) -> std::vector<int64_t> { return of.integers("shape"); }},
    {"loadConstantND", "data", [](const Fields& of) -> std::vector<int64_t> { return of.integers("shape"); }},
    {"layerNormalization", "gamma",
     [](const Fields& of) -> std::vector<int64_t> { return of.integers("normalizedShape"); }},
    {"layerNormalization", "beta",
     [](const Fields& of) -> std::vector<int64_t> { return of.integers("normalizedShape"); }},
};

class ModelReader {
 public:
  GraphModel read(const Fields& model) {
    const Fields network = network_of(model);
    out_.framework = "CoreML";
    is_exact_ = network.integer("arrayInputShapeMapping", 0) != 0 || network.integer("imageInputShapeMapping", 0) != 0;
    const std::vector<Fields> layers = messages_of(network, "layers");
    const std::vector<Fields> inputs = messages_of(model.object("description"), "input");
    const std::vector<Fields> steps = messages_of(network, "preprocessing");
    for (const Fields& step : steps)
      names_.will_be_written(step.text("featureName", inputs.empty() ? "" : inputs[0].text("name")));
    for (const Fields& layer : layers)
      for (const std::string& output : layer.texts("output")) names_.will_be_written(output);
    for (const Fields& input : inputs) add_input(input);
    for (const Fields& step : steps) preprocess(step, inputs);
    for (const Fields& layer : layers) add_layer(layer);
    outputs_of(model.object("description"), network);
    return std::move(out_);
  }

 private:
  static Fields network_of(const Fields& model) {
    for (const char* name : kNetworks)
      if (model.has(name)) return model.object(name);
    for (const ProtoField& field : model_message().fields)
      if (field.kind == Proto::Message && std::string_view(field.name) != "description" && model.has(field.name))
        throw Error(OpNotImplemented) << "this model of CoreML is of the kind " << field.name
                                      << "; neural networks are supported (convert with convert_to=\"neuralnetwork\")";
    throw Error(ValueError) << "this model of CoreML has no neural network";
  }

  void add_input(const Fields& input) {
    const Fields type = input.object("type"), array = type.object("multiArrayType"), image = type.object("imageType");
    GraphInput out;
    out.name = input.text("name");
    if (type.has("imageType")) {
      const bool is_gray = image.text("colorSpace", "RGB").starts_with("GRAY");
      out.shape = {1, is_gray ? 1 : 3, image.integer("height", -1), image.integer("width", -1)};
    } else {
      out.shape = array.integers("shape");
      out.has_shape = !out.shape.empty() || type.has("doubleType");
      // Networks compute with floats; integers are those that the caller gives.
      if (array.text("dataType", "float32") == "int32") out.dtype = DataType::Int(32);
    }
    for (int64_t extent : out.shape)
      if (extent > kMaxExtent) throw Error(ValueError) << "the input " << out.name << " has an impossible shape";
    names_.add_input(out.name);
    out_.inputs.push_back(std::move(out));
  }

  /// What is done to an image before the first layer.
  void preprocess(const Fields& step, const std::vector<Fields>& inputs) {
    const std::string feature = step.text("featureName", inputs.empty() ? "" : inputs[0].text("name"));
    std::string order = "BGR";
    for (const Fields& input : inputs)
      if (input.text("name") == feature) order = input.object("type").object("imageType").text("colorSpace", order);
    GraphNode node;
    node.op = step.has("meanImage") ? "meanImage" : "scaler";
    node.name = feature;
    node.attributes = Fields(step.get(node.op), node.op);
    node.attributes.set("colorSpace", String(order));
    if (NDArray mean = numbers_array(node.attributes, "meanImage")) {
      out_.params.emplace(feature + "_meanImage", mean);
      node.attributes.set("meanImage", String(feature + "_meanImage"));
    }
    finish(std::move(node), {feature}, {feature});
  }

  void add_layer(const Fields& layer) {
    GraphNode node;
    node.name = layer.text("name");
    const ProtoField* kind = nullptr;
    for (const ProtoField& field : layer_message().fields)
      if (field.kind == Proto::Message && layer.has(field.name)) kind = &field;
    if (!kind) throw Error(ValueError) << "the layer " << node.name << " is of no kind";
    node.op = kind->name;
    node.attributes = with_weights(Fields(layer.get(kind->name), node.op), *kind->message, node);
    finish(std::move(node), layer.texts("input"), layer.texts("output"));
  }

  /// The numbers of a layer, with names of parameters in place of weights.
  Fields with_weights(Fields fields, const ProtoMessage& message, const GraphNode& node) {
    const Fields given = fields;
    for (const ProtoField& field : message.fields) {
      if (field.kind != Proto::Message || field.is_repeated || !fields.has(field.name)) continue;
      if (field.message != &weights_message()) {
        fields.set(field.name, with_weights(fields.object(field.name), *field.message, node).map());
        continue;
      }
      const std::string name = node.name + "_" + field.name;
      std::optional<std::vector<int64_t>> shape;
      for (const WeightShape& row : kShapes)
        if (node.op == row.layer && std::string_view(field.name) == row.field) shape = row.shape(given);
      const bool is_transposed = node.op == "convolution" && given.flag("isDeconvolution", false);
      NDArray value = read_weights(fields.object(field.name), shape ? &*shape : nullptr, is_transposed, name);
      out_.params.insert_or_assign(name, value);
      fields.set(field.name, String(name));
    }
    return fields;
  }

  void finish(GraphNode node, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
    node.attributes.set(kHasExactShapes, number_boxes.box_int(is_exact_));
    for (const std::string& input : inputs) {
      if (!names_.has(input))
        throw Error(ValueError) << "the layer " << node.name << " reads " << input
                                << ", which no layer before it makes";
      node.inputs.push_back(names_.read(input));
    }
    for (const std::string& output : outputs) node.outputs.push_back(names_.write(output));
    out_.nodes.push_back(std::move(node));
  }

  /// Those that layers make; a classifier's dictionary of probabilities is the vector that it is made of, and labels are no tensors.
  void outputs_of(const Fields& description, const Fields& network) {
    for (const Fields& output : messages_of(description, "output")) {
      std::string name = output.text("name");
      if (!names_.has(name) && output.object("type").has("dictionaryType"))
        name = network.text("labelProbabilityLayerName", last_output());
      if (names_.has(name)) out_.outputs.push_back(names_.read(name));
    }
    if (out_.outputs.empty()) out_.outputs = names_.unread();
  }
  std::string last_output() const {
    return out_.nodes.empty() || out_.nodes.back().outputs.empty() ? "" : out_.nodes.back().outputs.back();
  }

  bool is_exact_ = false;
  ValueNames names_;
  GraphModel out_;
};

}  // namespace

bool is_mlmodel(std::string_view bytes) {
  constexpr char kVersion = 0x08;  // what a model begins with
  return bytes.size() > 2 && bytes[0] == kVersion && fits_protobuf(bytes, model_message()) &&
         bytes.substr(2).find_first_not_of('\0') != bytes.npos;
}

GraphModel read_model(std::string_view bytes, const std::string& name) {
  return ModelReader().read(read_protobuf(bytes, model_message(), {name, "model of CoreML"}));
}

const LayerTable& converters() {
  static const LayerTable table = table_of({channel_rows, shape_rows, tensor_rows, window_rows});
  return table;
}

}  // namespace tessera::coreml
