#include "topi/vision/nms.h"

#include "base/dtypes.h"
#include "ir/prim/ops.h"
#include "topi/program.h"
#include "topi/safe_index.h"
#include "topi/search.h"
#include "topi/vision/taken_boxes.h"

namespace tessera::topi {
namespace {

PrimExpr whole(int value) { return make_const(kInt32, value); }
PrimExpr as_int32(const PrimExpr& x) { return tessera::cast(kInt32, x); }

/// One row of values set to one value.
Stmt fill_row(const Buffer& buffer, const PrimExpr& batch, const PrimExpr& row, double value) {
  return loop(buffer->shape[2],
              [&](const PrimExpr& k) { return store(buffer, make_const(buffer->dtype, value), {batch, row, k}); });
}
Stmt copy_row(const Buffer& from, const PrimExpr& from_row, const Buffer& to, const PrimExpr& to_row,
              const PrimExpr& batch) {
  return loop(to->shape[2],
              [&](const PrimExpr& k) { return store(to, make_load(from, {batch, from_row, k}), {batch, to_row, k}); });
}

/// For each image, with a counter that starts at 0.
Stmt each_image(const PrimExpr& batch, int counters,
                const std::function<Stmt(const PrimExpr& image, const std::vector<Cell>&)>& body) {
  return loops(
      {batch},
      [&](const Indices& at) {
        return with_memory(kInt32, counters, [&](const Buffer& memory) {
          std::vector<Cell> cells;
          std::vector<Stmt> all;
          for (int i = 0; i < counters; ++i) {
            cells.emplace_back(memory, i);
            all.push_back(cells.back().set(whole(0)));
          }
          all.push_back(body(at[0], cells));
          return sequence(all);
        });
      },
      true);
}

}  // namespace

PrimExpr only(const Buffer& buffer) { return make_load(buffer, Indices(buffer->shape.size(), PrimExpr(0))); }

PrimExpr count_of(const PrimExpr& given) {
  PrimExpr wide = tessera::cast(DataType::Int(64), given);
  return as_int32(min(max(wide, make_const(wide.dtype(), -1)), make_const(wide.dtype(), INT32_MAX)));
}

PrimExpr overlap(const Corner& a, const Corner& b) {
  PrimExpr shared, of_a, of_b;
  for (int i = 0; i < 2; ++i) {
    PrimExpr low_a = min(a(i), a(i + 2)), high_a = max(a(i), a(i + 2));
    PrimExpr low_b = min(b(i), b(i + 2)), high_b = max(b(i), b(i + 2));
    PrimExpr side = max(min(high_a, high_b) - max(low_a, low_b), make_zero(low_a.dtype()));
    shared = shared ? shared * side : side;
    of_a = of_a ? of_a * (high_a - low_a) : high_a - low_a;
    of_b = of_b ? of_b * (high_b - low_b) : high_b - low_b;
  }
  PrimExpr all = of_a + of_b - shared, zero = make_zero(all.dtype());
  return select(all <= zero, zero, div(shared, select(all <= zero, make_const(all.dtype(), 1), all)));
}

Array<te::Tensor> get_valid_counts(const te::Tensor& data, const te::Tensor& score_threshold, int id_index,
                                   int score_index) {
  PrimExpr batch = data->shape[0], boxes = data->shape[1];
  std::vector<Result> results{{{batch}, kInt32}, {data->shape, data->dtype}, {{batch, boxes}, kInt32}};
  return program("get_valid_counts", {data, score_threshold}, results, [&](const Buffers& in, const Buffers& out) {
    PrimExpr threshold = tessera::cast(data->dtype, only(in[1]));
    return each_image(batch, 1, [&](const PrimExpr& i, const std::vector<Cell>& cells) {
      const Cell& count = cells[0];
      Stmt choose = loop(boxes, [&](const PrimExpr& j) {
        PrimExpr is_valid = make_load(in[0], {i, j, PrimExpr(score_index)}) > threshold;
        if (id_index >= 0)
          is_valid = logical_and(is_valid, make_load(in[0], {i, j, PrimExpr(id_index)}) >= make_zero(data->dtype));
        Stmt take = sequence({copy_row(in[0], j, out[1], count(), i), store(out[2], j, {i, count()}), count.add(1)});
        return when(is_valid, take);
      });
      Stmt rest = loop(boxes, [&](const PrimExpr& j) {
        return when(j >= count(), sequence({fill_row(out[1], i, j, -1), store(out[2], whole(-1), {i, j})}));
      });
      return sequence({choose, rest, store(out[0], count(), {i})});
    });
  });
}

namespace {

/// Scores of the boxes that count; the others come last when they are sorted.
te::Tensor scores_that_count(const te::Tensor& data, const te::Tensor& valid_count, int score_index) {
  return compute(
      {data->shape[0], data->shape[1]}, "i",
      [&](const Array<PrimExpr>& at) {
        PrimExpr score = te::load(data, {at[0], at[1], PrimExpr(score_index)});
        SafeAccess counts({});
        counts.shares(data->shape[0], valid_count->shape[0], 0);
        return if_then_else(at[1] < counts.load(valid_count, {at[0]}), score, min_value(data->dtype));
      },
      "score", kElementwise);
}

/// Entries that are not negative at the front, -1 behind them, and how many.
Array<te::Tensor> compact_indices(const te::Tensor& indices) {
  PrimExpr batch = indices->shape[0], boxes = indices->shape[1];
  std::vector<Result> results{{indices->shape, kInt32}, {{batch, PrimExpr(1)}, kInt32}};
  return program("rearrange_indices_out", {indices}, results, [&](const Buffers& in, const Buffers& out) {
    return each_image(batch, 1, [&](const PrimExpr& i, const std::vector<Cell>& cells) {
      const Cell& count = cells[0];
      Stmt choose = loop(boxes, [&](const PrimExpr& j) {
        PrimExpr index = make_load(in[0], {i, j});
        return when(index >= 0, sequence({store(out[0], index, {i, count()}), count.add(1)}));
      });
      Stmt rest = loop(boxes, [&](const PrimExpr& j) { return when(j >= count(), store(out[0], whole(-1), {i, j})); });
      return sequence({choose, rest, store(out[1], count(), {i, PrimExpr(0)})});
    });
  });
}

/// Boxes whose first value is not negative at the front, -1 behind them.
te::Tensor compact_boxes(const te::Tensor& data) {
  return program("rearrange_box_out", {data}, {{data->shape, data->dtype}}, [&](const Buffers& in, const Buffers& out) {
    return each_image(data->shape[0], 1, [&](const PrimExpr& i, const std::vector<Cell>& cells) {
      const Cell& count = cells[0];
      Stmt choose = loop(data->shape[1], [&](const PrimExpr& j) {
        PrimExpr is_valid = make_load(in[0], {i, j, PrimExpr(0)}) >= make_zero(data->dtype);
        return when(is_valid, sequence({copy_row(in[0], j, out[0], count(), i), count.add(1)}));
      });
      Stmt rest =
          loop(data->shape[1], [&](const PrimExpr& j) { return when(j >= count(), fill_row(out[0], i, j, -1)); });
      return sequence({choose, rest});
    });
  })[0];
}

}  // namespace

Array<te::Tensor> non_max_suppression(const te::Tensor& data, const te::Tensor& valid_count, const te::Tensor& indices,
                                      const te::Tensor& max_output_size, const te::Tensor& iou_threshold,
                                      const NmsOptions& options) {
  PrimExpr batch = data->shape[0], boxes = data->shape[1];
  te::Tensor order = argsort(scores_that_count(data, valid_count, options.score_index), 1, false, kInt32);
  Array<te::Tensor> inputs{data, order, valid_count, indices, max_output_size, iou_threshold};
  std::vector<Result> results{{data->shape, data->dtype}, {{batch, boxes}, kInt32}};
  Array<te::Tensor> kept = program("nms", inputs, results, [&](const Buffers& in, const Buffers& out) {
    PrimExpr threshold = tessera::cast(data->dtype, only(in[5])), most = count_of(only(in[4]));
    PrimExpr zero = make_zero(data->dtype), suppresses = threshold > zero;
    SafeAccess counts({}), numbers({});
    counts.shares(batch, valid_count->shape[0], 0);
    numbers.shares(batch, indices->shape[0], 0);
    numbers.shares(boxes, indices->shape[1], 1);
    return each_image(batch, 4, [&](const PrimExpr& i, const std::vector<Cell>& cells) {
      const Cell &taken = cells[0], &is_good = cells[1], &looked_at = cells[2], &before = cells[3];
      auto value = [&](const PrimExpr& row, int k) { return make_load(out[0], {i, row, PrimExpr(k)}); };
      auto corner = [&](const PrimExpr& row) {
        return [=](int k) { return make_load(out[0], {i, row, PrimExpr(options.coord_start + k)}); };
      };
      auto drop = [&](const PrimExpr& j) {
        return sequence({fill_row(out[0], i, j, -1), store(out[1], whole(-1), {i, j})});
      };
      PrimExpr count = if_then_else(counts.is_possible(), count_of(make_load(in[2], {i})), whole(0));
      PrimExpr valid = min(count, as_int32(boxes)), best = valid;
      if (options.top_k > 0) best = if_then_else(suppresses, min(valid, whole(options.top_k)), valid);
      Stmt gather = loop(boxes, [&](const PrimExpr& j) {
        PrimExpr row = if_then_else(suppresses, make_load(in[1], {i, j}), as_int32(j));
        return when(j < looked_at(), sequence({copy_row(in[0], row, out[0], j, i), store(out[1], row, {i, j})}),
                    drop(j));
      });
      Stmt choose = loop(boxes, [&](const PrimExpr& j) {
        const PrimExpr k = before();
        PrimExpr matters = value(k, options.score_index) > zero;
        if (options.id_index >= 0) {
          matters = logical_and(matters, value(k, options.id_index) >= zero);
          if (!options.force_suppress)
            matters = logical_and(matters, equal(value(j, options.id_index), value(k, options.id_index)));
        }
        Stmt suppress = when(matters, when(overlap(corner(j), corner(k)) >= threshold, is_good.set(whole(0))));
        Stmt compare = sequence({before.set(whole(0)), loop_while(logical_and(k < as_int32(j), equal(is_good(), 1)),
                                                                  sequence({suppress, before.add(1)}))});
        Stmt judge = sequence({is_good.set(whole(1)), compare, when(equal(is_good(), 1), taken.add(1), drop(j))});
        Stmt step = when(equal(taken(), most), drop(j), when(value(j, options.score_index) > zero, judge));
        return when(j < looked_at(), step);
      });
      std::vector<Stmt> all{looked_at.set(best), gather, when(suppresses, choose)};
      if (options.return_indices)
        all.push_back(loop(boxes, [&](const PrimExpr& j) {
          PrimExpr index = make_load(out[1], {i, j});
          PrimExpr number = if_then_else(numbers.is_possible(), make_load(in[3], {i, index}), whole(-1));
          return when(index >= 0, store(out[1], number, {i, j}));
        }));
      return sequence(all);
    });
  });
  if (options.return_indices) return compact_indices(kept[1]);
  if (options.invalid_to_bottom) return {compact_boxes(kept[0])};
  return {kept[0]};
}

namespace {

/// For each class of each image, by falling score: the boxes that stay, and how many.
Array<te::Tensor> select_by_class(const te::Tensor& boxes, const te::Tensor& scores, const te::Tensor& max_per_class,
                                  const te::Tensor& iou_threshold, const te::Tensor& score_threshold) {
  PrimExpr batch = scores->shape[0], classes = scores->shape[1], count = scores->shape[2];
  Array<te::Tensor> inputs{boxes,         scores,        argsort(scores, 2, false, kInt32),
                           max_per_class, iou_threshold, score_threshold};
  std::vector<Result> results{{scores->shape, kInt32}, {{batch, classes}, kInt32}};
  return program("all_class_nms", inputs, results, [&](const Buffers& in, const Buffers& out) {
    PrimExpr most = count_of(only(in[3])), threshold = tessera::cast(boxes->dtype, only(in[4]));
    PrimExpr least = tessera::cast(scores->dtype, only(in[5]));
    auto one_class = [&](const PrimExpr& b, const PrimExpr& c, const TakenBoxes& stay, const Cell& taken) {
      auto corner_of = [&](const PrimExpr& box) -> Corner {
        return [=, &in](int k) { return make_load(in[0], {b, box, PrimExpr(k)}); };
      };
      Stmt choose = loop(count, [&](const PrimExpr& j) {
        const PrimExpr box = make_load(in[2], {b, c, j});
        const Corner corner = corner_of(box);
        Stmt take = sequence({store(out[0], box, {b, c, taken()}), stay.add(corner), taken.add(1)});
        PrimExpr has_room = logical_or(most < 0, taken() < most);
        return when(logical_and(make_load(in[1], {b, c, box}) > least, has_room),
                    sequence({stay.find(corner, threshold), when(logical_not(stay.is_found()), take)}));
      });
      choose = sequence({stay.clear(corner_of), choose});
      SafeAccess access({});
      access.shares(batch, boxes->shape[0], 0);
      access.shares(count, boxes->shape[1], 1);
      choose = when(access.is_possible(), choose);
      Stmt clear = loop(count, [&](const PrimExpr& j) { return store(out[0], whole(0), {b, c, j}); });
      return sequence({taken.set(whole(0)), clear, choose, store(out[1], taken(), {b, c})});
    };
    return loops(
        {batch, classes},
        [&](const Indices& at) {
          return TakenBoxes::with(boxes->dtype, count, [&](const TakenBoxes& stay) {
            return with_memory(kInt32, 1,
                               [&](const Buffer& memory) { return one_class(at[0], at[1], stay, Cell(memory, 0)); });
          });
        },
        true);
  });
}

}  // namespace

Array<te::Tensor> all_class_non_max_suppression(const te::Tensor& boxes, const te::Tensor& scores,
                                                const te::Tensor& max_per_class, const te::Tensor& iou_threshold,
                                                const te::Tensor& score_threshold, bool as_onnx) {
  PrimExpr batch = scores->shape[0], classes = scores->shape[1], count = scores->shape[2];
  DataType wide = DataType::Int(64);
  Array<te::Tensor> chosen = select_by_class(boxes, scores, max_per_class, iou_threshold, score_threshold);
  if (as_onnx) {
    PrimExpr rows = batch * classes * count;
    std::vector<Result> results{{{rows, PrimExpr(3)}, wide}, {{PrimExpr(1)}, wide}};
    return program("all_class_nms_onnx", chosen, results, [&](const Buffers& in, const Buffers& out) {
      return with_memory(kInt32, 1, [&](const Buffer& memory) {
        Cell row(memory, 0);
        Stmt clear = loops({rows, PrimExpr(3)}, [&](const Indices& at) { return store(out[0], whole(0), at); });
        Stmt collect = loops({batch, classes, count}, [&](const Indices& at) {
          Stmt write = sequence({store(out[0], at[0], {row(), PrimExpr(0)}), store(out[0], at[1], {row(), PrimExpr(1)}),
                                 store(out[0], make_load(in[0], at), {row(), PrimExpr(2)}), row.add(1)});
          return when(at[2] < make_load(in[1], {at[0], at[1]}), write);
        });
        return sequence({clear, row.set(whole(0)), collect, store(out[1], row(), {PrimExpr(0)})});
      });
    });
  }
  PrimExpr rows = classes * count;
  std::vector<Result> results{{{batch, rows, PrimExpr(2)}, wide}, {{batch, rows}, scores->dtype}, {{batch}, wide}};
  Array<te::Tensor> collected = program(
      "all_class_nms_collect", {chosen[0], chosen[1], scores}, results, [&](const Buffers& in, const Buffers& out) {
        return each_image(batch, 1, [&](const PrimExpr& b, const std::vector<Cell>& cells) {
          const Cell& row = cells[0];
          Stmt clear = loop(rows, [&](const PrimExpr& j) {
            return sequence({fill_row(out[0], b, j, 0), store(out[1], make_zero(scores->dtype), {b, j})});
          });
          Stmt collect = loops({classes, count}, [&](const Indices& at) {
            PrimExpr box = make_load(in[0], {b, at[0], at[1]});
            Stmt write =
                sequence({store(out[0], at[0], {b, row(), PrimExpr(0)}), store(out[0], box, {b, row(), PrimExpr(1)}),
                          store(out[1], make_load(in[2], {b, at[0], box}), {b, row()}), row.add(1)});
            return when(at[1] < make_load(in[1], {b, at[0]}), write);
          });
          return sequence({clear, collect, store(out[2], row(), {b})});
        });
      });
  te::Tensor of_float = compute(
      {batch, rows}, "i",
      [&](const Array<PrimExpr>& at) { return tessera::cast(DataType::Float(32), te::load(collected[1], at)); },
      "selected_scores", kInjective);
  return {collected[0], of_float, collected[2]};
}

}  // namespace tessera::topi
