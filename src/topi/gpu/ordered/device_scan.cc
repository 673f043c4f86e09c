#include "topi/gpu/ordered/device_scan.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/nest.h"
#include "topi/program.h"

namespace tessera::topi {
namespace {

constexpr int64_t kScanPart = 8;  // elements of a thread that lie side by side
constexpr int64_t kScanThreads = 256, kScanTile = kScanThreads * kScanPart;
constexpr int64_t kMaxScanParts = 1024;  // of a line
constexpr int64_t kShortLine = 64;       // that one thread takes
constexpr int64_t kManyLines = 4096;     // enough for a thread each
constexpr int64_t kMaxScanned = INT32_MAX / 2;

class DeviceScan {
 public:
  DeviceScan(const Buffer& in, const Buffer& out, int axis, bool is_product, bool exclusive)
      : in_(in), out_(out), axis_(static_cast<size_t>(axis)), is_product_(is_product), exclusive_(exclusive) {
    const DataType dtype = out->dtype;
    sum_ = dtype.is_floating() && dtype.bits < 32 ? DataType::Float(32) : dtype;
    for (size_t i = 0; i < in->shape.size(); ++i) {
      const int64_t extent = *as_int(in->shape[i]);
      (static_cast<int>(i) < axis ? outer_ : static_cast<int>(i) == axis ? length_ : inner_) *= extent;
    }
  }

  Stmt operator()(const GpuMachine& machine) {
    const bool by_threads = length_ <= kShortLine || (lines() >= kManyLines && inner_ >= machine->warp);
    if (by_threads) return line_of_thread();
    const int64_t tiles = ceil_div(length_, kScanTile);
    const int64_t wanted = ceil_div(4 * int64_t{machine->multiprocessors}, lines());
    const int64_t tiles_of_part = ceil_div(tiles, std::min({tiles, wanted, kMaxScanParts}));
    parts_ = ceil_div(tiles, tiles_of_part);
    tiles_ = tiles_of_part;
    if (parts_ == 1) return scan_parts();
    partials_ = memory_of("partials", sum_, lines() * parts_, "global");
    return allocated(partials_, sequence({add_up_parts(), scan_parts()}));
  }

 private:
  int64_t lines() const { return outer_ * inner_; }
  /// Element `i` of a line.
  Indices indices(const PrimExpr& line, const PrimExpr& i) const {
    const std::vector<PrimExpr> shape(in_->shape.begin(), in_->shape.end());
    const auto axis = shape.begin() + static_cast<std::ptrdiff_t>(axis_);
    Indices out;
    const PrimExpr outer = inner_ == 1 ? line : floordiv(line, number(inner_)), inner = floormod(line, number(inner_));
    for (const PrimExpr& digit : digits_of(outer, {shape.begin(), axis})) out.push_back(digit);
    out.push_back(i);
    for (const PrimExpr& digit : digits_of(inner, {axis + 1, shape.end()})) out.push_back(digit);
    return out;
  }
  PrimExpr element(const PrimExpr& line, const PrimExpr& i) const {
    return cast(sum_, cast(out_->dtype, make_load(in_, indices(line, i))));
  }
  PrimExpr combined(const PrimExpr& a, const PrimExpr& b) const { return is_product_ ? a * b : a + b; }
  /// -0 is what leaves every number as it is; an exclusive sum begins with 0.
  PrimExpr identity() const {
    return make_const(sum_, is_product_ ? 1.0 : sum_.is_floating() && !exclusive_ ? -0.0 : 0.0);
  }
  Stmt put(const PrimExpr& line, const PrimExpr& i, const PrimExpr& value) const {
    return store(out_, value, indices(line, i));
  }

