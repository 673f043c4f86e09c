#pragma once
// The folder of a language model: the model file, and what its configuration says.

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct LanguageModelFiles {
  std::string model;                      // the file to compile or load
  std::vector<int64_t> eos;               // tokens that end a text
  int64_t vocabulary = -1, context = -1;  // how many tokens there are, and how many a text may have; -1: not told
};

/// `path` is a model file, or a folder with genai_config.json (which names the file), or with model.onnx or onnx/model.onnx;
/// generation_config.json and config.json beside it are read for what is not told yet. A path that is a file has no configuration.
/// Files that are no such configuration are ValueErrors that name them.
LanguageModelFiles language_model_files(const std::string& path);

}  // namespace tessera
