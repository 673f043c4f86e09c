#include "driver/cli/diff/first_difference.h"

#include <algorithm>
#include <unordered_set>

#include "base/progress.h"

namespace tessera::cli {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr size_t kMaxLayers = 500;  // in one program

class Search {
 public:
  Search(Side& a, Side& b, const std::vector<LayerInfo>& layers, const NamedTensors& inputs, const Tolerance& tolerance)
      : a_(a), b_(b), layers_(layers), inputs_(inputs), tolerance_(tolerance) {}

  /// Group by group, every layer of a group in one program.
  std::optional<LayerDifference> in_groups() {
    for (size_t begin = 0, end; begin < layers_.size(); begin = end) {
      end = begin + 1;
      for (uint64_t bytes = layers_[begin].bytes;
           end < layers_.size() && end - begin < kMaxLayers && bytes + layers_[end].bytes <= kMaxBytes; ++end)
        bytes += layers_[end].bytes;
      if (auto found = look_at(begin, end)) return found;
    }
    return std::nullopt;
  }

  /// One layer in each program.
  std::optional<LayerDifference> by_bisection() {
    std::optional<LayerDifference> found;
    for (size_t low = 0, high = layers_.size(); low < high;) {
      size_t middle = low + (high - low) / 2;
      if (auto here = look_at(middle, middle + 1)) {
        found = here;
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (found) found->by_bisection = true;
    return found;
  }

 private:
  std::optional<LayerDifference> look_at(size_t begin, size_t end) {
    begin_stage("compare layers");
    std::vector<std::string> names;
    for (size_t i = begin; i < end; ++i) names.push_back(layers_[i].name);
    std::vector<NDArray> left = a_.values(inputs_, names), right = b_.values(inputs_, names);
    for (size_t i = begin; i < end; ++i) {
      const NDArray& value = left[i - begin];
      Difference difference = compare(value, right[i - begin], tolerance_);
      if (difference.agrees) {
        error_before_ = std::max(error_before_, difference.max_abs);
        continue;
      }
      LayerDifference out{.layer = layers_[i], .index = i, .count = layers_.size()};
      out.shape.assign(value.shape().begin(), value.shape().end());
      out.dtype = to_text(value.dtype());
      out.difference = difference;
      out.error_before = error_before_;
      return out;
    }
    return std::nullopt;
  }

  Side &a_, &b_;
  const std::vector<LayerInfo>& layers_;
  const NamedTensors& inputs_;
  const Tolerance& tolerance_;
  double error_before_ = 0;
};

}  // namespace

std::vector<LayerInfo> common_layers(Side& a, Side& b) {
  std::vector<LayerInfo> of_a = a.layers(), of_b = b.layers(), out;
  bool by_name_a = a.has_layers_by_name(), by_name_b = b.has_layers_by_name();
  if (by_name_a) std::swap(of_a, of_b), std::swap(by_name_a, by_name_b);
  std::unordered_set<std::string> known;
  for (const LayerInfo& layer : of_b) known.insert(layer.name);
  for (const LayerInfo& layer : of_a)
    if (by_name_b ? !layer.in_function : known.count(layer.name) != 0) out.push_back(layer);
  return out;
}

std::optional<LayerDifference> first_difference(Side& a, Side& b, const std::vector<LayerInfo>& layers,
                                                const NamedTensors& inputs, const Tolerance& tolerance,
                                                bool outputs_differ) {
  Search search(a, b, layers, inputs, tolerance);
  if (auto found = search.in_groups()) return found;
  return outputs_differ ? search.by_bisection() : std::nullopt;
}

}  // namespace tessera::cli
