// tessera inspect: what a model is made of, and what of it cannot be compiled.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "driver/cli/cli.h"
#include "driver/cli/inspect/facts.h"
#include "frontend/load_model.h"
#include "runtime/archive/files.h"

namespace tessera::cli {
namespace {

struct Options {
  std::string path, format, input_shapes, allow_links;
  bool json = false;
};

Facts facts_of(const Options& options) {
  if (!is_folder(options.path))
    MappedFile exists(options.path, "the model");  // says what is wrong before its format is thought about
  if (options.path.ends_with(".so") && options.format.empty()) return facts_of_library(options.path);
  std::string format = options.format.empty() ? guess_model_format(options.path) : options.format;
  if (format == "onnx") return facts_of_onnx(options.path, options.input_shapes, options.allow_links);
  if (format == "package") return facts_of_package(options.path);
  return facts_of_relay(options.path, format, options.input_shapes);
}

void inspect(const Options& options) {
  Facts facts = facts_of(options);
  if (options.json) fmt::print("{}\n", to_json_text(facts));
  else print(facts);
  if (!facts.unsupported.empty()) throw ExitWith{1};
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* inspect_app = app.add_subcommand("inspect", "What a model is made of, and all of it that is not supported");
  inspect_app->add_option("MODEL", options->path, "A model of any format that is read, a compiled package or library")
      ->required();
  inspect_app->add_option("--model-format", options->format, "The format, where the name of the file does not tell");
  inspect_app->add_option("--input-shapes", options->input_shapes,
                          "Shapes of inputs: \"name:[1,3,224,224] other:[1,2]\"");
  inspect_app->add_option("--allow-links", options->allow_links,
                          "A folder that symbolic links to a model's data may lead into");
  inspect_app->add_flag("--json", options->json, "Print one JSON object");
  inspect_app->footer("The exit code is 1 when something in the model is not supported.");
  inspect_app->callback([options] { inspect(*options); });
}

}  // namespace tessera::cli
