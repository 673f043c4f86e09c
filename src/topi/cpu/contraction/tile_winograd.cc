#include "topi/cpu/contraction/tile_winograd.h"

#include <algorithm>
#include <unordered_map>

#include "ir/prim/ops.h"
#include "tir/parallel.h"
#include "topi/cpu/contraction/tile_contraction.h"
#include "topi/cpu/cost_model.h"
#include "topi/cpu/number.h"
#include "topi/nn/winograd.h"

namespace tessera::topi {
namespace {

register_types<WinogradKnobsNode> winograd_types;

using schedule::BlockRef;
using schedule::LoopRef;
using schedule::State;

constexpr int64_t kMinLanes = 4;

class WinogradScheduler {
 public:
  WinogradScheduler(BlockProgram& program, Machine machine) : state_(program.state), machine_(std::move(machine)) {
    for (const BlockRef& block : program.stages())
      if (auto role = role_of(block)) stages_[*role] = block;
  }

  /// All stages are there, with known numbers of channels, and lanes of vectors in both directions. Images may be dynamic.
  bool applies() const {
    for (const char* role : {kWinogradPadded, kWinogradColumns, kWinogradData, kWinogradSums, kWinogradProducts,
                             kWinogradRows, kWinogradResult}) {
      if (!stages_.count(role)) return false;
      std::vector<int64_t> shape = shape_of(role);
      for (int64_t extent : shape)
        if (extent < 1 && extent != kDynamic) return false;
      if (shape.size() < 5 || shape.back() < kMinLanes || (shape.back() & (shape.back() - 1)) != 0) return false;
    }
    return shape_of(kWinogradProducts)[sides() + 1] != kDynamic && channels() != kDynamic;
  }

  WinogradKnobs plan() const {
    WinogradKnobsNode out;
    out.rows = static_cast<int32_t>(rows_together(shape_of(kWinogradProducts)));
    return make(std::move(out));
  }

  void run(const std::vector<BlockRef>& all, const WinogradKnobs& knobs) {
    inline_elementwise(state_, all, [&](const BlockRef& block) {
      auto role = role_of(block);
      return role && *role != kWinogradResult;
    });
    std::vector<BlockRef> consumers = schedule::get_consumers(state_, stages_.at(kWinogradRows));
    if (consumers.size() != 1 || spatial_loops(state_, consumers[0]).size() != spatial() + 3)
      throw Error(ScheduleError) << "the result of Winograd's convolution is stored in another order";
    std::vector<int64_t> extents = shape_of(kWinogradProducts);
    const int64_t rows = knobs->rows, height = extents[row_axis()];
    const bool is_dynamic = is_dynamic_image(extents);
    const bool is_whole = !is_dynamic && rows == height * images(extents);
    if (rows < 1 || (is_dynamic ? rows != 1 : !is_whole && height % rows != 0))
      throw Error(ScheduleError) << "the plan of Winograd's convolution does not fit it: " << rows << " rows of "
                                 << height << " are not a divisor";
    if (!is_whole) {
      for (size_t i = first_image(); i < row_axis(); ++i) extents[i] = 1;
      extents[row_axis()] = rows;
    }
    auto plan = plan_contraction(state_, stages_.at(kWinogradSums), machine_, extents);
    if (!plan) throw Error(ScheduleError) << "the matmuls of Winograd's convolution have no tiles";
    LoopRef shared = store_result(consumers[0], is_whole ? height : rows, !is_whole);
    if (is_dynamic)
      schedule::annotate(state_, state_.find(shared), attr::kMinParallelExtent, int_imm(DataType::Int(32), 2));
    const BlockRef& products = stages_.at(kWinogradProducts);
    if (!is_whole) schedule::compute_at(state_, products, shared, true, -1);
    std::vector<LoopRef> outer = apply_contraction(state_, stages_.at(kWinogradSums), products, *plan);
    if (!is_whole) {
      schedule::compute_at(state_, stages_.at(kWinogradData), shared, true, -1);
    } else {
      outer.pop_back();
      schedule::parallel(state_, schedule::fuse(state_, outer, true));
    }
    transform_data(is_whole);
  }

