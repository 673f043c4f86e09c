// Sums of products by equation, and the windowed Fourier transform.

#include <map>

#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"
#include "topi/einsum.h"

namespace tessera::op {
namespace {

using relay::EinsumAttrs;
using relay::StftAttrs;

/// Extents of one letter that are known only at run time are equal, but for those that are written as 1.
void assume_equal_extents(const topi::Einsum& einsum, const std::vector<Array<PrimExpr>>& shapes) {
  std::map<char, PrimExpr> first;
  for (size_t i = 0; i < shapes.size(); ++i)
    for (size_t d = 0; d < shapes[i].size(); ++d) {
      const int64_t* known = as_int(shapes[i][d]);
      if (known && *known == 1) continue;
      PrimExpr& extent = first[einsum.inputs[i][d]];
      if (!extent) extent = shapes[i][d];
      else relay::may_equal(extent, shapes[i][d]);
    }
}

bool einsum_type(TypeQuery& query) {
  auto* tuple = query.tuple(0);
  if (!tuple) return false;
  std::vector<size_t> ranks;
  std::vector<Array<PrimExpr>> shapes;
  for (const Type& field : tuple->fields_) {
    auto *operand = tensor_of(field), *first = tensor_of(tuple->fields_[0]);
    if (!operand) throw Error(TypeError) << "operands must be tensors, not " << to_text(field);
    if (operand->dtype != first->dtype)
      throw Error(TypeError) << to_text(tuple->fields_[0]) << " and " << to_text(field) << " differ in type";
    ranks.push_back(operand->shape.size());
    shapes.push_back(operand->shape);
  }
  if (shapes.empty()) throw Error(TypeError) << "there are no operands";
  topi::Einsum einsum(query.attrs_as<EinsumAttrs>()->equation.str(), ranks);
  query.result(TensorType(topi::einsum_shape(einsum, shapes), tensor_of(tuple->fields_[0])->dtype));
  assume_equal_extents(einsum, shapes);
  return true;
}

bool stft_type(TypeQuery& query) {
  auto *data = query.tensor(0), *window = query.tensor(1);
  if (!data || !window) return false;
  auto* attrs = query.attrs_as<StftAttrs>();
  require_rank(query, 0, "data", 2);
  require_rank(query, 1, "window", 1);
  if (attrs->n_fft < 1 || attrs->hop_length < 1)
    throw Error(TypeError) << "n_fft is " << attrs->n_fft << " and hop_length is " << attrs->hop_length
                           << "; both must be 1 or more";
  if (constant_of(window->shape[0], "the length of the window") > attrs->n_fft)
    throw Error(TypeError) << "a window of " << window->shape[0] << " does not fit n_fft, which is " << attrs->n_fft;
  int frequencies = attrs->onesided ? attrs->n_fft / 2 + 1 : attrs->n_fft;
  PrimExpr windows = unless_any({data->shape[1]}, [&] {
    return floordiv(data->shape[1] - PrimExpr(attrs->n_fft), PrimExpr(attrs->hop_length)) + PrimExpr(1);
  });
  query.result(TensorType({data->shape[0], PrimExpr(frequencies), windows, PrimExpr(2)}, data->dtype));
  return true;
}

}  // namespace

static void einsum_records() {
  OpRecord("einsum")
      .doc("The sum of products over the letters of an equation such as \"ij,jk->ik\".")
      .attrs<EinsumAttrs>()
      .input("data", "the operands", "Tuple of Tensors")
      .support_level(11)
      .type("Einsum", einsum_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::einsum(attrs.as<EinsumAttrs>()->equation.str(), in)};
      });
  OpRecord("stft")
      .doc("The Fourier transform of windows of a signal.")
      .input("data", "the signals, one in a row")
      .input("window", "the factor of each sample of a window")
      .support_level(3)
      .type("stft", stft_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& given, const Tensors& in, const Type& out) {
        auto* attrs = given.as<StftAttrs>();
        return Tensors{
            topi::stft(in[0], in[1], attrs->n_fft, attrs->hop_length, attrs->normalized, tensor_of(out)->shape)};
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily einsum_family{einsum_records};

}  // namespace tessera::op
