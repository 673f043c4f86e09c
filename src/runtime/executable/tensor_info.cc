#include "runtime/executable/tensor_info.h"

namespace tessera {
namespace {

/// What would give a tensor the wanted shape; empty where nothing simple does.
std::string shape_cure(std::span<const int64_t> given, const std::vector<int64_t>& wanted) {
  if (wanted.size() == given.size() + 1 && (wanted[0] == 1 || wanted[0] < 0) &&
      fits(given, {wanted.begin() + 1, wanted.end()}))
    return "its first dimension is missing: give x[None]";
  if (given.size() == wanted.size() + 1 && given[0] == 1 && fits(given.subspan(1), wanted))
    return "it has a first dimension too many: give x[0]";
  static const std::vector<std::vector<size_t>> orders{{1, 0}, {2, 0, 1}, {1, 2, 0}, {0, 3, 1, 2}, {0, 2, 3, 1}};
  for (const std::vector<size_t>& order : orders) {
    if (order.size() != given.size()) continue;
    std::vector<int64_t> moved;
    std::string axes;
    for (size_t axis : order) {
      moved.push_back(given[axis]);
      axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
    }
    if (fits(moved, wanted)) return "its dimensions are in another order: give x.transpose(" + axes + ")";
  }
  return "";
}

}  // namespace

bool fits(std::span<const int64_t> given, const std::vector<int64_t>& wanted) {
  if (given.size() != wanted.size()) return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (wanted[i] >= 0 && given[i] != wanted[i]) return false;
  return true;
}

std::string text_of(const TensorInfo& info) {
  std::string out;
  for (size_t i = 0; i < info.shape.size(); ++i) {
    std::string open = info.dims.empty() || info.dims[i].empty() ? "?" : info.dims[i];
    out += (i ? ", " : "") + (info.shape[i] < 0 ? open : std::to_string(info.shape[i]));
  }
  return "(" + out + (info.shape.size() == 1 ? ",) " : ") ") + to_text(info.dtype);
}

void check_input(const TensorInfo& wanted, const DLTensor* given) {
  std::span<const int64_t> shape(given->shape, static_cast<size_t>(given->ndim));
  const bool has_shape = fits(shape, wanted.shape), has_type = DataType(given->dtype) == wanted.dtype;
  if (has_shape && has_type) return;
  Error error(ValueError);
  error << "input \"" << wanted.name << "\" is " << text_of(wanted) << ", but the tensor given is " << describe(given);
  if (!has_type) error << "; convert it with .astype(\"" << to_text(wanted.dtype) << "\")";
  if (std::string cure = has_shape ? "" : shape_cure(shape, wanted.shape); !cure.empty()) error << "; " << cure;
  throw error;
}

void check_inputs(const std::vector<TensorInfo>& wanted, std::span<const NDArray> given) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i >= given.size() || !given[i])
      throw Error(ValueError) << "input \"" << wanted[i].name << "\" is missing; it is " << text_of(wanted[i]);
    check_input(wanted[i], given[i].tensor());
  }
}

}  // namespace tessera