 private:
  std::optional<std::string> role_of(const BlockRef& block) const {
    const auto& notes = state_.find(block).block()->annotations;
    if (!notes.count(kWinogradStage)) return {};
    return downcast<String>(notes[kWinogradStage]).str();
  }

  /// An axis that is transformed, and its dilation: elements so many apart are neighbours.
  struct Transformed {
    size_t axis;
    int64_t phases;
  };
  std::vector<Transformed> transformed() const {
    std::vector<Transformed> out;
    const auto& notes = state_.find(stages_.at(kWinogradRows)).block()->annotations;
    const auto axes = downcast<Array<PrimExpr>>(notes[kWinogradAxes]);
    const auto phases = downcast<Array<PrimExpr>>(notes[kWinogradPhases]);
    for (size_t i = 0; i < axes.size(); ++i) out.push_back({static_cast<size_t>(*as_int(axes[i])), *as_int(phases[i])});
    return out;
  }
  size_t sides() const { return transformed().size(); }
  /// The dilation of an axis that is transformed; 0 for others.
  int64_t phases_of(size_t axis) const {
    for (const Transformed& each : transformed())
      if (each.axis == axis) return each.phases;
    return 0;
  }
  size_t phases() const {
    size_t out = 0;
    for (const Transformed& each : transformed()) out += each.phases > 1;
    return out;
  }

  // Products are (a, b, g, f, n, positions..., o), a and b being the sides of a tile and g groups: blocks are of rows of the last two
  // axes of positions, and n and other positions, among them phases of dilated axes, number images.
  size_t positions() const { return shape_of(kWinogradProducts).size() - sides() - 4; }
  size_t spatial() const { return positions() - phases(); }
  size_t first_image() const { return sides() + 2; }
  size_t row_axis() const { return first_image() + positions() - 1; }
  int64_t images(const std::vector<int64_t>& products) const {
    int64_t out = 1;
    for (size_t i = first_image(); i < row_axis(); ++i) out *= products[i];
    return out;
  }

  /// A batch, or rows or columns of tiles, are dynamic: then rows of tiles go through all stages one by one.
  static bool is_dynamic_image(const std::vector<int64_t>& products) {
    return std::find(products.begin(), products.end(), kDynamic) != products.end();
  }
  int64_t channels() const { return shape_of(kWinogradData)[sides()]; }

  /// Of what the stage writes; kDynamic where it is not a number.
  std::vector<int64_t> shape_of(const char* role) const {
    std::vector<int64_t> out;
    for (const PrimExpr& extent : state_.find(stages_.at(role)).block()->writes[0]->buffer->shape)
      out.push_back(as_int(extent) ? *as_int(extent) : kDynamic);
    return out;
  }

  /// What decides how many rows of tiles go through all stages together.
  struct Blocks {
    int64_t height = 1, width = 1, images = 1;
    int64_t row_bytes = 1, weight_bytes = 1;  // of a row of transformed tiles and its products; of all of the weight
    double lanes = 1, element_bytes = 4;
    double multiplications_per_byte = 1;  // multiplications for each byte of transformed tiles and products

    /// For each multiplication: one, or what the weight takes to come from beyond L2 again for each block, and what comes of a block
    /// that L2 does not hold.
    double cost(int64_t rows, int64_t count, double l2) const {
      constexpr double kBytes = 6;  // from beyond L2 in the time of a multiplication
      const auto tiles = static_cast<double>(rows * count * width),
                 block = static_cast<double>(rows * count * row_bytes);
      const bool is_weight_near = static_cast<double>(weight_bytes) + block <= l2;
      const double weight = is_weight_near ? 0 : element_bytes * lanes / tiles / kBytes;
      const double spilled = std::max(0.0, 1 - l2 / block) * 2 / multiplications_per_byte / kBytes;
      return std::max(1.0, weight) + spilled;
    }
  };

