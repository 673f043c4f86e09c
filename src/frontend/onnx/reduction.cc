// Reductions.

#include "frontend/onnx/importer.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Axes are an attribute, or since version 13 (sum) and 18 (the others) an input.
template <const char* op>
Values reduction(Operation& in) {
  std::optional<std::vector<int64_t>> axes = in.integers_or_input("axes", 1);
  bool keeps = in.integer("keepdims", 1) != 0;
  if (!axes || axes->empty()) {
    if (in.integer("noop_with_empty_axes", 0) != 0) return {in[0]};
    return {reduce(op, in[0], nullptr, keeps)};
  }
  return {reduce(op, in[0], int_array(*axes), keeps)};
}

constexpr char kMax[] = "max", kMean[] = "mean", kMin[] = "min", kProd[] = "prod", kSum[] = "sum";

}  // namespace

Rows reduction_rows() {
  return {
      {"ReduceMax", 1, reduction<kMax>},   {"ReduceMean", 1, reduction<kMean>}, {"ReduceMin", 1, reduction<kMin>},
      {"ReduceProd", 1, reduction<kProd>}, {"ReduceSum", 1, reduction<kSum>},
  };
}

}  // namespace tessera::onnx
