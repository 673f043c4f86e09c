#pragma once
// Attributes of operators that read or write elements by index.
//
// `checked_as` is the name that an error gives the call when an index is outside of the data. Where it is empty such an index is
// no error: it is brought inside, or its update is dropped. Importers of models whose language demands the error set it.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

struct GatherAttrs : AttrsNode {
  PrimExpr axis;
  String checked_as = nullptr;
  static constexpr NodeInfo info{"relay.attrs.GatherAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &GatherAttrs::axis, Optional);
    f("checked_as", &GatherAttrs::checked_as, Optional);
  }
};

/// `index_rank` is how many of the leading extents of indices may be at most, where that extent is not known.
struct GatherNDAttrs : AttrsNode {
  int32_t batch_dims = 0;
  PrimExpr index_rank;
  String checked_as = nullptr;
  static constexpr NodeInfo info{"relay.attrs.GatherNDAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("batch_dims", &GatherNDAttrs::batch_dims);
    f("index_rank", &GatherNDAttrs::index_rank, Optional);
    f("checked_as", &GatherNDAttrs::checked_as, Optional);
  }
};

/// Diagonals k1 to k2; shorter ones are aligned to one side.
struct MatrixSetDiagAttrs : AttrsNode {
  int32_t k1 = 0, k2 = 0;
  bool super_diag_right_align = true, sub_diag_right_align = false;
  static constexpr NodeInfo info{"relay.attrs.MatrixSetDiagAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("k1", &MatrixSetDiagAttrs::k1);
    f("k2", &MatrixSetDiagAttrs::k2);
    f("super_diag_right_align", &MatrixSetDiagAttrs::super_diag_right_align);
    f("sub_diag_right_align", &MatrixSetDiagAttrs::sub_diag_right_align);
  }
};

struct OneHotAttrs : AttrsNode {
  int32_t depth = 1, axis = -1;
  DataType dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.OneHotAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("depth", &OneHotAttrs::depth);
    f("axis", &OneHotAttrs::axis);
    f("dtype", &OneHotAttrs::dtype);
  }
};

struct ScatterAttrs : AttrsNode {
  int32_t axis = 0;
  String checked_as = nullptr;
  static constexpr NodeInfo info{"relay.attrs.ScatterAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &ScatterAttrs::axis);
    f("checked_as", &ScatterAttrs::checked_as, Optional);
  }
};

struct ScatterAddAttrs : AttrsNode {
  int32_t axis = 0;
  String checked_as = nullptr;
  static constexpr NodeInfo info{"relay.attrs.ScatterAddAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &ScatterAddAttrs::axis);
    f("checked_as", &ScatterAddAttrs::checked_as, Optional);
  }
};

/// mode: "update", "add" or another way to combine with what is there.
struct ScatterNDAttrs : AttrsNode {
  String mode, checked_as = nullptr;
  static constexpr NodeInfo info{"relay.attrs.ScatterNDAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("mode", &ScatterNDAttrs::mode, Required);
    f("checked_as", &ScatterNDAttrs::checked_as, Optional);
  }
};

struct SequenceMaskAttrs : AttrsNode {
  double mask_value = 0;
  int32_t axis = 0;
  static constexpr NodeInfo info{"relay.attrs.SequenceMaskAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("mask_value", &SequenceMaskAttrs::mask_value);
    f("axis", &SequenceMaskAttrs::axis);
  }
};

struct SparseToDenseAttrs : AttrsNode {
  Array<PrimExpr> output_shape;
  static constexpr NodeInfo info{"relay.attrs.SparseToDenseAttrs", &AttrsNode::info};
  static void fields(auto f) { f("output_shape", &SparseToDenseAttrs::output_shape, Required); }
};

/// mode: what an index that is outside means without `checked_as`; "clip", "wrap" or "fast".
struct TakeAttrs : AttrsNode {
  int32_t batch_dims = 0;
  PrimExpr axis;
  String mode = "clip", checked_as = nullptr;
  static constexpr NodeInfo info{"relay.attrs.TakeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("batch_dims", &TakeAttrs::batch_dims);
    f("axis", &TakeAttrs::axis, Optional);
    f("mode", &TakeAttrs::mode);
    f("checked_as", &TakeAttrs::checked_as, Optional);
  }
};

struct TriluAttrs : AttrsNode {
  bool upper = true;
  static constexpr NodeInfo info{"relay.attrs.TriluAttrs", &AttrsNode::info};
  static void fields(auto f) { f("upper", &TriluAttrs::upper); }
};

}  // namespace tessera::relay
