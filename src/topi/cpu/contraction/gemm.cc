#include "topi/cpu/contraction/gemm.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/cpu/contraction/micro_kernel.h"

namespace tessera::topi {
namespace {

/// Multiplications below which copying panels costs more than they bring.
constexpr int64_t kMinSteps = 1 << 14;
/// Rows of a product whose rows are dynamic, for the choice of its tiles.
constexpr int64_t kGuessedRows = 96;
/// Steps of k of a micro-kernel: longer ones reuse nothing more.
constexpr int64_t kMaxStep = 512;

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

/// The extents; those before the last may be dynamic where `may_be_dynamic`, and are then 0.
std::optional<std::vector<int64_t>> numbers(const Array<PrimExpr>& shape, bool may_be_dynamic = false) {
  std::vector<int64_t> out;
  for (const PrimExpr& extent : shape) {
    const int64_t* value = as_int(extent);
    const bool is_dynamic = !value && may_be_dynamic && out.size() + 1 < shape.size();
    if (!is_dynamic && (!value || *value < 1)) return {};
    out.push_back(value ? *value : 0);
  }
  return out;
}

/// The largest divisor of `total` of at most `longest` that is not much shorter; without one all of it is one step.
int64_t dividing_step(int64_t total, int64_t longest) {
  for (int64_t step = std::min(longest, total); step * 4 >= std::min(longest, total); --step)
    if (total % step == 0) return step;
  return total;
}

/// The dimension of `a` and of the result that counts rows: the last but one, or where that is 1, the only one that is not.
size_t row_axis(const MatrixProduct& product) {
  const Array<PrimExpr>& a = product.a->shape;
  const size_t last = a.size() - 2;
  if (!is_one(a[last])) return last;
  size_t out = last, found = 0;
  for (size_t i = 0; i < last; ++i)
    if (!is_one(a[i])) out = i, ++found;
  return found == 1 ? out : last;
}

/// The other dimensions of the result but the last.
Array<PrimExpr> leading(const MatrixProduct& product) {
  Array<PrimExpr> out;
  for (size_t i = 0; i + 1 < product.a->shape.size(); ++i)
    if (i != row_axis(product)) out.push_back(product.a->shape[i]);
  return out;
}

Array<PrimExpr> with_row(Array<PrimExpr> lead, size_t axis, const PrimExpr& row) {
  lead.insert(axis, row);
  return lead;
}

PrimExpr a_element(const MatrixProduct& product, const Array<PrimExpr>& lead, const PrimExpr& row,
                   const PrimExpr& column) {
  Array<PrimExpr> at = with_row(lead, row_axis(product), row);
  at.push_back(column);
  return te::load(product.a, at);
}

/// `value`, and 0 outside of the limits that an index may pass: (index, limit, its largest value + 1).
struct Limit {
  PrimExpr index;
  int64_t limit, end;
  PrimExpr symbolic;  // the limit where it is no number
};
PrimExpr filled_up(const PrimExpr& value, std::initializer_list<Limit> limits) {
  PrimExpr inside;
  for (const Limit& one : limits) {
    if (!one.symbolic.defined() && one.end <= one.limit) continue;
    PrimExpr check = one.index < (one.symbolic.defined() ? one.symbolic : number(one.limit));
    inside = inside.defined() ? logical_and(inside, check) : check;
  }
  return inside.defined() ? if_then_else(inside, value, make_zero(value.dtype())) : value;
}

Array<PrimExpr> joined(Array<PrimExpr> lead, std::initializer_list<PrimExpr> rest) {
  for (const PrimExpr& value : rest) lead.push_back(value);
  return lead;
}

}  // namespace

std::optional<GemmSize> gemm_size(const MatrixProduct& product, const Machine& machine) {
  auto a = numbers(product.a->shape, true), b = numbers(product.b->shape);
  if (!a || !b || a->size() < 2) return {};
  const Dot* dot = dot_on(machine, product.a->dtype, product.b->dtype);
  if (!dot || dot->c != product.out_dtype) return {};
  GemmSize out;
  for (const PrimExpr& extent : leading(product))
    if (const int64_t* value = as_int(extent)) out.batch *= *value;
  out.m = (*a)[row_axis(product)];
  if (out.m == 0) {
    out.m = kGuessedRows;
    out.dynamic_m = product.a->shape[row_axis(product)];
  }
  out.k = a->back();
  out.n = product.units;
  out.group = dot->group;
  if (out.m * out.n * out.k < kMinSteps) return {};
  return out;
}

GemmTiles gemm_tiles_of(const MatrixProduct& product, const GemmSize& size, const Machine& machine) {
  const int threads = size.batch >= machine->cores ? 1 : machine->cores;
  GemmTiles tiles = gemm_tiles(machine, size.m, size.n, size.k, product.a->dtype, threads, product.b->dtype);
  GemmTilesNode out = *tiles.get();
  const auto block = static_cast<int32_t>(*as_int(product.b->shape[2]));
  ICHECK(block == tiles->nr) << "a weight packed by " << block << " where tiles of " << tiles->nr << " are wanted";
  int64_t longest = std::min(kMaxStep * size.group, machine->l1_bytes / (block * product.a->dtype.bytes()));
  // Panels that hardly any rows share are read from beginning to end; the second tile finds them in the second-level cache.
  if (size.m <= 2 * tiles->mr && !size.dynamic_m.defined()) {
    const int64_t kept = machine->l2_bytes / 2 / (block * product.b->dtype.bytes());
    longest = size.m <= tiles->mr ? size.k : std::max(longest, kept);
  }
  out.kc = static_cast<int32_t>(dividing_step(ceil_div(size.k, size.group), longest / size.group) * size.group);
  if (size.dynamic_m.defined()) {  // rows are computed a tile at a time: there may be few
    out.mc = out.part_m = out.mr;
    out.threads_m = 1;
    if (size.n % block != 0) return make(std::move(out));  // parts would end within a tile
    // All rows pass by the columns of a part, which stay in the second-level cache; but rows are copied for each part.
    constexpr int64_t kMinBlocks = 4;
    const int64_t blocks = ceil_div(size.n, block), column_bytes = size.k * block * product.b->dtype.bytes();
    int64_t count = std::min(std::max(machine->l2_bytes / 2 / column_bytes, kMinBlocks), blocks);
    while (blocks % count != 0) --count;
    out.nc = out.part_n = static_cast<int32_t>(count * block);
    out.threads_n = static_cast<int32_t>(blocks / count);
  }
  return make(std::move(out));
}

te::Tensor gemm(const MatrixProduct& product, const GemmSize& size, const GemmTiles& t) {
  const bool is_dynamic = size.dynamic_m.defined();
  const int64_t columns = ceil_div(size.n, t->nr), filled_rows = ceil_div(size.m, t->mr) * t->mr;
  const PrimExpr rows =
      is_dynamic ? floordiv(size.dynamic_m + number(t->mr - 1), number(t->mr)) : number(filled_rows / t->mr);
  const int64_t depth = ceil_div(size.k, t->kc) * t->kc;
  const Array<PrimExpr> lead = leading(product);
  const size_t rank = lead.size();
  auto front = [rank](const Array<PrimExpr>& at) { return Array<PrimExpr>(at.begin(), at.begin() + long(rank)); };

  te::Tensor a = te::compute(
      joined(lead, {rows, number(t->mr), number(depth)}),
      [&](const Array<PrimExpr>& at) {
        PrimExpr i = at[rank] * number(t->mr) + at[rank + 1], k = at[rank + 2];
        return filled_up(a_element(product, front(at), i, k),
                         {{i, size.m, filled_rows, size.dynamic_m}, {k, size.k, depth, {}}});
      },
      "rows", "gemm_rows");

  const te::Tensor& b = product.b;

  IterVar k = te::reduce_axis(make_range(0, number(depth)), "k");
  te::Tensor tile = te::compute(
      joined(lead, {rows, number(columns), number(t->mr), number(t->nr)}),
      [&](const Array<PrimExpr>& at) {
        PrimExpr left = te::load(a, joined(front(at), {at[rank], at[rank + 2], k->var}));
        Array<PrimExpr> at_b{at[rank + 1], k->var, at[rank + 3]};
        if (size.group > 1) {
          at_b.set(1, floordiv(k->var, number(size.group)));
          at_b.push_back(floormod(k->var, number(size.group)));
        }
        const DataType sums = product.out_dtype;
        return te::sum(cast(sums, left) * cast(sums, te::load(b, at_b)), {k});
      },
      "tile", "gemm_tile");

  Array<IterVar> axes;
  Array<PrimExpr> at;
  const size_t row = row_axis(product);
  for (const PrimExpr& extent :
       joined(with_row(lead, row, is_dynamic ? size.dynamic_m : number(size.m)), {number(size.n)})) {
    Var var = make_var("i" + std::to_string(axes.size()), DataType::Int(32));
    axes.push_back(make_iter_var(make_range(0, extent), var, IterType::DataPar));
    at.push_back(var);
  }
  PrimExpr i = at[row], j = at.back();
  Array<PrimExpr> place;
  for (size_t n = 0; n + 1 < at.size(); ++n)
    if (n != row) place.push_back(at[n]);
  PrimExpr io = floordiv(i, number(t->mr)), ii = floormod(i, number(t->mr)), jo = floordiv(j, number(t->nr));
  PrimExpr value = te::load(tile, joined(place, {io, jo, ii, floormod(j, number(t->nr))}));
  if (t->nr > size.n)  // narrower than a tile: the branch that is never taken asks for all of it
    value = if_then_else(j < number(size.n), value, te::load(tile, joined(place, {io, jo, ii, number(t->nr - 1)})));
  Map<String, ObjectRef> attrs{{"gemm_tiles", t}, {"gemm_row_axis", int_imm(DataType::Int(32), int64_t(row))}};
  return te::output(te::compute_op("product", "gemm", attrs, axes, {value}), 0);
}

}  // namespace tessera::topi
