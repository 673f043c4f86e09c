// tessera diff: two models, or one model in two ways, on the same inputs; where they first disagree.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "driver/cli/cli.h"
#include "driver/cli/diff/first_difference.h"
#include "driver/cli/inspect/facts.h"
#include "driver/cli/progress_bar.h"
#include "driver/cli/runner.h"
#include "runtime/archive/files.h"
#include "runtime/package/model_names.h"

namespace tessera::cli {
namespace {

/// What one side does otherwise than the flags for both say.
struct SideFlags {
  std::string target, executor, disabled_pass;
  int opt_level = -1;

  bool is_given() const { return !target.empty() || !executor.empty() || !disabled_pass.empty() || opt_level >= 0; }
  void add_to(CLI::App& command, const std::string& side) {
    std::string end = side == "first" ? "-a" : "-b", of = " of the " + side + " side";
    command.add_option("--opt-level" + end, opt_level, "Optimisation level" + of)->check(CLI::Range(0, 4));
    command.add_option("--target" + end, target, "Target" + of);
    command.add_option("--executor" + end, executor, "Executor" + of)->check(CLI::IsMember({"graph", "vm"}));
    command.add_option("--disabled-pass" + end, disabled_pass, "Graph passes left out" + of);
  }
};

struct Options {
  ModelFlags model;
  CompileFlags compile;
  std::string other, inputs, fill = "random";
  SideFlags first, second;
  std::optional<double> rtol, atol;
  bool all_layers = false, json = false;
};

std::unique_ptr<Side> make_side(const Options& options, const std::string& path, const SideFlags& flags) {
  if (is_peer(path) && !std::filesystem::exists(path)) return make_peer_side(path, options.model.path);
  ModelFlags model = options.model;
  model.path = path;
  MappedFile exists(path, "the model");
  if (is_compiled(model)) {
    if (flags.is_given())
      throw Error(ValueError) << path << " is compiled already; targets and levels can be chosen for models only";
    return make_compiled_side(model);
  }
  CompileFlags compile = options.compile;
  if (!flags.target.empty()) compile.target.text = flags.target;
  if (!flags.executor.empty()) compile.executor = flags.executor;
  if (!flags.disabled_pass.empty()) compile.disabled_pass = flags.disabled_pass;
  if (flags.opt_level >= 0) compile.opt_level = flags.opt_level;
  std::string title = fmt::format("{}, opt level {}, {}", path, compile.opt_level, compile.target.text);
  if (!compile.executor.empty()) title += ", " + compile.executor + " executor";
  if (!compile.disabled_pass.empty()) title += ", without " + compile.disabled_pass;
  if (compile.precision != "fp32") title += ", " + compile.precision;
  return make_model_side(model, compile.options(), title);
}

struct OutputDifference {
  std::string name, dtype;
  std::vector<int64_t> shape;
  Difference difference;
};

struct Report {
  std::string first, second, problem;
  Tolerance tolerance;
  DataType narrowest;  // float type that one of the two computes with
  std::vector<OutputDifference> outputs;
  std::optional<LayerDifference> layer;
  bool looked_at_layers = false;
  size_t layers = 0;

