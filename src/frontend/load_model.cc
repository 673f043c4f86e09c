#include "frontend/load_model.h"

#include <charconv>
#include <optional>
#include <random>

#include "base/progress.h"
#include "frontend/caffe/caffe.h"
#include "frontend/caffe2/caffe2.h"
#include "frontend/coreml/coreml.h"
#include "frontend/darknet/darknet.h"
#include "frontend/graph/importer.h"
#include "frontend/keras/files.h"
#include "frontend/mxnet/mxnet.h"
#include "frontend/onnx/importer.h"
#include "frontend/paddle/paddle.h"
#include "frontend/tensorflow/importer.h"
#include "frontend/tflite/importer.h"
#include "frontend/torch/importer.h"
#include "frontend/torch/pt2.h"
#include "ir/json/json.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "relay/make.h"
#include "relay/parser/parser.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "runtime/archive/files.h"
#include "runtime/function/element.h"
#include "runtime/package/package.h"
#include "runtime/package/params.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using relay::Function;
using relay::FunctionNode;

std::string suffix_of(const std::string& path) {
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  return dot == path.npos || (slash != path.npos && dot < slash) ? "" : path.substr(dot + 1);
}

std::string native_suffixes() {
  std::string out;
  for (const ModelFormat& format : model_formats())
    for (const std::string& suffix : format.suffixes)
      if (format.load) out += (out.empty() ? "." : ", .") + suffix;
  return out;
}

/// An extent as the command line gives it: -1 is one that is known at run time only.
PrimExpr extent_of(int64_t given) {
  if (given >= 0) return int_imm(DataType::Int(32), given);
  AnyDim any;
  any.dtype = DataType::Int(32);
  return make(std::move(any));
}

Function main_of(const IRModule& mod, const std::string& path) {
  Function main = mod.find_global_var("main") ? downcast_or_null<Function>(mod.lookup("main")) : nullptr;
  if (!main) throw Error(ValueError) << path << " has no Relay function \"main\"";
  return main;
}

void check_names(const InputShapes& shapes, const Function& main, const std::string& path) {
  for (const auto& [name, _] : shapes) {
    std::string known;
    bool found = false;
    for (const relay::Var& param : main->params) {
      found |= param->name_hint() == name;
      known += (known.empty() ? "" : ", ") + std::string(param->name_hint());
    }
    if (!found)
      throw Error(ValueError) << path << " has no input \"" << name << "\" to give a shape; its inputs are " << known;
  }
}

// ---- Relay -------------------------------------------------------------------------------------------------------

/// Numbers between 0 and 1 for floats, small ones for integers; the same for the same seed.
NDArray random_weights(const TensorType& type, const std::string& name, const std::string& path, uint32_t seed) {
  std::vector<int64_t> shape;
  for (const PrimExpr& extent : type->shape) {
    const int64_t* value = as_int(extent);
    if (!value)
      throw Error(ValueError) << path << ": the parameter " << name << " is " << to_text(type)
                              << " and gets no random numbers, because its shape is dynamic; name it in --input-shapes";
    shape.push_back(*value);
  }
  NDArray out = NDArray::empty(shape, type->dtype);
  std::mt19937 generator(seed);
  bool is_float = type->dtype.is_floating();
  auto step = static_cast<size_t>(type->dtype.bytes());
  char* at = out.data<char>();
  for (int64_t i = 0; i < out.size(); ++i, at += step) {
    uint32_t bits = generator();
    is_float ? write_float(type->dtype, static_cast<double>(bits) / 4294967296.0, at)
             : write_int(type->dtype, type->dtype.is_bool() ? bits & 1 : bits % 10, at);
  }
  return out;
}

