#include "topi/gpu/ordered/device_nms.h"

#include <algorithm>

#include "base/dtypes.h"
#include "ir/prim/ops.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/nest.h"
#include "topi/program.h"
#include "topi/search.h"
#include "topi/vision/nms.h"

namespace tessera::topi {
namespace {

const DataType kWord = DataType::UInt(32);
constexpr int64_t kWordBits = 32;                             // boxes of a word
constexpr int64_t kComparedRows = 128;                        // boxes that a block compares with those of a word
constexpr int64_t kWordLanes = 8;                             // threads that share the words of a box
constexpr int64_t kDecidingThreads = kWordBits * kWordLanes;  // of the block that decides
constexpr int64_t kMaxWords = int64_t{1} << 28;               // of device memory
constexpr int64_t kMaxKeptBytes = int64_t{16} * 1024;         // of shared memory

PrimExpr word(int64_t value) { return make_const(kWord, value); }
PrimExpr bit(const PrimExpr& at) { return word(1) << cast(kWord, at); }

/// Sizes of a call: `lists` are classes of images.
struct Sizes {
  int64_t batch, classes, boxes;

  int64_t lists() const { return batch * classes; }
  int64_t words() const { return ceil_div(boxes, kWordBits); }
  bool fit(const GpuMachine& machine) const {
    return boxes > 0 && lists() > 0 && lists() * words() <= kMaxWords / boxes && words() * 4 <= kMaxKeptBytes &&
           lists() * boxes * 3 < INT32_MAX && words() * 4 + kDecidingThreads * 8 <= machine->shared_bytes &&
           kDecidingThreads <= machine->max_threads;
  }
  PrimExpr image(const PrimExpr& list) const { return floordiv(list, number(classes)); }
  PrimExpr class_of(const PrimExpr& list) const { return floormod(list, number(classes)); }
};

/// body(block, thread) of a kernel.
Stmt kernel(int64_t blocks, int64_t threads, const std::function<Stmt(const PrimExpr&, const PrimExpr&)>& body) {
  return thread_loop("blockIdx.x", number(blocks), [&](const PrimExpr& block) {
    return thread_loop("threadIdx.x", number(threads), [&](const PrimExpr& thread) { return body(block, thread); });
  });
}

/// body(i) for each i below `extent`, by threads of one block.
Stmt shared_out(const PrimExpr& thread, int64_t threads, int64_t extent, const NestBody& body) {
  return loop(number(ceil_div(extent, threads)), [&](const PrimExpr& step) {
    const PrimExpr mine = step * number(threads) + thread;
    return guarded(mine < number(extent), body(mine));
  });
}

/// Boxes of each list by falling score: which of the better ones overlap each, as bits of words; then which stay.
class Selection {
 public:
  Selection(const Sizes& sizes, const Buffers& in, const Buffers& out) : sizes_(sizes), in_(in), out_(out) {}

  Stmt operator()() {
    pairs_ = memory_of("pairs", kWord, sizes_.lists() * sizes_.words() * sizes_.boxes, "global");
    return allocated(pairs_, sequence({compare(), decide()}));
  }

 private:
  Indices in_list(const PrimExpr& list, const PrimExpr& i) const {
    return {sizes_.image(list), sizes_.class_of(list), i};
  }
  PrimExpr box(const PrimExpr& list, const PrimExpr& i) const { return make_load(in_[2], in_list(list, i)); }
  PrimExpr pair_index(const PrimExpr& list, const PrimExpr& column, const PrimExpr& row) const {
    return (list * number(sizes_.words()) + column) * number(sizes_.boxes) + row;
  }
  PrimExpr nearest(const PrimExpr& i) const { return min(i, number(sizes_.boxes - 1)); }

