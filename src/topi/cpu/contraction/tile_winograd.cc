#include "topi/cpu/contraction/tile_winograd.h"

#include <algorithm>
#include <unordered_map>

#include "ir/prim/ops.h"
#include "tir/parallel.h"
#include "topi/cpu/contraction/tile_contraction.h"
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
      if (role == std::string_view(kWinogradSums) && (shape[2] == kDynamic || channels() == kDynamic)) return false;
      if (shape.size() < 5 || shape.back() < kMinLanes || (shape.back() & (shape.back() - 1)) != 0) return false;
    }
    return true;
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
    if (consumers.size() != 1 || spatial_loops(state_, consumers[0]).size() != 5)
      throw Error(ScheduleError) << "the result of Winograd's convolution is stored in another order";
    std::vector<int64_t> extents = shape_of(kWinogradProducts);  // a, b, f, n, ty, tx, o
    const int64_t rows = knobs->rows;
    const bool is_dynamic = is_dynamic_image(extents);
    if (rows < 1 || (is_dynamic ? rows != 1 : extents[4] % rows != 0))
      throw Error(ScheduleError) << "the plan of Winograd's convolution does not fit it: " << rows << " rows of "
                                 << extents[4] << " are not a divisor";
    const bool by_rows = is_dynamic || rows < extents[4];
    if (by_rows) extents[3] = 1, extents[4] = rows;
    auto plan = plan_contraction(state_, stages_.at(kWinogradSums), machine_, extents);
    if (!plan) throw Error(ScheduleError) << "the matmuls of Winograd's convolution have no tiles";
    LoopRef shared = store_result(consumers[0], rows, by_rows);
    if (is_dynamic)
      schedule::annotate(state_, state_.find(shared), attr::kMinParallelExtent, int_imm(DataType::Int(32), 2));
    const BlockRef& products = stages_.at(kWinogradProducts);
    if (by_rows) schedule::compute_at(state_, products, shared, true, -1);
    std::vector<LoopRef> outer = apply_contraction(state_, stages_.at(kWinogradSums), products, *plan);
    if (by_rows) {
      schedule::compute_at(state_, stages_.at(kWinogradData), shared, true, -1);
    } else {
      outer.pop_back();
      schedule::parallel(state_, schedule::fuse(state_, outer, true));
    }
    transform_data(!by_rows);
  }

 private:
  std::optional<std::string> role_of(const BlockRef& block) const {
    const auto& notes = state_.find(block).block()->annotations;
    if (!notes.count(kWinogradStage)) return {};
    return downcast<String>(notes[kWinogradStage]).str();
  }

  /// A batch, or rows or columns of tiles, are dynamic: then rows of tiles go through all stages one by one.
  static bool is_dynamic_image(const std::vector<int64_t>& products) {
    return std::find(products.begin(), products.end(), kDynamic) != products.end();
  }
  int64_t channels() const { return shape_of(kWinogradData)[2]; }

  /// Of what the stage writes; kDynamic where it is not a number.
  std::vector<int64_t> shape_of(const char* role) const {
    std::vector<int64_t> out;
    for (const PrimExpr& extent : state_.find(stages_.at(role)).block()->writes[0]->buffer->shape)
      out.push_back(as_int(extent) ? *as_int(extent) : kDynamic);
    return out;
  }

  /// How many rows of tiles go through all stages together.
  int64_t rows_together(const std::vector<int64_t>& products) const {
    std::vector<int64_t> data = shape_of(kWinogradData);  // a, b, c, n, ty, tx, i
    if (is_dynamic_image(products)) return 1;
    const int64_t bytes = 4, tiles = products[0] * products[1] * products[5] * bytes;
    const int64_t ins = data[2] * data[6], outs = products[2] * products[6];
    const int64_t row = tiles * (ins + outs), weight = products[0] * products[1] * ins * outs * bytes;
    const int64_t height = products[4], batch = products[3];
    if (batch * height * row <= 2 * machine_->l2_bytes) return height;
    // the weight is read again for each block: what it leaves of the cache, or half of it
    const int64_t room = std::max(machine_->l2_bytes - weight, machine_->l2_bytes / 2);
    int64_t rows = height;
    while (rows > 1 && (height % rows != 0 || rows * row > room || batch * (height / rows) < 4 * machine_->cores))
      --rows;
    return rows;
  }

  /// Marks the loops of a tile, whose lanes are the last of them.
  void mark(const std::vector<LoopRef>& tile) {
    for (size_t i = 0; i + 1 < tile.size(); ++i) schedule::unroll(state_, tile[i]);
    schedule::vectorize(state_, tile.back());
  }

  /// The loops of the result: blocks of rows, channels, tiles, then what is in a tile. Returns the loop that is shared.
  LoopRef store_result(const BlockRef& store, int64_t rows, bool by_rows) {
    const int64_t tile = shape_of(kWinogradRows)[4];
    std::vector<LoopRef> axes = spatial_loops(state_, store);
    auto y = schedule::split(state_, axes[2], {PrimExpr(), number(rows), number(tile)}, true);
    auto x = schedule::split(state_, axes[3], {PrimExpr(), number(tile)}, true);
    schedule::reorder(state_, {axes[0], y[0], axes[1], y[1], x[0], y[2], x[1], axes[4]});
    mark({y[2], x[1], axes[4]});
    const BlockRef& half = stages_.at(kWinogradRows);
    schedule::set_scope(state_, half, 0, "local");
    schedule::compute_at(state_, half, x[0], true, -1);
    mark(last_loops(state_, half, 3));
    std::vector<LoopRef> outer{axes[0], y[0]};
    if (!by_rows) outer.insert(outer.end(), {axes[1], y[1]});
    LoopRef shared = schedule::fuse(state_, outer, true);
    schedule::parallel(state_, shared);
    return shared;
  }

  /// for channels and rows of tiles: pad the rows; for tiles: columns, then rows of a tile
  void transform_data(bool is_shared) {
    const BlockRef &data = stages_.at(kWinogradData), &columns = stages_.at(kWinogradColumns);
    std::vector<LoopRef> loops = last_loops(state_, data, 7);  // a, b, c, n, ty, tx, i
    schedule::reorder(state_, {loops[3], loops[2], loops[4], loops[5], loops[0], loops[1], loops[6]});
    mark({loops[0], loops[1], loops[6]});
    schedule::set_scope(state_, columns, 0, "local");
    schedule::compute_at(state_, columns, loops[5], true, -1);
    mark(last_loops(state_, columns, 3));
    LoopRef rows = loops[4];
    if (is_shared) {
      rows = schedule::fuse(state_, {loops[3], loops[2], loops[4]}, true);
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
