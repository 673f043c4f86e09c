#pragma once
// The innermost loops of contractions: tiles whose sums stay in registers. Every matmul is made of them.

#include <functional>

#include "tir/stmt.h"

namespace tessera::topi {

/// Elements of vectors: `lanes` of them, of which the last vector of a row may use fewer.
struct TileSize {
  int64_t rows = 1, vectors = 1, lanes = 1;
  int64_t rest = 1;       // lanes of the last vector that are elements of the result
  int64_t min_lanes = 4;  // of a shorter last vector

  int64_t columns() const { return (vectors - 1) * lanes + rest; }
  /// Lanes that the given vector is computed with: a last one that is nearly empty is a shorter one.
  int64_t lanes_of(int64_t vector) const;
};

enum class Cache { L1, L2 };
/// Prefetches the cache line that holds an element, to read it or to write it.
Stmt prefetch(const Buffer& buffer, const Array<PrimExpr>& indices, bool to_write, Cache into = Cache::L1);

/// Neighbouring elements of one-dimensional memory from `first` on; those from `used` on are zeros, and are not touched.
PrimExpr load_vector(const Buffer& flat, const PrimExpr& first, int64_t lanes, const PrimExpr& used);
inline PrimExpr load_vector(const Buffer& flat, const PrimExpr& first, int64_t lanes, int64_t used) {
  return load_vector(flat, first, lanes, PrimExpr(static_cast<int>(used)));
}
Stmt store_vector(const Buffer& flat, const PrimExpr& first, const PrimExpr& value);

///   sums = first;  for k: sums[i, v] += a(i, k) * b(k, v);  use(sums)
/// Sum (i, v) lies in `sums` from (i * vectors + v) * lanes on.
struct OuterTile {
  DataType dtype;  // of the sums
  TileSize size;
  PrimExpr depth;  // steps of k
  std::function<PrimExpr(int64_t i, const PrimExpr& k)> a;
  std::function<PrimExpr(const PrimExpr& k, int64_t v)> b;  // a vector of lanes_of(v)
  /// sum + a * b, of vectors, where an instruction does more than that; may be null.
  std::function<PrimExpr(const PrimExpr& sum, const PrimExpr& a, const PrimExpr& b)> multiply_add;
  std::function<PrimExpr(int64_t i, int64_t v)> first;  // null: zeros
  Stmt before;                                          // what is done while the first steps run; may be empty
  std::function<Stmt(const PrimExpr& k)> beside;        // what is done with each step of k; may be null
  std::function<Stmt(const Buffer& sums)> use;
};
Stmt outer_tile(const OuterTile& tile);

///   sums = 0;  for k by vectors: sums[i, j] += a(i, k) * b(j, k);  use(sums of lanes)
/// Of the last vector along k only `depth` % lanes elements are read. `use` is given the sum of each element (i, j).
struct DotTile {
  DataType dtype;
  int64_t rows = 1, columns = 1, lanes = 1;
  PrimExpr depth = 1;                                                             // of k
  std::function<PrimExpr(int64_t i, const PrimExpr& k, const PrimExpr& used)> a;  // vectors of lanes
  std::function<PrimExpr(int64_t j, const PrimExpr& k, const PrimExpr& used)> b;
  std::function<Stmt(const std::function<PrimExpr(int64_t i, int64_t j)>& sum)> use;
};
Stmt dot_tile(const DotTile& tile);

/// `lanes` vectors of as many lanes become their columns: `use` is given vector j made of lane j of each. Each step works in
/// 16 bytes or moves whole ones, or where the machine `interleaves` takes two whole vectors.
Stmt transposed(const std::vector<PrimExpr>& rows, bool interleaves,
                const std::function<Stmt(const std::vector<PrimExpr>&)>& use);

/// for name in range(extent): body(name); a single iteration is the body alone.
Stmt loop_over(const char* name, const PrimExpr& extent, const std::function<Stmt(const PrimExpr&)>& body,
               LoopKind kind = LoopKind::Serial);
/// `buffer` exists inside `body`.
Stmt allocated(const Buffer& buffer, const Stmt& body);

}  // namespace tessera::topi
