#include "topi/cpu/contraction/register_tile.h"

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "topi/cpu/number.h"
#include "topi/cpu/transpose_kernel.h"

namespace tessera::topi {
namespace {

const DataType kInt32 = DataType::Int(32);
constexpr int64_t kMinBytes = 16;  // of a vector register
PrimExpr ramp(const PrimExpr& first, int64_t lanes) {
  return make_ramp(first, make_const(first.dtype(), 1), static_cast<int>(lanes));
}

/// Values by name, so that what is used twice is computed once.
class Names {
 public:
  PrimExpr operator()(const char* name, const PrimExpr& value) {
    if (value.as<Broadcast>()) return value;
    Var var = make_var(name, value.dtype());
    values_.emplace_back(var, value);
    return var;
  }
  /// `body` with the values that it uses.
  Stmt around(Stmt body) const {
    std::unordered_set<const Object*> used;
    auto look_at = [&](const ObjectRef& root) {
      post_order(root, [&](const Object* node) {
        if (node->is_a(VarNode::info)) used.insert(node);
      });
    };
    look_at(body);
    for (size_t i = values_.size(); i-- > 0;) {
      if (!used.count(values_[i].first.get())) continue;
      look_at(values_[i].second);
      body = make(LetStmt{.var = values_[i].first, .value = values_[i].second, .body = body});
    }
    return body;
  }

 private:
  std::vector<std::pair<Var, PrimExpr>> values_;
};

/// Lanes of vectors; of vectors of one number everywhere, a vector of that number.
PrimExpr picked(const std::vector<PrimExpr>& vectors, const std::vector<int64_t>& lanes) {
  auto value = [](const PrimExpr& vector) {
    auto* everywhere = vector.as<Broadcast>();
    return everywhere ? everywhere->value : PrimExpr();
  };
  bool is_one = value(vectors[0]).defined();
  for (const PrimExpr& vector : vectors)
    is_one = is_one && value(vector).defined() && deep_equal(value(vectors[0]), value(vector));
  if (is_one) return make_broadcast(value(vectors[0]), static_cast<int>(lanes.size()));
  Array<PrimExpr> given, indices;
  for (const PrimExpr& vector : vectors) given.push_back(vector);
  for (int64_t lane : lanes) indices.push_back(number(lane));
  return make_shuffle(given, indices);
}

PrimExpr zeros(DataType dtype, int64_t lanes) { return make_broadcast(make_zero(dtype), static_cast<int>(lanes)); }

/// The sum of the lanes of a vector: halves are added until one is left.
PrimExpr sum_of_lanes(PrimExpr vector, Names& names) {
  for (int64_t half = vector.dtype().lanes / 2; half > 0; half /= 2) {
    std::vector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) low.push_back(lane), high.push_back(lane + half);
    PrimExpr whole = names("part", vector);
    vector = picked({whole}, low) + picked({whole}, high);
  }
  return vector;
}

}  // namespace

int64_t TileSize::lanes_of(int64_t vector) const {
  if (vector + 1 < vectors) return lanes;
  int64_t out = lanes;
  while (out / 2 >= rest && out > min_lanes) out /= 2;
  return out;
}

Stmt prefetch(const Buffer& buffer, const Array<PrimExpr>& indices, bool to_write, Cache into) {
  PrimExpr address = make_call(DataType::Handle(), builtin::address_of(), {make_load(buffer, indices)});
  const int level = into == Cache::L1 ? 3 : 2;
  return evaluate(make_call(DataType::Int(32), "tir.prefetch", {address, PrimExpr(to_write ? 1 : 0), level, 1}));
}

PrimExpr load_vector(const Buffer& flat, const PrimExpr& first, int64_t lanes, const PrimExpr& used) {
  const int64_t* known = as_int(used);
  if (known && *known <= 0) return zeros(flat->dtype, lanes);
  if (known && *known >= lanes) return make_load(flat, {ramp(first, lanes)});
  PrimExpr address = make_call(DataType::Handle(), builtin::address_of(), {make_load(flat, {first})});
  PrimExpr mask = ramp(PrimExpr(0), lanes) < make_broadcast(used, static_cast<int>(lanes));
  DataType dtype = flat->dtype.with_lanes(static_cast<int>(lanes));
  return make_call(dtype, "tir.masked_load", {address, mask, make_zero(dtype)});
}

Stmt store_vector(const Buffer& flat, const PrimExpr& first, const PrimExpr& value) {
  return make(BufferStore{.buffer = flat, .value = value, .indices = {ramp(first, value.dtype().lanes)}});
}

