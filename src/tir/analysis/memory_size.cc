#include "tir/analysis/memory_size.h"

#include "ir/rewrite.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

int64_t aligned(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// 0 where the size is known only at run time.
int64_t bytes_of(DataType dtype, const Array<PrimExpr>& extents, int64_t alignment) {
  int64_t elements = 1;
  for (const PrimExpr& extent : extents) {
    const int64_t* value = as_int(extent);
    if (!value || __builtin_mul_overflow(elements, std::max<int64_t>(*value, 0), &elements)) return 0;
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, (int64_t{dtype.bits} * dtype.lanes + 7) / 8, &bytes)) return 0;
  return aligned(bytes, alignment);
}

void check_alignment(int64_t alignment) {
  if (alignment < 1) throw Error(ValueError) << "the alignment has to be 1 byte or more, got " << alignment;
}

}  // namespace

int64_t workspace_bytes(const PrimFunc& function, int64_t alignment) {
  check_alignment(alignment);
  int64_t now = 0, most = 0;
  Rewriter visitor;
  visitor.share_results(false);
  visitor.on([&](Rewriter& self, const Allocate* op) -> Stmt {
    int64_t bytes = bytes_of(op->dtype, op->extents, alignment);
    now += bytes;
    most = std::max(most, now);
    self(op->body);
    now -= bytes;
    return Stmt(op);
  });
  visitor(function->body);
  return most;
}

int64_t constant_bytes(const PrimFunc& function, int64_t alignment) {
  check_alignment(alignment);
  int64_t total = 0;
  walk(function->body, [&](const AllocateConst* op) { total += bytes_of(op->dtype, op->extents, alignment); });
  return total;
}

int64_t constant_bytes(const AllocateConst* op) { return bytes_of(op->dtype, op->extents, 1); }

static Globals memory_size_globals{
    {"tir.analysis.calculate_workspace_bytes", workspace_bytes},
    {"tir.analysis.calculate_constant_bytes",
     [](const PrimFunc& function, int64_t alignment) { return constant_bytes(function, alignment); }},
};

}  // namespace tessera
