#pragma once
// Attention in one kernel: a block of rows of the first matmul goes through softmax and the second matmul while it is in
// the cache. The matmuls go through panels and micro-kernels, each in one step of k.

#include "ir/target/target.h"
#include "te/schedule.h"
#include "topi/cpu/machine.h"
#include "topi/nn/matmul.h"

namespace tessera::topi {

/// How both matmuls are tiled: tiles of `mr` rows, of `nr` columns of scores and of `nr_out` of the result.
struct AttentionTilesNode : Object {
  int32_t mr = 0, nr = 0, nr_out = 0;
  int32_t lanes = 0;  // of a vector
  int32_t block = 0;  // rows that go through together, a multiple of mr
  int32_t part = 0;   // rows of one task, a multiple of `block`
  static constexpr NodeInfo info{"topi.cpu.AttentionTiles", &Object::info};
  static void fields(auto f) {
    f("mr", &AttentionTilesNode::mr);
    f("nr", &AttentionTilesNode::nr);
    f("nr_out", &AttentionTilesNode::nr_out);
    f("lanes", &AttentionTilesNode::lanes);
    f("block", &AttentionTilesNode::block);
    f("part", &AttentionTilesNode::part);
  }
};
using AttentionTiles = Ref<AttentionTilesNode>;

struct AttentionSize {
  int64_t batch = 1;    // heads of all samples
  int64_t rows = 0;     // queries
  int64_t columns = 0;  // keys
  int64_t depth = 0;    // elements of a query
  int64_t width = 0;    // elements of a value
};
AttentionTiles attention_tiles(const Machine& machine, const AttentionSize& size, DataType dtype);

/// The first and the second matmul, of (batch, rows, depth) and (batch, depth, columns), either of which may be transposed.
te::Tensor attention_scores(const te::Tensor& a, const te::Tensor& b, const MatmulOptions& options,
                            const AttentionTiles& tiles);
te::Tensor attention_values(const te::Tensor& a, const te::Tensor& b, const MatmulOptions& options,
                            const AttentionTiles& tiles);

/// `x` in another shape. Dimensions are matched from the left, one or several with one or several of as many elements, so that
/// an index beyond the end of one, which the last tile may have, does not reach into another.
te::Tensor view_by_dimensions(const te::Tensor& x, const Array<PrimExpr>& shape);

/// The schedule of the only tensor of `outs`, which comes from `attention_values` of `softmax_rows` of `attention_scores`.
te::Schedule schedule_attention(const Array<te::Tensor>& outs, const Target& target);

}  // namespace tessera::topi