  /// A block takes some boxes and the better ones of one word.
  Stmt compare() const {
    const int64_t row_blocks = ceil_div(sizes_.boxes, kComparedRows);
    const DataType dtype = in_[0]->dtype;
    const PrimExpr threshold = cast(dtype, only(in_[4]));
    return thread_loop("blockIdx.y", number(sizes_.words()), [&](const PrimExpr& column) {
      return kernel(sizes_.lists() * row_blocks, kComparedRows, [&](const PrimExpr& block, const PrimExpr& thread) {
        const PrimExpr list = floordiv(block, number(row_blocks));
        const PrimExpr row = floormod(block, number(row_blocks)) * number(kComparedRows) + thread;
        const Buffer better = memory_of("better", dtype, kWordBits * 4, "shared");
        const Buffer mine = memory_of("mine", dtype, 4, "local"), bits = memory_of("bits", kWord, 1, "local");
        auto coordinate = [&](const PrimExpr& i, const PrimExpr& k) {
          return make_load(in_[0], {sizes_.image(list), box(list, nearest(i)), k});
        };
        Stmt read_better =
            store_to(better, thread,
                     coordinate(column * number(kWordBits) + floordiv(thread, number(4)), floormod(thread, number(4))));
        Stmt read_mine =
            unrolled_loop("k", 4, [&](const PrimExpr& k) { return store_to(mine, k, coordinate(row, k)); });
        Stmt judge = loop_over("i", number(kWordBits), [&](const PrimExpr& i) {
          const PrimExpr overlaps =
              overlap([&](int k) { return load_from(mine, number(k)); },
                      [&](int k) { return load_from(better, i * number(4) + number(k)); }) >= threshold;
          const PrimExpr hit = logical_and(column * number(kWordBits) + i < row, overlaps);
          return store_to(bits, 0, load_from(bits, number(0)) | select(hit, bit(i), word(0)));
        });
        Stmt judged = sequence({read_mine, store_to(bits, 0, word(0)), judge,
                                store_to(pairs_, pair_index(list, column, row), load_from(bits, number(0)))});
        const PrimExpr matters = logical_and(row < number(sizes_.boxes), column * number(kWordBits) <= row);
        return with_own_barriers(
            all_allocated({better, mine, bits}, sequence({read_better, shared_barrier(), guarded(matters, judged)})));
      });
    });
  }

