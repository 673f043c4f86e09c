#include "driver/cli/inspect/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "driver/cli/cli.h"
#include "runtime/package/model_names.h"

namespace tessera::cli {

std::string count_text(double value) {
  const char* units[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units)) value /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}{}", value, units[unit]);
}

std::string shape_text(const TensorFact& tensor) {
  if (!tensor.has_shape) return "of unknown rank";
  std::string out = "(";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    std::string name = i < tensor.extents.size() ? tensor.extents[i] : "";
    out += i ? ", " : "";
    if (tensor.shape[i] >= 0) out += std::to_string(tensor.shape[i]);
    else out += (name.empty() ? "" : name + ": ") + "Any";
  }
  return out + (tensor.shape.size() == 1 ? ",)" : ")");
}

relay::Cost Facts::total() const {
  relay::Cost out;
  for (const OperatorFact& fact : operators) out += fact.cost;
  return out;
}

namespace {

void row(std::string_view name, const std::string& text) { fmt::print("{:<10}{}\n", name, text); }

void print_tensors(const char* title, const std::vector<TensorFact>& tensors) {
  size_t names = 0, types = 0;
  for (const TensorFact& tensor : tensors) {
    names = std::max(names, tensor.name.size());
    types = std::max(types, tensor.dtype.size());
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    row(i ? "" : title, fmt::format("{:<{}}  {:<{}}  {}", printable(tensors[i].name), names, tensors[i].dtype, types,
                                    printable(shape_text(tensors[i]))));
}

void print_operators(const Facts& facts) {
  if (facts.operators.empty()) return;
  size_t width = 8;
  for (const OperatorFact& fact : facts.operators) width = std::max(width, fact.name.size());
  fmt::print("\n{:<{}}{:>8}", "operator", width, "count");
  if (facts.has_cost) fmt::print("{:>10}{:>10}{:>9}", "MACs", "FLOPs", "share");
  fmt::print("\n");
  relay::Cost total = facts.total();
  for (const OperatorFact& fact : facts.operators) {
    fmt::print("{:<{}}{:>8}", printable(fact.name), width, fact.count);
    if (facts.has_cost && fact.cost.flops)
      fmt::print("{:>10}{:>10}{:>8.1f}%", fact.cost.macs ? count_text(double(fact.cost.macs)) : "",
                 count_text(double(fact.cost.flops)), 100.0 * double(fact.cost.flops) / double(total.flops));
    if (!fact.rule.empty()) fmt::print("  by {}", printable(fact.rule));
    fmt::print("\n");
    for (const std::string& nodes : fact.nodes) fmt::print("  {}\n", printable(source_nodes_text(nodes)));
  }
}

void print_unsupported(const Facts& facts) {
  if (facts.unsupported.empty()) return;
  fmt::print("\nnot supported\n");
  for (const UnsupportedFact& node : facts.unsupported) {
    std::string version = node.version ? fmt::format(" {}", node.version) : "";
    std::string where = node.domain.empty() ? version : fmt::format(" of {}{}", node.domain, version);
    fmt::print("  {}, {}: {}{}{}\n", printable(node.op + where),
               node.node.empty() ? "a node without a name" : printable(node.node), printable(node.reason),
               node.is_invalid ? " (the file is wrong here)" : "",
               node.follows_another ? " (it uses the result of a node that is not supported)" : "");
  }
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

template <class T>
ObjectRef value(const T& given) {
  return json_value(given);
}

Array<ObjectRef> json_of(const std::vector<TensorFact>& tensors) {
  Array<ObjectRef> out;
  for (const TensorFact& tensor : tensors) {
    JsonObject object{{"name", String(tensor.name)}, {"dtype", String(tensor.dtype)}};
    if (tensor.has_shape) {
      Array<ObjectRef> shape;
      for (int64_t extent : tensor.shape) shape.push_back(value(extent));
      object.set("shape", shape);
    }
    JsonObject names;
    for (size_t i = 0; i < tensor.extents.size(); ++i)
      if (!tensor.extents[i].empty()) names.set(String(std::to_string(i)), String(tensor.extents[i]));
    if (!names.empty()) object.set("extents", names);
    out.push_back(object);
  }
  return out;
}

void add_cost(JsonObject& object, const relay::Cost& cost) {
  object.set("macs", value(cost.macs));
  object.set("flops", value(cost.flops));
}

/// For each call of a kernel the list of nodes that it computes.
Array<ObjectRef> calls_of(const OperatorFact& kernel) {
  Array<ObjectRef> out;
  for (const std::string& lines : kernel.nodes) {
    Array<ObjectRef> names;
    for (const std::string& name : source_node_list(lines)) names.push_back(String(name));
    out.push_back(names);
  }
  return out;
}

Array<ObjectRef> operators_of(const Facts& facts) {
  Array<ObjectRef> out;
  for (const OperatorFact& fact : facts.operators) {
    JsonObject object{{"name", String(fact.name)}, {"count", value(fact.count)}};
    if (facts.has_cost) add_cost(object, fact.cost);
    if (!fact.rule.empty()) object.set("rule", String(fact.rule));
    if (!fact.plans.empty()) object.set("plans", json_list(fact.plans));
    if (!fact.nodes.empty()) object.set("nodes", calls_of(fact));
    out.push_back(object);
  }
  return out;
}

Array<ObjectRef> unsupported_of(const Facts& facts) {
  Array<ObjectRef> out;
  for (const UnsupportedFact& node : facts.unsupported)
    out.push_back(JsonObject{{"operator", String(node.op)},
                             {"domain", String(node.domain)},
                             {"version", value(node.version)},
                             {"node", String(node.node)},
                             {"reason", String(node.reason)},
                             {"kind", String(node.is_invalid ? "invalid" : "unsupported")},
                             {"follows_another", value(node.follows_another)}});
  return out;
}

}  // namespace

void print(const Facts& facts) {
  row("model", fmt::format("{} ({}, {})", printable(facts.path), facts.format, bytes_text(facts.file_bytes)));
  for (const auto& [name, text] : facts.notes) row(name, printable(text));
  print_tensors("inputs", facts.inputs);
  print_tensors("outputs", facts.outputs);
  if (facts.parameter_tensors)
    row("weights", fmt::format("{} numbers in {} tensors, {}", count_text(double(facts.parameters)),
                               facts.parameter_tensors, bytes_text(facts.parameter_bytes)));
  if (relay::Cost total = facts.total(); facts.has_cost)
    row("work", fmt::format("{} MACs, {} FLOPs{}", count_text(double(total.macs)), count_text(double(total.flops)),
                            total.is_dynamic ? " with unknown extents counted as 1; --input-shapes fixes them" : ""));
  for (size_t i = 0; i < facts.members.size(); ++i)
    row(i ? "" : "members",
        fmt::format("{:<24}{}", printable(facts.members[i].first), bytes_text(facts.members[i].second)));
  print_operators(facts);
  print_unsupported(facts);
}

std::string to_json_text(const Facts& facts) {
  JsonObject out{{"model", String(facts.path)},
                 {"format", String(facts.format)},
                 {"file_bytes", value(static_cast<int64_t>(facts.file_bytes))},
                 {"inputs", json_of(facts.inputs)},
                 {"outputs", json_of(facts.outputs)},
                 {"operators", operators_of(facts)},
                 {"parameters", JsonObject{{"count", value(facts.parameters)},
                                           {"tensors", value(facts.parameter_tensors)},
                                           {"bytes", value(static_cast<int64_t>(facts.parameter_bytes))}}},
                 {"unsupported", unsupported_of(facts)}};
  for (const auto& [name, text] : facts.notes) out.set(String(name), String(text));
  for (const auto& [name, value] : facts.values) out.set(name, value);
  if (facts.has_cost) {
    relay::Cost total = facts.total();
    add_cost(out, total);
    out.set("has_dynamic_extents", value(total.is_dynamic));
  }
  if (!facts.members.empty()) {
    JsonObject members;
    for (const auto& [name, bytes] : facts.members) members.set(String(name), value(static_cast<int64_t>(bytes)));
    out.set("members", members);
  }
  return to_json(out);
}

}  // namespace tessera::cli
