#include "topi/cpu/transpose_kernel.h"

#include "ir/prim/ops.h"
#include "tir/buffer_access.h"
#include "topi/cpu/contraction/register_tile.h"

namespace tessera::topi {
namespace {

Buffer square(const char* name, DataType dtype, int lanes) {
  BufferNode node;
  node.data = make_var(name, pointer_type(dtype));
  node.dtype = dtype;
  node.shape = {lanes, lanes};
  node.strides = {make_var(std::string(name) + "_stride", DataType::Int(32)), PrimExpr(1)};
  node.elem_offset = make_var(std::string(name) + "_offset", DataType::Int(32));
  node.name = name;
  node.offset_factor = 1;
  return make(std::move(node));
}

}  // namespace

std::vector<int64_t> interleaved_lanes(int64_t lanes, bool is_second_half) {
  std::vector<int64_t> out;
  for (int64_t i = is_second_half ? lanes / 2 : 0; std::ssize(out) < lanes; ++i) out.insert(out.end(), {i, lanes + i});
  return out;
}

te::TensorIntrin transpose_intrin(DataType dtype, int lanes, bool interleaves) {
  te::Tensor a = te::placeholder({lanes, lanes}, dtype, "a");
  te::Tensor b =
      te::compute({lanes, lanes}, [&](const Array<PrimExpr>& at) { return te::load(a, {at[1], at[0]}); }, "b");
  Buffer from = square("A", dtype, lanes), to = square("B", dtype, lanes);
  te::TensorIntrinNode out;
  out.name = "transpose_" + dtype.str() + "_" + std::to_string(lanes) + (interleaves ? "_zip" : "");
  out.op = b->op;
  out.inputs = {a};
  out.buffers = {from, to};
  std::vector<PrimExpr> rows;
  for (int i = 0; i < lanes; ++i) rows.push_back(vload(from, {i, 0}, dtype.with_lanes(lanes)));
  out.body = transposed(rows, interleaves, [&](const std::vector<PrimExpr>& columns) {
    std::vector<Stmt> stores;
    for (int i = 0; i < lanes; ++i) stores.push_back(vstore(to, {i, 0}, columns[static_cast<size_t>(i)]));
    return sequence(stores);
  });
  return make(std::move(out));
}

}  // namespace tessera::topi
