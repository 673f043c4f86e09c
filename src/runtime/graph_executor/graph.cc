#include "runtime/graph_executor/graph.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/package/model_names.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr uint32_t kMaxValues = 1u << 28;

[[noreturn]] void bad(const std::string& what) { throw Error(ValueError) << "graph JSON: " << what; }

const json& member(const json& object, const char* name, const std::string& where) {
  auto it = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || it == object.end()) bad(where + " has no " + name);
  return *it;
}

const json& list(const json& value, const std::string& where) {
  if (!value.is_array()) bad(where + " is not a list");
  return value;
}

int64_t number(const json& value, const std::string& where) {
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_string()) {  // v0.10 writes the numbers among a node's attributes as text
    const auto& text = value.get_ref<const std::string&>();
    char* end = nullptr;
    long long parsed = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0') return parsed;
  }
  bad(where + " is not a number");
}

uint32_t index(const json& value, size_t limit, const std::string& where) {
  int64_t out = number(value, where);
  if (out < 0 || static_cast<size_t>(out) >= limit)
    bad(where + " is " + std::to_string(out) + ", but there are only " + std::to_string(limit));
  return static_cast<uint32_t>(out);
}

std::string text(const json& value, const std::string& where) {
  if (!value.is_string()) bad(where + " is not a string");
  return value.get<std::string>();
}

Graph::Value value_of(const json& item, const std::vector<Graph::Node>& nodes, const std::string& where) {
  if (!item.is_array() || item.size() < 2) bad(where + " is not a pair of numbers");
  Graph::Value out;
  out.node = index(item[0], nodes.size(), where);
  out.index = index(item[1], nodes[out.node].outputs, where);
  return out;
}

Graph::Node node_of(const json& item, const std::vector<Graph::Node>& before) {
  std::string where = "node " + std::to_string(before.size());
  Graph::Node node;
  node.name = text(member(item, "name", where), where + "'s name");
  where += " (" + node.name + ")";
  std::string op = text(member(item, "op", where), where + "'s op");
  if (op != "null" && op != "tvm_op") bad(where + " has the unknown op \"" + op + "\"");
  if (op == "tvm_op") {
    const json& attrs = member(item, "attrs", where);
    node.function = text(member(attrs, "func_name", where), where + "'s func_name");
    if (node.function.empty()) bad(where + " has an empty func_name");
    int64_t outputs = number(member(attrs, "num_outputs", where), where + "'s num_outputs");
    if (outputs < 1 || outputs > (1 << 20)) bad(where + " has " + std::to_string(outputs) + " outputs");
    node.outputs = static_cast<uint32_t>(outputs);
    if (attrs.contains("flatten_data")) node.flattens = number(attrs["flatten_data"], where + "'s flatten_data");
    if (attrs.contains(kSourceNodes)) node.source_nodes = text(attrs[kSourceNodes], where + "'s " + kSourceNodes);
    if (attrs.contains(kScheduleRules))
      node.schedule_rule = text(attrs[kScheduleRules], where + "'s " + kScheduleRules);
    for (const auto& [name, value] : attrs.items())
      if (value.is_string() && (name == "hash" || name.find("layout") != name.npos))
        node.labels.emplace_back(name, value.get<std::string>());
  }
  for (const json& input : list(member(item, "inputs", where), where + "'s inputs"))
    node.inputs.push_back(value_of(input, before, where + "'s input"));
  return node;
}

/// The list under `name` of the graph's attributes: ["list_int", [...]].
const json* attribute(const json& attrs, const char* name) {
  auto it = attrs.find(name);
  if (it == attrs.end()) return nullptr;
  if (!it->is_array() || it->size() != 2 || !(*it)[1].is_array()) bad(std::string(name) + " is not [kind, list]");
  return &(*it)[1];
}

void read_entries(const json& root, Graph* graph) {
  uint64_t count = 0;
  for (const Graph::Node& node : graph->nodes) {
    graph->first_entry.push_back(static_cast<uint32_t>(count));
    count += node.outputs;
    if (count > kMaxValues) bad("it has too many values");
  }
  graph->first_entry.push_back(static_cast<uint32_t>(count));
  const json& attrs = member(root, "attrs", "the graph");
  const json *shapes = attribute(attrs, "shape"), *dtypes = attribute(attrs, "dltype"),
             *storages = attribute(attrs, "storage_id"), *devices = attribute(attrs, "device_index"),
             *scopes = attribute(attrs, "storage_scope");
  if (!shapes || !dtypes || !storages) bad("attrs need shape, dltype and storage_id");
  for (const json* part : {shapes, dtypes, storages, devices, scopes})
    if (part && part->size() != count)
      bad("a list of attrs has " + std::to_string(part->size()) + " items for " + std::to_string(count) + " values");
  for (size_t i = 0; i < count; ++i) {
    std::string where = "value " + std::to_string(i);
    Graph::Entry entry;
    for (const json& extent : list((*shapes)[i], where + "'s shape")) {
      entry.shape.push_back(number(extent, where + "'s shape"));
      if (entry.shape.back() < 0) bad(where + " has a negative extent");
    }
    entry.dtype = DataType(text((*dtypes)[i], where + "'s dltype"));
    entry.storage = index((*storages)[i], count, where + "'s storage_id");
    if (devices) entry.device_type = static_cast<int>(number((*devices)[i], where + "'s device_index"));
    if (scopes) entry.scope = text((*scopes)[i], where + "'s storage_scope");
    graph->entries.push_back(std::move(entry));
  }
}

void read_output_names(const json& root, Graph* graph) {
  const json* names = attribute(member(root, "attrs", "the graph"), "output_names");
  if (names && names->size() != graph->outputs.size())
    bad(std::to_string(names->size()) + " output_names for " + std::to_string(graph->outputs.size()) + " outputs");
  for (size_t i = 0; i < graph->outputs.size(); ++i)
    graph->output_names.push_back(names ? text((*names)[i], "the name of an output") : output_name(i));
}

}  // namespace

Graph Graph::parse(std::string_view source) {
  json root = json::parse(source, nullptr, false);
  if (root.is_discarded()) bad("the text is not JSON");
  Graph graph;
  for (const json& item : list(member(root, "nodes", "the graph"), "nodes"))
    graph.nodes.push_back(node_of(item, graph.nodes));
  for (const json& item : list(member(root, "arg_nodes", "the graph"), "arg_nodes")) {
    graph.inputs.push_back(index(item, graph.nodes.size(), "an item of arg_nodes"));
    if (!graph.nodes[graph.inputs.back()].is_input())
      bad("node " + graph.nodes[graph.inputs.back()].name + " is in arg_nodes but calls a function");
  }
  for (const json& item : list(member(root, "heads", "the graph"), "heads"))
    graph.outputs.push_back(value_of(item, graph.nodes, "an item of heads"));
  read_entries(root, &graph);
  read_output_names(root, &graph);
  return graph;
}

}  // namespace tessera
