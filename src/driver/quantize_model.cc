#include "driver/quantize_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "base/progress.h"
#include "frontend/onnx/importer.h"
#include "relay/make.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "runtime/function/element.h"
#include "runtime/package/model.h"

namespace tessera {
namespace {

constexpr size_t kBins = 4096;

/// How often numbers of one sign have which magnitude, in bins up to the largest so far.
class Magnitudes {
 public:
  void add(float value) {
    while (value > top_) grow(value);
    ++bins_[std::min(kBins - 1, static_cast<size_t>(value / top_ * kBins))];
    largest_ = std::max(largest_, value);
  }
  /// What all but so many are not above.
  float bound(double excess) const {
    double above = 0;
    for (size_t bin = kBins; bin-- > 0;) {
      above += static_cast<double>(bins_[bin]);
      if (above > excess) return std::min(largest_, top_ * static_cast<float>(bin + 1) / kBins);
    }
    return 0;
  }

 private:
  void grow(float value) {
    if (top_ == 0) {
      top_ = value;
      return;
    }
    for (size_t bin = 0; bin < kBins; ++bin) bins_[bin] = bin < kBins / 2 ? bins_[2 * bin] + bins_[2 * bin + 1] : 0;
    top_ *= 2;
  }

  std::vector<int64_t> bins_ = std::vector<int64_t>(kBins, 0);
  float top_ = 0, largest_ = 0;
};

/// The values of a tensor over samples.
class Values {
 public:
  void add(const NDArray& tensor) {
    const auto* values = tensor.data<float>();
    for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
      const float value = values[i];
      if (!std::isfinite(value)) continue;
      ++count_;
      if (value != 0) (value > 0 ? above_ : below_).add(std::abs(value));
    }
  }
  onnx::DataRange range(double percentile) const {
    const double excess = (1 - percentile / 100) * static_cast<double>(count_);
    return {-below_.bound(excess), above_.bound(excess)};
  }

 private:
  Magnitudes above_, below_;
  int64_t count_ = 0;
};

/// A program that gives these tensors of the model.
std::unique_ptr<Model> watching(const onnx::Model& model, const InputShapes& shapes,
                                const std::vector<std::string>& tensors, const CompileOptions& compiling) {
  onnx::ImportOptions options;
  options.keep_layers = true;
  options.shapes = shapes;
  onnx::Imported imported = onnx::import_model(model, options);
  auto main = downcast<relay::Function>(imported.mod.lookup("main"));
  std::unordered_map<std::string, relay::Expr> known;
  for (const relay::Var& param : main->params) known.emplace(std::string(param->name_hint()), param);
  for (const onnx::Layer& layer : imported.layers)
    if (!layer.in_function) known.emplace(layer.output, layer.value);
  Array<relay::Expr> values;
  for (const std::string& name : tensors) {
    auto at = known.find(name);
    if (at == known.end()) throw Error(ValueError) << "the model does not compute \"" << name << "\"";
    values.push_back(at->second);
  }
  IRModule mod = imported.mod.copy();
  mod.update(mod.get_global_var("main"), relay::make_function(main->params, relay::make_tuple(values)));
  mod = relay::fold_constant_pass(false)(relay::infer_type(mod));
  return std::make_unique<Model>(compile_model({mod, imported.params, "onnx"}, compiling).runnable);
}

std::vector<NDArray> results_of(const Model& program, const NamedTensors& sample) {
  std::vector<NDArray> inputs;
  for (const TensorInfo& input : program.inputs())
    for (const auto& [name, tensor] : sample)
      if (name == input.name) inputs.push_back(tensor);
  return program.run(inputs);
}

/// Compiles the model with some layers quantised, and compares it with what it gives in floats.
class Probe {
 public:
  Probe(const onnx::Model& model, const InputShapes& shapes,
        const std::unordered_map<std::string, onnx::DataRange>& ranges, std::span<const NamedTensors> samples,
        const CompileOptions& compiling)
      : model_(model), shapes_(shapes), ranges_(ranges), samples_(samples), compiling_(compiling) {
    Model floats(compile_model(load_onnx(model, shapes, "the model"), compiling).runnable);
    for (const NamedTensors& sample : samples) wanted_.push_back(results_of(floats, sample));
  }

