#pragma once
// Tokens from a compiled language model: a prompt at once, then one token after the other.

#include <functional>

#include "runtime/executable/executable.h"
#include "runtime/generate/sampler.h"
#include "runtime/generate/signature.h"

namespace tessera {

struct GenerateOptions {
  int64_t tokens = 16;       // how many are made at most
  std::vector<int64_t> eos;  // tokens after which nothing comes
  Sampling sampling;
  int64_t vocabulary = -1, context = -1;  // limits that the model's files give; -1: not known
};

struct Generated {
  std::vector<int64_t> ids;  // without the prompt, with the token that ended it
  bool is_ended = false;     // by a token of `eos`
  size_t prompt = 0;
  double prefill_seconds = 0;  // from the prompt to the first token
  double decode_seconds = 0;   // from the first token to the last

  double prefill_rate() const { return prefill_seconds > 0 ? static_cast<double>(prompt) / prefill_seconds : 0; }
  double decode_rate() const {
    return decode_seconds > 0 && ids.size() > 1 ? static_cast<double>(ids.size() - 1) / decode_seconds : 0;
  }
};

/// Is given each token as it is made; false ends the generation.
using TokenListener = std::function<bool(int64_t)>;

class Generator {
 public:
  /// A ValueError where the program is no decoder (`decoder_signature`).
  Generator(std::unique_ptr<Executable> program, DLDevice device);

  const DecoderSignature& signature() const { return signature_; }
  /// "none" (every step computes all tokens anew) or "growing" (results of a step are copies, one token longer).
  const char* cache_kind() const { return signature_.caches.empty() ? "none" : "growing"; }
  /// Prompts without tokens, tokens that the vocabulary does not have and more than the context holds are ValueErrors.
  /// One call at a time.
  Generated generate(std::span<const int64_t> prompt, const GenerateOptions& options,
                     const TokenListener& listener = nullptr);

 private:
  void check(std::span<const int64_t> prompt, const GenerateOptions& options) const;
  void begin();
  /// The scores after these tokens, which come behind those of earlier steps.
  NDArray step(std::span<const int64_t> ids);
  NDArray input(size_t index, std::span<const int64_t> ids) const;

  std::unique_ptr<Executable> program_;
  DLDevice device_;
  DecoderSignature signature_;
  std::vector<NDArray> caches_;   // by pair
  std::vector<int64_t> history_;  // all tokens, where there is no cache
  int64_t past_ = 0;              // tokens that the caches hold
};

}  // namespace tessera
