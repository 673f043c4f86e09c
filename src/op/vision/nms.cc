// vision.get_valid_counts, vision.non_max_suppression, vision.all_class_non_max_suppression.

#include "topi/vision/nms.h"
#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "op/vision/check_dimensions.h"
#include "relay/attrs/vision.h"

namespace tessera::op {
namespace {

using relay::AllClassNonMaximumSuppressionAttrs;
using relay::GetValidCountsAttrs;
using relay::may_equal;
using relay::NonMaximumSuppressionAttrs;

void check_index(const TensorTypeNode* data, int index, const char* name) {
  const int64_t* values = as_int(data->shape[2]);
  if (values && index >= *values)
    throw Error(TypeError) << name << " is " << index << ", but a box has only " << *values << " values";
}

bool all_known(const TypeQuery& query) {
  for (int i = 0; i < query.size(); ++i)
    if (!query.tensor(i)) return false;
  return true;
}

bool get_valid_counts_type(TypeQuery& query) {
  if (!all_known(query)) return false;
  auto* attrs = query.attrs_as<GetValidCountsAttrs>();
  auto* data = query.tensor(0);
  check_dimensions(query, 0, "data", 3, "(batch, boxes, values)");
  check_index(data, attrs->id_index, "id_index");
  check_index(data, attrs->score_index, "score_index");
  DataType whole = DataType::Int(32);
  query.result(tuple_type(
      {TensorType({data->shape[0]}, whole), query.type(0), TensorType({data->shape[0], data->shape[1]}, whole)}));
  return true;
}

Array<te::Tensor> get_valid_counts(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<GetValidCountsAttrs>();
  return topi::get_valid_counts(in[0], in[1], attrs->id_index, attrs->score_index);
}

bool non_max_suppression_type(TypeQuery& query) {
  if (!all_known(query)) return false;
  auto* attrs = query.attrs_as<NonMaximumSuppressionAttrs>();
  auto* data = query.tensor(0);
  check_dimensions(query, 0, "data", 3, "(batch, boxes, values)");
  check_dimensions(query, 1, "valid_count", 1, "(batch,)");
  check_dimensions(query, 2, "indices", 2, "(batch, boxes)");
  check_index(data, attrs->coord_start + 3, "the last coordinate");
  check_index(data, attrs->score_index, "score_index");
  check_index(data, attrs->id_index, "id_index");
  DataType whole = DataType::Int(32);
  if (attrs->return_indices)
    query.result(tuple_type(
        {TensorType({data->shape[0], data->shape[1]}, whole), TensorType({data->shape[0], PrimExpr(1)}, whole)}));
  else query.result(query.type(0));
  return true;
}

Array<te::Tensor> non_max_suppression(const Attrs& given, const Array<te::Tensor>& in, const Type&) {
  auto* attrs = given.as<NonMaximumSuppressionAttrs>();
  topi::NmsOptions options;
  options.force_suppress = attrs->force_suppress;
  options.top_k = attrs->top_k;
  options.coord_start = attrs->coord_start;
  options.score_index = attrs->score_index;
  options.id_index = attrs->id_index;
  options.return_indices = attrs->return_indices;
  options.invalid_to_bottom = attrs->invalid_to_bottom;
  return topi::non_max_suppression(in[0], in[1], in[2], in[3], in[4], options);
}

bool all_class_type(TypeQuery& query) {
  if (!all_known(query)) return false;
  auto* attrs = query.attrs_as<AllClassNonMaximumSuppressionAttrs>();
  auto *boxes = query.tensor(0), *scores = query.tensor(1);
  check_dimensions(query, 0, "boxes", 3, "(batch, boxes, 4)");
  check_dimensions(query, 1, "scores", 3, "(batch, classes, boxes)");
  if (!may_equal(boxes->shape[0], scores->shape[0]) || !may_equal(boxes->shape[1], scores->shape[2]) ||
      !may_equal(boxes->shape[2], 4))
    throw Error(TypeError) << "boxes (batch, boxes, 4) and scores (batch, classes, boxes) do not fit: they are "
                           << to_text(query.type(0)) << " and " << to_text(query.type(1));
  if (attrs->output_format != "onnx" && attrs->output_format != "tensorflow")
    throw Error(TypeError) << "output_format is " << attrs->output_format << ", but must be onnx or tensorflow";
  DataType wide = DataType::Int(64);
  const PrimExpr& batch = scores->shape[0];
  PrimExpr in_image = extent_product({scores->shape[1], scores->shape[2]});
  if (attrs->output_format == "onnx")
    query.result(
        tuple_type({TensorType({extent_product(scores->shape), PrimExpr(3)}, wide), TensorType({PrimExpr(1)}, wide)}));
  else
    query.result(tuple_type({TensorType({batch, in_image, PrimExpr(2)}, wide),
                             TensorType({batch, in_image}, DataType::Float(32)), TensorType({batch}, wide)}));
  return true;
}

Array<te::Tensor> all_class(const Attrs& attrs, const Array<te::Tensor>& in, const Type&) {
  bool as_onnx = attrs.as<AllClassNonMaximumSuppressionAttrs>()->output_format == "onnx";
  return topi::all_class_non_max_suppression(in[0], in[1], in[2], in[3], in[4], as_onnx);
}

}  // namespace

static void nms_records() {
  OpRecord("vision.get_valid_counts")
      .doc("Boxes that score above a threshold, moved to the front.")
      .input("data", "boxes, (batch, boxes, values)")
      .input("score_threshold", "the threshold")
      .support_level(5)
      .type("GetValidCount", get_valid_counts_type)
      .fusion(Fusion::Opaque)
      .compute(get_valid_counts);
  OpRecord("vision.non_max_suppression")
      .doc("Of boxes that overlap, the one with the best score.")
      .input("data", "boxes, (batch, boxes, values)")
      .input("valid_count", "how many boxes of each image count")
      .input("indices", "where the boxes came from")
      .input("max_output_size", "how many boxes of an image may stay; negative: all")
      .input("iou_threshold", "the overlap that is too much")
      .support_level(5)
      .type("NMS", non_max_suppression_type)
      .fusion(Fusion::Opaque)
      .precision(Precision::Never)
      .strategy_name("nms")
      .compute(non_max_suppression);
  OpRecord("vision.all_class_non_max_suppression")
      .doc("Of the boxes of each class that overlap, the one with the best score.")
      .input("boxes", "(batch, boxes, 4)")
      .input("scores", "(batch, classes, boxes)")
      .input("max_output_boxes_per_class", "how many boxes of a class may stay; negative: all")
      .input("iou_threshold", "the overlap that is too much")
      .input("score_threshold", "boxes that do not score more are left out")
      .support_level(5)
      .type("AllClassNMS", all_class_type)
      .fusion(Fusion::Opaque)
      .strategy_name("all_class_nms")
      .compute(all_class);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily nms_family{nms_records};

}  // namespace tessera::op
