// Normalisations and softmax.

#include "frontend/onnx/importer.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Values batch_normalization(Operation& in) {
  if (in.integer("training_mode", 0) != 0) in.unsupported("training mode");
  Expr out = call_op("nn.batch_norm", {in[0], in[1], in[2], in[3], in[4]}, make_attrs<BatchNormAttrs>([&](auto& attrs) {
                       attrs.axis = 1;
                       attrs.epsilon = in.number("epsilon", 1e-5);
                     }));
  return {make_get_item(out, 0)};
}

template <const char* op>
Values softmax_13(Operation& in) {
  int axis = in.axis(in.integer("axis", -1), in.rank(in[0]));
  return {call_op(op, {in[0]}, make_attrs<SoftmaxAttrs>([&](auto& attrs) { attrs.axis = axis; }))};
}

constexpr char kSoftmax[] = "nn.softmax", kLogSoftmax[] = "nn.log_softmax";

}  // namespace

Rows normalization_rows() {
  return {
      {"BatchNormalization", 1, batch_normalization},
      {"LogSoftmax", 13, softmax_13<kLogSoftmax>},
      {"Softmax", 13, softmax_13<kSoftmax>},
  };
}

}  // namespace tessera::onnx
