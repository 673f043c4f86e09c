#include "topi/nn/sparse.h"

#include "topi/program.h"
#include "topi/safe_index.h"

namespace tessera::topi {
namespace {

PrimExpr wide(const PrimExpr& value) { return tessera::cast(DataType::Int(64), value); }

/// The buffers of a matrix, and its shape.
struct Entries {
  const SparseMatrix& matrix;
  Buffer data, indices, indptr;

  Entries(const SparseMatrix& matrix, const Buffers& in, size_t first)
      : matrix(matrix), data(in[first]), indices(in[first + 1]), indptr(in[first + 2]) {}

  /// One iteration for each entry of a row of blocks. `columns` is the extent that the columns of the matrix index.
  Stmt of_row(const PrimExpr& row, const PrimExpr& columns,
              const std::function<Stmt(const PrimExpr& entry)>& body) const {
    PrimExpr zero = make_zero(DataType::Int(64));
    PrimExpr limit =
        select(wide(columns) > zero, min(wide(matrix.data->shape[0]), wide(matrix.indices->shape[0])), zero);
    PrimExpr begin = max(wide(make_load(indptr, {row})), zero);
    PrimExpr end = min(wide(make_load(indptr, {row + 1})), limit);
    return loop(max(end - begin, zero), [&](const PrimExpr& i) { return body(begin + i); });
  }
  PrimExpr value(const PrimExpr& entry, const PrimExpr& row, const PrimExpr& column) const {
    return make_load(data, matrix.data->shape.size() == 3 ? Indices{entry, row, column} : Indices{entry});
  }
  /// Column `inner` of an entry among `columns`.
  PrimExpr column(const PrimExpr& entry, const PrimExpr& inner, const PrimExpr& columns) const {
    PrimExpr at = wide(make_load(indices, {entry})) * wide(matrix.block(1)) + wide(inner);
    return nearest_index(at, wide(columns));
  }
};

/// out[at] += value
Stmt add_to(const Buffer& out, const Indices& at, const PrimExpr& value) {
  return store(out, make_load(out, at) + value, at);
}

/// How many lines of a dense operand one row of blocks is multiplied with at a time.
constexpr int kLines = 8;
/// Rows of a block that are worth a vector; blocks beyond kMaxBlockHeight are summed in memory.
constexpr int64_t kMinVector = 4, kMaxBlockHeight = 64;

using Target = std::function<Indices(const PrimExpr& line, const PrimExpr& row)>;
using Operand = std::function<PrimExpr(const PrimExpr& line, const PrimExpr& column)>;

/// The sums of a row of blocks for `lines` lines: entries times operand(line, column), where target(line, row) is the index into
/// `out`. They are kept in registers until the row ends; vectors go over the lines, or over the rows of a block.
Stmt row_sums(const Buffer& out, const Entries& entries, const PrimExpr& row, const PrimExpr& columns, int lines,
              const Target& target, const Operand& operand) {
  const PrimExpr height = entries.matrix.block(0), width = entries.matrix.block(1);
  auto product = [&](const PrimExpr& entry, const PrimExpr& line, const PrimExpr& inner, const PrimExpr& c) {
    PrimExpr factor = operand(line, entries.column(entry, c, columns));
    return tessera::cast(out->dtype, entries.value(entry, inner, c) * factor);
  };
  const int64_t* rows = as_int(height);
  if (!rows || *rows > kMaxBlockHeight) {
    auto each = [&](const std::function<Stmt(const PrimExpr& line, const PrimExpr& inner)>& body) {
      return loops({PrimExpr(lines), height}, [&](const Indices& at) { return body(at[0], at[1]); });
    };
    Stmt zeros = each([&](const PrimExpr& line, const PrimExpr& inner) {
      return store(out, make_zero(out->dtype), target(line, row * height + inner));
    });
    Stmt sums = entries.of_row(row, columns, [&](const PrimExpr& entry) {
      return each([&](const PrimExpr& line, const PrimExpr& inner) {
        return loop(width, [&](const PrimExpr& c) {
          return add_to(out, target(line, row * height + inner), product(entry, line, inner, c));
        });
      });
    });
    return sequence({zeros, sums});
  }
  const auto block = static_cast<int>(*rows);
  const bool by_rows = lines == 1 && block >= kMinVector;
  const LoopKind over_lines = lines > 1 ? LoopKind::Vectorized : LoopKind::Serial;
  const LoopKind over_rows = by_rows ? LoopKind::Vectorized : LoopKind::Unrolled;
  auto each = [&](const std::function<Stmt(const PrimExpr& line, const PrimExpr& inner)>& body) {
    return loop(
        PrimExpr(block),
        [&](const PrimExpr& inner) {
          return loop(PrimExpr(lines), [&](const PrimExpr& line) { return body(line, inner); }, over_lines);
        },
        over_rows);
  };
  return with_memory(out->dtype, lines * block, [&](const Buffer& sums) {
    auto at = [&](const PrimExpr& line, const PrimExpr& inner) { return Indices{inner * lines + line}; };
    Stmt zeros = each([&](const PrimExpr& line, const PrimExpr& inner) {
      return store(sums, make_zero(out->dtype), at(line, inner));
    });
    Stmt adds = entries.of_row(row, columns, [&](const PrimExpr& entry) {
      return loop(width, [&](const PrimExpr& c) {
        return each([&](const PrimExpr& line, const PrimExpr& inner) {
          return add_to(sums, at(line, inner), product(entry, line, inner, c));
        });
      });
    });
    Stmt stores = each([&](const PrimExpr& line, const PrimExpr& inner) {
      return store(out, make_load(sums, at(line, inner)), target(line, row * PrimExpr(block) + inner));
    });
    return sequence({zeros, adds, stores});
  });
}

/// One iteration for each of some lines and each row of blocks: sums(first line, how many lines, row), by kLines lines at a time
/// and one by one for those that are left.
Stmt by_lines(const PrimExpr& lines, const PrimExpr& rows,
              const std::function<Stmt(const PrimExpr& first, int count, const PrimExpr& row)>& sums) {
  const int64_t* known = as_int(lines);
  const PrimExpr tile = make_const(lines.dtype(), kLines), tiles = floordiv(lines, tile);
  std::vector<Stmt> parts;
  if (!known || *known >= kLines)
    parts.push_back(loops({tiles, rows}, [&](const Indices& at) { return sums(at[0] * tile, kLines, at[1]); }, true));
  if (!known || *known % kLines != 0)
    parts.push_back(loops(
        {floormod(lines, tile), rows}, [&](const Indices& at) { return sums(tiles * tile + at[0], 1, at[1]); }, true));
  return parts.size() == 1 ? parts[0] : sequence({parts[0], parts[1]});
}

}  // namespace

te::Tensor sparse_dense(const te::Tensor& dense, const SparseMatrix& matrix, bool is_left) {
  const PrimExpr lines = dense->shape[0], columns = dense->shape[1], blocks = matrix.indptr->shape[0] - 1;
  Indices shape = is_left ? Indices{matrix.rows(), lines} : Indices{lines, matrix.rows()};
  return program(
      "sparse_dense", {dense, matrix.data, matrix.indices, matrix.indptr}, {{shape, dense->dtype}},
      [&](const Buffers& in, const Buffers& out) {
        Entries entries(matrix, in, 1);
        auto sums = [&](const PrimExpr& first, int count, const PrimExpr& row) {
          return row_sums(
              out[0], entries, row, columns, count,
              [&](const PrimExpr& line, const PrimExpr& r) {
                return is_left ? Indices{r, first + line} : Indices{first + line, r};
              },
              [&](const PrimExpr& line, const PrimExpr& column) { return make_load(in[0], {first + line, column}); });
        };
        return by_lines(lines, blocks, sums);
      })[0];
}

te::Tensor sparse_add(const te::Tensor& dense, const SparseMatrix& matrix) {
  const PrimExpr rows = dense->shape[0], columns = dense->shape[1];
  return program("sparse_add", {dense, matrix.data, matrix.indices, matrix.indptr}, {{dense->shape, dense->dtype}},
                 [&](const Buffers& in, const Buffers& out) {
                   Entries entries(matrix, in, 1);
                   PrimExpr known = min(rows, tessera::cast(rows.dtype(), matrix.indptr->shape[0] - 1));
                   Stmt copy =
                       loops(dense->shape, [&](const Indices& at) { return store(out[0], make_load(in[0], at), at); });
                   Stmt sums = loop(known, [&](const PrimExpr& row) {
                     return entries.of_row(row, columns, [&](const PrimExpr& entry) {
                       return add_to(out[0], {row, entries.column(entry, PrimExpr(0), columns)},
                                     entries.value(entry, PrimExpr(0), PrimExpr(0)));
                     });
                   });
                   return sequence({copy, sums});
                 })[0];
}

Array<te::Tensor> sparse_transpose(const SparseMatrix& matrix) {
  const PrimExpr count = matrix.data->shape[0], rows = matrix.indptr->shape[0] - 1;
  std::vector<Result> results;
  for (const te::Tensor& tensor : {matrix.data, matrix.indices, matrix.indptr})
    results.push_back({tensor->shape, tensor->dtype});
  return program(
      "sparse_transpose", {matrix.data, matrix.indices, matrix.indptr}, results,
      [&](const Buffers& in, const Buffers& out) {
        Entries entries(matrix, in, 0);
        const Buffer &values = out[0], &indices = out[1], &indptr = out[2];
        PrimExpr one = make_const(indptr->dtype, 1), last = max(wide(count) - 1, make_zero(DataType::Int(64)));
        auto column = [&](const PrimExpr& entry) { return entries.column(entry, PrimExpr(0), rows); };
        auto each = [&](const std::function<Stmt(const PrimExpr& row, const PrimExpr& entry)>& body) {
          return loop(rows, [&](const PrimExpr& row) {
            return entries.of_row(row, rows, [&](const PrimExpr& entry) { return body(row, entry); });
          });
        };
        Stmt zeros = loop(rows + 1, [&](const PrimExpr& i) { return store(indptr, make_zero(indptr->dtype), {i}); });
        Stmt blank = loop(count, [&](const PrimExpr& i) {  // rows that leave entries out leave zeros behind
          return sequence(
              {store(values, make_zero(values->dtype), {i}), store(indices, make_zero(indices->dtype), {i})});
        });
        // How many each column has, one index later; then where each begins.
        Stmt counts =
            each([&](const PrimExpr&, const PrimExpr& entry) { return add_to(indptr, {column(entry) + 1}, one); });
        Stmt begins = loop(rows, [&](const PrimExpr& i) { return add_to(indptr, {i + 1}, make_load(indptr, {i})); });
        Stmt fill = each([&](const PrimExpr& row, const PrimExpr& entry) {
          PrimExpr at = nearest_index(wide(make_load(indptr, {column(entry)})), last + 1);
          return sequence({store(indices, tessera::cast(indices->dtype, row), {at}),
                           store(values, entries.value(entry, PrimExpr(0), PrimExpr(0)), {at}),
                           add_to(indptr, {column(entry)}, one)});
        });
        // Each begins where the one before it ended.
        Stmt shift =
            loop(rows, [&](const PrimExpr& i) { return store(indptr, make_load(indptr, {rows - i - 1}), {rows - i}); });
        return sequence(
            {zeros, blank, counts, begins, fill, shift, store(indptr, make_zero(indptr->dtype), {PrimExpr(0)})});
      });
}

te::Tensor sparse_conv2d(const te::Tensor& data, const SparseMatrix& weight, bool is_nhwc, int kernel_size) {
  const Array<PrimExpr>& s = data->shape;
  const PrimExpr batch = s[0], channels = is_nhwc ? s[3] : s[1], height = is_nhwc ? s[1] : s[2],
                 width = is_nhwc ? s[2] : s[3];
  const PrimExpr window = PrimExpr(kernel_size * kernel_size), columns = channels * window;
  auto index = [&](const PrimExpr& n, const PrimExpr& y, const PrimExpr& x, const PrimExpr& c) {
    return is_nhwc ? Indices{n, y, x, c} : Indices{n, c, y, x};
  };
  return program(
      "sparse_conv2d", {data, weight.data, weight.indices, weight.indptr},
      {{index(batch, height, width, weight.rows()), data->dtype}}, [&](const Buffers& in, const Buffers& out) {
        Entries entries(weight, in, 1);
        return loops(
            {batch, height, width, weight.indptr->shape[0] - 1},
            [&](const Indices& at) {
              const PrimExpr n = at[0], y = wide(at[1]), x = wide(at[2]);
              auto pixel = [&](const PrimExpr& column) {
                if (kernel_size == 1) return make_load(in[0], index(n, y, x, column));
                PrimExpr position = is_nhwc ? floordiv(column, wide(channels)) : floormod(column, wide(window));
                PrimExpr channel = is_nhwc ? floormod(column, wide(channels)) : floordiv(column, wide(window));
                PrimExpr row = y + floordiv(position, wide(kernel_size)) - kernel_size / 2;
                PrimExpr col = x + floormod(position, wide(kernel_size)) - kernel_size / 2;
                PrimExpr zero = make_zero(DataType::Int(64));
                PrimExpr is_inside = logical_and(logical_and(row >= zero, row < wide(height)),
                                                 logical_and(col >= zero, col < wide(width)));
                return if_then_else(is_inside, make_load(in[0], index(n, row, col, channel)), make_zero(data->dtype));
              };
              return row_sums(
                  out[0], entries, at[3], columns, 1,
                  [&](const PrimExpr&, const PrimExpr& o) { return index(n, y, x, o); },
                  [&](const PrimExpr&, const PrimExpr& column) { return pixel(column); });
            },
            true);
      })[0];
}

}  // namespace tessera::topi
