#include "kernel/rules/vendor_piece.h"

#include <algorithm>
#include <unordered_map>

#include "byoc/libraries.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/walk.h"
#include "tir/layout.h"
#include "topi/nn/conv.h"
#include "topi/program.h"

namespace tessera::kernel {
namespace {

using relay::Call;
using relay::Expr;
using relay::fixed_shape;
using relay::op_name;
using Kind = VendorPiece::Part::Kind;
using Shape = std::vector<int64_t>;

// ---- contractions that libraries have --------------------------------------------------------------------------------

bool is_float(DataType dtype) {
  return dtype == DataType::Float(64) || dtype == DataType::Float(32) || dtype == DataType::Float(16) ||
         dtype == DataType::BFloat(16);
}
bool is_half(DataType dtype) { return dtype == DataType::Float(16) || dtype == DataType::BFloat(16); }

struct Matmul {
  bool trans_a, trans_b;
};

std::optional<Matmul> as_matmul(const Call* call) {
  if (call->attrs.as<relay::DenseAttrs>()) return Matmul{false, true};
  if (auto* attrs = call->attrs.as<relay::MatmulAttrs>()) return Matmul{attrs->transpose_a, attrs->transpose_b};
  if (auto* attrs = call->attrs.as<relay::BatchMatmulAttrs>()) return Matmul{attrs->transpose_a, attrs->transpose_b};
  return std::nullopt;
}

/// Multiples of 16 columns are what matrix units of int8 want.
constexpr int64_t kInt8Columns = 16;

bool takes_matmul(const Call* call) {
  const auto matmul = as_matmul(call);
  if (!matmul || call->args.size() != 2) return false;
  const auto a = fixed_shape(relay::checked_type(call->args[0])), b = fixed_shape(relay::checked_type(call->args[1])),
             out = fixed_shape(relay::checked_type(Expr(call)));
  if (!a || !b || !out || std::ranges::count(*out, 0) > 0 || std::ranges::count(*a, 0) > 0) return false;
  const bool is_batch = call->attrs.as<relay::BatchMatmulAttrs>();
  if (is_batch ? a->size() != 3 || b->size() != 3 : b->size() != 2 || (matmul->trans_a && a->size() != 2)) return false;
  const DataType dtype = relay::dtype_of(call->args[0]), sum = relay::dtype_of(Expr(call));
  if (relay::dtype_of(call->args[1]) != dtype) return false;
  if (dtype == DataType::Int(8))
    return sum == DataType::Int(32) && !matmul->trans_a && matmul->trans_b && a->back() % kInt8Columns == 0 &&
           out->back() % kInt8Columns == 0;
  return is_float(dtype) && (sum == dtype || (is_half(dtype) && sum == DataType::Float(32)));
}

bool has_channels_last(const relay::ConvAttrs* attrs) { return attrs->data_layout.str().back() == 'C'; }

/// Channels first, or last, in data and weight alike; the same padding before and behind.
bool takes_convolution(const Call* call) {
  auto* attrs = call->attrs.as<relay::ConvAttrs>();
  if (!attrs || call->args.size() != 2) return false;
  const std::string data = attrs->data_layout.str(), weight = attrs->kernel_layout.str();
  const bool fits = (data == "NCHW" && weight == "OIHW") || (data == "NHWC" && weight == "OHWI") ||
                    (data == "NCDHW" && weight == "OIDHW") || (data == "NDHWC" && weight == "ODHWI");
  if (!fits || (!attrs->out_layout.empty() && attrs->out_layout != attrs->data_layout)) return false;
  const size_t spatial = data.size() - 2;
  const auto padding = relay::fixed_ints(topi::full_padding(attrs->padding, spatial));
  if (!padding || !std::equal(padding->begin(), padding->begin() + static_cast<long>(spatial),
                              padding->begin() + static_cast<long>(spatial)))
    return false;
  for (const Expr& each : {call->args[0], call->args[1], Expr(call)}) {
    const auto shape = fixed_shape(relay::checked_type(each));
    if (!shape || shape->size() != spatial + 2 || std::ranges::count(*shape, 0) > 0) return false;
  }
  const DataType dtype = relay::dtype_of(call->args[0]), sum = relay::dtype_of(Expr(call));
  return is_float(dtype) && relay::dtype_of(call->args[1]) == dtype &&
         (sum == dtype || (is_half(dtype) && sum == DataType::Float(32)));
}

bool takes_softmax(const Call* call) {
  return op_name(call) == relay::ops::softmax && fixed_shape(relay::checked_type(Expr(call))) &&
         is_float(relay::dtype_of(Expr(call)));
}

/// True where the target names the library, as "cublas" or "cublaslt".
bool names_library(const Target& target, std::string_view library) {
  return std::ranges::any_of(target.list_option("libs"),
                             [&](const std::string& name) { return name.starts_with(library); });
}

/// Softmax is taken only where a partition says so.
std::optional<VendorLibrary> library_of(const Call* call, const Workload& workload) {
  if (!call->op.as<OpNode>()) return std::nullopt;
  const bool is_given = workload.primitive->attrs.has(byoc::kGivenToLibrary);
  if ((is_given || names_library(workload.target, "cublas")) && takes_matmul(call)) return VendorLibrary::Matmul;
  if ((is_given || names_library(workload.target, "cudnn")) && takes_convolution(call))
    return VendorLibrary::Convolution;
  return is_given && takes_softmax(call) ? std::optional(VendorLibrary::Softmax) : std::nullopt;
}

// ---- epilogues -------------------------------------------------------------------------------------------------------

/// The axis of the result whose elements a bias has one of each for.
size_t bias_axis(const VendorPiece& piece, const Shape& shape) {
  auto* attrs = piece.anchor->attrs.as<relay::ConvAttrs>();
  return attrs && !has_channels_last(attrs) ? 1 : shape.size() - 1;
}

/// True where `other`, broadcast against the result, is one number for each channel.
bool is_bias(const VendorPiece& piece, const Shape& shape, const Shape& other) {
  const size_t axis = bias_axis(piece, shape);
  if (other.size() > shape.size()) return false;
  const size_t missing = shape.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i)
    if (other[i] != (i + missing == axis ? shape[axis] : 1)) return false;
  return axis >= missing;
}

/// The part that a call is whose argument `from` is the value of the piece.
std::optional<VendorPiece::Part> part_of(const VendorPiece& piece, const Call* call, const Expr& value) {
  const std::string_view name = op_name(call);
  const bool is_convolution = piece.library == VendorLibrary::Convolution;
  if (name == relay::ops::cast) {
    const DataType to = relay::dtype_of(Expr(call));
    const bool narrows = piece.parts.empty() && piece.dtype == DataType::Float(32) &&
                         to == relay::dtype_of(piece.anchor->args[0]) && is_half(to);
    return narrows ? std::optional(VendorPiece::Part{call, Kind::Cast}) : std::nullopt;
  }
  if (piece.dtype == DataType::Int(32) || piece.has(Kind::Relu)) return std::nullopt;
  if (name == relay::ops::relu) return VendorPiece::Part{call, Kind::Relu};
  auto* biased = call->attrs.as<relay::BiasAddAttrs>();
  if (name != relay::ops::add && !biased) return std::nullopt;
  const int other = call->args[0].same_as(value) ? 1 : 0;
  if (call->args[static_cast<size_t>(other)].same_as(value)) return std::nullopt;
  const Expr& added = call->args[static_cast<size_t>(other)];
  const auto shape = fixed_shape(relay::checked_type(value)), here = fixed_shape(relay::checked_type(added));
  if (!shape || !here || relay::dtype_of(added) != piece.dtype) return std::nullopt;
  if (fixed_shape(relay::checked_type(Expr(call))) != shape) return std::nullopt;
  const int rank = static_cast<int>(shape->size());
  const bool is_bias_add =
      biased && here->size() == 1 &&
      static_cast<size_t>(biased->axis < 0 ? biased->axis + rank : biased->axis) == bias_axis(piece, *shape);
  if (!piece.has(Kind::Bias) && !piece.has(Kind::Residual) &&
      (is_bias_add || (!biased && is_bias(piece, *shape, *here))))
    return VendorPiece::Part{call, Kind::Bias, other};
  if (!biased && is_convolution && piece.has(Kind::Bias) && !piece.has(Kind::Residual) && *here == *shape)
    return VendorPiece::Part{call, Kind::Residual, other};
  return std::nullopt;
}

/// cuDNN applies an activation behind a bias only, and has sums of fp16 in fp16 results alone.
bool is_whole(const VendorPiece& piece) {
  if (piece.library != VendorLibrary::Convolution) return true;
  return (piece.has(Kind::Bias) || !piece.has(Kind::Relu)) && piece.dtype == relay::dtype_of(piece.anchor->args[0]);
}

/// What only gives a vector another shape, and is read once.
void add_views(VendorPiece* piece, Expr value, const std::unordered_map<const Object*, int>& uses) {
  for (;;) {
    const Call* view = relay::as_call(value, relay::ops::expand_dims);
    if (!view) view = relay::as_call(value, relay::ops::reshape);
    if (!view || uses.at(view) != 1) return;
    piece->views.push_back(view);
    value = view->args[0];
  }
}

void add_epilogue(VendorPiece* piece, const Expr& root) {
  std::unordered_map<const Object*, std::vector<const Call*>> consumers;
  const auto uses = relay::use_counts(root);
  relay::post_order(root, [&](const Expr& expr) {
    if (auto* call = expr.as<Call>())
      for (const Expr& arg : call->args) consumers[arg.get()].push_back(call);
  });
  while (piece->library != VendorLibrary::Softmax) {
    const Expr value(piece->last());
    const auto& readers = consumers[value.get()];
    if (uses.at(value.get()) != 1 || readers.size() != 1) break;
    const auto part = part_of(*piece, readers[0], value);
    if (!part) break;
    piece->parts.push_back(*part);
    piece->dtype = relay::dtype_of(Expr(part->call));
    if (part->kind == Kind::Bias) add_views(piece, part->call->args[static_cast<size_t>(part->other)], uses);
  }
  while (!is_whole(*piece) && !piece->parts.empty()) {
    if (piece->parts.back().kind == Kind::Bias) piece->views.clear();
    piece->parts.pop_back();
    piece->dtype = relay::dtype_of(Expr(piece->last()));
  }
}

// ---- calls -----------------------------------------------------------------------------------------------------------

using topi::PackedArgument;

void add_numbers(std::vector<PackedArgument>* args, const std::vector<int64_t>& numbers) {
  for (int64_t number : numbers) args->emplace_back(PrimExpr(static_cast<int>(number)));
}

/// (a, b[, bias], out, transpose a, transpose b, activation, TF32, measures)
void add_matmul(std::vector<PackedArgument>* args, const VendorPiece& piece, const VendorOptions& options) {
  const Matmul matmul = *as_matmul(piece.anchor);
  add_numbers(args, {matmul.trans_a, matmul.trans_b, piece.has(Kind::Relu), options.allows_tf32, options.measures});
}

/// (x, w[, bias[, residual]], y, channels last, groups, relu, TF32, measures, padding, strides, dilation)
void add_convolution(std::vector<PackedArgument>* args, const VendorPiece& piece, const VendorOptions& options) {
  auto* attrs = piece.anchor->attrs.as<relay::ConvAttrs>();
  const size_t spatial = attrs->data_layout.size() - 2;
  add_numbers(args,
              {has_channels_last(attrs), attrs->groups, piece.has(Kind::Relu), options.allows_tf32, options.measures});
  std::vector<int64_t> padding = *relay::fixed_ints(topi::full_padding(attrs->padding, spatial));
  padding.resize(spatial);
  add_numbers(args, padding);
  add_numbers(args, *relay::fixed_ints(attrs->strides));
  add_numbers(args, *relay::fixed_ints(attrs->dilation));
}

const char* function_of(const VendorPiece& piece) {
  if (piece.library == VendorLibrary::Matmul) return "tessera.cublaslt.matmul";
  if (piece.library == VendorLibrary::Convolution) return "tessera.cudnn.convolution";
  return "tvm.contrib.cudnn.softmax.forward";
}

Array<te::Tensor> library_call(const VendorPiece& piece, const Array<te::Tensor>& inputs,
                               const VendorOptions& options) {
  const TensorType type = relay::tensor_type(Expr(piece.last()));
  const char* library = piece.library == VendorLibrary::Matmul ? "cublaslt" : "cudnn";
  return topi::program(library, inputs, {{type->shape, type->dtype}},
                       [&](const topi::Buffers& in, const topi::Buffers& out) {
                         std::vector<PackedArgument> args(in.begin(), in.end());
                         args.emplace_back(out[0]);
                         if (piece.library == VendorLibrary::Matmul) add_matmul(&args, piece, options);
                         else if (piece.library == VendorLibrary::Convolution) add_convolution(&args, piece, options);
                         else add_numbers(&args, {piece.anchor->attrs.as<relay::SoftmaxAttrs>()->axis});
                         return topi::call_function(function_of(piece), args);
                       });
}

}  // namespace