  bool outputs_agree() const {
    return problem.empty() && std::all_of(outputs.begin(), outputs.end(), [](auto& o) { return o.difference.agrees; });
  }
  bool agrees() const { return outputs_agree() && !layer; }
};

void compare_outputs(Side& a, Side& b, const NamedTensors& inputs, const Tolerance& tolerance, Report* report) {
  std::vector<NDArray> left = a.outputs(inputs), right = b.outputs(inputs);
  if (left.size() != right.size())
    report->problem = fmt::format("the first has {} outputs, the second {}", left.size(), right.size());
  std::vector<std::string> names = a.output_names();
  if (names.size() != left.size()) names = b.output_names();
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    OutputDifference out{.name = i < names.size() ? names[i] : output_name(i),
                         .dtype = to_text(left[i].dtype()),
                         .shape = {left[i].shape().begin(), left[i].shape().end()},
                         .difference = compare(left[i], right[i], tolerance)};
    report->outputs.push_back(std::move(out));
  }
}

/// The inputs of the second side must be those of the first.
void check_inputs(Side& a, Side& b) {
  std::vector<TensorInfo> left = a.inputs(), right = b.inputs();
  if (left.empty() || right.empty()) return;
  for (const TensorInfo& input : right)
    if (std::none_of(left.begin(), left.end(), [&](auto& other) { return other.name == input.name; }))
      throw Error(ValueError) << "the second model has an input \"" << input.name << "\" that the first has not";
  if (left.size() != right.size())
    throw Error(ValueError) << "the first model has " << left.size() << " inputs, the second " << right.size();
}

/// Numbers that both sides see as they are: those of the first, rounded to the float types of the second where these are
/// narrower. Tensors of files are taken in any float type.
NamedTensors inputs_of(Side& a, Side& b, const Options& options) {
  const std::vector<TensorInfo> left = a.inputs(), right = b.inputs();
  auto find = [](const std::vector<TensorInfo>& infos, const std::string& name) -> const TensorInfo* {
    auto at = std::find_if(infos.begin(), infos.end(), [&](const TensorInfo& info) { return info.name == name; });
    return at == infos.end() ? nullptr : &*at;
  };
  NamedTensors given;
  if (!options.inputs.empty()) given = load_npz(options.inputs);
  for (auto& [name, tensor] : given)
    if (const TensorInfo* info = find(left, name)) tensor = as_float_type(tensor, info->dtype);
  NamedTensors out = make_inputs(left, given, fill_of(options.fill), options.model.shapes());
  for (auto& [name, tensor] : out)
    if (const TensorInfo* info = find(right, name); info && info->dtype.bits < tensor.dtype().bits)
      tensor = as_float_type(as_float_type(tensor, info->dtype), tensor.dtype());
  return out;
}

Report run(const Options& options) {
  std::string other = options.other.empty() ? options.model.path : options.other;
  if (options.other.empty() && !options.first.is_given() && !options.second.is_given())
    throw Error(ValueError) << "there is nothing to compare " << options.model.path
                            << " with; give a second model, or flags for one side such as --opt-level-a 0";
  ProgressBar bar;
  auto a = make_side(options, options.model.path, options.first), b = make_side(options, other, options.second);
  check_inputs(*a, *b);
  NamedTensors inputs = inputs_of(*a, *b, options);
  Report out;
  out.narrowest = a->narrowest_float().bits < b->narrowest_float().bits ? a->narrowest_float() : b->narrowest_float();
  out.tolerance = Tolerance::of(out.narrowest);
  if (options.rtol) out.tolerance.rtol = *options.rtol;
  out.tolerance.atol = options.atol;
  compare_outputs(*a, *b, inputs, out.tolerance, &out);
  out.first = a->title();
  out.second = b->title();
  if (out.outputs_agree() && !options.all_layers) return out;
  bool is_same_file = options.other.empty() || options.other == options.model.path;
  std::vector<LayerInfo> layers;
  if (is_same_file || (a->names_layers() && b->names_layers())) layers = common_layers(*a, *b);
  out.layers = layers.size();
  out.looked_at_layers = !layers.empty();
  if (!layers.empty()) out.layer = first_difference(*a, *b, layers, inputs, out.tolerance, !out.outputs_agree());
  return out;
}

// ---- telling ----------------------------------------------------------------------------------------------------------

std::string type_text(const std::string& dtype, const std::vector<int64_t>& shape) {
  return fmt::format("{}({})", dtype, fmt::join(shape, ", "));
}

void print(const Report& report) {
  fmt::print("first   {}\nsecond  {}\n", printable(report.first), printable(report.second));
  if (report.narrowest.bits < 32)
    fmt::print("types   {} is computed with: agreement is to rtol {:.2g} and atol {}\n", to_text(report.narrowest),
               report.tolerance.rtol,
               report.tolerance.atol ? fmt::format("{:.2g}", *report.tolerance.atol)
                                     : fmt::format("{:.2g} of the largest value", report.tolerance.share));
  if (!report.problem.empty()) fmt::print("{}\n", report.problem);
  for (const OutputDifference& output : report.outputs)
    fmt::print("output  {} {}: {}: {}\n", printable(output.name), type_text(output.dtype, output.shape),
               output.difference.agrees ? "agree" : "DIFFER", output.difference.text(output.shape));
  if (const auto& found = report.layer) {
    fmt::print("\nThe first layer that differs is number {} of {}{}:\n", found->index + 1, found->count,
               found->by_bisection ? " (found by bisection: it agrees where all layers are kept)" : "");
    fmt::print("  {}{} -> {} {}\n", printable(found->layer.op),
               found->layer.node.empty() ? "" : " " + printable(found->layer.node), printable(found->layer.name),
               type_text(found->dtype, found->shape));
    fmt::print("  {}\n", found->difference.text(found->shape));
    if (found->index > 0) fmt::print("  layers before it agree, with errors of up to {:.3g}\n", found->error_before);
  } else if (report.looked_at_layers) {
    fmt::print("\nNo layer of {} that both have differs.\n", report.layers);
  } else if (!report.outputs_agree()) {
    fmt::print("\nThere are no layers to compare: the two have no names of values in common.\n");
  }
}

using Json = Map<String, ObjectRef>;

Json json_of(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
             const Difference& difference) {
  auto value = [](auto given) { return box(Any(given)); };
  // JSON has no infinity: a number beside no number is told as the largest one.
  auto finite = [&](double error) { return value(std::min(error, std::numeric_limits<double>::max())); };
  Array<ObjectRef> extents;
  for (int64_t extent : shape) extents.push_back(value(extent));
  return {{"name", String(name)},
          {"dtype", String(dtype)},
          {"shape", extents},
          {"agrees", value(difference.agrees)},
          {"max_abs_error", finite(difference.max_abs)},
          {"max_rel_error", finite(difference.max_rel)},
          {"wrong_elements", value(difference.wrong)},
          {"text", String(difference.text(shape))}};
}

std::string to_json_text(const Report& report) {
  Array<ObjectRef> outputs;
  for (const OutputDifference& output : report.outputs)
    outputs.push_back(json_of(output.name, output.dtype, output.shape, output.difference));
  Json out{{"first", String(report.first)},           {"second", String(report.second)},
           {"agrees", box(Any(report.agrees()))},     {"narrowest_float", String(to_text(report.narrowest))},
           {"rtol", box(Any(report.tolerance.rtol))}, {"outputs", outputs}};
  if (!report.problem.empty()) out.set("problem", String(report.problem));
  if (const auto& found = report.layer) {
    Json layer = json_of(found->layer.name, found->dtype, found->shape, found->difference);
    layer.set("operator", String(found->layer.op));
    layer.set("node", String(found->layer.node));
    layer.set("place", box(Any(static_cast<int64_t>(found->index))));
    layer.set("by_bisection", box(Any(found->by_bisection)));
    out.set("first_layer", layer);
  }
  return to_json(out);
}

void diff(const Options& options) {
  Report report = run(options);
  if (options.json) fmt::print("{}\n", to_json_text(report));
  else print(report);
  if (!report.agrees()) throw ExitWith{1};
}

}  // namespace

void add_diff(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("diff", "Two models, or one in two ways, on the same inputs; where they first disagree");
  options->model.add_to(*command, "A");
  command->add_option("B", options->other,
                      "The second model; ort or openvino for another runtime; the first where left out");
  options->compile.add_to(*command);
  options->first.add_to(*command, "first");
  options->second.add_to(*command, "second");
  command->add_option("-i,--inputs", options->inputs, "Inputs, a .npz file; others are filled");
  command->add_option("--fill-mode", options->fill, "What other inputs are filled with")
      ->check(CLI::IsMember({"zeros", "ones", "random"}));
  command->add_option(
      "--rtol", options->rtol,
      "Relative error that is no difference; else 1e-3, or some roundings of fp16 or bf16 that is computed with");
  command->add_option(
      "--atol", options->atol,
      "Absolute error; else 1e-5 of the largest value of a tensor, or some roundings of it in fp16 or bf16");
  command->add_flag("--all-layers", options->all_layers, "Compare layers also where the outputs agree");
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer("Exit codes: 0 they agree, 1 they differ.");
  command->callback([options] { diff(*options); });
}

}  // namespace tessera::cli
