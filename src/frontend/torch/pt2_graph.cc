#include "frontend/torch/pt2_graph.h"

#include "base/stack.h"
#include "frontend/torch/json_values.h"
#include "ir/expr.h"
#include "ir/prim/expr.h"

#include <cmath>
#include <tuple>

namespace tessera::torch {
namespace {

constexpr int kMaxNestedGraphs = 200;
constexpr size_t kMaxDims = 64;

/// Of {kind: value}, the kind; entries that are null do not count.
std::pair<std::string, ObjectRef> union_of(const ObjectRef& from, const char* what) {
  auto* map = from.as<MapNode>();
  if (!map) bad_graph(std::string(what) + " is no object");
  std::pair<std::string, ObjectRef> out;
  for (const auto& [key, value] : map->entries) {
    auto* name = key.as<StringNode>();
    if (!name || name->text == "$type" || (map->entries.size() > 1 && !value)) continue;
    out = {name->text, value};
  }
  if (out.first.empty()) bad_graph(std::string(what) + " is empty");
  return out;
}

/// "torch.ops.aten.add.Tensor" -> {"aten::add", "Tensor"}; "_operator.add" -> {"operator::add", ""}.
std::pair<std::string, std::string> operator_of(std::string target) {
  constexpr std::string_view kOps = "torch.ops.", kHigher = "higher_order.";
  if (target.starts_with(kOps)) {
    target = target.substr(kOps.size());
    if (target.starts_with(kHigher)) return {"higher_order::" + target.substr(kHigher.size()), ""};
    const size_t first = target.find('.'), last = target.rfind('.');
    if (first == std::string::npos) bad_graph("the target " + target + " is no operator");
    if (first == last) return {target.substr(0, first) + "::" + target.substr(first + 1), ""};
    return {target.substr(0, first) + "::" + target.substr(first + 1, last - first - 1), target.substr(last + 1)};
  }
  const size_t dot = target.rfind('.');
  const std::string owner = dot == std::string::npos ? "" : target.substr(0, dot), name = target.substr(dot + 1);
  return {(owner == "math" ? "math::" : "operator::") + name, ""};
}

class ExportReader {
 public:
  Graph graph(const ObjectRef& from) {
    if (++depth_ > kMaxNestedGraphs) bad_graph("graphs are nested too deep");
    Graph out;
    for (const ObjectRef& one : list_in(find_entry(from, "inputs"), "inputs"))
      if (Argument input = argument(one); input.kind == Argument::Name) out.inputs.push_back(input.text);
    for (const ObjectRef& one : list_in(find_entry(from, "nodes"), "nodes"))
      out.nodes.push_back(on_enough_stack([&] { return node(one); }));
    for (const ObjectRef& one : list_in(find_entry(from, "outputs"), "outputs")) out.outputs.push_back(argument(one));
    --depth_;
    return out;
  }

  Argument argument(const ObjectRef& from) {
    auto [kind, value] = union_of(from, "an argument");
    Argument out;
    if (kind == "as_none") return out;
    if (kind == "as_tensor" || kind == "as_custom_obj") return named(text_entry(value, "name"));
    if (kind == "as_int" || kind == "as_float" || kind == "as_bool") return number(value);
    if (kind == "as_string" || kind == "as_operator") return texted(text_in(value, "a text"));
    if (kind == "as_name") return named(text_in(value, "a name"));
    if (kind == "as_scalar_type") {
      out.kind = Argument::Int;
      out.integer = scalar_type_of_export(integer_in(value, "an element type"));
      return out;
    }
    if (kind == "as_memory_format" || kind == "as_layout") {
      out.kind = Argument::Int;
      return out;
    }
    if (kind == "as_device") return texted(text_entry(value, "type"));
    if (kind == "as_graph") {
      out.kind = Argument::Block;
      out.block = std::make_shared<Graph>(graph(needed_entry(value, "graph")));
      return out;
    }
    if (kind == "as_optional_tensor" || kind == "as_sym_int" || kind == "as_sym_bool" || kind == "as_sym_float")
      return value.as<MapNode>() ? deeper(value) : number(value);
    if (kind == "as_expr") return number(find_entry(value, "hint"));
    return list(kind, value);
  }

 private:
  static Argument named(std::string name) {
    Argument out;
    out.kind = Argument::Name;
    out.text = std::move(name);
    return out;
  }
  static Argument texted(std::string text) {
    Argument out;
    out.kind = Argument::Text;
    out.text = std::move(text);
    return out;
  }
  static Argument number(const ObjectRef& value) {
    Argument out;
    if (auto* integer = value.as<IntImm>()) {
      out.kind = integer->dtype.is_bool() ? Argument::Bool : Argument::Int;
      out.integer = integer->value;
    } else if (auto* real = value.as<FloatImm>()) {
      out.kind = Argument::Float;
      out.real = real->value;
    } else if (auto* text = value.as<StringNode>()) {  // "Infinity"
      out.kind = Argument::Float;
      out.real = text->text == "Infinity" ? INFINITY : text->text == "-Infinity" ? -INFINITY : std::nan("");
    } else if (value) {
      bad_graph("a number is none");
    }
    return out;
  }
  Argument deeper(const ObjectRef& value) {
    if (++depth_ > kMaxNestedGraphs) bad_graph("arguments are nested too deep");
    Argument out = on_enough_stack([&] { return argument(value); });
    --depth_;
    return out;
  }
  Argument list(const std::string& kind, const ObjectRef& value) {
    const bool is_known = kind == "as_tensors" || kind == "as_ints" || kind == "as_floats" || kind == "as_bools" ||
                          kind == "as_strings" || kind == "as_sym_ints" || kind == "as_sym_bools" ||
                          kind == "as_sym_floats" || kind == "as_optional_tensors" || kind == "as_nested_tensors" ||
                          kind == "as_int_lists";
    if (!is_known) bad_graph("an argument of the kind " + kind + " is not supported");
    if (++depth_ > kMaxNestedGraphs) bad_graph("arguments are nested too deep");
    Argument out;
    out.kind = Argument::List;
    for (const ObjectRef& one : list_in(value, "an argument")) {
      if (kind == "as_tensors") out.items.push_back(named(text_entry(one, "name")));
      else if (kind == "as_nested_tensors") out.items.push_back(list("as_tensors", one));
      else if (kind == "as_int_lists") out.items.push_back(list("as_ints", one));
      else if (kind == "as_strings") out.items.push_back(texted(text_in(one, "a text")));
      else if (one.as<MapNode>()) out.items.push_back(on_enough_stack([&] { return argument(one); }));
      else out.items.push_back(number(one));
    }
    --depth_;
    return out;
  }

