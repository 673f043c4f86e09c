// Elements that are only moved.

#include <algorithm>
#include <cstring>

#include "ir/prim/ops.h"
#include "op/evaluate/evaluate.h"
#include "op/evaluate/loops.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "tir/layout.h"

namespace tessera::op {
namespace {

size_t element_bytes(const NDArray& tensor) { return static_cast<size_t>(tensor.dtype().bits) / 8; }

/// The part of `out` that starts at element `offset` and has the shape of `in` becomes `in`.
void copy_to(const NDArray& in, const NDArray& out, int64_t offset) {
  std::vector<int64_t> to = row_major(out.shape()), from = row_major(in.shape());
  std::vector<CopyLoop> loops;
  for (size_t i = 0; i < to.size(); ++i) loops.push_back({in.shape()[i], to[i], from[i]});
  char* start = out.data<char>() + offset * static_cast<int64_t>(element_bytes(out));
  copy_elements(std::move(loops), element_bytes(in), in.data<char>(), start);
}

/// A dimension of a layout: how far a step goes along the primal axis, how many there are, and how far in memory.
struct Part {
  int64_t step, extent, stride;
};

std::vector<Part> parts_of(const Layout& layout, char primal, std::span<const int64_t> shape) {
  std::vector<int64_t> strides = row_major(shape);
  std::vector<Part> out;
  for (size_t i = 0; i < shape.size(); ++i)
    if (layout->primal(i) == primal) out.push_back({layout->step_of(i), shape[i], strides[i]});
  return out;
}

int64_t extent_of(const std::vector<Part>& parts) {
  int64_t out = 1;
  for (const Part& part : parts) out *= part.extent;
  return out;
}

/// How far in memory `steps` of the primal axis go.
int64_t stride_at(const std::vector<Part>& parts, int64_t steps) {
  const Part* nearest = nullptr;
  for (const Part& part : parts)
    if (part.step <= steps && (!nearest || part.step > nearest->step)) nearest = &part;
  return nearest->stride * (steps / nearest->step);
}

/// The loops over one primal axis: as many as both layouts need. False where they do not divide each other.
bool add_loops(const std::vector<Part>& from, const std::vector<Part>& to, std::vector<CopyLoop>* out) {
  if (extent_of(from) != extent_of(to)) return false;  // padding is written
  std::vector<int64_t> steps{extent_of(from)};
  for (const std::vector<Part>& parts : {from, to})
    for (const Part& part : parts) steps.push_back(part.step);
  std::sort(steps.begin(), steps.end());
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i + 1] % steps[i] != 0) return false;
    if (steps[i + 1] > steps[i])
      out->push_back({steps[i + 1] / steps[i], stride_at(to, steps[i]), stride_at(from, steps[i])});
  }
  return true;
}

}  // namespace

NDArray evaluate_view(const relay::Call* call, const std::vector<NDArray>& args) {
  return args[0].view(*relay::fixed_shape(call->checked_type_), args[0].dtype());
}

NDArray evaluate_transpose(const relay::Call* call, const std::vector<NDArray>& args) {
  const Array<PrimExpr>& given = call->attrs.as<relay::TransposeAttrs>()->axes;
  auto rank = static_cast<int64_t>(args[0].shape().size());
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t* axis = given.defined() && !given.empty() ? as_int(given[static_cast<size_t>(i)]) : nullptr;
    if (given.defined() && !given.empty() && !axis) return nullptr;
    axes.push_back(!axis ? rank - 1 - i : *axis < 0 ? *axis + rank : *axis);
  }
  NDArray out = result_of(call);
  std::vector<int64_t> from = row_major(args[0].shape()), to = row_major(out.shape());
  std::vector<CopyLoop> loops;
  for (size_t i = 0; i < axes.size(); ++i) loops.push_back({out.shape()[i], to[i], from[static_cast<size_t>(axes[i])]});
  copy_elements(std::move(loops), element_bytes(out), args[0].data<char>(), out.data<char>());
  return out;
}

NDArray evaluate_broadcast(const relay::Call* call, const std::vector<NDArray>& args) {
  NDArray out = result_of(call);
  std::vector<int64_t> from = row_major(args[0].shape()), to = row_major(out.shape());
  if (from.size() > to.size()) return nullptr;
  size_t missing = to.size() - from.size();
  std::vector<CopyLoop> loops;
  for (size_t i = 0; i < to.size(); ++i) {
    bool is_broadcast = i < missing || args[0].shape()[i - missing] == 1;
    loops.push_back({out.shape()[i], to[i], is_broadcast ? 0 : from[i - missing]});
  }
  copy_elements(std::move(loops), element_bytes(out), args[0].data<char>(), out.data<char>());
  return out;
}

NDArray evaluate_layout_transform(const relay::Call* call, const std::vector<NDArray>& args) {
  auto* attrs = call->attrs.as<relay::LayoutTransformAttrs>();
  Layout source = make_layout(attrs->src_layout), target = make_layout(attrs->dst_layout);
  std::vector<int64_t> shape = *relay::fixed_shape(call->checked_type_);
  if (source->axes.size() != args[0].shape().size() || target->axes.size() != shape.size()) return nullptr;
  std::vector<CopyLoop> loops;
  for (size_t i = 0; i < target->axes.size(); ++i) {
    if (!target->is_primal(i)) continue;
    char axis = target->primal(i);
    if (!add_loops(parts_of(source, axis, args[0].shape()), parts_of(target, axis, shape), &loops)) return nullptr;
  }
  NDArray out = result_of(call);
  copy_elements(std::move(loops), element_bytes(out), args[0].data<char>(), out.data<char>());
  return out;
}

NDArray evaluate_pad(const relay::Call* call, const std::vector<NDArray>& args) {
  auto* attrs = call->attrs.as<relay::PadAttrs>();
  if (attrs->pad_mode != "constant" || args.size() != 2 || args[1].size() != 1 || args[1].dtype() != args[0].dtype())
    return nullptr;
  NDArray out = result_of(call);
  std::vector<int64_t> strides = row_major(out.shape());
  int64_t offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    std::optional<std::vector<int64_t>> width = relay::fixed_ints(attrs->pad_width[i]);
    if (!width || (*width)[0] < 0 || (*width)[1] < 0) return nullptr;
    offset += (*width)[0] * strides[i];
  }
  copy_elements({{out.size(), 1, 0}}, element_bytes(out), args[1].data<char>(), out.data<char>());
  copy_to(args[0], out, offset);
  return out;
}

NDArray evaluate_concatenate(const relay::Call* call, const std::vector<NDArray>& args) {
  NDArray out = result_of(call);
  auto axis = static_cast<int64_t>(call->attrs.as<relay::ConcatenateAttrs>()->axis);
  auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(out.shape().size()) : axis);
  std::vector<int64_t> strides = row_major(out.shape());
  int64_t offset = 0;
  for (const NDArray& arg : args) {
    copy_to(arg, out, offset);
    offset += arg.shape()[at] * strides[at];
  }
  return out;
}

}  // namespace tessera::op
