#pragma once
// What a kernel computes: a primitive function of a model, and where it runs.

#include <string>
#include <utility>
#include <vector>

#include "ir/target/target.h"
#include "relay/expr.h"

namespace tessera::kernel {

/// A primitive function for a target. The anchor is its most complex operator, the last of equals: schedules are chosen by it.
struct Workload {
  relay::Function primitive;
  Target target;
  const relay::Call* anchor = nullptr;  // of the function; null when nothing is called
};
Workload workload_of(const relay::Function& primitive, const Target& target);

/// "fused_nn_conv2d_add_nn_relu": the operators in order of evaluation, shortened with a hash where that gets long.
std::string kernel_name(const relay::Function& primitive);

/// The nodes of the model that a kernel computes, as lines (see runtime/package/model_names.h); empty where nobody knows them. It is
/// no part of the kernel: nodes with equal programs share one.
std::string source_nodes(const relay::Function& primitive);

/// The tensors that a value of this type consists of, tuples opened; an error when it holds anything else.
std::vector<TensorType> tensors_of(const Type& type);
/// Where the tensors of field `index` lie among those of a tuple: the first, and one past the last.
std::pair<size_t, size_t> tensors_of_field(const TupleType* tuple, int index);

}  // namespace tessera::kernel