  static Result result_of(const Argument& argument) {
    Result out;
    if (argument.kind == Argument::Name) out.name = argument.text;
    if (argument.kind == Argument::List) {
      out.is_list = true;
      for (const Argument& item : argument.items) out.items.push_back(result_of(item));
    }
    return out;
  }

  Node node(const ObjectRef& from) {
    Node out;
    std::tie(out.op, out.overload) = operator_of(text_entry(from, "target"));
    size_t to_drop = 0;  // of what surrounds a graph that is run as it is
    if (out.op == "higher_order::wrap_with_set_grad_enabled") to_drop = 1;
    if (out.op == "higher_order::wrap_with_autocast") to_drop = 4;
    if (to_drop) out.op = "higher_order::inlined";
    for (const ObjectRef& one : list_in(find_entry(from, "inputs"), "inputs")) {
      Argument own = argument(needed_entry(one, "arg"));
      if (to_drop > 0) {
        --to_drop;
        continue;
      }
      if (own.kind == Argument::Block) out.blocks.push_back(own.block);
      else out.args.emplace_back(text_entry(one, "name", false), std::move(own));
    }
    for (const ObjectRef& one : list_in(find_entry(from, "outputs"), "outputs"))
      out.results.push_back(result_of(argument(one)));
    if (!out.results.empty())
      out.label =
          out.results[0].is_list && !out.results[0].items.empty() ? out.results[0].items[0].name : out.results[0].name;
    return out;
  }

  int depth_ = 0;
};

/// What the file says of an input's type.
Input input_of_meta(const std::string& name, const ObjectRef& meta) {
  Input out;
  out.name = out.title = name;
  out.dtype = element_type_of(scalar_type_of_export(integer_in(needed_entry(meta, "dtype"), "an element type")));
  for (const ObjectRef& one : list_in(find_entry(meta, "sizes"), "sizes")) {
    auto [kind, value] = union_of(one, "an extent");
    Input::Dim dim;
    if (kind == "as_int") dim.extent = integer_in(value, "an extent");
    else if (kind == "as_expr") dim.name = text_entry(value, "expr_str");
    else bad_graph("the input " + name + " has an extent of an unknown kind");
    if (dim.extent < -1 || dim.extent > INT32_MAX) bad_graph("the input " + name + " has an extent out of range");
    out.shape.push_back(std::move(dim));
  }
  if (out.shape.size() > kMaxDims) bad_graph("the input " + name + " has too many dimensions");
  return out;
}

}  // namespace

int64_t scalar_type_of_export(int64_t number) {
  if (number == 13) return 15;  // bfloat16
  return number - 1;
}

ExportedProgramText read_exported_graph(std::string_view json) {
  ObjectRef root = parse_json(json);
  if (ObjectRef inner = find_entry(root, "exported_program")) root = inner;
  ObjectRef module = needed_entry(root, "graph_module"), graph = needed_entry(module, "graph");
  ObjectRef signature = needed_entry(module, "signature"), metas = find_entry(graph, "tensor_values");
  ExportReader reader;
  ExportedProgramText out;
  out.program.graph = reader.graph(graph);
  for (const ObjectRef& one : list_in(find_entry(signature, "input_specs"), "input_specs")) {
    auto [kind, spec] = union_of(one, "an input");
    if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant") {
      const std::string name = text_entry(needed_entry(spec, "arg"), "name");
      out.weights.emplace_back(name, text_entry(spec, (kind + "_name").c_str()));
    } else if (kind == "user_input") {
      auto [type, value] = union_of(needed_entry(spec, "arg"), "an input");
      if (type == "as_tensor") {
        const std::string name = text_entry(value, "name");
        out.program.inputs.push_back(input_of_meta(name, needed_entry(metas, name.c_str())));
      } else if (type == "as_sym_int") {
        throw Error(NotImplementedError) << "a number as an input of the program is not supported";
      }  // other constants stand where they are used
    } else if (kind == "token" || kind == "custom_obj") {
      throw Error(NotImplementedError) << "inputs of the kind " << kind << " are not supported";
    } else if (kind != "constant_input") {
      bad_graph("an input of the kind " + kind);
    }
  }
  std::vector<Argument> outputs;
  for (const ObjectRef& one : list_in(find_entry(signature, "output_specs"), "output_specs")) {
    auto [kind, spec] = union_of(one, "an output");
    if (kind == "user_output") outputs.push_back(reader.argument(needed_entry(spec, "arg")));
  }
  out.program.graph.outputs = std::move(outputs);
  for (const Argument& output : out.program.graph.outputs)
    if (output.kind == Argument::Name) out.program.output_names.push_back(output.text);
  return out;
}

}  // namespace tessera::torch
