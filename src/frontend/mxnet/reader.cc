#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "frontend/common/bytes.h"
#include "frontend/errors.h"
#include "frontend/mxnet/mxnet.h"
#include "runtime/archive/files.h"

namespace tessera::mxnet {
namespace {

constexpr int kMaxGraphs = 50;  // inside each other

/// Which input of these operators only training needs.
const std::unordered_map<std::string, size_t>& label_inputs() {
  static const std::unordered_map<std::string, size_t> labels{
      {"SoftmaxOutput", 1},       {"Softmax", 1},  {"LinearRegressionOutput", 1}, {"LogisticRegressionOutput", 1},
      {"MAERegressionOutput", 1}, {"SVMOutput", 1}};
  return labels;
}

ObjectRef attributes_of(const Fields& node) {
  for (const char* name : {"attrs", "attr", "param"})  // older files have older names
    if (node.has(name)) return node.get(name);
  return nullptr;
}

DataType dtype_of_flag(int64_t flag) {
  switch (flag) {
    case 0: return DataType::Float(32);
    case 1: return DataType::Float(64);
    case 2: return DataType::Float(16);
    case 3: return DataType::UInt(8);
    case 4: return DataType::Int(32);
    case 5: return DataType::Int(8);
    case 6: return DataType::Int(64);
    case 7: return DataType::Bool();
    default: throw Error(OpNotImplemented) << "tensors of MXNet's element type " << flag << " cannot be read";
  }
}

std::shared_ptr<GraphModel> read_graph(const Fields& graph, const Params* params, int depth) {
  if (depth > kMaxGraphs)
    throw Error(ValueError) << "graphs lie inside each other deeper than " << kMaxGraphs << " levels";
  auto out = std::make_shared<GraphModel>();
  out->framework = "MXNet";
  std::vector<ObjectRef> nodes = graph.list("nodes");
  std::vector<std::string> names;
  std::unordered_map<std::string, int> used;
  std::vector<bool> is_variable(nodes.size(), false), is_needed(nodes.size(), false);
  struct Entry {
    size_t node, output;
  };
  auto entry = [&](const ObjectRef& given, size_t limit) -> Entry {
    std::vector<ObjectRef> parts = list_of(given, "an input of a node");
    if (parts.size() < 2) throw Error(ValueError) << "an input of a node must be the numbers of a node and its output";
    const int64_t node = integer_of(parts[0], "an input of a node"),
                  output = integer_of(parts[1], "an input of a node");
    if (node < 0 || static_cast<size_t>(node) >= limit || output < 0 || output > 10000)
      throw Error(ValueError) << "a node takes output " << output << " of node " << node
                              << ", which does not come before it";
    return {static_cast<size_t>(node), static_cast<size_t>(output)};
  };
  auto value = [&](const Entry& one) {
    return is_variable[one.node] ? names[one.node] : names[one.node] + ":" + std::to_string(one.output);
  };
  std::vector<size_t> node_of(nodes.size(), 0), most_outputs(nodes.size(), 1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    Fields node(nodes[i], "a node");
    std::string name = node.text("name");
    if (int before = used[name]++; before || name.empty()) name += "#" + std::to_string(i);
    names.push_back(name);
    is_variable[i] = node.text("op") == "null";
    if (is_variable[i]) continue;
    GraphNode made;
    made.op = node.text("op"), made.name = name;
    made.attributes = Fields(attributes_of(node), name);
    if (made.op == "Custom") made.op = made.attributes.text("op_type");  // written by users
    for (const ObjectRef& inner : node.list("subgraphs"))
      made.graphs.push_back(read_graph(Fields(inner, name), nullptr, depth + 1));
    auto label = label_inputs().find(made.op);
    size_t index = 0;
    for (const ObjectRef& given : node.list("inputs")) {
      const Entry one = entry(given, i);
      const bool is_label = label != label_inputs().end() && label->second == index++;
      const bool has_values = params && params->count(names[one.node]);
      if (is_label && is_variable[one.node] && !has_values) continue;
      is_needed[one.node] = true;
      most_outputs[one.node] = std::max(most_outputs[one.node], one.output + 1);
      made.inputs.push_back(value(one));
    }
    node_of[i] = out->nodes.size();
    out->nodes.push_back(std::move(made));
  }
  for (const ObjectRef& head : graph.list("heads")) {
    const Entry one = entry(head, nodes.size());
    is_needed[one.node] = true;
    most_outputs[one.node] = std::max(most_outputs[one.node], one.output + 1);
    out->outputs.push_back(value(one));
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!is_variable[i]) {
      for (size_t k = 0; k < most_outputs[i]; ++k)
        out->nodes[node_of[i]].outputs.push_back(names[i] + ":" + std::to_string(k));
      continue;
    }
    if (params && params->count(names[i])) continue;
    if (params && !is_needed[i]) {
      out->unused_inputs.push_back(names[i]);
      continue;
    }
    GraphInput input;
    input.name = names[i];
    Fields attributes(attributes_of(Fields(nodes[i], "a node")), names[i]);
    input.shape = attributes.integers("__shape__");
    input.has_shape =
        attributes.has("__shape__") && std::find(input.shape.begin(), input.shape.end(), 0) == input.shape.end();
    if (attributes.has("__dtype__") && attributes.integer("__dtype__") >= 0)
      input.dtype = dtype_of_flag(attributes.integer("__dtype__"));
    out->inputs.push_back(std::move(input));
  }
  return out;
}

NDArray read_tensor(frontend::ByteReader& in) {
  constexpr uint32_t kV1 = 0xF993fac8, kV2 = 0xF993fac9, kV3 = 0xF993faca;
  constexpr uint32_t kMaxDims = 64;
  const auto magic = in.next<uint32_t>();
  uint32_t rank = magic;  // of the oldest form, whose extents are of 32 bits
  const bool is_old = magic != kV1 && magic != kV2 && magic != kV3;
  if (magic == kV2 || magic == kV3)
    if (in.next<int32_t>() != 0)
      throw Error(OpNotImplemented) << "sparse tensors among MXNet's parameters cannot be read";
  if (!is_old) rank = in.next<uint32_t>();
  if (rank == UINT32_MAX || (rank == 0 && magic != kV3))
    return NDArray::empty(std::vector<int64_t>{0}, DataType::Float(32));
  if (rank > kMaxDims) in.fail("a tensor has too many dimensions");
  std::vector<int64_t> shape;
  for (uint32_t i = 0; i < rank; ++i) shape.push_back(is_old ? in.next<uint32_t>() : in.next<int64_t>());
  in.next<int32_t>(), in.next<int32_t>();  // the device
  return in.tensor(shape, dtype_of_flag(in.next<int32_t>()));
}

}  // namespace

