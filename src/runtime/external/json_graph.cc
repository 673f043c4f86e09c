#include "runtime/external/json_graph.h"

#include <charconv>

#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "runtime/ndarray.h"

namespace tessera {
namespace {

constexpr size_t kMaxNodes = 1u << 20, kMaxRank = 12, kMaxOutputs = 1u << 16;

[[noreturn]] void bad(const std::string& what) { throw Error(ValueError) << "graph of an external function: " << what; }

using Dict = Map<String, ObjectRef>;
using List = Array<ObjectRef>;

template <class T>
T value_as(const ObjectRef& value, const std::string& where, const char* kind) {
  try {
    return Any::of_object(value.get()).template to<T>();
  } catch (const Error&) {
    bad(where + " is not " + kind);
  }
}

Dict dict_of(const ObjectRef& value, const std::string& where) { return value_as<Dict>(value, where, "an object"); }
List list_of(const ObjectRef& value, const std::string& where) { return value_as<List>(value, where, "a list"); }
std::string text_of(const ObjectRef& value, const std::string& where) {
  return value_as<std::string>(value, where, "text");
}
int64_t number_of(const ObjectRef& value, const std::string& where) {
  return value_as<int64_t>(value, where, "a number");
}

ObjectRef member(const Dict& object, const char* name, const std::string& where) {
  if (!object.count(String(name))) bad(where + " has no " + name);
  return object[String(name)];
}

JsonGraph::Value value_of(const ObjectRef& item, const std::vector<JsonGraph::Node>& before, const std::string& where) {
  List triple = list_of(item, where);
  if (triple.size() < 2) bad(where + " is not a node and an index");
  int64_t node = number_of(triple[0], where), index = number_of(triple[1], where);
  if (node < 0 || node >= static_cast<int64_t>(before.size()))
    bad(where + " is of node " + std::to_string(node) + ", but only " + std::to_string(before.size()) + " come before");
  const size_t outputs = before[static_cast<size_t>(node)].outputs.size();
  if (index < 0 || index >= static_cast<int64_t>(outputs))
    bad(where + " is result " + std::to_string(index) + " of a node with " + std::to_string(outputs));
  return {static_cast<uint32_t>(node), static_cast<uint32_t>(index)};
}

/// What attributes hold is one list in a list: [["1", "1"]].
List inner_list(const ObjectRef& value, const std::string& where) {
  List outer = list_of(value, where);
  if (outer.size() != 1) bad(where + " is not a list in a list");
  return list_of(outer[0], where);
}

std::vector<JsonGraph::Tensor> tensors_of(const Dict& attrs, const std::string& where) {
  List shapes = inner_list(member(attrs, "shape", where), where + "'s shape");
  List dtypes = inner_list(member(attrs, "dtype", where), where + "'s dtype");
  if (shapes.size() != dtypes.size() || shapes.empty() || shapes.size() > kMaxOutputs)
    bad(where + " has " + std::to_string(shapes.size()) + " shapes and " + std::to_string(dtypes.size()) + " types");
  std::vector<JsonGraph::Tensor> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    JsonGraph::Tensor tensor;
    for (const ObjectRef& extent : list_of(shapes[i], where + "'s shape")) {
      tensor.shape.push_back(number_of(extent, where + "'s shape"));
      if (tensor.shape.back() < 0) bad(where + " has a negative extent");
    }
    if (tensor.shape.size() > kMaxRank) bad(where + " has more than " + std::to_string(kMaxRank) + " dimensions");
    tensor.dtype = DataType(text_of(dtypes[i], where + "'s dtype"));
    tensor_bytes(tensor.shape, tensor.dtype);  // throws where they cannot be counted
    out.push_back(std::move(tensor));
  }
  return out;
}

JsonGraph::Node node_of(const ObjectRef& item, const std::vector<JsonGraph::Node>& before) {
  std::string where = "node " + std::to_string(before.size());
  Dict fields = dict_of(item, where);
  JsonGraph::Node node;
  node.name = text_of(member(fields, "name", where), where + "'s name");
  where += " (" + node.name + ")";
  std::string op = text_of(member(fields, "op", where), where + "'s op");
  if (op == "kernel") node.kind = JsonGraph::Node::Kind::Kernel;
  else if (op == "const") node.kind = JsonGraph::Node::Kind::Const;
  else if (op != "input") bad(where + " has the unknown op \"" + op + "\"");
  Dict attrs = dict_of(member(fields, "attrs", where), where + "'s attrs");
  node.outputs = tensors_of(attrs, where);
  if (node.kind != JsonGraph::Node::Kind::Kernel) {
    if (node.outputs.size() != 1) bad(where + " is an argument of several tensors");
    return node;
  }
  for (const ObjectRef& input : list_of(member(fields, "inputs", where), where + "'s inputs"))
    node.inputs.push_back(value_of(input, before, where + "'s input"));
  for (const auto& [name, value] : attrs) {
    if (name == "shape" || name == "dtype" || name == "num_inputs" || name == "num_outputs") continue;
    std::vector<std::string>& texts = node.attrs[name.str()];
    for (const ObjectRef& text : inner_list(value, where + "'s " + name.str()))
      texts.push_back(text_of(text, where + "'s " + name.str()));
  }
  return node;
}

template <class T>
T parsed(const JsonGraph::Node& node, const std::string& attr, const std::string& text) {
  T out{};
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc() || end != text.data() + text.size())
    bad(node.name + "'s " + attr + " is \"" + text + "\", which is no number");
  return out;
}

}  // namespace