  /// Of signal to noise, of the result that has least.
  double decibels(const std::vector<onnx::QuantizableLayer>& layers) const {
    auto bytes = std::make_shared<std::string>(onnx::quantize_model(model_, layers, ranges_).bytes);
    const onnx::Model changed = onnx::parse_model(*bytes, bytes, {});
    Model program(compile_model(load_onnx(changed, shapes_, "the quantised model"), compiling_).runnable);
    std::vector<Agreement> each(wanted_.empty() ? 0 : wanted_[0].size());
    for (size_t sample = 0; sample < samples_.size(); ++sample) {
      std::vector<NDArray> found = results_of(program, samples_[sample]);
      for (size_t i = 0; i < each.size(); ++i) each[i].add(wanted_[sample][i], found[i]);
    }
    double out = std::numeric_limits<double>::infinity();
    for (const Agreement& one : each) out = std::min(out, one.decibels());
    return out;
  }

 private:
  const onnx::Model& model_;
  const InputShapes& shapes_;
  const std::unordered_map<std::string, onnx::DataRange>& ranges_;
  std::span<const NamedTensors> samples_;
  const CompileOptions& compiling_;
  std::vector<std::vector<NDArray>> wanted_;
};

/// How many samples a tensor holds; 0 where it does not fit the input.
int64_t sample_count(const NDArray& tensor, const TensorInfo& input) {
  std::span<const int64_t> shape = tensor.shape();
  if (fits(shape, input.shape)) return 1;
  if (shape.size() == input.shape.size() + 1 && fits(shape.subspan(1), input.shape)) return shape[0];
  if (shape.size() != input.shape.size() || shape.empty() || input.shape[0] <= 0) return 0;
  std::vector<int64_t> one(shape.begin(), shape.end());
  one[0] = input.shape[0];
  return fits(one, input.shape) && shape[0] % input.shape[0] == 0 ? shape[0] / input.shape[0] : 0;
}

NDArray sample_of(const NDArray& tensor, const TensorInfo& input, int64_t index, int64_t count) {
  std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  if (shape.size() > input.shape.size()) shape.erase(shape.begin());
  else if (count > 1) shape[0] /= count;
  NDArray out = NDArray::empty(shape, tensor.dtype());
  const size_t bytes = static_cast<size_t>(out.size()) * static_cast<size_t>(out.dtype().bytes());
  std::copy_n(tensor.data<char>() + static_cast<size_t>(index) * bytes, bytes, out.data<char>());
  return out;
}

}  // namespace

std::vector<NamedTensors> split_samples(const NamedTensors& tensors, const std::vector<TensorInfo>& inputs) {
  std::vector<NamedTensors> out;
  for (const TensorInfo& input : inputs) {
    auto given = std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) {
      return tensor.first == input.name || (tensor.first.empty() && inputs.size() == 1);
    });
    if (given == tensors.end()) throw Error(ValueError) << "the samples have no input \"" << input.name << "\"";
    const NDArray& tensor = given->second;
    const int64_t count = tensor.dtype() == input.dtype ? sample_count(tensor, input) : 0;
    if (count == 0)
      throw Error(ValueError) << "the samples of input \"" << input.name << "\" are " << shape_text(tensor.shape())
                              << " " << to_text(tensor.dtype()) << ", the input is " << text_of(input)
                              << "; give one, or several along a further first axis";
    if (out.empty()) out.resize(static_cast<size_t>(count));
    if (static_cast<int64_t>(out.size()) != count)
      throw Error(ValueError) << "there are " << count << " samples of input \"" << input.name << "\", but "
                              << out.size() << " of input \"" << inputs[0].name << "\"";
    for (int64_t i = 0; i < count; ++i)
      out[static_cast<size_t>(i)].emplace_back(input.name, sample_of(tensor, input, i, count));
  }
  return out;
}

std::vector<onnx::QuantizableLayer> chosen_layers(const onnx::Model& model, const QuantizeOptions& options) {
  std::vector<onnx::QuantizableLayer> all = onnx::quantizable_layers(model), out;
  std::set<std::string> skip(options.skip.begin(), options.skip.end());
  for (size_t i = 0; i < all.size(); ++i)
    if (skip.erase(all[i].name) == 0 && (i > 0 || options.with_first)) out.push_back(all[i]);
  if (!skip.empty()) {
    Error error(ValueError);
    error << "no layer that can be quantised is called \"" << *skip.begin() << "\"; there are";
    for (size_t i = 0; i < std::min<size_t>(all.size(), 8); ++i) error << (i ? ", " : " ") << all[i].name;
    if (all.size() > 8) error << " and " << all.size() - 8 << " more";
    throw error;
  }
  return out;
}

