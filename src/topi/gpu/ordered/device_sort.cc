#include "topi/gpu/ordered/device_sort.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/ordered/sort_network.h"

namespace tessera::topi {
namespace {

// An entry: a key of 32 bits that orders as the element does, then its index.
const DataType kEntry = DataType::UInt(64), kKey = DataType::UInt(32), kIndex = DataType::Int(32);
constexpr int64_t kSortPart = int64_t{1} << kMaxPassBits;  // entries of a thread
constexpr int64_t kMaxSortTile = 2048, kSortThreads = kMaxSortTile / kSortPart;
constexpr int64_t kMaxSorted = INT32_MAX / 4;

int64_t power_of_two(int64_t least) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least))); }

/// A tensor as lines along one axis.
struct TensorLines {
  Buffer flat;
  int64_t outer = 1, length = 1, inner = 1;

  int64_t count() const { return outer * inner; }
  PrimExpr at(const PrimExpr& line, const PrimExpr& index) const {
    if (inner == 1) return line * number(length) + index;
    const PrimExpr first = floordiv(line, number(inner)) * number(length) + index;
    return first * number(inner) + floormod(line, number(inner));
  }
};

/// The tensor that `argument` of a call passes.
std::optional<TensorLines> lines_of(const PrimExpr& argument, int64_t axis) {
  auto* array = argument.as<Call>();
  if (!array || !array->op.same_as(builtin::tvm_stack_make_array()) || array->args.size() != 6) return std::nullopt;
  auto* data = array->args[0].as<VarNode>();
  auto* shape = array->args[1].as<Call>();
  if (!data || !shape || array->args[2].as<Call>() || !is_zero(array->args[5])) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->args.size());
  if (axis < 0) axis += rank;
  TensorLines out;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t* extent = as_int(shape->args[static_cast<size_t>(i)]);
    if (!extent || *extent < 1 || *extent > kMaxSorted) return std::nullopt;
    (i < axis ? out.outer : i == axis ? out.length : out.inner) *= *extent;
    if (out.outer * out.inner > kMaxSorted / out.length) return std::nullopt;
  }
  BufferNode flat = *decl_buffer({number(out.count() * out.length)}, array->args[4].dtype(), "tensor").get();
  flat.data = Var(data);
  out.flat = make(std::move(flat));
  return out;
}

/// What is asked for.
struct Order {
  TensorLines in;
  std::optional<TensorLines> values, indices;
  int64_t wanted = 0;  // of each line, the first ones
  bool ascends = true;
};

bool is_short(DataType dtype) {
  return dtype.is_scalar() && dtype.bits <= 32 && (dtype.is_floating() || dtype.is_int() || dtype.is_uint());
}

std::optional<Order> order_of(const Stmt& stmt) {
  auto* evaluate = stmt.as<Evaluate>();
  auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  if (!call || !call->op.same_as(builtin::tvm_call_packed())) return std::nullopt;
  auto* name = call->args[0].as<StringImm>();
  const std::string_view function = name ? std::string_view(name->value) : "";
  const size_t last = call->args.size() - 1;
  auto whole = [&](size_t i) { return as_int(call->args[i]); };
  Order out;
  auto take = [&](size_t i, int64_t axis, std::optional<TensorLines>* lines) {
    *lines = lines_of(call->args[i], axis);
    return lines->has_value();
  };
  std::optional<TensorLines> in;
  if (function == "tvm.contrib.sort.sort" || function == "tvm.contrib.sort.argsort") {
    const int64_t *axis = whole(3), *ascends = whole(4);
    auto& result = function == "tvm.contrib.sort.sort" ? out.values : out.indices;
    if (!axis || !ascends || !take(1, *axis, &in) || !take(2, *axis, &result)) return std::nullopt;
    out.wanted = in->length;
    out.ascends = *ascends;
  } else if (function == "tvm.contrib.sort.topk") {
    const int64_t *axis = whole(last - 2), *ascends = whole(last);
    auto* what = call->args[last - 1].as<StringImm>();
    if (!axis || !ascends || !what || !take(1, *axis, &in)) return std::nullopt;
    size_t next = 2;
    if (what->value != "indices" && !take(next++, *axis, &out.values)) return std::nullopt;
    if (what->value != "values" && !take(next++, *axis, &out.indices)) return std::nullopt;
    out.wanted = (out.values ? out.values : out.indices)->length;
    out.ascends = *ascends;
  }
  if (!in || !is_short(in->flat->dtype)) return std::nullopt;
  out.in = *in;
  return out;
}

