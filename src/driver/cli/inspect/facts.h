#pragma once
// What `tessera inspect` finds out about a model, and how it is told to people and to programs.

#include <cstdint>
#include <string>
#include <vector>

#include "base/any.h"
#include "base/dtype.h"
#include "driver/cli/json.h"
#include "relay/analysis/cost.h"

namespace tessera::cli {

/// An input, output or parameter.
struct TensorFact {
  std::string name, dtype;
  bool has_shape = true;
  std::vector<int64_t> shape;             // -1 is an extent that a run decides
  std::vector<std::string> extents = {};  // names of such extents, where the file has them
};

struct OperatorFact {
  std::string name;
  int64_t count = 0;
  relay::Cost cost;
  std::string rule = {};                // of a kernel: that by which it was scheduled
  std::vector<std::string> plans = {};  // of a kernel: what rules with knobs decided
  std::vector<std::string> nodes = {};  // of a kernel: those of the model file that each call computes, as lines
};

struct UnsupportedFact {
  std::string op, domain, node, reason;
  int64_t version = 0;
  bool is_invalid = false, follows_another = false;
};

struct Facts {
  std::string path, format;
  uint64_t file_bytes = 0;
  std::vector<std::pair<std::string, std::string>> notes;  // "producer", "opset": what only some formats have
  JsonObject values;                                       // for programs, in place of the notes of these names
  std::vector<TensorFact> inputs, outputs;
  std::vector<OperatorFact> operators;
  bool has_cost = false;
  int64_t parameters = 0, parameter_tensors = 0;
  uint64_t parameter_bytes = 0;
  std::vector<std::pair<std::string, uint64_t>> members;  // files of an archive and their sizes
  std::vector<UnsupportedFact> unsupported;

  relay::Cost total() const;
  /// A note, with its value for programs.
  void note(const std::string& name, const std::string& text, ObjectRef value) {
    notes.emplace_back(name, text);
    values.set(String(name), std::move(value));
  }
};

/// For people.
void print(const Facts& facts);
/// For programs: one JSON object.
std::string to_json_text(const Facts& facts);

/// "(1, 3, height: Any, 224)"
std::string shape_text(const TensorFact& tensor);
/// "4.1 G"
std::string count_text(double value);

/// Facts about models that are not compiled, and about compiled ones (packages and libraries).
Facts facts_of_onnx(const std::string& path, const std::string& input_shapes, const std::string& allow_links);
Facts facts_of_relay(const std::string& path, const std::string& format, const std::string& input_shapes);
Facts facts_of_package(const std::string& path);
Facts facts_of_library(const std::string& path);

}  // namespace tessera::cli
