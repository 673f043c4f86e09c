#include "topi/cpu/transpose_kernel.h"

#include "ir/prim_ops.h"
#include "tir/buffer_access.h"

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

PrimExpr shuffled(const Var& a, const Var& b, const std::vector<int>& lanes) {
  Shuffle node;
  node.dtype = a->dtype;
  node.vectors = {a, b};
  for (int lane : lanes) node.indices.push_back(PrimExpr(lane));
  return make(std::move(node));
}

/// Vectors named one after the other.
class Names {
 public:
  Var add(PrimExpr value) {
    Var var = make_var("v" + std::to_string(steps_.size()), value.dtype());
    steps_.emplace_back(var, std::move(value));
    return var;
  }
  Stmt around(Stmt body) const {
    for (auto it = steps_.rbegin(); it != steps_.rend(); ++it)
      body = make(LetStmt{.var = it->first, .value = it->second, .body = body});
    return body;
  }

 private:
  std::vector<std::pair<Var, PrimExpr>> steps_;
};

/// Rows whose numbers differ in one bit exchange the halves, quarters, ... that have the other value of that bit.
Stmt transposed(const Buffer& from, const Buffer& to, int lanes) {
  Names names;
  std::vector<Var> rows;
  const DataType vector = from->dtype.with_lanes(lanes);
  for (int i = 0; i < lanes; ++i) rows.push_back(names.add(vload(from, {i, 0}, vector)));
  for (int step = lanes / 2; step > 0; step /= 2) {
    std::vector<int> low, high;  // of the two rows, one after the other
    for (int lane = 0; lane < lanes; ++lane) {
      const bool is_high = lane & step;
      low.push_back(is_high ? lanes + lane - step : lane);
      high.push_back(is_high ? lanes + lane : lane + step);
    }
    const auto apart = static_cast<size_t>(step);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i & apart) continue;
      Var a = rows[i], b = rows[i + apart];
      rows[i] = names.add(shuffled(a, b, low));
      rows[i + apart] = names.add(shuffled(a, b, high));
    }
  }
  std::vector<Stmt> stores;
  for (const Var& row : rows) stores.push_back(vstore(to, {static_cast<int>(stores.size()), 0}, row));
  return names.around(sequence(stores));
}

}  // namespace

te::TensorIntrin transpose_intrin(DataType dtype, int lanes) {
  te::Tensor a = te::placeholder({lanes, lanes}, dtype, "a");
  te::Tensor b =
      te::compute({lanes, lanes}, [&](const Array<PrimExpr>& at) { return te::load(a, {at[1], at[0]}); }, "b");
  Buffer from = square("A", dtype, lanes), to = square("B", dtype, lanes);
  te::TensorIntrinNode out;
  out.name = "transpose_" + dtype.str() + "_" + std::to_string(lanes);
  out.op = b->op;
  out.inputs = {a};
  out.buffers = {from, to};
  out.body = transposed(from, to, lanes);
  return make(std::move(out));
}

}  // namespace tessera::topi
