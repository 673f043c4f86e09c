#include "runtime/generate/generator.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/progress.h"
#include "runtime/containers.h"
#include "runtime/function/element.h"
#include "runtime/generate/model_files.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

NDArray zeros(std::span<const int64_t> shape, DataType dtype) {
  NDArray out = NDArray::empty(shape, dtype);
  std::memset(out.data<char>(), 0, out.bytes());
  return out;
}

}  // namespace

Generator::Generator(std::unique_ptr<Executable> program, DLDevice device)
    : program_(std::move(program)),
      device_(device),
      signature_(decoder_signature(program_->inputs(), program_->outputs())) {
  for (const CachePair& pair : signature_.caches) {
    const TensorInfo& past = program_->inputs()[pair.input];
    if (past.shape[pair.axis] >= 0)
      throw Error(ValueError) << "this model cannot generate tokens: its input " << past.name << " is " << text_of(past)
                              << ", a cache of a fixed number of tokens, which a step makes longer; export it with a "
                              << "dynamic length of the cache";
  }
}

void Generator::check(std::span<const int64_t> prompt, const GenerateOptions& options) const {
  if (prompt.empty()) throw Error(ValueError) << "the prompt has no tokens";
  if (options.tokens < 1)
    throw Error(ValueError) << "the number of tokens to make is 1 or more, not " << options.tokens;
  const int64_t known = signature_.vocabulary >= 0 ? signature_.vocabulary : options.vocabulary;
  auto require = [&](int64_t id, const char* what) {
    if (id >= 0 && (known < 0 || id < known)) return;
    Error error(ValueError);
    error << what << " " << id << " is no token of the model";
    if (known >= 0) error << ", whose tokens are 0 to " << known - 1;
    throw error;
  };
  for (int64_t id : prompt) require(id, "the prompt's");
  for (int64_t id : options.eos) require(id, "the end-of-text token");
  const auto length = static_cast<int64_t>(prompt.size());
  if (options.context >= 0 && (length > options.context || options.tokens > options.context - length))
    throw Error(ValueError) << "the prompt of " << length << " tokens and " << options.tokens
                            << " more do not fit the model's context of " << options.context;
}

void Generator::begin() {
  past_ = 0;
  history_.clear();
  caches_.clear();
  for (const CachePair& pair : signature_.caches) {
    const TensorInfo& info = program_->inputs()[pair.input];
    std::vector<int64_t> shape = info.shape;
    shape[0] = 1;
    shape[pair.axis] = 0;
    caches_.push_back(zeros(shape, info.dtype).copy_to(device_));
  }
}

NDArray Generator::input(size_t index, std::span<const int64_t> ids) const {
  const TensorInfo& info = program_->inputs()[index];
  const auto fresh = static_cast<int64_t>(ids.size());
  std::vector<int64_t> values, shape(info.shape.size(), 1);
  switch (signature_.inputs[index]) {
    case DecoderInput::Ids: values.assign(ids.begin(), ids.end()); break;
    case DecoderInput::Mask: values.assign(static_cast<size_t>(past_ + fresh), 1); break;
    case DecoderInput::Positions:
      for (int64_t i = 0; i < fresh; ++i) values.push_back(past_ + i);
      break;
    case DecoderInput::PastLength: values = {past_}; break;
    case DecoderInput::TotalLength: values = {past_ + fresh}; break;
    case DecoderInput::LastPosition: values = {past_ + fresh - 1}; break;
    case DecoderInput::UsesCache: values = {past_ > 0}; break;
    case DecoderInput::Cache: ICHECK(false) << "caches are no lists of numbers";
  }
  if (!shape.empty()) shape.back() = static_cast<int64_t>(values.size());
  NDArray out = NDArray::empty(shape, info.dtype);
  char* at = out.data<char>();
  for (int64_t value : values) {
    info.dtype.is_floating() ? write_float(info.dtype, static_cast<double>(value), at)
                             : write_int(info.dtype, value, at);
    at += info.dtype.bytes();
  }
  return device_.device_type == kDLCPU ? out : out.copy_to(device_);
}