/// The function with inputs of the given shapes, and random numbers for the other parameters.
LoadedModel with_shapes(LoadedModel model, const InputShapes& shapes, const std::string& path) {
  Function main = main_of(model.mod, path);
  check_names(shapes, main, path);
  std::unordered_map<const Object*, relay::Expr> changed;
  FunctionNode out(*main.get());
  out.params = {};
  uint32_t seed = 0;
  for (const relay::Var& param : main->params) {
    std::string name(param->name_hint());
    TensorType type = downcast_or_null<TensorType>(relay::checked_type(param));
    auto given = shapes.find(name);
    if (given == shapes.end()) {
      out.params.push_back(param);
      if (!model.params.count(String(name)) && type)
        model.params.set(String(name), random_weights(type, name, path, seed++));
      continue;
    }
    if (!type) throw Error(ValueError) << path << ": the input " << name << " is no tensor; it has no shape to give";
    Array<PrimExpr> shape;
    for (int64_t extent : given->second) shape.push_back(extent_of(extent));
    relay::Var input = relay::make_local(String(name), TensorType(shape, type->dtype));
    changed.emplace(param.get(), input);
    out.params.push_back(input);
  }
  out.body = tessera::rewrite(main->body, [&](const relay::VarNode* var) -> relay::Expr {
    auto it = changed.find(var);
    return it == changed.end() ? relay::Expr(var) : it->second;
  });
  out.ret_type = nullptr;
  out.checked_type_ = nullptr;
  IRModule mod = model.mod.copy();
  mod.update(mod.get_global_var("main"), make(std::move(out)));
  model.mod = relay::infer_type(mod);
  return model;
}

LoadedModel load_relay(const std::string& path, const LoadOptions& options) {
  MappedFile file(path, "the Relay text");
  LoadedModel out{relay::parse_module(String(path), String(file.bytes())), {}, "relay"};
  main_of(out.mod, path);
  return options.input_shapes.empty() ? out : with_shapes(std::move(out), options.input_shapes, path);
}

// ---- models of frameworks ---------------------------------------------------------------------------------------

/// What a survey imported; the nodes that it could not import are handed to the caller.
template <class Survey>
auto surveyed(Survey survey, const LoadOptions& options) {
  *options.unsupported = std::move(survey.unsupported);
  return std::move(survey.imported);
}

/// A model whose weights become constants. `shapes` are those that the importer has not checked.
template <class Imported>
LoadedModel loaded(const Imported& imported, const LoadOptions& options, const InputShapes& shapes,
                   const std::string& path) {
  LoadedModel out{imported.mod, imported.params, ""};
  if (options.unsupported && !options.unsupported->empty()) return out;
  return finish_import(std::move(out), shapes, path);
}
template <class Imported>
LoadedModel loaded(const Imported& imported, const LoadOptions& options, const std::string& path) {
  return loaded(imported, options, options.input_shapes, path);
}

frontend::GraphOptions graph_options(const LoadOptions& options) {
  frontend::GraphOptions out;
  out.shapes = options.input_shapes;
  return out;
}

/// A model that is a list of layers.
LoadedModel load_layers(const frontend::GraphModel& model, const frontend::LayerTable& converters,
                        const LoadOptions& options, const std::string& path) {
  return loaded(frontend::import_graph_model(model, converters, graph_options(options), options.unsupported), options,
                path);
}

LoadedModel load_onnx_file(const std::string& path, const LoadOptions& options) {
  onnx::Model model = onnx::read_model(path, options.allow_links);
  if (!options.unsupported) return load_onnx(model, options.input_shapes, path);
  onnx::ImportOptions import;
  import.shapes = options.input_shapes;
  return loaded(surveyed(onnx::survey_model(model, import), options), options, path);
}

LoadedModel load_keras(const std::string& path, const LoadOptions& options) {
  MappedFile file(path, "the model");
  keras::GraphModel model = keras::read_file(file.bytes(), path);
  return loaded(keras::import_keras(model, "NHWC", graph_options(options), options.unsupported), options, path);
}

