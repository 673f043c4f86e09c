#pragma once
// A model file of any known format as Relay.

#include <unordered_map>
#include <vector>

#include "frontend/common/survey.h"
#include "frontend/errors.h"
#include "ir/module.h"
#include "runtime/ndarray.h"

namespace tessera::onnx {
struct Model;
}

namespace tessera {

using InputShapes = std::unordered_map<std::string, std::vector<int64_t>>;  // by name; -1 is a dynamic extent

/// Reads "data:[1,3,224,224] mask:[1,-1]" as tvmc does; names may hold colons and slashes. A ValueError shows what is
/// expected.
InputShapes parse_input_shapes(std::string_view text);

struct LoadOptions {
  std::string format;        // empty: by the suffix of the file
  InputShapes input_shapes;  // in place of those that the file gives; names that the model does not have are an error
  std::string allow_links;   // a folder that symbolic links to a model's data may lead into; empty: they are rejected
  // Gets every node that cannot be imported; the module is empty where there are any. Null: they are an error.
  std::vector<frontend::UnsupportedNode>* unsupported = nullptr;
};

struct LoadedModel {
  IRModule mod;                 // types inferred, constant parts computed
  Map<String, NDArray> params;  // values of parameters of "main"; ONNX weights are constants of `mod` instead
  std::string format;           // "onnx", "relay", "model" (a tar that TVMCModel.save wrote)
};

/// A file or a folder whose format is asked for.
struct ModelFile {
  const std::string& path;
  std::string_view bytes;     // all of the file, mapped; empty for a folder
  bool is_directory = false;  // a TensorFlow SavedModel is one
};

/// A format as `--model-format` names it.
struct ModelFormat {
  std::string name;
  std::vector<std::string> suffixes;  // of its files, without the dot
  std::string title;                  // the system it belongs to
  // How it is read (`finish_import` ends it). Null: it is not read yet, and `instead` says how to get an ONNX file.
  LoadedModel (*load)(const std::string& path, const LoadOptions& options) = nullptr;
  std::string instead;
  // True for contents that only this format has; null where only the suffix tells.
  bool (*recognizes)(const ModelFile& file) = nullptr;
};
/// All of them: those of tvmc, and what this build adds.
const std::vector<ModelFormat>& model_formats();

/// The format of a file: by its content where a format has a mark of its own, else by its suffix; "model" and "package" for
/// tar archives of models and of compiled ones. A ValueError that asks for --model-format where neither tells.
std::string guess_model_format(const std::string& path);

/// Reads a model. Stages are reported as progress (base/progress.h).
///
/// A Relay text has its parameters as inputs. With `input_shapes`, those that are not named are weights: they get
/// random numbers, always the same, as tvmc does it. A format that cannot be read is a MissingFrontend error that
/// says how to get an ONNX file; a compiled package an error that says to run it.
LoadedModel load_model(const std::string& path, const LoadOptions& options = {});
/// An imported model as all of them are handed on: `shapes` name inputs that it has (an error otherwise), types are
/// inferred, what is constant is computed.
LoadedModel finish_import(LoadedModel model, const InputShapes& shapes, const std::string& path);
/// An ONNX model in memory; `name` is what messages call it.
LoadedModel load_onnx(const onnx::Model& model, const InputShapes& input_shapes, const std::string& name);

}  // namespace tessera
