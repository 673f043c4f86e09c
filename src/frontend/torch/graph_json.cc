// The JSON of a graph:
//
//   {"inputs": [{"name", "title", "shape": [2, "batch"], "dtype": "float32"}], "params": ["fc.weight"],
//    "graph": GRAPH, "output_names": [..]}
//   GRAPH: {"inputs": ["x"], "nodes": [NODE], "outputs": [ARGUMENT]}
//   NODE: {"op": "aten::add", "overload": "Tensor", "label": "..", "args": [["self", ARGUMENT]], "results": [RESULT],
//          "blocks": [GRAPH]}
//   ARGUMENT: null, true, 1, 1.5, [ARGUMENT], {"name": value}, {"text": ".."}, {"weight": ".."}, {"complex": "..", a weight of pairs},
//             {"real": "inf"}, {"block": GRAPH}
//   RESULT: "name" or [RESULT]

#include "base/stack.h"
#include "frontend/torch/graph.h"
#include "frontend/torch/json_values.h"
#include "ir/expr.h"
#include "ir/prim/expr.h"

#include <cmath>

namespace tessera::torch {
namespace {

constexpr int kMaxNesting = 200;
constexpr size_t kMaxDims = 64;

class GraphReader {
 public:
  std::shared_ptr<Graph> graph(const ObjectRef& from) {
    if (++depth_ > kMaxNesting) bad_graph("graphs are nested too deep");
    auto out = std::make_shared<Graph>();
    ObjectRef inputs = find_entry(from, "inputs"), nodes = find_entry(from, "nodes"),
              ends = find_entry(from, "outputs");
    for (const ObjectRef& name : list_in(inputs, "inputs")) out->inputs.push_back(text_in(name, "an input"));
    for (const ObjectRef& one : list_in(nodes, "nodes"))
      out->nodes.push_back(on_enough_stack([&] { return node(one); }));
    for (const ObjectRef& one : list_in(ends, "outputs")) out->outputs.push_back(argument(one));
    --depth_;
    return out;
  }

 private:
  Node node(const ObjectRef& from) {
    Node out;
    out.op = text_entry(from, "op");
    out.overload = text_entry(from, "overload", false);
    out.label = text_entry(from, "label", false);
    ObjectRef args = find_entry(from, "args"), results = find_entry(from, "results"),
              blocks = find_entry(from, "blocks");
    for (const ObjectRef& one : list_in(args, "args")) {
      const std::vector<ObjectRef>& pair = list_in(one, "an argument");
      if (pair.size() != 2) bad_graph("an argument of " + out.op + " is no pair of a name and a value");
      out.args.emplace_back(text_in(pair[0], "the name of an argument"), argument(pair[1]));
    }
    for (const ObjectRef& one : list_in(results, "results")) out.results.push_back(result(one));
    for (const ObjectRef& one : list_in(blocks, "blocks")) out.blocks.push_back(graph(one));
    return out;
  }

  Result result(const ObjectRef& from) {
    Result out;
    if (auto* text = from.as<StringNode>()) {
      out.name = text->text;
      return out;
    }
    if (++depth_ > kMaxNesting) bad_graph("results are nested too deep");
    out.is_list = true;
    for (const ObjectRef& one : list_in(from, "a result")) out.items.push_back(result(one));
    --depth_;
    return out;
  }

  Argument argument(const ObjectRef& from) {
    Argument out;
    if (!from) return out;
    if (auto* number = from.as<IntImm>()) {
      out.kind = number->dtype.is_bool() ? Argument::Bool : Argument::Int;
      out.integer = number->value;
    } else if (auto* real = from.as<FloatImm>()) {
      out.kind = Argument::Float;
      out.real = real->value;
    } else if (from.as<ArrayNode>()) {
      if (++depth_ > kMaxNesting) bad_graph("arguments are nested too deep");
      out.kind = Argument::List;
      for (const ObjectRef& one : list_in(from, "an argument"))
        out.items.push_back(on_enough_stack([&] { return argument(one); }));
      --depth_;
    } else if (auto* map = from.as<MapNode>(); map && map->entries.size() == 1) {
      tagged(from, &out);
    } else {
      bad_graph("an argument is neither a number nor a list nor {kind: text}");
    }
    return out;
  }