/// Sorts lines in tiles of shared memory. What a tile cannot hold is merged in device memory; of top-k only the first entries
/// of each tile go on.
class DeviceSort {
 public:
  DeviceSort(const Order& order, const GpuMachine& machine) : order_(order) {
    int64_t entries = kMaxSortTile;
    while (entries > kSortPart && (entries + entries / kSortPart) * 8 > std::max<int64_t>(machine->shared_bytes, 1))
      entries /= 2;
    while (entries > kSortPart && entries / kSortPart > machine->max_threads) entries /= 2;
    max_tile_ = entries;
  }

  /// False where lines would take too much device memory.
  bool fits() const { return lines() * power_of_two(order_.in.length) <= kMaxSorted; }

  Stmt operator()() {
    const int64_t first = power_of_two(std::max(order_.wanted, kSortPart));
    return order_.in.length > max_tile_ && first <= max_tile_ / 4 ? first_entries(first) : sort();
  }

 private:
  int64_t lines() const { return order_.in.count(); }

  // ---- entries -------------------------------------------------------------------------------------------------------

  PrimExpr key(const PrimExpr& element) const {
    const PrimExpr top = make_const(kKey, int64_t{1} << 31), all = make_const(kKey, int64_t{0xffffffff});
    PrimExpr out;
    if (element.dtype().is_floating()) {
      const PrimExpr wide = cast(DataType::Float(32), element), zero = make_zero(wide.dtype());
      const PrimExpr bits = reinterpret(kKey, if_then_else(equal(wide, zero), zero, wide));
      const PrimExpr ordered = select(equal(bits & top, make_zero(kKey)), bits | top, bits ^ all);
      out = select(isnan(wide), make_const(kKey, int64_t{0xfffffffe}), ordered);
    } else {
      out = element.dtype().is_uint() ? cast(kKey, element) : reinterpret(kKey, cast(kIndex, element)) ^ top;
    }
    return order_.ascends ? out : out ^ all;
  }

  PrimExpr entry(const PrimExpr& line, const PrimExpr& index) const {
    const PrimExpr element = make_load(order_.in.flat, {order_.in.at(line, index)});
    return (cast(kEntry, key(element)) << make_const(kEntry, 32)) | cast(kEntry, cast(kKey, index));
  }

  /// Behind all entries.
  static PrimExpr nothing() { return max_value(kEntry); }

  /// Entry `at` of the sorted line becomes part of the results.
  Stmt put(const PrimExpr& line, const PrimExpr& at, const PrimExpr& entry) const {
    const PrimExpr index = cast(kIndex, entry & make_const(kEntry, int64_t{0xffffffff}));
    std::vector<Stmt> out;
    if (order_.values)
      out.push_back(store_to(order_.values->flat, order_.values->at(line, at),
                             make_load(order_.in.flat, {order_.in.at(line, index)})));
    if (order_.indices)
      out.push_back(
          store_to(order_.indices->flat, order_.indices->at(line, at), cast(order_.indices->flat->dtype, index)));
    return guarded(logical_and(line < number(lines()), at < number(order_.wanted)), sequence(out));
  }

  // ---- kernels of tiles ----------------------------------------------------------------------------------------------

  /// Lines of `length` entries in tiles: a tile has a part of a line, or several lines.
  struct Tiles {
    int64_t length, segment, tile, of_line, blocks;
    PrimExpr line(const PrimExpr& block, const PrimExpr& at) const {
      if (of_line > 1) return floordiv(block, number(of_line));
      return block * number(tile / segment) + floordiv(at, number(segment));
    }
    PrimExpr index(const PrimExpr& block, const PrimExpr& at) const {
      if (of_line > 1) return floormod(block, number(of_line)) * number(tile) + at;
      return floormod(at, number(segment));
    }
  };

  Tiles tiles_of(int64_t length) const {
    const int64_t whole = std::max(kSortPart, power_of_two(length)), segment = std::min(max_tile_, whole);
    const int64_t tile = std::min(max_tile_, segment * power_of_two(lines()));
    const int64_t of_line = ceil_div(length, segment);
    return {length, segment, tile, of_line, of_line > 1 ? lines() * of_line : ceil_div(lines(), tile / segment)};
  }

  using Load = std::function<PrimExpr(const PrimExpr& line, const PrimExpr& index)>;
  using Store = std::function<Stmt(const PrimExpr& line, const PrimExpr& index, const PrimExpr& entry)>;

  /// One block's memory.
  struct Tile {
    Buffer entries, registers;
    PrimExpr thread;
    int64_t threads;

    /// Without conflicts of banks, whatever power of two apart.
    PrimExpr position(const PrimExpr& at) const { return at + floordiv(at, number(kSortPart)); }
    PrimExpr load(const PrimExpr& at) const { return make_load(entries, {position(at)}); }
    Stmt store(const PrimExpr& at, const PrimExpr& entry) const { return store_to(entries, position(at), entry); }