Stmt loop_over(const char* name, const PrimExpr& extent, const std::function<Stmt(const PrimExpr&)>& body,
               LoopKind kind) {
  if (is_one(extent)) return body(PrimExpr(0));
  Var var = make_var(name, kInt32);
  return make(For{.loop_var = var, .min = 0, .extent = extent, .kind = kind, .body = body(var)});
}

Stmt allocated(const Buffer& buffer, const Stmt& body) {
  return make(Allocate{.buffer_var = buffer->data,
                       .dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = bool_imm(true),
                       .body = body});
}

Stmt outer_tile(const OuterTile& tile) {
  const TileSize& size = tile.size;
  Buffer sums = decl_buffer({number(size.rows * size.vectors * size.lanes)}, tile.dtype, "sums", "local");
  auto offset = [&](int64_t i, int64_t v) { return number((i * size.vectors + v) * size.lanes); };
  auto sum = [&](int64_t i, int64_t v) { return make_load(sums, {ramp(offset(i, v), size.lanes_of(v))}); };
  std::vector<Stmt> parts;
  for (int64_t i = 0; i < size.rows; ++i)
    for (int64_t v = 0; v < size.vectors; ++v)
      parts.push_back(
          store_vector(sums, offset(i, v), tile.first ? tile.first(i, v) : zeros(tile.dtype, size.lanes_of(v))));
  if (tile.before) parts.push_back(tile.before);
  // one step of k: each vector of b and each element of a is read once
  parts.push_back(loop_over("k", tile.depth, [&](const PrimExpr& k) {
    Names columns;
    std::vector<PrimExpr> b;
    for (int64_t v = 0; v < size.vectors; ++v) b.push_back(columns("b", tile.b(k, v)));
    std::vector<Stmt> rows;
    if (tile.beside) rows.push_back(tile.beside(k));
    for (int64_t i = 0; i < size.rows; ++i) {
      Names element;
      PrimExpr a = element("a", tile.a(i, k));
      std::vector<Stmt> row;
      for (int64_t v = 0; v < size.vectors; ++v) {
        PrimExpr factor = make_broadcast(a, static_cast<int>(size.lanes_of(v)));
        const PrimExpr& vector = b[static_cast<size_t>(v)];
        row.push_back(store_vector(
            sums, offset(i, v),
            tile.multiply_add ? tile.multiply_add(sum(i, v), factor, vector) : sum(i, v) + factor * vector));
      }
      rows.push_back(element.around(sequence(row)));
    }
    return columns.around(sequence(rows));
  }));
  parts.push_back(tile.use(sums));
  return allocated(sums, sequence(parts));
}

Stmt dot_tile(const DotTile& tile) {
  Buffer sums = decl_buffer({number(tile.rows * tile.columns * tile.lanes)}, tile.dtype, "sums", "local");
  auto offset = [&](int64_t i, int64_t j) { return number((i * tile.columns + j) * tile.lanes); };
  auto sum = [&](int64_t i, int64_t j) { return make_load(sums, {ramp(offset(i, j), tile.lanes)}); };
  auto step = [&](const PrimExpr& k, const PrimExpr& used, bool is_first) {
    // the shorter side stays in registers
    const bool by_rows = tile.rows > tile.columns;
    const int64_t stationary = by_rows ? tile.columns : tile.rows, streamed = by_rows ? tile.rows : tile.columns;
    const auto &load_stationary = by_rows ? tile.b : tile.a, &load_streamed = by_rows ? tile.a : tile.b;
    Names names;
    std::vector<PrimExpr> held;
    for (int64_t x = 0; x < stationary; ++x) held.push_back(names("kept", load_stationary(x, k, used)));
    std::vector<Stmt> rows;
    for (int64_t y = 0; y < streamed; ++y) {
      Names one;
      PrimExpr value = one("passing", load_streamed(y, k, used));
      std::vector<Stmt> row;
      for (int64_t x = 0; x < stationary; ++x) {
        const int64_t i = by_rows ? y : x, j = by_rows ? x : y;
        PrimExpr term = value * held[static_cast<size_t>(x)];
        row.push_back(store_vector(sums, offset(i, j), is_first ? term : sum(i, j) + term));
      }
      rows.push_back(one.around(sequence(row)));
    }
    return names.around(sequence(rows));
  };
  const int64_t* depth = as_int(tile.depth);
  const PrimExpr lanes = number(tile.lanes);
  const PrimExpr whole = depth ? number(*depth / tile.lanes) : floordiv(tile.depth, lanes);
  const PrimExpr rest = depth ? number(*depth % tile.lanes) : floormod(tile.depth, lanes);
  std::vector<Stmt> parts;
  if (!is_zero(rest)) {
    parts.push_back(step(depth ? number(*depth / tile.lanes * tile.lanes) : whole * lanes, rest, true));
  } else {
    for (int64_t i = 0; i < tile.rows; ++i)
      for (int64_t j = 0; j < tile.columns; ++j)
        parts.push_back(store_vector(sums, offset(i, j), zeros(tile.dtype, tile.lanes)));
  }
  if (!is_zero(whole))
    parts.push_back(loop_over("k", whole, [&](const PrimExpr& k) { return step(k * lanes, lanes, false); }));
  Names totals;
  std::vector<PrimExpr> total;
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.columns; ++j) total.push_back(totals("total", sum_of_lanes(sum(i, j), totals)));
  Stmt used = tile.use([&](int64_t i, int64_t j) { return total[static_cast<size_t>(i * tile.columns + j)]; });
  parts.push_back(totals.around(used));
  return allocated(sums, sequence(parts));
}

