// What reads by indices, sorts, or looks at lengths of sequences.

#include "relay/attrs/index.h"
#include "frontend/common/parts.h"
#include "frontend/mxnet/mxnet.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr as_indices(const LayerNode& in, const Expr& x) {
  return in.dtype(x).is_integral() ? x : cast(x, DataType::Int(32));
}

Exprs taken(LayerNode& in) {
  const std::string mode = in.text("mode", "clip");
  if (mode != "clip" && mode != "wrap") in.unsupported("indices in the mode " + mode);
  return {call_op("take", {in[0], as_indices(in, in[1])}, make_attrs<TakeAttrs>([&](auto& to) {
                    to.axis = PrimExpr(in.axis(in.integer("axis", 0), in.rank(in[0])));
                    to.mode = mode;
                  }))};
}
Exprs embedding(LayerNode& in) {
  return {call_op("take", {in[1], as_indices(in, in[0])}, make_attrs<TakeAttrs>([](auto& to) {
                    to.axis = PrimExpr(0);
                    to.mode = "clip";
                  }))};
}
Exprs gather_nd(LayerNode& in) {
  return {call_op("gather_nd", {in[0], as_indices(in, in[1])}, make_attrs<GatherNDAttrs>([](auto&) {}))};
}

Exprs one_hot(LayerNode& in) {
  const DataType dtype(in.text("dtype", "float32"));
  return {call_op("one_hot",
                  {as_indices(in, in[0]), make_scalar(in.number("on_value", 1), dtype),
                   make_scalar(in.number("off_value", 0), dtype)},
                  make_attrs<OneHotAttrs>([&](auto& to) {
                    to.depth = static_cast<int32_t>(in.integer("depth"));
                    to.axis = -1;
                    to.dtype = dtype;
                  }))};
}

Expr flat_without_axis(const LayerNode& in, int64_t* axis) {
  if (in.fields().map().count(String("axis")) && !in.fields().has("axis")) {  // "None" is all of it
    *axis = 0;
    return typed(reshape_to(in[0], {-1}));
  }
  *axis = in.axis(in.integer("axis", -1), in.rank(in[0]));
  return in[0];
}

Exprs argsort(LayerNode& in) {
  int64_t axis = 0;
  Expr x = flat_without_axis(in, &axis);
  return {call_op("argsort", {x}, make_attrs<ArgsortAttrs>([&](auto& to) {
                    to.axis = static_cast<int32_t>(axis);
                    to.is_ascend = in.flag("is_ascend", true);
                    to.dtype = DataType(in.text("dtype", "float32"));
                  }))};
}
Exprs sorted(LayerNode& in) {
  int64_t axis = 0;
  Expr x = flat_without_axis(in, &axis);
  Expr order = call_op("argsort", {x}, make_attrs<ArgsortAttrs>([&](auto& to) {
                         to.axis = static_cast<int32_t>(axis);
                         to.is_ascend = in.flag("is_ascend", true);
                         to.dtype = DataType::Int(32);
                       }));
  return {call_op("gather", {x, order},
                  make_attrs<GatherAttrs>([&](auto& to) { to.axis = PrimExpr(static_cast<int>(axis)); }))};
}

Exprs top_k(LayerNode& in) {
  int64_t axis = 0;
  Expr x = flat_without_axis(in, &axis);
  const std::string kind = in.text("ret_typ", "indices");
  int64_t k = in.integer("k", 1);
  Ints shape = in.static_shape(x, "topk");
  if (k < 1) k = shape[static_cast<size_t>(axis)];
  auto made = [&](const char* type, DataType dtype) {
    return call_op("topk", {x}, make_attrs<TopkAttrs>([&](auto& to) {
                     to.k = PrimExpr(static_cast<int>(k));
                     to.axis = static_cast<int32_t>(axis);
                     to.ret_type = type;
                     to.is_ascend = in.flag("is_ascend", false);
                     to.dtype = dtype;
                   }));
  };
  const DataType dtype(in.text("dtype", "float32"));
  if (kind == "indices") return {made("indices", dtype)};
  if (kind == "value") return {made("values", dtype)};
  if (kind == "both") {
    Expr both = made("both", dtype);
    return {make_get_item(both, 0), make_get_item(both, 1)};
  }
  if (kind != "mask") in.unsupported("ret_typ " + kind);
  Expr hot =
      call_op("one_hot", {made("indices", DataType::Int(32)), make_scalar(1, in.dtype(x)), make_scalar(0, in.dtype(x))},
              make_attrs<OneHotAttrs>([&](auto& to) {
                to.depth = static_cast<int32_t>(shape[static_cast<size_t>(axis)]);
                to.axis = static_cast<int32_t>(axis);
                to.dtype = in.dtype(x);
              }));
  return {sum(hot, int_array({axis + 1}))};
}

Exprs unravelled(LayerNode& in) {
  Expr indices = as_indices(in, in[0]);
  Expr out = call_op("unravel_index", {indices, make_ints(in.fields().integers("shape"), in.dtype(indices))});
  return {cast(out, in.dtype(in[0]))};
}

// ---- sequences ------------------------------------------------------------------------------------------------------

Exprs sequence_mask(LayerNode& in) {
  if (!in.flag("use_sequence_length")) return {in[0]};
  return {call_op("sequence_mask", {in[0], in[1]}, make_attrs<SequenceMaskAttrs>([&](auto& to) {
                    to.mask_value = in.number("value", 0);
                    to.axis = static_cast<int32_t>(in.integer("axis", 0));
                  }))};
}
Exprs sequence_reverse(LayerNode& in) {
  if (in.integer("axis", 0) != 0) in.unsupported("an axis other than 0");
  if (!in.flag("use_sequence_length"))
    return {call_op("reverse", {in[0]}, make_attrs<ReverseAttrs>([](auto& to) { to.axis = PrimExpr(0); }))};
  return {call_op("reverse_sequence", {in[0], as_indices(in, in[1])}, make_attrs<ReverseSequenceAttrs>([](auto& to) {
                    to.seq_axis = 0;
                    to.batch_axis = 1;
                  }))};
}
Exprs sequence_last(LayerNode& in) {
  const int axis = in.axis(in.integer("axis", 0), in.rank(in[0]));
  if (!in.flag("use_sequence_length")) return {take(in[0], make_scalar(-1, DataType::Int(32)), axis)};
  if (axis != 0) in.unsupported("lengths along an axis other than 0");
  Ints shape = in.static_shape(in[0], "the last of each sequence");
  Expr last = subtract(as_indices(in, in[1]), make_scalar(1, in.dtype(as_indices(in, in[1]))));
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < shape[1]; ++i) rows.push_back(i);
  Expr both = relay::stack({cast(last, DataType::Int(32)), make_ints(rows, DataType::Int(32))}, 0);
  return {call_op("gather_nd", {in[0], both}, make_attrs<GatherNDAttrs>([](auto&) {}))};
}

}  // namespace

LayerRows index_rows() {
  return {
      {"Embedding", embedding},
      {"SequenceLast", sequence_last},
      {"SequenceMask", sequence_mask},
      {"SequenceReverse", sequence_reverse},
      {"_unravel_index", unravelled},
      {"argsort", argsort},
      {"gather_nd", gather_nd},
      {"one_hot", one_hot},
      {"sort", sorted},
      {"take", taken},
      {"topk", top_k},
      {"unravel_index", unravelled},
  };
}

}  // namespace tessera::mxnet