  Stmt line_of_thread() const {
    const int64_t threads = std::min(kScanThreads, lines());
    return thread_loop("blockIdx.x", number(ceil_div(lines(), threads)), [&](const PrimExpr& block) {
      return thread_loop("threadIdx.x", number(threads), [&](const PrimExpr& thread) {
        const PrimExpr line = block * number(threads) + thread;
        const Buffer sum = memory_of("sum", sum_, 1, "local");
        Stmt steps = loop_over("i", number(length_), [&](const PrimExpr& i) {
          Stmt add = store_to(sum, number(0), combined(load_from(sum, number(0)), element(line, i)));
          Stmt store = put(line, i, load_from(sum, number(0)));
          return sequence(exclusive_ ? std::vector{store, add} : std::vector{add, store});
        });
        return allocated(sum, guarded(line < number(lines()), sequence({store_to(sum, number(0), identity()), steps})));
      });
    });
  }

  /// A block's memory, and what it works at.
  struct Block {
    Buffer tile, sums, held, carry;  // of the tile; of threads; of one thread
    PrimExpr line, part, thread;
    PrimExpr position(const PrimExpr& i) const {
      return i + floordiv(i, number(kScanPart));
    }  // without conflicts of banks
  };

  Stmt each_part(const std::function<Stmt(const Block&)>& body) const {
    return thread_loop("blockIdx.x", number(lines() * parts_), [&](const PrimExpr& block) {
      return thread_loop("threadIdx.x", number(kScanThreads), [&](const PrimExpr& thread) {
        Block b{memory_of("tile", sum_, kScanTile + kScanThreads, "shared"),
                memory_of("sums", sum_, 2 * kScanThreads, "shared"),
                memory_of("held", sum_, kScanPart, "local"),
                memory_of("carry", sum_, 1, "local"),
                floordiv(block, number(parts_)),
                floormod(block, number(parts_)),
                thread};
        return with_own_barriers(all_allocated({b.tile, b.sums, b.held, b.carry}, body(b)));
      });
    });
  }

  PrimExpr start_of(const Block& b, const PrimExpr& tile) const {
    return (b.part * number(tiles_) + tile) * number(kScanTile);
  }

  Stmt load(const Block& b, const PrimExpr& start) const {
    return unrolled_loop("step", kScanPart, [&](const PrimExpr& step) {
      const PrimExpr i = step * number(kScanThreads) + b.thread;
      return store_to(b.tile, b.position(i),
                      if_then_else(start + i < number(length_), element(b.line, start + i), identity()));
    });
  }

  /// What a thread's elements make together, in `sums`.
  Stmt add_up_mine(const Block& b) const {
    Stmt each = unrolled_loop("step", kScanPart, [&](const PrimExpr& step) {
      const PrimExpr before = load_from(b.sums, b.thread),
                     mine = load_from(b.tile, b.thread * number(kScanPart + 1) + step);
      return store_to(b.sums, b.thread, combined(before, mine));
    });
    return sequence({store_to(b.sums, b.thread, identity()), each, shared_barrier()});
  }

  /// Each of `sums` becomes the sum up to it (Hillis and Steele), in turns in both halves of the memory.
  Stmt scan_sums(const Block& b) const {
    std::vector<Stmt> out;
    int64_t from = 0;
    for (int64_t apart = 1; apart < kScanThreads; apart *= 2, from = kScanThreads - from) {
      const PrimExpr mine = load_from(b.sums, b.thread + number(from));
      const PrimExpr before = load_from(b.sums, max(b.thread - number(apart), number(0)) + number(from));
      out.push_back(store_to(b.sums, b.thread + number(kScanThreads - from),
                             select(b.thread >= number(apart), combined(before, mine), mine)));
      out.push_back(shared_barrier());
    }
    ICHECK(from == 0) << "an even number of steps ends where it began";
    return sequence(out);
  }

  Stmt add_up_parts() const {
    return each_part([&](const Block& b) {
      Stmt tiles = loop_over("tile", number(tiles_), [&](const PrimExpr& tile) {
        const PrimExpr start = start_of(b, tile);
        return unrolled_loop("step", kScanPart, [&](const PrimExpr& step) {
          const PrimExpr i = start + step * number(kScanThreads) + b.thread;
          const PrimExpr value = if_then_else(i < number(length_), element(b.line, i), identity());
          return store_to(b.carry, number(0), combined(load_from(b.carry, number(0)), value));
        });
      });
      Stmt share =
          sequence({store_to(b.sums, b.thread, load_from(b.carry, number(0))), shared_barrier(), scan_sums(b)});
      Stmt store = guarded(equal(b.thread, number(0)), store_to(partials_, b.line * number(parts_) + b.part,
                                                                load_from(b.sums, number(kScanThreads - 1))));
      return sequence({store_to(b.carry, number(0), identity()), tiles, share, store});
    });
  }

