// What loops collect, row by row.

#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/loop.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::AppendAttrs;

register_types<AppendAttrs> append_attributes;

bool append_type(TypeQuery& query) {
  auto *rows = query.tensor(0), *row = query.tensor(1);
  if (!rows || !row) return false;
  bool fits = rows->dtype == row->dtype && rank_of(rows) == rank_of(row) + 1;
  for (int i = 0; fits && i < rank_of(row); ++i) fits = relay::may_equal(rows->shape[i + 1], row->shape[i]);
  if (!fits) throw Error(TypeError) << "a row of " << to_text(query.type(0)) << " cannot be " << to_text(query.type(1));
  Array<PrimExpr> shape{on_extent(rows->shape[0], [](const PrimExpr& count) { return count + PrimExpr(1); })};
  for (int i = 0; i < rank_of(row); ++i) shape.push_back(common_extent(rows->shape[i + 1], row->shape[i]));
  query.result(TensorType(shape, row->dtype));
  return true;
}

}  // namespace

static void append_records() {
  OpRecord("append")
      .doc(
          "Rows with one more behind them. The virtual machine writes it behind the rows where their memory has room, "
          "so that many take "
          "time in proportion to their number; without rows, extents of `rows` that are unknown are those of `row`.")
      .attrs<AppendAttrs>()
      .input("rows", "(n, ...)")
      .input("row", "(...)")
      .support_level(10)
      .type("Append", append_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs&, const Tensors& in, const Type&) {
        return Tensors{topi::concatenate({in[0], topi::expand_dims(in[1], 0, 1)}, 0)};
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily append_family{append_records};

}  // namespace tessera::op