Stmt transposed(const std::vector<PrimExpr>& rows, bool interleaves,
                const std::function<Stmt(const std::vector<PrimExpr>&)>& use) {
  const auto lanes = static_cast<int64_t>(rows.size());
  const DataType dtype = rows[0].dtype();
  const int64_t quarter = std::min<int64_t>(kMinBytes / dtype.element().bytes(), lanes);  // lanes of 16 bytes
  const int64_t quarters = lanes / quarter;
  Names names;
  std::vector<PrimExpr> now;
  for (const PrimExpr& row : rows) now.push_back(names("row", row));
  if (interleaves) {
    // Each step moves the highest bit of a row's index to the lowest of its elements' indices: after all steps rows are
    // columns.
    for (int64_t step = 1; step < lanes; step *= 2) {
      std::vector<PrimExpr> next;
      for (size_t i = 0; i < now.size() / 2; ++i)
        for (bool half : {false, true})
          next.push_back(names("zip", picked({now[i], now[i + now.size() / 2]}, interleaved_lanes(lanes, half))));
      now = next;
    }
    return names.around(use(now));
  }
  // neighbours within 16 bytes: pairs, then pairs of pairs
  for (int64_t width = 1; width < quarter; width *= 2) {
    std::vector<PrimExpr> next(now.size());
    for (int64_t group = 0; group < lanes; group += quarter)
      for (int64_t i = 0; i < quarter / 2; ++i) {
        // vectors `width` apart meet; what came of the first of each pair of a stage stands before what came of the second
        const int64_t low = width == 1 ? 2 * i : i, high = width == 1 ? 2 * i + 1 : i + 2;
        for (int64_t half = 0; half < 2; ++half) {
          std::vector<int64_t> order;
          for (int64_t q = 0; q < quarters; ++q)
            for (int64_t at = 0; at < quarter; at += 2 * width)
              for (int64_t side = 0; side < 2; ++side)
                for (int64_t w = 0; w < width; ++w)
                  order.push_back(side * lanes + q * quarter + half * (quarter / 2) + at / 2 + w);
          const auto to = static_cast<size_t>(group + 2 * i + half);
          next[to] = names(
              "pair", picked({now[static_cast<size_t>(group + low)], now[static_cast<size_t>(group + high)]}, order));
        }
      }
    now = next;
  }
  // whole quarters: vector m of group g holds, in its quarter q, column q * quarter + m of the rows of g
  for (int64_t width = 1; width < quarters; width *= 2) {
    std::vector<PrimExpr> next(now.size());
    for (int64_t g = 0; g < quarters; ++g) {
      if (g & width) continue;
      for (int64_t m = 0; m < quarter; ++m) {
        const auto low = static_cast<size_t>(g * quarter + m), high = static_cast<size_t>((g + width) * quarter + m);
        for (int64_t half = 0; half < 2; ++half) {
          std::vector<int64_t> order;
          for (int64_t q = 0; q < quarters; ++q) {
            const int64_t side = (q & width) ? 1 : 0, from = (q & ~width) | (half * width);
            for (int64_t w = 0; w < quarter; ++w) order.push_back(side * lanes + from * quarter + w);
          }
          next[half ? high : low] = names("quarter", picked({now[low], now[high]}, order));
        }
      }
    }
    now = next;
  }
  return names.around(use(now));
}

}  // namespace tessera::topi