const std::vector<std::string>& JsonGraph::Node::texts(const std::string& attr) const {
  auto it = attrs.find(attr);
  if (it == attrs.end()) bad(name + " has no attribute " + attr);
  return it->second;
}

std::vector<int64_t> JsonGraph::Node::ints(const std::string& attr) const {
  std::vector<int64_t> out;
  for (const std::string& text : texts(attr)) out.push_back(parsed<int64_t>(*this, attr, text));
  return out;
}

std::string JsonGraph::Node::text(const std::string& attr, const std::string& otherwise) const {
  auto it = attrs.find(attr);
  return it == attrs.end() || it->second.empty() ? otherwise : it->second[0];
}

int64_t JsonGraph::Node::number(const std::string& attr, int64_t otherwise) const {
  std::string given = text(attr, "");
  return given.empty() ? otherwise : parsed<int64_t>(*this, attr, given);
}

double JsonGraph::Node::real(const std::string& attr, double otherwise) const {
  std::string given = text(attr, "");
  return given.empty() ? otherwise : parsed<double>(*this, attr, given);
}

JsonGraph JsonGraph::parse(std::string_view json) {
  Dict root = dict_of(parse_json(json), "it");
  List nodes = list_of(member(root, "nodes", "it"), "nodes");
  if (nodes.size() > kMaxNodes) bad("it has " + std::to_string(nodes.size()) + " nodes");
  JsonGraph graph;
  for (const ObjectRef& item : nodes) graph.nodes.push_back(node_of(item, graph.nodes));
  std::vector<bool> seen(graph.nodes.size());
  for (const ObjectRef& item : list_of(member(root, "arg_nodes", "it"), "arg_nodes")) {
    int64_t index = number_of(item, "an item of arg_nodes");
    if (index < 0 || index >= static_cast<int64_t>(graph.nodes.size()) || seen[static_cast<size_t>(index)])
      bad("arg_nodes has " + std::to_string(index) + " twice, or there is no such node");
    seen[static_cast<size_t>(index)] = true;
    Node::Kind kind = graph.nodes[static_cast<size_t>(index)].kind;
    if (kind == Node::Kind::Kernel) bad("arg_nodes has a kernel, node " + std::to_string(index));
    (kind == Node::Kind::Input ? graph.inputs : graph.constants).push_back(static_cast<uint32_t>(index));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (!seen[i] && graph.nodes[i].kind != Node::Kind::Kernel)
      bad("node " + std::to_string(i) + " is an argument that arg_nodes does not have");
  for (const ObjectRef& item : list_of(member(root, "heads", "it"), "heads"))
    graph.heads.push_back(value_of(item, graph.nodes, "a result"));
  if (graph.heads.empty()) bad("it has no results");
  return graph;
}

}  // namespace tessera