bool VendorPiece::has(Part::Kind kind) const {
  return std::ranges::any_of(parts, [&](const Part& part) { return part.kind == kind; });
}

std::optional<VendorPiece> vendor_piece(const Workload& workload) {
  std::optional<VendorPiece> out;
  int found = 0;
  relay::post_order(workload.primitive->body, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    const auto library = call ? library_of(call, workload) : std::nullopt;
    if (!library || ++found > 1) return;
    out = VendorPiece{.library = *library, .anchor = call, .dtype = relay::dtype_of(expr)};
  });
  if (found != 1) return std::nullopt;
  add_epilogue(&*out, workload.primitive->body);
  return is_whole(*out) ? out : std::nullopt;
}

KernelTensors vendor_tensors(const Workload& workload, const CompileEnvironment& environment, const VendorPiece& piece,
                             const VendorOptions& options) {
  Array<te::Tensor> inputs;  // of the library: of the contraction, then what its epilogue adds
  return kernel_tensors(workload, environment, [&](const Call* call, const Array<te::Tensor>& in) -> Array<te::Tensor> {
    if (std::ranges::count(piece.views, call) > 0) return in;
    auto part = std::ranges::find(piece.parts, call, &VendorPiece::Part::call);
    if (call != piece.anchor && part == piece.parts.end()) return {};
    if (call == piece.anchor) inputs = in;
    else if (part->other >= 0) inputs.push_back(in[static_cast<size_t>(part->other)]);
    if (call == piece.last()) return library_call(piece, inputs, options);
    const TensorType type = relay::tensor_type(Expr(call));
    return {te::placeholder(type->shape, type->dtype, "inside")};
  });
}

}  // namespace tessera::kernel