std::unordered_map<std::string, onnx::DataRange> calibrate(const onnx::Model& model, const InputShapes& shapes,
                                                           const std::vector<onnx::QuantizableLayer>& layers,
                                                           const std::vector<NamedTensors>& samples,
                                                           const QuantizeOptions& options,
                                                           const CompileOptions& compiling) {
  std::set<std::string> distinct;
  for (const onnx::QuantizableLayer& layer : layers) distinct.insert(layer.data);
  const std::vector<std::string> names(distinct.begin(), distinct.end());
  std::unique_ptr<Model> program = watching(model, shapes, names, compiling);
  std::vector<Values> values(names.size());
  begin_stage("calibrate");
  for (size_t sample = 0; sample < samples.size(); ++sample) {
    std::vector<NDArray> results = results_of(*program, samples[sample]);
    for (size_t i = 0; i < names.size(); ++i) {
      if (results[i].dtype() != DataType::Float(32))
        throw Error(ValueError) << "\"" << names[i] << "\" is " << to_text(results[i].dtype())
                                << "; layers of float32 are quantised";
      values[i].add(results[i]);
    }
    report_progress(sample + 1, samples.size(), "samples");
  }
  std::unordered_map<std::string, onnx::DataRange> out;
  for (size_t i = 0; i < names.size(); ++i) out[names[i]] = values[i].range(options.percentile);
  return out;
}

std::vector<onnx::QuantizableLayer> robust_layers(const onnx::Model& model, const InputShapes& shapes,
                                                  const std::vector<onnx::QuantizableLayer>& layers,
                                                  const std::unordered_map<std::string, onnx::DataRange>& ranges,
                                                  const std::vector<NamedTensors>& samples, double decibels,
                                                  const CompileOptions& compiling) {
  constexpr size_t kMaxSamples = 8;
  const Probe probe(model, shapes, ranges, std::span(samples).first(std::min(samples.size(), kMaxSamples)), compiling);
  if (probe.decibels(layers) >= decibels) return layers;
  begin_stage("measure layers");
  std::vector<std::pair<double, size_t>> order;  // those that lose most first
  for (size_t i = 0; i < layers.size(); ++i) {
    order.emplace_back(probe.decibels({layers[i]}), i);
    report_progress(i + 1, layers.size(), "layers");
  }
  std::stable_sort(order.begin(), order.end());
  auto without = [&](size_t count) {
    std::vector<size_t> kept;
    for (size_t i = count; i < order.size(); ++i) kept.push_back(order[i].second);
    std::sort(kept.begin(), kept.end());
    std::vector<onnx::QuantizableLayer> out;
    for (size_t i : kept) out.push_back(layers[i]);
    return out;
  };
  size_t few = 0, enough = layers.size();  // `few` are not enough to leave out
  while (enough - few > 1) {
    const size_t middle = (few + enough) / 2;
    (probe.decibels(without(middle)) >= decibels ? enough : few) = middle;
  }
  if (enough == layers.size())
    throw Error(ValueError) << "results have less than " << decibels << " dB whichever layer is quantised; the best, "
                            << layers[order.back().second].name << ", leaves " << order.back().first;
  return without(enough);
}

void Agreement::add(const NDArray& wanted, const NDArray& given) {
  const int64_t count = wanted.size(), columns = wanted.shape().empty() ? 1 : wanted.shape().back();
  auto at = [](const NDArray& tensor, int64_t i) {
    return read_float(tensor.dtype(), tensor.data<char>() + i * tensor.dtype().bytes());
  };
  for (int64_t i = 0; i < count; ++i) {
    const double a = at(wanted, i), b = at(given, i);
    signal += a * a;
    noise += (a - b) * (a - b);
    largest = std::max(largest, std::abs(a - b));
  }
  for (int64_t row = 0; columns > 1 && row < count / columns; ++row) {
    auto argmax = [&](const NDArray& tensor) {
      int64_t best = 0;
      for (int64_t i = 1; i < columns; ++i)
        if (at(tensor, row * columns + i) > at(tensor, row * columns + best)) best = i;
      return best;
    };
    ++rows;
    same += argmax(wanted) == argmax(given);
  }
}

double Agreement::decibels() const {
  return noise > 0 ? 10 * std::log10(signal / noise) : std::numeric_limits<double>::infinity();
}

}  // namespace tessera