  /// A block for each list, word after word.
  Stmt decide() const {
    return kernel(sizes_.lists(), kDecidingThreads, [&](const PrimExpr& list, const PrimExpr& thread) {
      const Buffer kept = memory_of("kept", kWord, sizes_.words(), "shared");
      const Buffer hits = memory_of("hits", kWord, kDecidingThreads, "shared");
      const Buffer among = memory_of("among", kWord, kWordBits, "shared"),
                   is_good = memory_of("good", kWord, kWordBits, "shared");
      const Buffer taken = memory_of("taken", kInt32, 2, "shared");  // before this word, and after it
      const Buffer sum = memory_of("sum", kWord, 1, "local"), count = memory_of("count", kInt32, 1, "local");
      const PrimExpr r = floormod(thread, number(kWordBits)), lane = floordiv(thread, number(kWordBits));
      const PrimExpr is_first = thread < number(kWordBits), leads = equal(thread, number(0));
      const PrimExpr most = count_of(only(in_[3])), least = cast(in_[1]->dtype, only(in_[5]));
      auto add_bits = [&](const PrimExpr& bits) { return store_to(sum, 0, load_from(sum, number(0)) | bits); };

      Stmt start = sequence({guarded(leads, store_to(taken, 1, number(0))),
                             shared_out(thread, kDecidingThreads, sizes_.boxes,
                                        [&](const PrimExpr& i) { return store(out_[0], number(0), in_list(list, i)); }),
                             shared_barrier()});
      Stmt each_word = loop_over("column", number(sizes_.words()), [&](const PrimExpr& column) {
        const PrimExpr row = column * number(kWordBits) + r, safe = nearest(row);
        Stmt look =
            loop_over("step", floordiv(column + number(kWordLanes - 1), number(kWordLanes)), [&](const PrimExpr& step) {
              const PrimExpr other = step * number(kWordLanes) + lane;
              return guarded(other < column,
                             add_bits(load_from(pairs_, pair_index(list, other, safe)) & load_from(kept, other)));
            });
        const PrimExpr scores = make_load(in_[1], in_list(list, box(list, safe)));
        Stmt look_here =
            sequence({store_to(among, r, load_from(pairs_, pair_index(list, column, safe))),
                      store_to(is_good, r, cast(kWord, logical_and(row<number(sizes_.boxes), scores> least)))});
        Stmt collect = sequence(
            {store_to(sum, 0, word(0)),
             unrolled_loop("lane", kWordLanes,
                           [&](const PrimExpr& i) { return add_bits(load_from(hits, i * number(kWordBits) + r)); }),
             guarded(not_equal(load_from(sum, number(0)), word(0)), store_to(is_good, r, word(0)))});
        const PrimExpr room = logical_or(most < 0, load_from(count, number(0)) < most);
        Stmt choose = loop_over("i", number(kWordBits), [&](const PrimExpr& i) {
          const PrimExpr alone = equal(load_from(among, i) & load_from(sum, number(0)), word(0));
          return guarded(logical_and(logical_and(not_equal(load_from(is_good, i), word(0)), alone), room),
                         sequence({add_bits(bit(i)), store_to(count, 0, load_from(count, number(0)) + number(1))}));
        });
        Stmt lead =
            sequence({store_to(taken, 0, load_from(taken, number(1))), store_to(count, 0, load_from(taken, number(1))),
                      store_to(sum, 0, word(0)), choose, store_to(kept, column, load_from(sum, number(0))),
                      store_to(taken, 1, load_from(count, number(0)))});
        const PrimExpr before = popcount_of(load_from(kept, column) & (bit(r) - word(1)));
        Stmt write = guarded(not_equal(load_from(kept, column) & bit(r), word(0)),
                             store(out_[0], box(list, safe), in_list(list, load_from(taken, number(0)) + before)));
        return sequence({store_to(sum, 0, word(0)), look, store_to(hits, thread, load_from(sum, number(0))),
                         guarded(is_first, look_here), shared_barrier(), guarded(is_first, collect), shared_barrier(),
                         guarded(leads, lead), shared_barrier(), guarded(is_first, write)});
      });
      Stmt finish =
          guarded(leads, store(out_[1], load_from(taken, number(1)), {sizes_.image(list), sizes_.class_of(list)}));
      return with_own_barriers(
          all_allocated({kept, hits, among, is_good, taken, sum, count}, sequence({start, each_word, finish})));
    });
  }

  static PrimExpr popcount_of(const PrimExpr& bits) { return cast(kInt32, make_call(kWord, "tir.popcount", {bits})); }

