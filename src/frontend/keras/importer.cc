#include "frontend/keras/importer.h"

#include <algorithm>

#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::keras {

using namespace relay;  // NOLINT: makers of calls

Expr moved_to_second(const Expr& x, size_t rank) {
  std::vector<int64_t> axes{0, static_cast<int64_t>(rank) - 1};
  for (size_t i = 1; i + 1 < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return transpose(x, int_array(axes));
}

Expr moved_to_last(const Expr& x, size_t rank) {
  std::vector<int64_t> axes{0};
  for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  axes.push_back(1);
  return transpose(x, int_array(axes));
}

Expr KerasImporter::mark_moved(Expr value) {
  moved_.emplace(value.get(), value);
  return value;
}

Expr KerasImporter::as_keras(const Expr& value) {
  if (!is_moved(value)) return value;
  auto [it, is_new] = as_keras_.try_emplace(value.get());
  if (is_new) {
    it->second = typed(moved_to_last(value, rank_of(value)));
    as_moved_.emplace(it->second.get(), value);
  }
  return it->second;
}

Expr KerasImporter::as_moved(const Expr& value) {
  if (is_moved(value)) return value;
  auto [it, is_new] = as_moved_.try_emplace(value.get());
  if (is_new) {
    it->second = mark_moved(typed(moved_to_second(value, rank_of(value))));
    as_keras_.emplace(it->second.get(), value);
  }
  return it->second;
}

Expr KerasImporter::entering(const GraphInput&, Expr value) {
  typed(value);
  return moves_channels_ && rank_of(value) >= 4 ? mark_moved(value) : value;
}

Expr KerasImporter::leaving(Expr value) {
  if (moves_channels_ && rank_of(value) >= 4) return as_moved(value);
  return as_keras(value);
}

Exprs KerasImporter::convert(const GraphNode& node, const LayerConverter&, Exprs inputs) {
  const KerasRow& row = keras_rows().at(node.op);
  bool is_any_moved =
      std::any_of(inputs.begin(), inputs.end(), [&](const Expr& x) { return x.defined() && is_moved(x); });
  if (row.order == Order::AsIs && is_any_moved) {
    const size_t rank = rank_of(*std::find_if(inputs.begin(), inputs.end(), [&](auto& x) { return is_moved(x); }));
    is_any_moved = std::all_of(inputs.begin(), inputs.end(), [&](auto& x) { return rank_of(x) == rank; });
  }
  const bool stays_moved = row.order == Order::AsIs && is_any_moved;
  for (Expr& input : inputs)
    if (input.defined() && row.order != Order::Spatial) input = stays_moved ? as_moved(input) : as_keras(input);
  KerasLayer layer(*this, node, std::move(inputs), stays_moved);
  Exprs outputs = row.convert(layer);
  for (Expr& output : outputs) {
    typed(output);
    if (stays_moved) mark_moved(output);
  }
  return outputs;
}

KerasLayer::KerasLayer(KerasImporter& importer, const GraphNode& node, Exprs inputs, bool is_moved)
    : LayerNode(importer, node, std::move(inputs)), keras_(importer), is_moved_(is_moved) {}

Expr KerasLayer::channels_second(size_t i) const {
  if (rank((*this)[i]) < 2) invalid("the input has no channels");
  return keeps_channels_last() ? keras_.as_moved((*this)[i]) : keras_.as_keras((*this)[i]);
}

Expr KerasLayer::from_channels_second(Expr value) const {
  typed(value);
  return keeps_channels_last() && rank(value) > 2 ? keras_.mark_moved(value) : value;
}

int KerasLayer::memory_axis(int64_t given, size_t rank) const {
  const int axis = this->axis(given, rank), last = static_cast<int>(rank) - 1;
  if (!is_moved_ || axis == 0) return axis;
  return axis == last ? 1 : axis + 1;
}

Exprs KerasLayer::call(const std::string& op, const Fields& config, std::vector<std::string> weights,
                       Exprs inputs) const {
  auto row = keras_rows().find(op);
  if (row == keras_rows().end()) unsupported("the layer " + op + " inside it");
  GraphNode node;
  node.op = op, node.name = this->node().name, node.attributes = config, node.weights = std::move(weights);
  for (Expr& input : inputs) typed(input);
  Exprs out = keras_.convert(node, nullptr, std::move(inputs));
  for (Expr& value : out) value = keras_.as_keras(value);
  return out;
}

const std::unordered_map<std::string, KerasRow>& keras_rows() {
  static const auto rows = [] {
    std::unordered_map<std::string, KerasRow> out;
    for (auto family : {attention_rows, core_rows, merge_rows, recurrent_rows, window_rows})
      for (const KerasRow& row : family()) out.emplace(row.op, row);
    return out;
  }();
  return rows;
}

bool moves_channels(const std::string& layout) {
  if (layout == "NCHW") return true;
  if (layout == "NHWC" || layout == "NDHWC") return false;
  throw Error(ValueError) << "the layout of a Keras model is NCHW, NHWC or NDHWC, not " << layout;
}

Imported import_keras(const GraphModel& model, const std::string& layout, const GraphOptions& options,
                      std::vector<UnsupportedNode>* unsupported) {
  const bool moves = moves_channels(layout);
  LayerTable names;
  for (const auto& [name, row] : keras_rows()) names.emplace(name, nullptr);
  reject_missing(model, names, unsupported);
  GraphModel given = model;  // shapes of the configuration have their channels last
  if (moves)
    for (GraphInput& input : given.inputs)
      if (input.shape.size() >= 4) std::rotate(input.shape.begin() + 1, input.shape.end() - 1, input.shape.end());
  return KerasImporter(given, names, moves, options, unsupported).run();
}

}  // namespace tessera::keras