  /// What the parts before this one make, in `carry` of all threads.
  Stmt add_up_partials(const Block& b) const {
    Stmt mine = loop_over("step", number(ceil_div(parts_, kScanThreads)), [&](const PrimExpr& step) {
      const PrimExpr i = step * number(kScanThreads) + b.thread;
      return guarded(i < b.part, store_to(b.carry, number(0),
                                          combined(load_from(b.carry, number(0)),
                                                   load_from(partials_, b.line * number(parts_) + i))));
    });
    return sequence({mine, store_to(b.sums, b.thread, load_from(b.carry, number(0))), shared_barrier(), scan_sums(b),
                     store_to(b.carry, number(0), load_from(b.sums, number(kScanThreads - 1))), shared_barrier()});
  }

  Stmt scan_parts() const {
    return each_part([&](const Block& b) {
      Stmt tiles = loop_over("tile", number(tiles_), [&](const PrimExpr& tile) {
        const PrimExpr start = start_of(b, tile);
        const PrimExpr carry = load_from(b.carry, number(0)), sum = load_from(b.held, number(0));
        const PrimExpr before = load_from(b.sums, max(b.thread - number(1), number(0)));
        Stmt first = store_to(b.held, number(0), select(b.thread > 0, combined(carry, before), carry));
        Stmt mine = unrolled_loop("step", kScanPart, [&](const PrimExpr& step) {
          const PrimExpr i = b.thread * number(kScanPart + 1) + step;
          Stmt keep = store_to(b.held, number(1), load_from(b.tile, i));
          Stmt add = store_to(b.held, number(0), combined(sum, load_from(b.held, number(1))));
          Stmt put = store_to(b.tile, i, sum);
          return sequence(exclusive_ ? std::vector{keep, put, add} : std::vector{keep, add, put});
        });
        Stmt next = store_to(b.carry, number(0), combined(carry, load_from(b.sums, number(kScanThreads - 1))));
        Stmt store = unrolled_loop("step", kScanPart, [&](const PrimExpr& step) {
          const PrimExpr i = step * number(kScanThreads) + b.thread;
          return guarded(start + i < number(length_), put(b.line, start + i, load_from(b.tile, b.position(i))));
        });
        return sequence({load(b, start), shared_barrier(), add_up_mine(b), scan_sums(b), first, mine, next,
                         shared_barrier(), store, shared_barrier()});
      });
      std::vector<Stmt> out{store_to(b.carry, number(0), identity())};
      if (parts_ > 1) out.push_back(add_up_partials(b));
      out.push_back(tiles);
      return sequence(out);
    });
  }

  Buffer in_, out_, partials_;
  size_t axis_;
  bool is_product_, exclusive_;
  DataType sum_;
  int64_t outer_ = 1, length_ = 1, inner_ = 1, parts_ = 1, tiles_ = 1;  // tiles of a part
};

bool is_known(const te::Tensor& x) {
  int64_t elements = 1;
  for (const PrimExpr& extent : x->shape) {
    const int64_t* value = as_int(extent);
    if (!value || *value < 1 || elements > kMaxScanned / *value) return false;
    elements *= *value;
  }
  return true;
}

}  // namespace

te::Tensor device_scan(const te::Tensor& x, int axis, bool is_product, bool exclusive, DataType dtype,
                       const GpuMachine& machine) {
  const int64_t shared = (kScanTile + 3 * kScanThreads) * 8;
  if (!is_known(x) || kScanThreads > machine->max_threads || shared > machine->shared_bytes) return nullptr;
  return program(is_product ? "cumprod" : "cumsum", {x}, {{x->shape, dtype}},
                 [&](const Buffers& in, const Buffers& out) {
                   return DeviceScan(in[0], out[0], axis, is_product, exclusive)(machine);
                 })[0];
}

}  // namespace tessera::topi
