// From the blocks of a ProgramDesc to a graph.

#include <algorithm>
#include <set>

#include "frontend/errors.h"
#include "frontend/paddle/paddle.h"
#include "frontend/paddle/program_desc.h"

namespace tessera::paddle {
namespace {

constexpr size_t kMaxNodes = 1'000'000;  // blocks that several operators use count for each
constexpr int kMaxBlocks = 50;           // inside each other

const std::vector<std::string>& named(const std::vector<Arguments>& all, std::string_view slot) {
  static const std::vector<std::string> none;
  for (const Arguments& one : all)
    if (one.slot == slot) return one.names;
  return none;
}

/// From blocks to graphs. Blocks inside operators use the names of those around them.
class Builder {
 public:
  explicit Builder(std::vector<BlockDesc> blocks) : blocks_(std::move(blocks)) {
    for (const BlockDesc& block : blocks_)
      for (const OpDesc& op : block.ops)
        for (const Arguments& one : op.inputs) used_.insert(one.names.begin(), one.names.end());
    if (!blocks_.empty())
      for (const VarDesc& var : blocks_[0].vars) vars_.emplace(var.name, &var);
  }

  Program program() {
    Program out;
    if (blocks_.empty()) throw Error(ValueError) << "the program has no blocks";
    const BlockDesc& main = blocks_[0];
    out.graph.framework = "PaddlePaddle";
    std::set<std::string> fed;
    std::vector<std::pair<int64_t, std::string>> inputs, outputs;
    for (const OpDesc& op : main.ops) {
      if (op.type == "feed")
        for (const std::string& name : named(op.outputs, "Out"))
          inputs.push_back({op.attributes.integer("col", 0), name}), fed.insert(name);
      if (op.type == "fetch")
        for (const std::string& name : named(op.inputs, "X"))
          outputs.push_back({op.attributes.integer("col", 0), name});
    }
    auto by_column = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(inputs.begin(), inputs.end(), by_column);
    std::stable_sort(outputs.begin(), outputs.end(), by_column);
    if (inputs.empty())  // a program that was not saved
      for (const VarDesc& var : main.vars)
        if (var.is_fed) inputs.push_back({0, var.name});
    for (const auto& [column, name] : inputs) out.graph.inputs.push_back(tensor(name));
    for (const auto& [column, name] : outputs) out.graph.outputs.push_back(name);
    used_.insert(out.graph.outputs.begin(), out.graph.outputs.end());
    for (const VarDesc& var : main.vars)
      if (var.is_persistable && var.kind == kDenseTensor && !fed.count(var.name))
        out.params.push_back(tensor(var.name));
    std::sort(out.params.begin(), out.params.end(), [](auto& a, auto& b) { return a.name < b.name; });
    if (out.graph.outputs.empty()) {
      for (const OpDesc& op : main.ops)
        for (const Arguments& one : op.outputs)
          for (const std::string& name : one.names)
            if (one.slot != "XShape" && !used_.count(name)) out.graph.outputs.push_back(name);
      used_.insert(out.graph.outputs.begin(), out.graph.outputs.end());
    }
    for (const auto* all : {&out.graph.inputs, &out.params})
      for (const GraphInput& one : *all) known_.insert(one.name);
    add_nodes(main, &out.graph, 0);
    return out;
  }

 private:
  GraphInput tensor(const std::string& name) const {
    auto found = vars_.find(name);
    if (found == vars_.end())
      throw Error(ValueError) << "the program uses the variable " << name << ", which it does not describe";
    if (found->second->kind != kDenseTensor)
      throw Error(OpNotImplemented) << "the variable " << name << " is no dense tensor, which is not supported";
    return {name, found->second->shape, type_of_number(found->second->element), true};
  }

  void add_nodes(const BlockDesc& block, GraphModel* out, int depth) {
    if (depth > kMaxBlocks)
      throw Error(ValueError) << "blocks lie inside each other deeper than " << kMaxBlocks << " levels";
    for (const OpDesc& op : block.ops) {
      if (op.type == "feed" || op.type == "fetch") continue;
      if (++nodes_ > kMaxNodes) throw Error(ValueError) << "the program has more than a million operators";
      GraphNode node;
      node.op = op.type;
      node.attributes = Fields(op.attributes.map(), op.type);
      for (const Arguments& one : op.inputs)
        for (const std::string& name : one.names) node.inputs.push_back(name), node.input_slots.push_back(one.slot);
      for (const Arguments& one : op.outputs)
        for (const std::string& name : one.names) {
          if (node.name.empty()) node.name = name;
          node.outputs.push_back(used_.count(name) ? name : "");
          node.output_slots.push_back(one.slot);
        }
      if (op.type == "while" || op.type == "conditional_block") {
        const int64_t inner = op.attributes.integer("sub_block");
        if (inner < 1 || static_cast<size_t>(inner) >= blocks_.size())
          throw Error(ValueError) << op.type << " has block " << inner << ", which the program has not";
        node.graphs.push_back(inside(op, blocks_[static_cast<size_t>(inner)], &node, depth + 1));
      }
      known_.insert(node.outputs.begin(), node.outputs.end());
      out->nodes.push_back(std::move(node));
    }
  }

  /// A branch gives what it writes; a loop takes and gives what it changes, and gives its condition at last.
  std::shared_ptr<const GraphModel> inside(const OpDesc& op, const BlockDesc& block, GraphNode* node, int depth) {
    auto out = std::make_shared<GraphModel>();
    out->outputs = named(op.outputs, "Out");
    used_.insert(out->outputs.begin(), out->outputs.end());
    node->inputs.clear(), node->input_slots.clear();
    node->outputs = out->outputs;
    node->output_slots.assign(node->outputs.size(), "Out");
    const bool is_loop = op.type == "while";
    const std::vector<std::string>& condition = named(op.inputs, is_loop ? "Condition" : "Cond");
    if (condition.size() != 1) throw Error(ValueError) << op.type << " has not one condition";
    node->inputs.push_back(condition[0]), node->input_slots.push_back("Condition");
    for (const std::string& name : out->outputs) {
      if (is_loop) out->inputs.push_back({name, {}, DataType::Float(32), true});
      node->inputs.push_back(is_loop || known_.count(name) ? name : "");  // "": a branch makes it
      node->input_slots.push_back("X");
    }
    if (is_loop) out->outputs.push_back(condition[0]);
    add_nodes(block, out.get(), depth);
    return out;
  }

  const std::vector<BlockDesc> blocks_;
  std::set<std::string> used_, known_;  // known: what has a value where nodes are being added
  std::unordered_map<std::string, const VarDesc*> vars_;
  size_t nodes_ = 0;
};

}  // namespace

Program read_program_desc(std::string_view protobuf) { return Builder(read_blocks(protobuf)).program(); }

}  // namespace tessera::paddle
