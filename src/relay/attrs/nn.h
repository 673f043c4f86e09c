#pragma once
// Attributes of the operators under nn.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

struct BiasAddAttrs : AttrsNode {
  int32_t axis = 1;
  static constexpr NodeInfo info{"relay.attrs.BiasAddAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &BiasAddAttrs::axis); }
};

struct DenseAttrs : AttrsNode {
  PrimExpr units;
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.DenseAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("units", &DenseAttrs::units, Optional | Required);
    f("out_dtype", &DenseAttrs::out_dtype);
  }
};

/// A matmul whose operands may be stored transposed.
struct MatmulAttrs : AttrsNode {
  PrimExpr units;
  DataType out_dtype = DataType::Void();
  bool transpose_a = false, transpose_b = false;
  static constexpr NodeInfo info{"relay.attrs.MatmulAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("units", &MatmulAttrs::units, Optional | Required);
    f("out_dtype", &MatmulAttrs::out_dtype);
    f("transpose_a", &MatmulAttrs::transpose_a);
    f("transpose_b", &MatmulAttrs::transpose_b);
  }
};

struct BatchMatmulAttrs : AttrsNode {
  DataType out_dtype = DataType::Void();
  bool transpose_a = false, transpose_b = false;
  static constexpr NodeInfo info{"relay.attrs.BatchMatmulAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("out_dtype", &BatchMatmulAttrs::out_dtype);
    f("transpose_a", &BatchMatmulAttrs::transpose_a);
    f("transpose_b", &BatchMatmulAttrs::transpose_b);
  }
};

/// A linear layer whose weight lies in blocks, as `weight_layout` says.
struct DensePackAttrs : AttrsNode {
  PrimExpr units;
  DataType out_dtype = DataType::Void();
  String weight_layout = "NC";
  static constexpr NodeInfo info{"relay.attrs.DensePackAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("units", &DensePackAttrs::units, Optional | Required);
    f("out_dtype", &DensePackAttrs::out_dtype);
    f("weight_layout", &DensePackAttrs::weight_layout);
  }
};

struct FIFOBufferAttrs : AttrsNode {
  int32_t axis = 0;
  static constexpr NodeInfo info{"relay.attrs.FIFOBufferAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &FIFOBufferAttrs::axis); }
};

struct NLLLossAttrs : AttrsNode {
  String reduction = "mean";
  int32_t ignore_index = 0;
  static constexpr NodeInfo info{"relay.attrs.NLLLossAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("reduction", &NLLLossAttrs::reduction);
    f("ignore_index", &NLLLossAttrs::ignore_index, Required);
  }
};

struct BitPackAttrs : AttrsNode {
  int32_t bits = 1, pack_axis = 1, bit_axis = -1;
  DataType pack_type = DataType::Void();
  String name = "BitPack";
  static constexpr NodeInfo info{"relay.attrs.BitPackAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("bits", &BitPackAttrs::bits);
    f("pack_axis", &BitPackAttrs::pack_axis);
    f("bit_axis", &BitPackAttrs::bit_axis);
    f("pack_type", &BitPackAttrs::pack_type);
    f("name", &BitPackAttrs::name);
  }
};

struct LeakyReluAttrs : AttrsNode {
  double alpha = 0.25;
  static constexpr NodeInfo info{"relay.attrs.LeakyReluAttrs", &AttrsNode::info};
  static void fields(auto f) { f("alpha", &LeakyReluAttrs::alpha); }
};

struct PReluAttrs : AttrsNode {
  int32_t axis = 1;
  static constexpr NodeInfo info{"relay.attrs.PReluAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &PReluAttrs::axis); }
};

struct SoftmaxAttrs : AttrsNode {
  int32_t axis = -1;
  static constexpr NodeInfo info{"relay.attrs.SoftmaxAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &SoftmaxAttrs::axis); }
};

}  // namespace tessera::relay