    /// For `count` of something, each by one thread.
    Stmt shared_out(int64_t count, const NestBody& body) const {
      std::vector<Stmt> out;
      for (int64_t first = 0; first < count; first += threads) {
        const PrimExpr mine = thread + number(first);
        out.push_back(guarded(first + threads <= count ? PrimExpr(bool_imm(true)) : mine < number(count), body(mine)));
      }
      return sequence(out);
    }
  };

  /// One kernel: tiles are loaded, worked at, and stored.
  Stmt tile_kernel(const Tiles& tiles, const Load& load, const std::function<std::vector<Stmt>(const Tile&)>& work,
                   const std::function<Stmt(const Tile&, const PrimExpr& block)>& store) const {
    return thread_loop("blockIdx.x", number(tiles.blocks), [&](const PrimExpr& block) {
      return thread_loop("threadIdx.x", number(tiles.tile / kSortPart), [&](const PrimExpr& thread) {
        Tile tile{memory_of("entries", kEntry, tiles.tile + tiles.tile / kSortPart, "shared"),
                  memory_of("held", kEntry, kSortPart + 1, "local"), thread, tiles.tile / kSortPart};
        std::vector<Stmt> parts{tile.shared_out(tiles.tile, [&](const PrimExpr& at) {
          const PrimExpr line = tiles.line(block, at), index = tiles.index(block, at);
          const PrimExpr is_there = logical_and(line < number(lines()), index < number(tiles.length));
          return tile.store(at, if_then_else(is_there, load(line, index), nothing()));
        })};
        parts.push_back(shared_barrier());
        for (const Stmt& each : work(tile)) parts.push_back(each);
        parts.push_back(store(tile, block));
        return with_own_barriers(all_allocated({tile.entries, tile.registers}, sequence(parts)));
      });
    });
  }

  /// Passes over all runs of a tile.
  static std::vector<Stmt> passes_over(const Tile& tile, int64_t size, const std::vector<NetworkPass>& passes) {
    std::vector<Stmt> out;
    for (const NetworkPass& pass : passes) {
      out.push_back(tile.shared_out(size >> pass.bits, [&](const PrimExpr& group) {
        auto at = [&](int64_t i) { return pass.position(group, i); };
        return ordered_group(
            pass, tile.registers, [&](int64_t i) { return tile.load(at(i)); },
            [&](int64_t i, const PrimExpr& entry) { return tile.store(at(i), entry); });
      }));
      out.push_back(shared_barrier());
    }
    return out;
  }

  // ---- all of a line -------------------------------------------------------------------------------------------------

  Stmt sort() {
    const Tiles tiles = tiles_of(power_of_two(order_.in.length));
    auto from_input = [&](const PrimExpr& line, const PrimExpr& index) {
      return if_then_else(index < number(order_.in.length), entry(line, index), nothing());
    };
    auto result = [&](const PrimExpr& line, const PrimExpr& index, const PrimExpr& entry) {
      return put(line, index, entry);
    };
    const std::vector<NetworkPass> in_tile = sorting_passes(tiles.segment);
    if (tiles.of_line == 1) return sort_tiles(tiles, from_input, in_tile, result);
    const Buffer runs = memory_of("runs", kEntry, lines() * tiles.length, "global");
    auto at = [&](const PrimExpr& line, const PrimExpr& index) { return line * number(tiles.length) + index; };
    auto from_runs = [&](const PrimExpr& line, const PrimExpr& index) { return make_load(runs, {at(line, index)}); };
    auto to_runs = [&](const PrimExpr& line, const PrimExpr& index, const PrimExpr& entry) {
      return store_to(runs, at(line, index), entry);
    };
    std::vector<Stmt> kernels{sort_tiles(tiles, from_input, in_tile, to_runs)};
    for (int64_t run = 2 * tiles.tile; run <= tiles.length; run *= 2) {
      for (const NetworkPass& pass : merging_passes(run, tiles.tile / 2)) kernels.push_back(pass_kernel(runs, pass));
      Store store = to_runs;
      if (run == tiles.length) store = result;
      kernels.push_back(sort_tiles(tiles, from_runs, bitonic_passes(tiles.tile / 2), store));
    }
    return allocated(runs, sequence(kernels));
  }

