// Elements turned round, masked or replaced by where they stand.

#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "topi/index.h"

namespace tessera::op {
namespace {

using relay::MatrixSetDiagAttrs;
using relay::may_equal;
using relay::ReverseAttrs;
using relay::ReverseSequenceAttrs;
using relay::SequenceMaskAttrs;
using relay::TriluAttrs;

int reverse_axis(const ReverseAttrs* attrs, int rank) { return normal_axis(constant_of(attrs->axis, "axis"), rank); }

bool reverse_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  reverse_axis(query.attrs_as<ReverseAttrs>(), rank_of(data));
  query.result(query.type(0));
  return true;
}

bool reverse_sequence_type(TypeQuery& query) {
  auto *data = query.tensor(0), *lengths = query.tensor(1);
  if (!data || !lengths) return false;
  auto* attrs = query.attrs_as<ReverseSequenceAttrs>();
  require_integers(query, 1, "seq_lengths");
  require_rank(query, 1, "seq_lengths", 1);
  int batch = normal_axis(attrs->batch_axis, rank_of(data));
  normal_axis(attrs->seq_axis, rank_of(data));
  if (!may_equal(lengths->shape[0], data->shape[batch]))
    throw Error(TypeError) << "there are " << lengths->shape[0] << " seq_lengths for " << data->shape[batch]
                           << " sequences";
  query.result(query.type(0));
  return true;
}

bool sequence_mask_type(TypeQuery& query) {
  auto *data = query.tensor(0), *lengths = query.tensor(1);
  if (!data || !lengths) return false;
  auto* attrs = query.attrs_as<SequenceMaskAttrs>();
  if (attrs->axis != 0 && attrs->axis != 1) throw Error(TypeError) << "axis is " << attrs->axis << "; it may be 0 or 1";
  if (rank_of(data) < 2) throw Error(TypeError) << "data must have two dimensions or more";
  require_rank(query, 1, "valid_length", 1);
  if (!may_equal(lengths->shape[0], data->shape[1 - attrs->axis]))
    throw Error(TypeError) << "there are " << lengths->shape[0] << " valid lengths for " << data->shape[1 - attrs->axis]
                           << " sequences";
  query.result(query.type(0));
  return true;
}

/// How many elements the longest of diagonals k1 to k2 has.
PrimExpr longest_diagonal(const PrimExpr& rows, const PrimExpr& columns, int k1, int k2) {
  return unless_any({rows, columns}, [&] {
    PrimExpr zero = PrimExpr(0);
    return min(rows + min(PrimExpr(k2), zero), columns + min(PrimExpr(-k1), zero));
  });
}

bool matrix_set_diag_type(TypeQuery& query) {
  auto *data = query.tensor(0), *diagonal = query.tensor(1);
  if (!data || !diagonal) return false;
  auto* attrs = query.attrs_as<MatrixSetDiagAttrs>();
  if (attrs->k1 > attrs->k2)
    throw Error(TypeError) << "the diagonals " << attrs->k1 << " to " << attrs->k2 << " are none";
  int rank = rank_of(data), bands = attrs->k1 == attrs->k2 ? 0 : 1;
  if (rank < 2) throw Error(TypeError) << "input must have two dimensions or more";
  require_rank(query, 1, "diagonal", rank - 1 + bands);
  auto require = [&](const PrimExpr& have, const PrimExpr& want, int i) {
    if (!may_equal(have, want))
      throw Error(TypeError) << "diagonal is " << to_text(query.type(1)) << ", but its extent " << i << " must be "
                             << want;
  };
  for (int i = 0; i < rank - 2; ++i) require(diagonal->shape[i], data->shape[i], i);
  if (bands) require(diagonal->shape[rank - 2], PrimExpr(attrs->k2 - attrs->k1 + 1), rank - 2);
  require(diagonal->shape.back(), longest_diagonal(data->shape[rank - 2], data->shape[rank - 1], attrs->k1, attrs->k2),
          rank - 2 + bands);
  query.result(query.type(0));
  return true;
}

bool trilu_type(TypeQuery& query) {
  auto *data = query.tensor(0), *k = query.tensor(1);
  if (!data || !k) return false;
  if (rank_of(data) < 2) throw Error(TypeError) << "data must have two dimensions or more";
  require_rank(query, 1, "k", 0);
  require_integers(query, 1, "k");
  query.result(query.type(0));
  return true;
}

bool unravel_index_type(TypeQuery& query) {
  auto *offsets = query.tensor(0), *shape = query.tensor(1);
  if (!offsets || !shape) return false;
  require_integers(query, 0, "data");
  require_integers(query, 1, "shape");
  require_rank(query, 1, "shape", 1);
  Array<PrimExpr> out = offsets->shape;
  out.insert(0, shape->shape[0]);
  query.result(TensorType(out, offsets->dtype));
  return true;
}

}  // namespace

static void position_records() {
  OpRecord("reverse")
      .doc("The elements along one axis in reverse order.")
      .attrs<ReverseAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Reverse", reverse_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Permute)
      .precision(Precision::Follow)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{
            topi::reverse_sequence(in[0], nullptr, reverse_axis(attrs.as<ReverseAttrs>(), rank_of(in[0])), 0)};
      });
  OpRecord("reverse_sequence")
      .doc("The first elements of each sequence, as many as are given, in reverse order.")
      .attrs<ReverseSequenceAttrs>()
      .input("data", "the input")
      .input("seq_lengths", "how many, for each sequence")
      .support_level(3)
      .type("ReverseSequence", reverse_sequence_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<ReverseSequenceAttrs>();
        int rank = rank_of(in[0]);
        return Tensors{topi::reverse_sequence(in[0], in[1], normal_axis(attrs->seq_axis, rank),
                                              normal_axis(attrs->batch_axis, rank))};
      });
  OpRecord("sequence_mask")
      .doc("One value from the given length of each sequence on.")
      .attrs<SequenceMaskAttrs>()
      .input("data", "the input")
      .input("valid_length", "how many elements are kept, for each sequence")
      .support_level(10)
      .type("SequenceMask", sequence_mask_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<SequenceMaskAttrs>();
        return Tensors{topi::sequence_mask(in[0], in[1], attrs->mask_value, attrs->axis)};
      });
  OpRecord("matrix_set_diag")
      .doc("Diagonals of the last two dimensions replaced.")
      .attrs<MatrixSetDiagAttrs>()
      .input("input", "the matrices")
      .input("diagonal", "the new diagonals")
      .support_level(10)
      .type("MatrixSetDiag", matrix_set_diag_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<MatrixSetDiagAttrs>();
        return Tensors{topi::matrix_set_diag(in[0], in[1], attrs->k1, attrs->k2, attrs->super_diag_right_align,
                                             attrs->sub_diag_right_align)};
      });
  OpRecord("trilu")
      .doc("The upper or lower triangle of the last two dimensions; zeros elsewhere.")
      .input("data", "the matrices")
      .input("k", "the diagonal where the triangle begins")
      .support_level(3)
      .type("trilu", trilu_type)
      .fusion(Fusion::Elementwise)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::trilu(in[0], te::load(in[1], {}), attrs.as<TriluAttrs>()->upper)};
      });
  OpRecord("unravel_index")
      .doc("Offsets in a flattened tensor as indices, one row per dimension.")
      .input("data", "the offsets")
      .input("shape", "the extents of the tensor")
      .support_level(3)
      .type("UnRavelIndexRel", unravel_index_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs&, const Tensors& in, const Type&) { return Tensors{topi::unravel_index(in[0], in[1])}; });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily position_family{position_records};

}  // namespace tessera::op
