#include "topi/cpu/nbits/nbits_data.h"

#include "ir/prim/ops.h"
#include "topi/cpu/contraction/register_tile.h"
#include "topi/cpu/lets.h"
#include "topi/cpu/number.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

const DataType kFloat32 = DataType::Float(32), kInt8 = DataType::Int(8), kInt32 = DataType::Int(32);
constexpr int64_t kLanes = NBitsMatmul::kMinBlock;  // of a step
constexpr double kMaxInt8 = 127;

DataType vector_of(DataType dtype) { return dtype.with_lanes(static_cast<int>(kLanes)); }

PrimExpr constants(const std::vector<double>& values) {
  Array<PrimExpr> scalars, indices;
  for (size_t i = 0; i < values.size(); ++i) {
    scalars.push_back(make_const(kFloat32, values[i]));
    indices.push_back(number(static_cast<int64_t>(i)));
  }
  return make_shuffle(scalars, indices);
}

using Combine = PrimExpr (*)(PrimExpr, PrimExpr);
PrimExpr add(PrimExpr a, PrimExpr b) { return a + b; }
PrimExpr larger(PrimExpr a, PrimExpr b) { return max(a, b); }

/// One number from all lanes: halves are combined until one is left.
PrimExpr combined(PrimExpr vector, Combine combine, Lets& lets) {
  for (int64_t half = vector.dtype().lanes / 2; half > 0; half /= 2) {
    const PrimExpr whole = lets("part", vector);
    Array<PrimExpr> low, high;
    for (int64_t lane = 0; lane < half; ++lane) low.push_back(number(lane)), high.push_back(number(lane + half));
    vector = combine(make_shuffle({whole}, low), make_shuffle({whole}, high));
  }
  return vector;
}

}  // namespace

Stmt NBitsData::for_floats(const std::function<Stmt()>& body) {
  values = decl_buffer({rows * number(k)}, kFloat32, "values", "global");
  sums = decl_buffer({rows * number(blocks())}, kFloat32, "block_sums", "global");
  const int64_t per = matmul.per_step();
  Array<PrimExpr> order;
  std::vector<double> factors;
  for (int64_t i = 0; i < kLanes; ++i) {
    const int64_t position = i % per;
    order.push_back(number(i - position + matmul.k_of(position)));
    const int64_t bit = position + 1 < per ? position * matmul.bits : 0;
    factors.push_back(1.0 / static_cast<double>(int64_t{1} << bit));
  }
  Buffer sum = decl_buffer({number(kLanes)}, kFloat32, "sum", "local");
  auto block_of = [&](const PrimExpr& row, const PrimExpr& block) {
    Stmt steps = loop_over("step", number(matmul.block / kLanes), [&](const PrimExpr& step) {
      const PrimExpr first = block * number(matmul.block) + step * number(kLanes);
      Lets lets;
      const PrimExpr x = lets("x", cast(vector_of(kFloat32), load(row, first, kLanes)));
      return lets.around(
          sequence({store_vector(values, row * number(k) + first, make_shuffle({x}, order) * constants(factors)),
                    store_vector(sum, number(0), load_vector(sum, number(0), kLanes, kLanes) + x)}));
    });
    Lets lets;
    const PrimExpr total = combined(load_vector(sum, number(0), kLanes, kLanes), add, lets);
    Stmt end = lets.around(store(sums, total, {row * number(blocks()) + block}));
    return sequence({store_vector(sum, number(0), make_zero(vector_of(kFloat32))), steps, end});
  };
  Stmt copies = loop_over("row", rows, [&](const PrimExpr& row) {
    return loop_over("block", number(blocks()), [&](const PrimExpr& block) { return block_of(row, block); });
  });
  return allocated(values, allocated(sums, sequence({allocated(sum, copies), body()})));
}

Stmt NBitsData::for_int8(const std::function<Stmt()>& body) {
  values = decl_buffer({rows * number(k)}, kInt8, "values", "global");
  sums = decl_buffer({rows * number(blocks())}, kFloat32, "block_sums", "global");
  scales = decl_buffer({rows * number(blocks())}, kFloat32, "block_scales", "global");
  Buffer most = decl_buffer({number(kLanes)}, kFloat32, "most", "local"),
         sum = decl_buffer({number(kLanes)}, kInt32, "sum", "local");
  auto in_lanes = [](const Buffer& buffer) { return load_vector(buffer, number(0), kLanes, kLanes); };
  auto block_of = [&](const PrimExpr& row, const PrimExpr& block) {
    const PrimExpr at = row * number(blocks()) + block;
    auto steps = [&](const std::function<Stmt(const PrimExpr& first, const PrimExpr& x)>& step_of) {
      return loop_over("step", number(matmul.block / kLanes), [&](const PrimExpr& step) {
        const PrimExpr first = block * number(matmul.block) + step * number(kLanes);
        Lets lets;
        const PrimExpr x = lets("x", cast(vector_of(kFloat32), load(row, first, kLanes)));
        return lets.around(step_of(first, x));
      });
    };
    const PrimExpr zeros = make_zero(vector_of(kFloat32));
    Stmt range = steps([&](const PrimExpr&, const PrimExpr& x) {
      return store_vector(most, number(0), max(in_lanes(most), max(x, zeros - x)));
    });
    Lets lets;
    const PrimExpr magnitude = lets("magnitude", combined(in_lanes(most), larger, lets));
    const PrimExpr limit = make_const(kFloat32, kMaxInt8), none = make_zero(kFloat32);
    const PrimExpr inverse = lets("inverse", select(magnitude > none, div(limit, magnitude), none));
    Stmt quantized = steps([&](const PrimExpr& first, const PrimExpr& x) {
      Lets of_step;
      const PrimExpr whole = of_step("whole", cast(vector_of(kInt32), nearbyint(x * make_broadcast(inverse, kLanes))));
      return of_step.around(sequence({store_vector(values, row * number(k) + first, cast(vector_of(kInt8), whole)),
                                      store_vector(sum, number(0), in_lanes(sum) + whole)}));
    });
    Lets of_sum;
    const PrimExpr total = combined(in_lanes(sum), add, of_sum);
    Stmt after = sequence({store(scales, div(magnitude, limit), {at}), quantized,
                           of_sum.around(store(sums, cast(kFloat32, total), {at}))});
    return sequence({store_vector(most, number(0), zeros), store_vector(sum, number(0), make_zero(vector_of(kInt32))),
                     range, lets.around(after)});
  };
  Stmt copies = loop_over("row", rows, [&](const PrimExpr& row) {
    return loop_over("block", number(blocks()), [&](const PrimExpr& block) { return block_of(row, block); });
  });
  copies = allocated(most, allocated(sum, copies));
  return allocated(values, allocated(sums, allocated(scales, sequence({copies, body()}))));
}

Stmt NBitsData::for_gemm(bool is_parallel, const std::function<Stmt()>& body) {
  values = decl_buffer({rows * number(stride())}, kFloat32, "values", "global");
  Stmt copies = loop_over(
      "row", rows,
      [&](const PrimExpr& row) {
        return loop_over("step", number(k / kLanes), [&](const PrimExpr& step) {
          const PrimExpr first = step * number(kLanes);
          return store_vector(values, row * number(stride()) + first,
                              cast(vector_of(kFloat32), load(row, first, kLanes)));
        });
      },
      is_parallel ? LoopKind::Parallel : LoopKind::Serial);
  return allocated(values, sequence({copies, body()}));
}

}  // namespace tessera::topi