LoadedModel load_pytorch(const std::string& path, const LoadOptions& options) {
  MappedFile file(path, "the model");
  if (!torch::is_pt2(file.bytes()))
    throw Error(MissingFrontend)
        << path << " is a file that only PyTorch reads: with it installed, `python -m tessera.driver.tvmc` "
        << "reads TorchScript; or write the model with torch.export.save, which is read here";
  torch::Program program = torch::read_pt2(file.bytes(), path);
  torch::set_shapes(&program, options.input_shapes);
  torch::Imported imported =
      options.unsupported ? surveyed(torch::survey_program(program, {}), options) : torch::import_program(program, {});
  return loaded(imported, options, path);
}

LoadedModel load_mxnet(const std::string& path, const LoadOptions& options) {
  return load_layers(mxnet::read_files(path), mxnet::converters(), options, path);
}

LoadedModel load_caffe(const std::string& path, const LoadOptions& options) {
  return load_layers(caffe::read_files(path), caffe::converters(), options, path);
}

LoadedModel load_darknet(const std::string& path, const LoadOptions& options) {
  auto given = options.input_shapes.find(darknet::kInput);
  const std::vector<int64_t> shape = given == options.input_shapes.end() ? std::vector<int64_t>() : given->second;
  return load_layers(darknet::read_files(path, shape), darknet::converters(), options, path);
}

LoadedModel load_caffe2(const std::string& path, const LoadOptions& options) {
  return load_layers(caffe2::read_files(path), caffe2::converters(), options, path);
}

LoadedModel load_coreml(const std::string& path, const LoadOptions& options) {
  MappedFile file(path, "the model");
  return load_layers(coreml::read_model(file.bytes(), path), coreml::converters(), options, path);
}

LoadedModel load_paddle(const std::string& path, const LoadOptions& options) {
  return load_layers(paddle::read_files(path), paddle::converters(), options, path);
}

bool looks_like_paddle(const ModelFile& file) {
  return !file.is_directory && (paddle::is_pir(file.bytes) || paddle::is_program(file.bytes));
}

LoadedModel load_tflite_file(const std::string& path, const LoadOptions& options) {
  tflite::ImportOptions import;
  import.shapes = options.input_shapes;
  tflite::Model model = tflite::read_model(path);
  tflite::Imported imported = options.unsupported ? surveyed(tflite::survey_model(model, import), options)
                                                  : tflite::import_model(model, import);
  return loaded(imported, options, path);
}

bool looks_like_tflite(const ModelFile& file) { return !file.is_directory && tflite::is_tflite(file.bytes); }

LoadedModel load_tensorflow(const std::string& path, const LoadOptions& options) {
  tensorflow::ImportOptions import;
  import.shapes = options.input_shapes;
  auto imported = [&](const tensorflow::GraphDef& graph) {
    return options.unsupported ? surveyed(tensorflow::survey_graph(graph, import), options)
                               : tensorflow::import_graph(graph, import);
  };
  if (is_folder(path)) {
    tensorflow::SavedModel model(path);
    import = model.options(import);
    return loaded(imported(model.graph()), options, {}, path);
  }
  MappedFile file(path, "the TensorFlow graph");
  return loaded(imported(tensorflow::parse_graph(file.bytes())), options, {}, path);
}

bool looks_like_tensorflow(const ModelFile& file) {
  return file.is_directory ? tensorflow::is_saved_model(file.path) : tensorflow::looks_like_graph(file.bytes);
}

// ---- archives ----------------------------------------------------------------------------------------------------

LoadedModel load_archive(const std::string& path, const LoadOptions& options) {
  Package package(path);
  if (package.kind != Package::Model)
    throw Error(ValueError) << path << " is a compiled model already (of kind " << package.kind_name()
                            << "); `tessera run " << path << "` runs it";
  LoadedModel out;
  out.format = "model";
  out.mod = downcast_or_null<IRModule>(load_json(package.archive["model.json"]));
  if (!out.mod) throw Error(ValueError) << path << ": model.json holds no module";
  if (package.archive.find("model.params")) out.params = load_params(package.archive["model.params"]);
  main_of(out.mod, path);
  out.mod = relay::infer_type(out.mod);
  return options.input_shapes.empty() ? out : with_shapes(std::move(out), options.input_shapes, path);
}

}  // namespace

