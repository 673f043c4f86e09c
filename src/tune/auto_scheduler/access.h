#pragma once
// How the operations of a DAG read each other, and what follows for schedules.

#include <map>
#include <unordered_map>

#include "te/tensor.h"

namespace tessera::auto_scheduler {

/// What is known of one operation.
struct OpFacts {
  bool is_simple_access = false;          // every read is by axes, shifted by constants at most
  bool is_strictly_inlineable = false;    // element-wise, cheap and without branches
  bool needs_multi_level_tiling = false;  // values are read again for other elements
  bool is_output = false;
  /// The operations that are read, with the indices of each read; and those that read this one.
  std::vector<std::pair<te::Operation, std::vector<Array<PrimExpr>>>> reads;
  std::vector<te::Operation> consumers;
};

class Accesses {
 public:
  Accesses() = default;
  explicit Accesses(const Array<te::Operation>& ops);

  const OpFacts& of(const te::Operation& op) const;
  /// The outer axes that a consumer shares with its producer: of the same extents, read at its own index.
  int common_outer_axes(const te::Operation& op, const te::Operation& consumer) const;
  /// From `op` to `target` each has one consumer, of the same shape and read element by element.
  bool is_elementwise_match(const te::Operation& op, const te::Operation& target) const;

 private:
  std::unordered_map<const te::OperationNode*, OpFacts> facts_;
};

/// True when `index` is `axis` plus a constant.
bool is_shifted(const PrimExpr& index, const IterVar& axis);

}  // namespace tessera::auto_scheduler