  /// How many rows of tiles go through all stages together: those of the least cost with blocks enough for all threads, or all rows.
  int64_t rows_together(const std::vector<int64_t>& products) const {
    if (is_dynamic_image(products)) return 1;
    const std::vector<int64_t> data = shape_of(kWinogradData), kernel = direct_kernel();  // a, b, c, n, positions..., i
    const auto number_of = [](const std::vector<int64_t>& extents, size_t count) {
      int64_t out = 1;
      for (size_t i = 0; i < count; ++i) out *= extents[i];
      return out;
    };
    const int64_t side = number_of(products, sides()), summed = number_of(kernel, kernel.size());
    const int64_t reads = number_of(kernel, kernel.size() - 2);  // images of data that one of products is made of
    const int64_t groups = products[sides()], ins = channels() * data.back(), bytes = 4;
    const int64_t outs = groups * products[sides() + 1] * products.back(), pairs = ins * outs / groups;
    Blocks blocks{.height = products[row_axis()], .width = products[row_axis() + 1], .images = images(products)};
    blocks.row_bytes = bytes * side * blocks.width * (ins * reads + outs);
    blocks.weight_bytes = bytes * side * summed * pairs;
    blocks.lanes = static_cast<double>(products.back());
    blocks.multiplications_per_byte =
        static_cast<double>(summed * pairs) / (blocks.lanes * static_cast<double>(bytes * (ins * reads + outs)));
    const auto l2 = static_cast<double>(machine_->l2_bytes);
    Cheapest cheapest;
    const int64_t min_blocks = machine_->cores > 1 ? 4 * machine_->cores : 1;
    int64_t best = 1;
    for (int64_t rows = 1; rows <= blocks.height; ++rows) {
      const bool is_shared = rows == 1 || blocks.images * (blocks.height / rows) >= min_blocks;
      if (blocks.height % rows == 0 && is_shared && cheapest.is_better(blocks.cost(rows, 1, l2))) best = rows;
    }
    const int64_t all = blocks.height * blocks.images;
    if (phases() > 0) return all;  // rows of all phases are computed anew for each of them
    // An image that several are made of is transformed again for each.
    const bool is_small = static_cast<double>(all * blocks.row_bytes) <= l2;
    if ((reads == 1 || is_small) && cheapest.is_better(blocks.cost(blocks.height, blocks.images, l2))) best = all;
    return best;
  }

  /// The extents of the kernel along each spatial axis; 1 where it is transformed.
  std::vector<int64_t> direct_kernel() const {
    std::vector<int64_t> out(spatial(), 1);
    for (const BufferRegion& read : state_.find(stages_.at(kWinogradSums)).block()->reads) {
      const Array<PrimExpr>& shape = read->buffer->shape;  // a, b, kernel..., f, in, o
      if (shape.size() != spatial() + 3) continue;
      for (size_t s = 0, direct = sides(); s < out.size(); ++s)
        if (phases_of(s) == 0) out[s] = *as_int(shape[direct++]);
    }
    return out;
  }

  /// Marks the loops of a tile, whose lanes are the last of them.
  void mark(const std::vector<LoopRef>& tile) {
    for (size_t i = 0; i + 1 < tile.size(); ++i) schedule::unroll(state_, tile[i]);
    schedule::vectorize(state_, tile.back());
  }

