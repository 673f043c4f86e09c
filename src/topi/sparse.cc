#include "topi/sparse.h"

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "te/reduce.h"
#include "topi/elementwise.h"
#include "topi/program.h"
#include "topi/safe_index.h"

namespace tessera::topi {

Array<te::Tensor> sparse_reshape(const te::Tensor& indices, const te::Tensor& from, const te::Tensor& to) {
  const int64_t *before = as_int(from->shape[0]), *after = as_int(to->shape[0]);
  if (!before || !after) throw Error(ValueError) << "sparse_reshape: the number of dimensions must be a constant";
  DataType dtype = to->dtype;
  auto number = [&](const te::Tensor& shape, int64_t i) {
    return tessera::cast(dtype, te::load(shape, {PrimExpr(static_cast<int>(i))}));
  };
  PrimExpr total = make_const(dtype, 1), known = make_const(dtype, 1), open = make_const(dtype, -1);
  for (int64_t i = 0; i < *before; ++i) total = total * number(from, i);
  for (int64_t i = 0; i < *after; ++i)
    known = known * select(equal(number(to, i), open), make_const(dtype, 1), number(to, i));
  te::Tensor shape = compute(
      to->shape, "ax",
      [&](const Indices& at) {
        PrimExpr given = te::load(to, at);
        return select(equal(given, open), floordiv(total, max(known, make_const(dtype, 1))), given);
      },
      "sparse_shape", kInjective);
  te::Tensor out = compute(
      {indices->shape[0], to->shape[0]}, "ax",
      [&](const Indices& at) {
        PrimExpr offset = make_zero(dtype), digit = make_zero(dtype);
        for (int64_t i = 0; i < *before; ++i)
          offset = offset * number(from, i) +
                   tessera::cast(dtype, te::load(indices, {at[0], PrimExpr(static_cast<int>(i))}));
        for (int64_t i = *after; i-- > 0;) {
          PrimExpr extent = te::load(shape, {PrimExpr(static_cast<int>(i))});
          PrimExpr this_digit = i ? floormod(offset, extent) : offset;
          digit = if_then_else(equal(at[1], PrimExpr(static_cast<int>(i))), this_digit, digit);
          if (i) offset = floordiv(offset, extent);
        }
        return tessera::cast(indices->dtype, digit);
      },
      "sparse_indices", kInjective);
  return {out, shape};
}

Array<te::Tensor> sparse_fill_empty_rows(const te::Tensor& indices, const te::Tensor& values, const PrimExpr& value,
                                         const PrimExpr& rows, const PrimExpr& count) {
  te::Tensor rest = full({}, values->dtype, value, "default");
  PrimExpr entries = indices->shape[0], width = indices->shape[1];
  std::vector<Result> results{{{count, width}, indices->dtype}, {{count}, values->dtype}, {{rows}, DataType::Bool()}};
  return program(
      "sparse_fill_empty_rows", {indices, values, rest}, results, [&](const Buffers& in, const Buffers& out) {
        DataType dtype = DataType::Int(64);
        return with_memory(dtype, 2, [&](const Buffer& memory) {
          Cell next(memory, 0),
              written(memory, 1);  // the first entry not yet copied, and how many there are in the result
          PrimExpr end = tessera::cast(dtype, entries);
          SafeAccess has_values({});
          has_values.shares(entries, values->shape[0], 0);
          auto row_of = [&](const PrimExpr& entry) {
            return tessera::cast(dtype, make_load(in[0], {entry, PrimExpr(0)}));
          };
          auto fills = [&](const PrimExpr& row) {
            Stmt copy = loop(width, [&](const PrimExpr& i) {
              return store(out[0], select(equal(i, make_zero(i.dtype())), tessera::cast(dtype, row), make_zero(dtype)),
                           {written(), i});
            });
            return sequence({copy, store(out[1], make_load(in[2], {}), {written()}), written.add(1)});
          };
          Stmt copy = sequence(
              {loop(width,
                    [&](const PrimExpr& i) { return store(out[0], make_load(in[0], {next(), i}), {written(), i}); }),
               store(out[1], if_then_else(has_values.is_possible(), make_load(in[1], {next()}), make_load(in[2], {})),
                     {written()}),
               next.add(1), written.add(1)});
          Stmt all = loop(rows, [&](const PrimExpr& row) {
            PrimExpr last = max(end - make_const(dtype, 1), make_zero(dtype));
            PrimExpr is_here = logical_and(next() < end, equal(row_of(min(next(), last)), tessera::cast(dtype, row)));
            Stmt copies = loop(entries, [&](const PrimExpr&) { return when(is_here, copy); });
            return sequence({store(out[2], logical_not(is_here), {row}), when(is_here, copies, fills(row))});
          });
          if (!as_int(entries)) {  // of none, no row is read
            Stmt empty = loop(rows, [&](const PrimExpr& row) {
              return sequence({store(out[2], bool_imm(true), {row}), fills(row)});
            });
            all = when(end > make_zero(dtype), all, empty);
          }
          return sequence({next.set(make_zero(dtype)), written.set(make_zero(dtype)), all});
        });
      });
}

te::Tensor filled_count(const te::Tensor& indices, const te::Tensor& shape) {
  DataType dtype = DataType::Int(64);
  PrimExpr entries = indices->shape[0];
  IterVar i = te::reduce_axis(make_range(make_zero(entries.dtype()), entries), "i");
  PrimExpr before = max(i->var - make_const(entries.dtype(), 1), make_zero(entries.dtype()));
  PrimExpr is_new =
      logical_or(equal(i->var, make_zero(entries.dtype())),
                 not_equal(te::load(indices, {i->var, PrimExpr(0)}), te::load(indices, {before, PrimExpr(0)})));
  te::Tensor different =
      compute({}, "ax", [&](const Indices&) { return te::sum(tessera::cast(dtype, is_new), {i}); }, "rows", kReduce);
  return compute(
      {}, "ax",
      [&](const Indices&) {
        PrimExpr rows = tessera::cast(dtype, te::load(shape, {PrimExpr(0)}));
        return tessera::cast(dtype, entries) + rows - te::load(different, {});
      },
      "filled", kElementwise);
}

namespace {

Globals sparse_globals{
    {"topi.sparse_reshape", sparse_reshape},
    {"topi.sparse_fill_empty_rows", sparse_fill_empty_rows},
};

}  // namespace
}  // namespace tessera::topi
