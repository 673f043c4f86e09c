#pragma once
// What the inputs and outputs of a language model mean, found by their names and shapes.

#include "runtime/executable/tensor_info.h"

namespace tessera {

/// What an input holds in a step that adds `new` tokens to `past` ones.
enum class DecoderInput {
  Ids,           // the new tokens
  Mask,          // a one for each token, past and new
  Positions,     // of the new tokens
  PastLength,    // how many tokens the cache holds before the step
  TotalLength,   // and after it
  LastPosition,  // of the last token after it: one less
  UsesCache,     // whether there are past tokens
  Cache,         // keys or values of past tokens
};

/// An input that holds keys or values, the output that holds them after the step, and the axis of tokens in both.
struct CachePair {
  size_t input, output, axis;
};

struct DecoderSignature {
  std::vector<DecoderInput> inputs;  // of the program, in order
  std::vector<CachePair> caches;     // empty: every step computes all tokens anew
  size_t ids = 0, logits = 0;
  int64_t step = -1;        // how many new tokens a run takes; -1: any number
  int64_t vocabulary = -1;  // -1: only a run tells
};

/// A ValueError that lists inputs and outputs where the program is no decoder that one sequence of tokens can drive.
DecoderSignature decoder_signature(const std::vector<TensorInfo>& inputs, const std::vector<TensorInfo>& outputs);

}  // namespace tessera