  const Sizes& sizes_;
  const Buffers &in_, &out_;
  Buffer pairs_;
};

/// The boxes that stay, one list after the other; of all images, or of each one. What is behind them is 0.
Stmt collected(const Sizes& sizes, const Buffers& in, const Buffers& out, bool as_onnx) {
  const int64_t lists = as_onnx ? sizes.lists() : sizes.classes;  // that follow each other
  const int64_t elements = sizes.lists() * sizes.boxes;
  auto count = [&](const PrimExpr& list) { return make_load(in[1], {sizes.image(list), sizes.class_of(list)}); };
  auto rows = [&](const PrimExpr& list, const PrimExpr& row, const PrimExpr& box) {
    const PrimExpr image = sizes.image(list), in_image = sizes.class_of(list);
    const bool is_empty = !box;
    auto value = [&](const PrimExpr& given) { return is_empty ? number(0) : given; };
    if (as_onnx)
      return sequence({store(out[0], value(image), {row, number(0)}), store(out[0], value(in_image), {row, number(1)}),
                       store(out[0], value(box), {row, number(2)})});
    const PrimExpr score = is_empty ? make_zero(in[2]->dtype) : make_load(in[2], {image, in_image, box});
    return sequence({store(out[0], value(in_image), {image, row, number(0)}),
                     store(out[0], value(box), {image, row, number(1)}), store(out[1], score, {image, row})});
  };
  Stmt clear = kernel(
      ceil_div(elements, kDecidingThreads), kDecidingThreads, [&](const PrimExpr& block, const PrimExpr& thread) {
        const PrimExpr row = block * number(kDecidingThreads) + thread, of_image = number(sizes.classes * sizes.boxes);
        return guarded(row < number(elements), as_onnx ? rows(number(0), row, nullptr)
                                                       : rows(floordiv(row, of_image) * number(sizes.classes),
                                                              floormod(row, of_image), nullptr));
      });
  Stmt write = kernel(sizes.lists(), kDecidingThreads, [&](const PrimExpr& list, const PrimExpr& thread) {
    const Buffer first = memory_of("first", kInt32, 1, "local");
    const PrimExpr start = floordiv(list, number(lists)) * number(lists),
                   end = load_from(first, number(0)) + count(list);
    Stmt add_up = loop_over("i", list - start, [&](const PrimExpr& i) {
      return store_to(first, 0, load_from(first, number(0)) + count(start + i));
    });
    Stmt copy = shared_out(thread, kDecidingThreads, sizes.boxes, [&](const PrimExpr& i) {
      const PrimExpr box = make_load(in[0], {sizes.image(list), sizes.class_of(list), i});
      return guarded(i < count(list), rows(list, load_from(first, number(0)) + i, box));
    });
    Stmt total = store(out.back(), end, {as_onnx ? number(0) : sizes.image(list)});
    const PrimExpr is_last = logical_and(equal(thread, number(0)), equal(list - start, number(lists - 1)));
    return allocated(first, sequence({store_to(first, 0, number(0)), add_up, copy, guarded(is_last, total)}));
  });
  return sequence({clear, write});
}

}  // namespace

Array<te::Tensor> device_all_class_nms(const te::Tensor& boxes, const te::Tensor& scores,
                                       const te::Tensor& max_per_class, const te::Tensor& iou_threshold,
                                       const te::Tensor& score_threshold, bool as_onnx, const GpuMachine& machine) {
  const int64_t *batch = as_int(scores->shape[0]), *classes = as_int(scores->shape[1]),
                *count = as_int(scores->shape[2]);
  auto *images = as_int(boxes->shape[0]), *each = as_int(boxes->shape[1]);
  if (!batch || !classes || !count || !images || !each || *images != *batch || *each != *count) return {};
  const Sizes sizes{*batch, *classes, *count};
  if (!sizes.fit(machine)) return {};
  Array<te::Tensor> inputs{boxes,         scores,        argsort(scores, 2, false, kInt32),
                           max_per_class, iou_threshold, score_threshold};
  Array<te::Tensor> chosen =
      program("all_class_nms", inputs, {{scores->shape, kInt32}, {{scores->shape[0], scores->shape[1]}, kInt32}},
              [&](const Buffers& in, const Buffers& out) { return Selection(sizes, in, out)(); });
  const DataType wide = DataType::Int(64);
  const PrimExpr rows = number(*classes * *count), all = number(sizes.lists() * *count);
  std::vector<Result> results{{{all, PrimExpr(3)}, wide}, {{PrimExpr(1)}, wide}};
  if (!as_onnx)
    results = {{{scores->shape[0], rows, PrimExpr(2)}, wide},
               {{scores->shape[0], rows}, DataType::Float(32)},
               {{scores->shape[0]}, wide}};
  return program("all_class_nms_collect", {chosen[0], chosen[1], scores}, results,
                 [&](const Buffers& in, const Buffers& out) { return collected(sizes, in, out, as_onnx); });
}

}  // namespace tessera::topi