bool is_symbol(std::string_view bytes) {
  const size_t begin = bytes.find_first_not_of(" \t\r\n");
  return begin != bytes.npos && bytes[begin] == '{' && bytes.find("\"arg_nodes\"") != bytes.npos &&
         bytes.find("\"heads\"") != bytes.npos;
}

GraphModel read_symbol(std::string_view json, Params params) {
  Fields graph(parse_json(json), "the symbol");
  if (!graph.has("nodes") || !graph.has("heads"))
    throw Error(ValueError) << "this is no symbol of MXNet: it has no nodes and heads";
  auto out = read_graph(graph, &params, 0);
  out->params = std::move(params);
  return std::move(*out);
}

Params read_params(std::string_view bytes, const std::string& what) {
  constexpr uint64_t kMagic = 0x112;
  frontend::ByteReader in(bytes, what, "is no file of MXNet's parameters");
  if (in.next<uint64_t>() != kMagic) in.fail("it does not begin as one");
  in.next<uint64_t>();
  const auto count = in.next<uint64_t>();
  if (count > in.left()) in.fail("it says that it has more tensors than bytes");
  std::vector<NDArray> tensors;
  for (uint64_t i = 0; i < count; ++i) tensors.push_back(read_tensor(in));
  if (in.next<uint64_t>() != count) in.fail("it has not as many names as tensors");
  Params out;
  for (NDArray& tensor : tensors) {
    std::string name(in.take(in.next<uint64_t>()));
    for (const char* kind : {"arg:", "aux:"})
      if (name.compare(0, 4, kind) == 0) name = name.substr(4);
    out.emplace(std::move(name), std::move(tensor));
  }
  return out;
}

GraphModel read_files(const std::string& path) {
  MappedFile symbol(path, "the symbol");
  constexpr std::string_view kEnd = "-symbol.json";
  const bool is_usual = path.size() > kEnd.size() && path.compare(path.size() - kEnd.size(), kEnd.size(), kEnd) == 0;
  const std::string begin = is_usual ? path.substr(0, path.size() - kEnd.size()) : path.substr(0, path.rfind('.'));
  namespace fs = std::filesystem;
  std::string best;
  std::error_code problem;
  const fs::path folder = fs::path(begin).has_parent_path() ? fs::path(begin).parent_path() : fs::path(".");
  const std::string stem = fs::path(begin).filename().string();
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    const bool fits = name == stem + ".params" ||
                      (name.size() == stem.size() + 12 && name.compare(0, stem.size() + 1, stem + "-") == 0);
    if (fits && entry.path().extension() == ".params") best = std::max(best, entry.path().string());
  }
  if (best.empty()) return read_symbol(symbol.bytes(), {});
  MappedFile params(best, "the parameters");
  return read_symbol(symbol.bytes(), read_params(params.bytes(), best));
}

const LayerTable& converters() {
  static const LayerTable table = table_of(
      {control_rows, elementwise_rows, index_rows, nn_rows, quantized_rows, shape_rows, vision_rows, window_rows});
  return table;
}

}  // namespace tessera::mxnet
