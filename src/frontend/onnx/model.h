#pragma once
// An ONNX file as plain structures. Names, texts and tensor data are views into the file's bytes, which the model keeps
// or whose owner outlives it.
//
// Nothing in the file is trusted: lengths are checked by the wire reader, nesting is limited, and unknown fields are
// skipped as the format asks. What a structure means is checked by those who use it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ndarray.h"

namespace tessera::onnx {

/// Numbers of element types in files.
enum class ElementType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

struct KeyValue {
  std::string_view key, value;
};

struct Tensor {
  std::string_view name;
  ElementType type = ElementType::Undefined;
  std::vector<int64_t> dims;
  // The elements stand in one of these.
  bool has_raw = false;
  std::string_view raw;
  NDArray memory = nullptr;  // holds `raw` and nothing else, where that is no part of the file
  std::vector<float> floats;
  std::vector<int32_t> int32s;  // also of the types below 32 bits, bool and 16-bit floats (their bits)
  std::vector<int64_t> int64s;
  std::vector<uint64_t> uint64s;
  std::vector<double> doubles;
  std::vector<std::string_view> strings;
  bool is_external = false;
  std::vector<KeyValue> external;  // location, offset, length
};

struct SparseTensor {
  Tensor values, indices;
  std::vector<int64_t> dims;
};

struct Dimension {
  enum Kind { Unknown, Known, Named } kind = Unknown;
  int64_t value = 0;
  std::string_view name;
};

struct ValueType {
  enum Kind { None, Tensor, Sequence, Map, Optional, SparseTensor, Opaque } kind = None;
  ElementType element = ElementType::Undefined;  // of tensors; of a map, its keys
  bool has_shape = false;
  std::vector<Dimension> shape;
  std::shared_ptr<ValueType> inner;  // what sequences and optionals hold, the values of a map
};

struct ValueInfo {
  std::string_view name;
  ValueType type;
};

struct Graph;

struct Attribute {
  enum Kind : int32_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    TensorValue = 4,
    GraphValue = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensorValue = 11,
    SparseTensors = 12,
    TypeValue = 13,
    Types = 14,
  };
  std::string_view name, referred;  // referred: inside a function, the attribute of the call that is meant
  Kind kind = Undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<Tensor> tensors;  // one for TensorValue
  std::vector<SparseTensor> sparse_tensors;
  std::vector<std::shared_ptr<Graph>> graphs;
  std::vector<ValueType> types;
};

struct Node {
  std::vector<std::string_view> inputs, outputs;  // "" is one that is left out
  std::string_view name, op, domain, overload;
  std::vector<Attribute> attributes;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<SparseTensor> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};

struct OperatorSet {
  std::string_view domain;
  int64_t version = 0;
};

/// An operator that is defined by a graph of others.
struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  std::vector<OperatorSet> operator_sets;
};

/// Where data outside of a model file may lie.
struct DataFolder {
  std::string path;   // under this folder, that of the model; empty: nowhere
  std::string links;  // symbolic links there may lead into this folder; empty: they are rejected
};

struct Model {
  int64_t ir_version = 0;
  std::string_view producer_name, producer_version, domain;
  int64_t model_version = 0;
  std::vector<OperatorSet> operator_sets;
  std::vector<KeyValue> metadata;
  std::vector<Function> functions;
  Graph graph;
  bool has_training = false;
  DataFolder folder;                   // where external data may lie
  std::string_view bytes;              // all of the file
  std::shared_ptr<const void> memory;  // what the views point into
};

/// Reads a model from memory, which is kept through `owner`.
Model parse_model(std::string_view bytes, std::shared_ptr<const void> owner, DataFolder folder);
/// Reads a model file. `allow_links`: the folder that symbolic links to its data may lead into; empty for none.
Model read_model(const std::string& path, const std::string& allow_links = "");

}  // namespace tessera::onnx