const std::vector<ModelFormat>& model_formats() {
  static const std::vector<ModelFormat> formats{
      {"keras",
       {"h5", "keras"},
       "Keras",
       load_keras,
       "",
       [](const ModelFile& file) { return keras::is_keras_file(file.bytes); }},
      {"onnx", {"onnx"}, "ONNX", load_onnx_file},
      {"pb", {"pb"}, "TensorFlow", load_tensorflow, "", looks_like_tensorflow},
      {"tflite", {"tflite"}, "TFLite", load_tflite_file, "", looks_like_tflite},
      {"pytorch",
       {"pt2", "pth", "zip", "pt"},
       "PyTorch",
       load_pytorch,
       "",
       [](const ModelFile& file) { return torch::is_pt2(file.bytes) || torch::is_torch_archive(file.bytes); }},
      {"paddle", {"pdmodel"}, "PaddlePaddle", load_paddle, "", looks_like_paddle},
      {"mxnet", {}, "MXNet", load_mxnet, "", [](const ModelFile& file) { return mxnet::is_symbol(file.bytes); }},
      {"caffe2", {}, "Caffe2", load_caffe2, "", [](const ModelFile& file) { return caffe2::is_net(file.bytes); }},
      {"caffe",
       {"prototxt", "caffemodel"},
       "Caffe",
       load_caffe,
       "",
       [](const ModelFile& file) { return caffe::is_prototxt(file.bytes) || caffe::is_caffemodel(file.bytes); }},
      {"coreml",
       {"mlmodel"},
       "CoreML",
       load_coreml,
       "",
       [](const ModelFile& file) { return coreml::is_mlmodel(file.bytes); }},
      {"darknet",
       {"cfg", "weights"},
       "Darknet",
       load_darknet,
       "",
       [](const ModelFile& file) { return darknet::is_cfg(file.bytes); }},
      {"relay", {"relay"}, "Relay", load_relay},
  };
  return formats;
}

std::string guess_model_format(const std::string& path) {
  bool is_directory = is_folder(path);
  std::optional<MappedFile> content;
  if (!is_directory) {
    if (TarReader::is_tar(path)) return Package(path).kind == Package::Model ? "model" : "package";
    try {
      content.emplace(path, "the model");
    } catch (const Error&) {  // of a file that is not there its name tells
    }
  }
  ModelFile file{path, content ? content->bytes() : std::string_view(), is_directory};
  for (const ModelFormat& format : model_formats())
    if (format.recognizes && format.recognizes(file)) return format.name;
  if (is_directory) MappedFile(path, "the model");  // throws: it is a folder
  std::string suffix = suffix_of(path);
  for (const ModelFormat& format : model_formats())
    for (const std::string& known : format.suffixes)
      if (known == suffix) return format.name;
  throw Error(ValueError) << "cannot tell the format of the model " << path
                          << " from its content or name; give --model-format, or a "
                          << "name that ends in " << native_suffixes();
}

