#pragma once
// Tensors computed by a program with an order: writing by index, scans, searches. The pieces below write such a
// program as a statement over whole buffers.
//
//   program("reverse", {x}, {{x->shape, x->dtype}}, [&](const Buffers& in, const Buffers& out) {
//     return loop(n, [&](const PrimExpr& i) { return store(out[0], make_load(in[0], {n - 1 - i}), {i}); });
//   });

#include "te/tensor.h"

namespace tessera::topi {

using Buffers = std::vector<Buffer>;
using Indices = Array<PrimExpr>;

struct Result {
  Indices shape;
  DataType dtype;
};

/// `axis`, which counts from the end where it is negative.
inline int counted_axis(int axis, const te::Tensor& x) {
  return axis < 0 ? axis + static_cast<int>(x->shape.size()) : axis;
}

/// The tensors that `body` writes, as an extern operation called and tagged `name`.
Array<te::Tensor> program(const String& name, const Array<te::Tensor>& inputs, const std::vector<Result>& results,
                          const std::function<Stmt(const Buffers& in, const Buffers& out)>& body);

Stmt store(const Buffer& buffer, PrimExpr value, Indices indices);
Stmt when(PrimExpr condition, Stmt then_case, Stmt else_case = nullptr);
/// body(0); body(1); ...
Stmt loop(const PrimExpr& extent, const std::function<Stmt(const PrimExpr&)>& body, LoopKind kind = LoopKind::Serial);
/// One iteration for each index of `shape`. The outermost loop of more than one is parallel where iterations are
/// independent.
Stmt loops(const Indices& shape, const std::function<Stmt(const Indices&)>& body, bool is_independent = false);
/// Again and again, while it holds.
Stmt loop_while(PrimExpr condition, Stmt body);
/// A few elements of memory that exist inside `body`.
Stmt with_memory(DataType dtype, int extent, const std::function<Stmt(const Buffer&)>& body);
/// The same for as many as a run decides, on the heap.
Stmt with_scratch(DataType dtype, const PrimExpr& extent, const std::function<Stmt(const Buffer&)>& body);
/// A call of the function of that name in the registry; a buffer is passed as a tensor.
struct PackedArgument {
  PackedArgument(const Buffer& buffer);
  PackedArgument(PrimExpr value) : value(std::move(value)) {}
  PrimExpr value;
};
Stmt call_function(const char* name, const std::vector<PackedArgument>& args);

/// A variable of a program.
class Cell {
 public:
  Cell(Buffer memory, int index) : memory_(std::move(memory)), index_(index) {}
  PrimExpr operator()() const;
  Stmt set(const PrimExpr& value) const;
  Stmt add(int amount) const;

 private:
  Buffer memory_;
  int index_;
};

}  // namespace tessera::topi
