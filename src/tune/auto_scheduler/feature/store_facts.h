#pragma once
// How a store lies in its loops: what it computes, which buffers it reads and writes, and how often the same elements.

#include <map>
#include <string>
#include <vector>

#include "arith/analyzer.h"
#include "tir/stmt.h"

namespace tessera::auto_scheduler {

/// Operations of an expression, by kind.
struct OpCounts {
  double float_addsub = 0, float_mul = 0, float_divmod = 0, float_cmp = 0, float_math = 0, float_other = 0;
  double int_addsub = 0, int_mul = 0, int_divmod = 0, int_cmp = 0, int_math = 0, int_other = 0;
  double bool_op = 0, select_op = 0;
  double floats() const { return float_addsub + float_mul + float_divmod + float_cmp + float_math + float_other; }
};
OpCounts count_ops(const PrimExpr& e);

/// All accesses of a store to one buffer.
struct BufferAccess {
  Buffer buffer;
  bool is_read = false, is_write = false;
  std::vector<Array<PrimExpr>> indices;
};
/// The buffer that is written comes first.
std::vector<BufferAccess> accesses_of(const BufferStore* store);

/// A loop, or a thread, around a store.
struct LoopFacts {
  Var var;
  PrimExpr min;
  int64_t extent = 1;
  /// Of each buffer the elements touched in one run of this loop, once for each store inside that was seen so far.
  struct Touched {
    const Object* buffer;
    std::vector<int64_t> elements;
    int64_t element_bytes;
  };
  std::vector<Touched> touched;

  const Touched* of(const Object* buffer) const;
  double touched_bytes() const;
};

/// Elements along each dimension that accesses touch, by the bounds of `analyzer`.
std::vector<int64_t> touched_region(const BufferAccess& access, arith::Analyzer& analyzer);
/// Elements of memory between neighbouring iterations of a loop; 0 where the access does not depend on it.
int64_t stride_of(const BufferAccess& access, const Var& loop);

enum class Reuse { LoopMultipleRead, SerialMultipleReadWrite, None };
struct ReuseFacts {
  Reuse kind = Reuse::None;
  double distance_iterations = 0, distance_bytes = 0, count = 0;
};
/// The nearest reuse of elements, from the innermost loop outwards.
ReuseFacts reuse_of(const BufferAccess& access, const std::vector<LoopFacts*>& loops);

}  // namespace tessera::auto_scheduler