  /// The loops of the result: images, blocks of rows, channels, tiles, then what is in a tile. Returns the loop that is shared.
  LoopRef store_result(const BlockRef& store, int64_t rows, bool by_rows) {
    const int64_t tile = shape_of(kWinogradRows)[2 + positions()];
    const size_t row = spatial() - 2;
    std::vector<LoopRef> loops = spatial_loops(state_, store), positions, in_tile;  // n, f, results..., o
    std::vector<LoopRef> outer{loops[0]};
    LoopRef block;
    for (size_t s = 0; s < spatial(); ++s) {
      const int64_t phases = phases_of(s);
      std::vector<PrimExpr> sizes{PrimExpr()};
      if (s == row) sizes.push_back(number(rows));
      if (phases > 0) sizes.push_back(number(tile));
      if (phases > 1) sizes.push_back(number(phases));
      std::vector<LoopRef> parts{loops[2 + s]};
      if (sizes.size() > 1) parts = schedule::split(state_, loops[2 + s], sizes, true);
      if (phases > 1) outer.push_back(parts.back()), parts.pop_back();
      if (phases > 0) in_tile.push_back(parts.back());
      if (s == row) block = parts[0];
      positions.push_back(s == row ? parts[1] : parts[0]);
    }
    in_tile.push_back(loops.back());
    outer.insert(outer.end(), positions.begin(), positions.begin() + static_cast<long>(row));
    outer.push_back(block);
    std::vector<LoopRef> order = outer;
    order.insert(order.end(), {loops[1], positions[row], positions[row + 1]});
    order.insert(order.end(), in_tile.begin(), in_tile.end());
    schedule::reorder(state_, order);
    mark(in_tile);
    const BlockRef& half = stages_.at(kWinogradRows);
    schedule::set_scope(state_, half, 0, "local");
    schedule::compute_at(state_, half, positions.back(), true, -1);
    mark(last_loops(state_, half, sides() + 1));
    if (!by_rows) outer.insert(outer.end(), {loops[1], positions[row]});
    LoopRef shared = schedule::fuse(state_, outer, true);
    schedule::parallel(state_, shared);
    return shared;
  }

  /// for channels and rows of tiles: pad the rows; for tiles: columns, then rows of a tile
  void transform_data(bool is_shared) {
    const BlockRef &data = stages_.at(kWinogradData), &columns = stages_.at(kWinogradColumns);
    const size_t count = sides();
    std::vector<LoopRef> loops =
        last_loops(state_, data, count + this->positions() + 3);  // a, b, c, n, positions..., i
    const std::vector<LoopRef> sides(loops.begin(), loops.begin() + static_cast<long>(count));
    const std::vector<LoopRef> positions(loops.begin() + static_cast<long>(count + 2), loops.end() - 1);
    std::vector<LoopRef> order{loops[count + 1], loops[count]}, tile = sides;
    order.insert(order.end(), positions.begin(), positions.end());
    std::vector<LoopRef> outer(order.begin(), order.end() - 1);
    tile.push_back(loops.back());
    order.insert(order.end(), tile.begin(), tile.end());
    schedule::reorder(state_, order);
    mark(tile);
    schedule::set_scope(state_, columns, 0, "local");
    schedule::compute_at(state_, columns, positions.back(), true, -1);
    mark(last_loops(state_, columns, count + 1));
    LoopRef rows = outer.back();
    if (is_shared) {
      rows = schedule::fuse(state_, outer, true);
      schedule::parallel(state_, rows);
    }
    const BlockRef& padded = stages_.at(kWinogradPadded);
    schedule::compute_at(state_, padded, rows, true, -1);
    schedule::vectorize(state_, last_loops(state_, padded, 1)[0]);
  }

  State& state_;
  Machine machine_;
  std::unordered_map<std::string, BlockRef> stages_;
};

}  // namespace

WinogradKnobs plan_winograd(BlockProgram& program, const Machine& machine) {
  const WinogradScheduler scheduler(program, machine);
  return scheduler.applies() ? scheduler.plan() : nullptr;
}

void tile_winograd(BlockProgram& program, const Machine& machine, const WinogradKnobs& knobs) {
  WinogradScheduler(program, machine).run(program.stages(), knobs);
}

}  // namespace tessera::topi
