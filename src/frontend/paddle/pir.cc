// PIR: operators in SSA form with regions inside them, as JSON.

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/json.h"
#include "frontend/errors.h"
#include "frontend/paddle/paddle.h"
#include "frontend/paddle/pir_names.h"

namespace tessera::paddle {
namespace {

constexpr int kMaxRegions = 50;  // inside each other
constexpr size_t kMaxValues = 10'000'000;

DataType element_type(const Fields& type) {
  static const std::unordered_map<std::string, const char*> names{
      {"bool", "bool"},   {"bf16", "bfloat16"}, {"f16", "float16"}, {"f32", "float32"}, {"f64", "float64"},
      {"i8", "int8"},     {"i16", "int16"},     {"i32", "int32"},   {"i64", "int64"},   {"ui8", "uint8"},
      {"ui16", "uint16"}, {"ui32", "uint32"},   {"ui64", "uint64"}, {"index", "int64"}};
  const std::string name = type.text("#");
  const size_t begin = name.find(".t_");
  auto found = names.find(begin == name.npos ? name : name.substr(begin + 3));
  if (found == names.end())
    throw Error(OpNotImplemented) << "tensors of the element type " << name << " are not supported";
  return DataType(found->second);
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// A tensor's type: {"#": "0.t_dtensor", "D": [element, extents, layout, ...]}.
GraphInput tensor_of(const std::string& name, const Fields& value) {
  Fields type = value.object("TT");
  std::vector<ObjectRef> parts = type.list("D");
  if (!ends_with(type.text("#"), ".t_dtensor") || parts.size() < 2)
    throw Error(OpNotImplemented) << "the value " << name << " is no dense tensor, which is not supported";
  GraphInput out;
  out.name = name;
  out.dtype = element_type(Fields(parts[0], name));
  for (const ObjectRef& extent : list_of(parts[1], name))
    out.shape.push_back(integer_of(extent, "an extent of " + name));
  return out;
}

/// {"#": type, "D": value}, where the value may be a list of such; "VD" has numbers that JSON cannot say.
ObjectRef attribute_value(const ObjectRef& given, int depth) {
  constexpr int kMaxDepth = 20;
  auto* map = given.as<MapNode>();
  if (!map || depth > kMaxDepth) return given;
  Fields fields(given, "an attribute");
  if (fields.has("VD")) {
    const std::string text = fields.text("VD");
    return number_boxes.box_float(text == "INF" ? INFINITY : text == "-INF" ? -INFINITY : NAN);
  }
  ObjectRef value = fields.get("D");
  auto* list = value.as<ArrayNode>();
  if (!list) return value;
  Array<ObjectRef> out;
  for (const ObjectRef& item : list->items) out.push_back(attribute_value(item, depth + 1));
  return out;
}

class Reader {
 public:
  Program program(const Fields& file) {
    out_.graph.framework = "PaddlePaddle";
    Fields program = file.object("program");
    std::vector<ObjectRef> regions = program.list("regions");
    if (regions.size() != 1) throw Error(ValueError) << "the program has " << regions.size() << " regions, not one";
    find_used(regions[0], 0);
    std::vector<std::string> yielded;
    read_region(regions[0], &out_.graph, &yielded, 0);
    auto by_column = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(inputs_.begin(), inputs_.end(), by_column);
    std::stable_sort(outputs_.begin(), outputs_.end(), by_column);
    for (auto& [column, input] : inputs_) out_.graph.inputs.push_back(std::move(input));
    for (auto& [column, name] : outputs_) out_.graph.outputs.push_back(name);
    if (out_.graph.outputs.empty()) out_.graph.outputs = leaves_;
    std::sort(out_.params.begin(), out_.params.end(), [](auto& a, auto& b) { return a.name < b.name; });
    return std::move(out_);
  }

 private:
  using Names = std::vector<std::string>;

  static std::vector<ObjectRef> ops_of(const ObjectRef& region) {
    std::vector<ObjectRef> blocks = Fields(region, "a region").list("blocks");
    if (blocks.size() != 1) throw Error(ValueError) << "a region has " << blocks.size() << " blocks, not one";
    return Fields(blocks[0], "a block").list("ops");
  }

  void find_used(const ObjectRef& region, int depth) {
    if (depth > kMaxRegions)
      throw Error(ValueError) << "regions lie inside each other deeper than " << kMaxRegions << " levels";
    for (const ObjectRef& given : ops_of(region)) {
      Fields op(given, "an operator");
      for (const ObjectRef& input : op.list("I")) used_.insert(Fields(input, "an input").integer("%"));
      for (const ObjectRef& inner : op.list("regions")) find_used(inner, depth + 1);
    }
  }

  /// The values that a number stands for: one, several where it is a list, none where it is 0.
  const Names& names_of(int64_t value) {
    static const Names none;
    if (value == 0) return none;
    auto found = names_.find(value);
    if (found == names_.end())
      throw Error(ValueError) << "the program uses the value %" << value << " before anything makes it";
    return found->second;
  }
  const Names& define(int64_t value, Names names) {
    if ((values_ += names.size() + 1) > kMaxValues)
      throw Error(ValueError) << "the program has more than ten million values";
    return names_.insert_or_assign(value, std::move(names)).first->second;
  }
  static std::string plain_name(int64_t value) { return "%" + std::to_string(value); }

  Fields attributes_of(const Fields& op, const PirName& name) const {
    Fields out(nullptr, name.op);
    for (const ObjectRef& given : op.list("A")) {
      Fields pair(given, "an attribute");
      std::string own = pair.text("N");
      auto renamed = name.attributes.find(own);
      out.set(renamed == name.attributes.end() ? own : renamed->second, attribute_value(pair.get("AT"), 0));
    }
    return out;
  }

  void read_region(const ObjectRef& region, GraphModel* graph, Names* yielded, int depth) {
    for (const ObjectRef& given : ops_of(region)) {
      Fields op(given, "an operator");
      const std::string kind = op.text("#");
      const size_t dot = kind.find('.');
      const std::string name = dot == kind.npos ? kind : kind.substr(dot + 1);
      if (name == "yield" && kind[0] != '1') {
        for (const ObjectRef& input : op.list("I"))
          for (const std::string& one : names_of(Fields(input, "an input").integer("%"))) yielded->push_back(one);
      } else if (kind == "p" || name == "parameter") {
        parameter(op);
      } else if (kind[0] == '0') {
        move_values(name, op);
      } else if (kind[0] != '1') {
        throw Error(OpNotImplemented) << "operators of a dialect that is not Paddle's are not supported: " << kind;
      } else if (!is_border(name, op, depth)) {
        graph->nodes.push_back(node_of(name, op, depth));
      }
    }
  }

  void parameter(const Fields& op) {
    std::vector<ObjectRef> attributes = op.list("A");
    Fields value = op.object("O");
    if (attributes.size() < 4) throw Error(ValueError) << "a parameter has no name";
    const std::string name = text_of(attributes[3], "the name of a parameter");
    std::vector<ObjectRef> kinds = op.list("OA");  // persistable first
    if (!kinds.empty() && integer_of(kinds[0], name) == 0) {
      define(value.integer("%"), {});  // a state of training, which no file holds and no converter asks for
      return;
    }
    out_.params.push_back(tensor_of(name, value));
    define(value.integer("%"), {name});
  }

  static std::vector<Fields> results_of(const Fields& op) {
    std::vector<Fields> out;
    for (const ObjectRef& one : op.list("O")) out.emplace_back(one, "a result");
    return out;
  }

  /// Lists of values are made and taken apart.
  void move_values(const std::string& name, const Fields& op) {
    Names all;
    for (const ObjectRef& input : op.list("I"))
      for (const std::string& one : names_of(Fields(input, "an input").integer("%"))) all.push_back(one);
    std::vector<Fields> results = results_of(op);
    if (name == "combine" && results.size() == 1) {
      define(results[0].integer("%"), all);
    } else if (name == "split" && results.size() == all.size()) {
      for (size_t i = 0; i < all.size(); ++i) define(results[i].integer("%"), {all[i]});
    } else if (name == "slice" && results.size() == 1) {
      const int64_t index = attributes_of(op, {}).integer("index");
      if (index < 0 || static_cast<size_t>(index) >= all.size())
        throw Error(ValueError) << "value " << index << " of a list of " << all.size();
      define(results[0].integer("%"), {all[static_cast<size_t>(index)]});
    } else if (name == "shadow_output" && all.size() == 1) {
      outputs_.push_back({0, all[0]});
    } else {
      throw Error(OpNotImplemented) << "The following operators are not supported for frontend PaddlePaddle: builtin."
                                    << name;
    }
  }

  /// True for what only says where values enter and leave.
  bool is_border(const std::string& name, const Fields& op, int depth) {
    const bool enters = name == "data" || name == "feed";
    if (!enters && name != "fetch") return false;
    if (depth) throw Error(ValueError) << "an input or output of the program stands inside a region";
    Fields attributes = attributes_of(op, {});
    const int64_t column = attributes.integer("col", 0);
    if (enters) {
      std::vector<Fields> results = results_of(op);
      if (results.size() != 1) throw Error(ValueError) << "an input of the program has not one value";
      GraphInput input = tensor_of(attributes.text("name"), results[0]);
      define(results[0].integer("%"), {input.name});
      inputs_.push_back({column, std::move(input)});
    } else {
      for (const ObjectRef& input : op.list("I"))
        for (const std::string& one : names_of(Fields(input, "an input").integer("%")))
          outputs_.push_back({column, one});
    }
    return true;
  }

  GraphNode node_of(const std::string& given, const Fields& op, int depth) {
    PirName name = pir_name(given);
    GraphNode out;
    out.op = name.op;
    out.attributes = attributes_of(op, name);
    auto slot = [](const Names& slots, size_t i) {
      return slots.empty() ? std::string() : slots[std::min(i, slots.size() - 1)];
    };
    size_t index = 0;
    for (const ObjectRef& input : op.list("I")) {
      for (const std::string& one : names_of(Fields(input, "an input").integer("%")))
        out.inputs.push_back(one), out.input_slots.push_back(slot(name.inputs, index));
      ++index;
    }
    std::vector<ObjectRef> regions = op.list("regions");
    if (!regions.empty()) read_inner(given, regions, &out, depth + 1);
    index = 0;
    for (const Fields& result : results_of(op)) {
      const int64_t value = result.integer("%");
      if (out.name.empty()) out.name = plain_name(value);
      Names names{plain_name(value)};
      Fields type = result.object("TT");
      if (ends_with(type.text("#"), ".t_vec")) {
        names.clear();
        for (size_t i = 0; i < type.list("D").size(); ++i) names.push_back(plain_name(value) + ":" + std::to_string(i));
      }
      const bool is_used = used_.count(value) > 0;
      for (const std::string& one : define(value, names)) {
        // A program that was not saved gives what nobody uses.
        if (depth == 0 && !is_used && index == 0) leaves_.push_back(one);
        out.outputs.push_back(is_used || (depth == 0 && index == 0) ? one : "");
        out.output_slots.push_back(slot(name.outputs, index));
      }
      ++index;
    }
    return out;
  }

  /// Branches and loops. A loop's graph gives its condition at last.
  void read_inner(const std::string& op, const std::vector<ObjectRef>& regions, GraphNode* out, int depth) {
    if (op != "if" && op != "while")
      throw Error(OpNotImplemented) << "The following operators are not supported for frontend PaddlePaddle: " << op;
    for (const ObjectRef& region : regions) {
      auto graph = std::make_shared<GraphModel>();
      std::vector<ObjectRef> blocks = Fields(region, "a region").list("blocks");
      if (blocks.size() != 1) throw Error(ValueError) << "a region has " << blocks.size() << " blocks, not one";
      for (const ObjectRef& given : Fields(blocks[0], "a block").list("args")) {
        Fields argument(given, "an argument");
        const int64_t value = argument.integer("#");
        graph->inputs.push_back({define(value, {plain_name(value)})[0], {}, DataType::Float(32), true});
      }
      read_region(region, graph.get(), &graph->outputs, depth);
      if (op == "while" && !graph->outputs.empty())
        std::rotate(graph->outputs.begin(), graph->outputs.begin() + 1, graph->outputs.end());
      out->graphs.push_back(std::move(graph));
    }
    for (size_t i = 0; i < out->input_slots.size(); ++i) out->input_slots[i] = i == 0 ? "Condition" : "X";
  }

  Program out_;
  std::vector<std::pair<int64_t, GraphInput>> inputs_;
  std::vector<std::pair<int64_t, std::string>> outputs_;
  Names leaves_;
  std::unordered_map<int64_t, Names> names_;
  std::unordered_set<int64_t> used_;
  size_t values_ = 0;
};

}  // namespace

bool is_pir(std::string_view bytes) {
  constexpr size_t kHead = 4096;  // the mark stands at the beginning, whatever its spaces
  std::string_view head = bytes.substr(0, kHead);
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == head.npos || head[begin] != '{') return false;
  std::string plain;
  for (char c : head)
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') plain += c;
  return plain.find("\"base_code\":{") != plain.npos && plain.find("\"magic\":\"pir\"") != plain.npos;
}

Program read_pir(std::string_view json) {
  Fields file(parse_json(json), "the program");
  if (file.object("base_code").text("magic") != "pir")
    throw Error(ValueError) << "this is no program of PaddlePaddle: it is not marked as PIR";
  return Reader().program(file);
}

}  // namespace tessera::paddle