InputShapes parse_input_shapes(std::string_view text) {
  auto fail = [&]() {
    throw Error(ValueError) << "--input-shapes argument must be of the form \"input_name:[dim1,dim2,...,dimn] "
                            << "input_name2:[dim1,dim2]\", not \"" << text << "\"";
  };
  InputShapes out;
  std::string_view left = text;
  auto skip = [&] { left.remove_prefix(std::min(left.find_first_not_of(" \t\n"), left.size())); };
  for (skip(); !left.empty(); skip()) {
    if (!out.empty() && left.front() == ',') {  // between two inputs
      left.remove_prefix(1);
      skip();
    }
    size_t open = left.find('['), close = left.find(']');
    if (open == left.npos || close == left.npos || close < open) fail();
    std::string_view name = left.substr(0, open), numbers = left.substr(open + 1, close - open - 1);
    left.remove_prefix(close + 1);
    size_t colon = name.find_last_not_of(" \t");
    if (colon == name.npos || colon == 0 || name[colon] != ':') fail();
    name = name.substr(0, name.find_last_not_of(" \t", colon - 1) + 1);
    auto [entry, is_new] = out.emplace(std::string(name), std::vector<int64_t>());
    if (!is_new || name.empty() || name.find_first_of(" \t") != name.npos) fail();
    while (numbers.find_first_not_of(" \t") != numbers.npos) {
      numbers.remove_prefix(numbers.find_first_not_of(" \t"));
      int64_t value = 0;
      auto [end, error] = std::from_chars(numbers.data(), numbers.data() + numbers.size(), value);
      if (error != std::errc() || value < -1) fail();
      entry->second.push_back(value);
      numbers.remove_prefix(static_cast<size_t>(end - numbers.data()));
      numbers.remove_prefix(std::min(numbers.find_first_not_of(" \t"), numbers.size()));
      if (!numbers.empty() && numbers.front() != ',') fail();
      if (!numbers.empty()) numbers.remove_prefix(1);
    }
  }
  if (out.empty()) fail();
  return out;
}

LoadedModel finish_import(LoadedModel model, const InputShapes& shapes, const std::string& path) {
  check_names(shapes, main_of(model.mod, path), path);
  model.mod = relay::fold_constant_pass(false)(relay::infer_type(model.mod));
  return model;
}

LoadedModel load_onnx(const onnx::Model& model, const InputShapes& input_shapes, const std::string& name) {
  onnx::ImportOptions import;
  import.shapes = input_shapes;
  onnx::Imported imported = onnx::import_model(model, import);
  return finish_import({imported.mod, imported.params, "onnx"}, input_shapes, name);
}

LoadedModel load_model(const std::string& path, const LoadOptions& options) {
  begin_stage("import");
  if (!is_folder(path)) MappedFile exists(path, "the model");  // says what is wrong before its format is thought about
  std::string format = options.format.empty() ? guess_model_format(path) : options.format, names;
  if (format == "model" || format == "package") return load_archive(path, options);
  for (const ModelFormat& known : model_formats()) {
    names += (names.empty() ? "" : ", ") + known.name;
    if (known.name != format) continue;
    if (!known.load)
      throw Error(MissingFrontend) << path << ": models of " << known.title
                                   << " cannot be read yet; make an ONNX file of it, "
                                   << "for example with " << known.instead << ", and compile that";
    LoadedModel model = known.load(path, options);
    model.format = format;
    return model;
  }
  throw Error(ValueError) << "there is no model format \"" << format << "\"; the formats are " << names;
}

static Globals load_model_globals{
    {"frontend.load_model",
     [](std::string path, std::string format, Map<String, Array<PrimExpr>> shapes, std::string allow_links) {
       LoadOptions options{format, {}, allow_links};
       for (const auto& [name, shape] : shapes)
         for (const PrimExpr& extent : shape)
           options.input_shapes[name.str()].push_back(as_int(extent) ? *as_int(extent) : -1);
       LoadedModel model = load_model(path, options);
       return Array<ObjectRef>{model.mod, model.params, String(model.format)};
     }},
    {"frontend.guess_model_format", guess_model_format},
    {"frontend.parse_input_shapes",
     [](std::string text) {
       Map<String, Array<PrimExpr>> out;
       for (const auto& [name, shape] : parse_input_shapes(text)) {
         Array<PrimExpr> extents;
         for (int64_t extent : shape) extents.push_back(extent_of(extent));
         out.set(String(name), extents);
       }
       return out;
     }},
};

}  // namespace tessera