  void tagged(const ObjectRef& from, Argument* out) {
    if (ObjectRef block = find_entry(from, "block")) {
      out->kind = Argument::Block;
      out->block = graph(block);
      return;
    }
    constexpr std::pair<const char*, Argument::Kind> kinds[] = {{"name", Argument::Name},
                                                                {"text", Argument::Text},
                                                                {"weight", Argument::Weight},
                                                                {"complex", Argument::Weight},
                                                                {"real", Argument::Float}};
    for (const auto& [key, kind] : kinds)
      if (ObjectRef text = find_entry(from, key)) {
        out->kind = kind;
        out->text = text_in(text, key);
        out->integer = std::string_view(key) == "complex";
        if (kind == Argument::Float)
          out->real = out->text == "inf" ? INFINITY : out->text == "-inf" ? -INFINITY : std::nan("");
        return;
      }
    bad_graph("an argument is of an unknown kind");
  }

  int depth_ = 0;
};

Input input_from(const ObjectRef& from) {
  Input out;
  out.name = text_entry(from, "name");
  out.title = text_entry(from, "title", false);
  if (out.title.empty()) out.title = out.name;
  out.dtype = DataType(text_entry(from, "dtype"));
  ObjectRef shape = find_entry(from, "shape");
  for (const ObjectRef& extent : list_in(shape, "shape")) {
    Input::Dim dim;
    if (auto* number = extent.as<IntImm>()) dim.extent = number->value;
    else dim.name = text_in(extent, "an extent");
    if (dim.extent < -1 || dim.extent > INT32_MAX) bad_graph("the input " + out.title + " has an extent out of range");
    out.shape.push_back(dim);
  }
  if (out.shape.size() > kMaxDims) bad_graph("the input " + out.title + " has too many dimensions");
  return out;
}

}  // namespace

Program read_graph(std::string_view text) {
  ObjectRef root = parse_json(text);
  Program out;
  GraphReader reader;
  out.graph = *reader.graph(find_entry(root, "graph"));
  ObjectRef inputs = find_entry(root, "inputs"), params = find_entry(root, "params"),
            names = find_entry(root, "output_names");
  for (const ObjectRef& one : list_in(inputs, "inputs")) out.inputs.push_back(input_from(one));
  for (const ObjectRef& one : list_in(params, "params")) out.params.push_back(text_in(one, "a parameter"));
  for (const ObjectRef& one : list_in(names, "output_names")) out.output_names.push_back(text_in(one, "a name"));
  return out;
}

void set_shapes(Program* program, const std::unordered_map<std::string, std::vector<int64_t>>& shapes) {
  std::unordered_map<std::string, int64_t> fixed;
  for (Input& input : program->inputs) {
    auto given = shapes.find(input.title);
    if (given == shapes.end()) continue;
    if (given->second.size() != input.shape.size())
      throw Error(ValueError) << "the input " << input.title << " has " << input.shape.size() << " dimensions, not "
                              << given->second.size();
    for (size_t i = 0; i < input.shape.size(); ++i) {
      Input::Dim& dim = input.shape[i];
      const int64_t extent = given->second[i];
      if (dim.extent >= 0 && extent != dim.extent)
        throw Error(ValueError) << "dimension " << i << " of the input " << input.title << " is " << dim.extent
                                << " in the program, not " << extent << "; export it with a dynamic dimension";
      if (extent >= 0 && !dim.name.empty()) fixed.emplace(dim.name, extent);
      if (extent >= 0) dim.extent = extent;
    }
  }
  for (Input& input : program->inputs)
    for (Input::Dim& dim : input.shape)
      if (auto it = fixed.find(dim.name); dim.extent < 0 && it != fixed.end()) dim.extent = it->second;
}

}  // namespace tessera::torch