NDArray Generator::step(std::span<const int64_t> ids) {
  if (signature_.caches.empty()) {
    history_.insert(history_.end(), ids.begin(), ids.end());
    ids = history_;
  }
  std::vector<NDArray> inputs(signature_.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (signature_.inputs[i] != DecoderInput::Cache) inputs[i] = input(i, ids);
  for (size_t i = 0; i < caches_.size(); ++i) inputs[signature_.caches[i].input] = std::move(caches_[i]);
  check_inputs(program_->inputs(), inputs);
  std::vector<NDArray> results = program_->run(inputs, {});
  if (!signature_.caches.empty()) past_ += static_cast<int64_t>(ids.size());
  for (size_t i = 0; i < caches_.size(); ++i) {
    const CachePair& pair = signature_.caches[i];
    caches_[i] = results[pair.output];
    if (int64_t length = caches_[i].shape()[pair.axis]; length != past_)
      throw Error(ValueError) << "after " << past_ << " tokens the output " << program_->outputs()[pair.output].name
                              << " holds " << length << ": the model does not continue its cache";
  }
  return results[signature_.logits];
}

Generated Generator::generate(std::span<const int64_t> prompt, const GenerateOptions& options,
                              const TokenListener& listener) {
  check(prompt, options);
  Sampler sampler(options.sampling);
  begin();
  Generated out{.prompt = prompt.size()};
  auto begin_time = Clock::now();
  begin_stage("prefill");
  NDArray logits;
  const size_t count = signature_.step > 0 ? static_cast<size_t>(signature_.step) : prompt.size();
  for (size_t at = 0; at < prompt.size(); at += count) {
    logits = step(prompt.subspan(at, count));
    report_progress(std::min(at + count, prompt.size()), prompt.size(), "tokens");
  }
  for (;;) {
    const int64_t vocabulary = logits.shape().back();
    if (vocabulary < 1 || logits.size() < vocabulary) throw Error(ValueError) << "the model gives no scores";
    const int64_t id = sampler.next(logits, vocabulary);
    out.ids.push_back(id);
    if (out.ids.size() == 1) {
      out.prefill_seconds = seconds_since(begin_time);
      begin_time = Clock::now();
      begin_stage("decode");
    }
    report_progress(out.ids.size(), static_cast<size_t>(options.tokens), "tokens");
    out.is_ended = std::find(options.eos.begin(), options.eos.end(), id) != options.eos.end();
    const bool goes_on = !listener || listener(id);
    if (out.is_ended || !goes_on || out.ids.size() == static_cast<size_t>(options.tokens)) break;
    logits = step(std::span(&id, 1));
  }
  if (out.ids.size() > 1) out.decode_seconds = seconds_since(begin_time);
  caches_.clear();
  return out;
}

namespace {

/// A generator behind packed functions, for Python.
class GeneratorModule final : public ModuleBody {
 public:
  GeneratorModule(const Module& compiled, DLDevice device) : generator_(make_executable(compiled, {device}), device) {}

  std::string type_key() const override { return "Generator"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "cache_kind") return typed(name, [self, this] { return std::string(generator_.cache_kind()); });
    if (name == "vocabulary") return typed(name, [self, this] { return generator_.signature().vocabulary; });
    if (name == "generate")  // -> [ids, ended, seconds of prefill, of decode]; `listener` may be none
      return typed(name, [self, this](ShapeTuple prompt, Map<String, ObjectRef> options, AnyView listener) {
        PackedFunc told = listener.is_null() ? nullptr : listener.to<PackedFunc>();
        Generated made = generator_.generate(prompt.span(), options_of(options),
                                             [&](int64_t id) { return !told || told(id).to<bool>(); });
        return Array<ObjectRef>{ShapeTuple(made.ids), box(Any(made.is_ended)), box(Any(made.prefill_seconds)),
                                box(Any(made.decode_seconds))};
      });
    return nullptr;
  }

 private:
  static GenerateOptions options_of(const Map<String, ObjectRef>& given) {
    GenerateOptions out;
    auto take = [&](const char* name, auto* to) {
      if (given.count(name)) *to = Any::of_object(given[name].get()).to<std::remove_pointer_t<decltype(to)>>();
    };
    take("tokens", &out.tokens);
    take("temperature", &out.sampling.temperature);
    take("top_k", &out.sampling.top_k);
    take("top_p", &out.sampling.top_p);
    take("seed", &out.sampling.seed);
    take("vocabulary", &out.vocabulary);
    take("context", &out.context);
    ShapeTuple eos;
    take("eos", &eos);
    if (eos.defined()) out.eos = {eos.span().begin(), eos.span().end()};
    return out;
  }

  Generator generator_;
};

Globals generator_globals{
    {"runtime.Generator",
     [](Module compiled, AnyView device) {
       DLDevice chosen = device.is_null() ? default_device(compiled) : device.to<DLDevice>();
       return make_module<GeneratorModule>(compiled, chosen);
     }},
    {"runtime.language_model_files",
     [](std::string path) {
       LanguageModelFiles files = language_model_files(path);
       return Array<ObjectRef>{String(files.model), ShapeTuple(files.eos), box(Any(files.vocabulary)),
                               box(Any(files.context))};
     }},
};

}  // namespace
}  // namespace tessera
