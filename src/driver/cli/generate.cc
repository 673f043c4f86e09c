// tessera generate: tokens from a language model.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>

#include "driver/cli/cli.h"
#include "driver/cli/json.h"
#include "driver/cli/progress_bar.h"
#include "driver/cli/runner.h"
#include "driver/cli/subject.h"
#include "driver/cli/terminal.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/generate/generator.h"
#include "runtime/generate/model_files.h"

namespace tessera::cli {
namespace {

struct Generate {
  ModelFlags model;
  CompileFlags flags;
  std::string prompt_ids, prompt_file, eos, device = "cpu";
  GenerateOptions options;
  bool greedy = false, json = false;
  int threads = 0;

  void run() const {
    if (greedy && options.sampling.temperature > 0)
      throw Error(ValueError)
          << "--greedy takes the highest score; --temperature draws among them: give one of the two";
    options.sampling.check();
    const DLDevice dev = device_of(device);
    const std::vector<int64_t> prompt = read_prompt();
    if (threads) set_num_threads(threads);
    const LanguageModelFiles files = language_model_files(model.path);
    GenerateOptions chosen = options;
    chosen.eos = eos.empty() ? files.eos : ids_of(eos, "--eos");
    chosen.vocabulary = files.vocabulary;
    chosen.context = files.context;
    std::string told;
    {
      ProgressBar progress;
      ModelFlags file = model;
      file.path = files.model;
      CompileFlags compiling = flags;
      if (!flags.target.is_given() && device != "cpu") compiling.target.text = device == "cl" ? "opencl" : device;
      const Subject subject = make_subject(file, compiling.options());
      Generator generator(make_executable(subject.runnable, {dev}), dev);
      const Generated made = generator.generate(prompt, chosen);
      told = json ? json_of(subject, generator, made) : text_of(subject, generator, made);
    }
    fmt::print("{}", told);
  }

  std::vector<int64_t> read_prompt() const {
    if (prompt_file.empty() == prompt_ids.empty())
      throw Error(ValueError) << "the prompt is given by --prompt-ids or by --prompt-file";
    if (prompt_file.empty()) return ids_of(prompt_ids, "--prompt-ids");
    std::string text(MappedFile(prompt_file, "the prompt").bytes());
    for (char& c : text)
      if (c == '\n' || c == '\r' || c == '\t' || c == ' ') c = ',';
    return ids_of(text, "--prompt-file");
  }

  static std::vector<int64_t> ids_of(const std::string& text, const char* flag) {
    std::vector<int64_t> out;
    for (const std::string& word : split_list(text)) {
      int64_t id = 0;
      auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      if (error != std::errc() || end != word.data() + word.size())
        throw Error(ValueError) << flag << " takes ids of tokens, integers with commas between, not \""
                                << printable(shortened(word, 40)) << "\"";
      out.push_back(id);
    }
    if (out.empty()) throw Error(ValueError) << flag << " names no token";
    return out;
  }

  static std::string text_of(const Subject& subject, const Generator& generator, const Generated& made) {
    std::vector<std::string> words;
    for (size_t i = 0; i < made.ids.size(); ++i)
      words.push_back(std::to_string(made.ids[i]) + (i + 1 < made.ids.size() ? "," : ""));
    constexpr size_t kIndent = 10;
    std::string out = fmt::format("model     {} ({}, {} executor, {} cache)\n", printable(subject.path), subject.format,
                                  subject.executor, generator.cache_kind());
    out += fmt::format("ids       {}{}\n", wrapped(words, kIndent, terminal_width()), made.is_ended ? " (end)" : "");
    out += fmt::format("prefill   {} tokens in {:.1f} ms: {:.1f} tokens/s\n", made.prompt, made.prefill_seconds * 1e3,
                       made.prefill_rate());
    if (made.ids.size() > 1)
      out += fmt::format("decode    {} tokens in {:.1f} ms: {:.1f} tokens/s\n", made.ids.size() - 1,
                         made.decode_seconds * 1e3, made.decode_rate());
    return out;
  }

  static std::string json_of(const Subject& subject, const Generator& generator, const Generated& made) {
    Array<ObjectRef> ids;
    for (int64_t id : made.ids) ids.push_back(json_value(id));
    JsonObject out{{"model", String(subject.path)},
                   {"executor", String(subject.executor)},
                   {"cache", String(generator.cache_kind())},
                   {"threads", json_value(num_threads())},
                   {"ids", ids},
                   {"ended", json_value(made.is_ended)},
                   {"prompt_tokens", json_value(made.prompt)},
                   {"ready_seconds", json_value(subject.seconds)},
                   {"prefill_seconds", json_value(made.prefill_seconds)},
                   {"decode_seconds", json_value(made.decode_seconds)},
                   {"prefill_tokens_per_second", json_value(made.prefill_rate())},
                   {"decode_tokens_per_second", json_value(made.decode_rate())}};
    return to_json(out) + "\n";
  }
};

}  // namespace

void add_generate(CLI::App& app) {
  auto command = std::make_shared<Generate>();
  CLI::App* sub = app.add_subcommand("generate", "Tokens from a language model, and how many a second");
  sub->add_option(
         "MODEL", command->model.path,
         "A model file or package, or a folder with model.onnx and its configuration (genai_config.json, config.json)")
      ->required();
  command->model.add_to(*sub, "");
  sub->add_option("--prompt-ids", command->prompt_ids, "The tokens that the text begins with: 1,15043,3186");
  sub->add_option("--prompt-file", command->prompt_file, "A file with them, with commas or blanks between");
  sub->add_option("--tokens", command->options.tokens, "How many tokens are made at most")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24))
      ->capture_default_str();
  sub->add_option("--eos", command->eos, "Tokens that end the text; those of the configuration when not given");
  sub->add_flag("--greedy", command->greedy, "The token of the highest score, as without --temperature");
  sub->add_option("--temperature", command->options.sampling.temperature,
                  "Draw tokens, by their scores divided by this");
  sub->add_option("--top-k", command->options.sampling.top_k, "Draw from so many of the highest scores; 0: from all")
      ->capture_default_str();
  sub->add_option("--top-p", command->options.sampling.top_p,
                  "Draw from the most probable tokens, until their probabilities add up to this")
      ->capture_default_str();
  sub->add_option("--seed", command->options.sampling.seed, "Of the draws")->capture_default_str();
  sub->add_option("--device", command->device, "Where it runs")
      ->check(CLI::IsMember({"cpu", "cuda", "cl"}))
      ->capture_default_str();
  sub->add_option("--threads", command->threads, "How many threads run it; all cores when not given")
      ->check(CLI::Range(1, 4096));
  sub->add_flag("--json", command->json, "Print one JSON object");
  command->flags.add_to(*sub);
  add_verbose(*sub);
  sub->callback([command] { command->run(); });
}

}  // namespace tessera::cli