  Stmt sort_tiles(const Tiles& tiles, const Load& load, const std::vector<NetworkPass>& passes,
                  const Store& store) const {
    return tile_kernel(
        tiles, load, [&](const Tile& tile) { return passes_over(tile, tiles.tile, passes); },
        [&](const Tile& tile, const PrimExpr& block) {
          return tile.shared_out(tiles.tile, [&](const PrimExpr& at) {
            return store(tiles.line(block, at), tiles.index(block, at), tile.load(at));
          });
        });
  }

  /// A pass over entries of device memory: a thread has one group.
  static Stmt pass_kernel(const Buffer& entries, const NetworkPass& pass) {
    const int64_t groups = *as_int(entries->shape[0]) >> pass.bits, threads = std::min(kSortThreads, groups);
    return thread_loop("blockIdx.x", number(ceil_div(groups, threads)), [&](const PrimExpr& block) {
      return thread_loop("threadIdx.x", number(threads), [&](const PrimExpr& thread) {
        const Buffer registers = memory_of("held", kEntry, kSortPart + 1, "local");
        const PrimExpr group = block * number(threads) + thread;
        Stmt ordered = ordered_group(
            pass, registers, [&](int64_t i) { return make_load(entries, {pass.position(group, i)}); },
            [&](int64_t i, const PrimExpr& entry) { return store_to(entries, pass.position(group, i), entry); });
        return allocated(registers, guarded(group < number(groups), ordered));
      });
    });
  }

  // ---- the first entries of a line: Shanbhag, Pirk and Madden, "Efficient Top-K Query Processing on GPUs" -----------

  /// Of runs of `first` entries in order, the lesser halves of each two are left, until there is one run; tile by tile, and
  /// then of the tiles' runs.
  Stmt first_entries(int64_t first) {
    std::vector<Stmt> kernels;
    std::vector<Buffer> memory;
    Load load = [this](const PrimExpr& line, const PrimExpr& index) { return entry(line, index); };
    for (Tiles tiles = tiles_of(order_.in.length);; tiles = tiles_of(tiles.of_line * first)) {
      const bool is_last = tiles.of_line == 1;
      Buffer runs = is_last ? Buffer() : memory_of("runs", kEntry, lines() * tiles.of_line * first, "global");
      kernels.push_back(tile_kernel(
          tiles, load, [&](const Tile& tile) { return select_in_tile(tile, tiles, first); },
          [&](const Tile& tile, const PrimExpr& block) {
            return tile.shared_out(tiles.tile / tiles.segment * first, [&](const PrimExpr& i) {
              const PrimExpr segment = floordiv(i, number(first)), at = floormod(i, number(first));
              const PrimExpr entry = tile.load(segment * number(tiles.segment) + at);
              if (!is_last) return store_to(runs, block * number(first) + at, entry);
              return put(block * number(tiles.tile / tiles.segment) + segment, at, entry);
            });
          }));
      if (is_last) return all_allocated(memory, sequence(kernels));
      memory.push_back(runs);
      const int64_t length = tiles.of_line * first;
      load = [runs, length](const PrimExpr& line, const PrimExpr& index) {
        return make_load(runs, {line * number(length) + index});
      };
    }
  }

  /// The first run of each segment becomes its first entries.
  static std::vector<Stmt> select_in_tile(const Tile& tile, const Tiles& tiles, int64_t first) {
    std::vector<Stmt> out = passes_over(tile, tiles.tile, sorting_passes(first));
    for (int64_t apart = first; apart < tiles.segment; apart *= 2) {  // runs that are left, before
      bool is_halved = false;
      for (const NetworkPass& pass : bitonic_passes(first / 2)) {
        out.push_back(tile.shared_out(tiles.tile / (2 * apart) * first >> pass.bits, [&](const PrimExpr& group) {
          auto at = [&](int64_t i, bool is_other) {
            const PrimExpr index = pass.position(group, i), within = floormod(index, number(first));
            const PrimExpr run = floordiv(index, number(first)) * number(2 * apart);
            return is_other ? run + number(apart + first - 1) - within : run + within;
          };
          auto load = [&](int64_t i) {
            const PrimExpr entry = tile.load(at(i, false));
            return is_halved ? entry : min(entry, tile.load(at(i, true)));
          };
          return ordered_group(pass, tile.registers, load,
                               [&](int64_t i, const PrimExpr& entry) { return tile.store(at(i, false), entry); });
        }));
        out.push_back(shared_barrier());
        is_halved = true;
      }
    }
    return out;
  }

  const Order& order_;
  int64_t max_tile_ = kMaxSortTile;
};

}  // namespace

Stmt device_sort(const Stmt& call, const GpuMachine& machine) {
  std::optional<Order> order = order_of(call);
  if (!order) return nullptr;
  DeviceSort sort(*order, machine);
  return sort.fits() ? sort() : nullptr;
}

}  // namespace tessera::topi
