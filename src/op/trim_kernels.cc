// Convolutions whose kernel reaches beyond the data (the slot FTVMLegalize): positions that read nothing but padding are left out.
//
//   nn.conv2d(%x of 28x28, w of 3x3, dilation=36, padding=36)   =>   nn.conv2d(%x, strided_slice(w) of 1x1)
//
// Where positions are outside for a part of the results only, and that is much of the work along an axis, results are computed in
// parts, each by the positions that it needs:
//
//   nn.conv3d(%x of 2 frames, w of 3x3x3, padding=1)   =>   concatenate(conv of positions 1..2, conv of positions 0..1)

#include <algorithm>

#include "op/channel_blocks.h"
#include "op/layout_rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/transform/simplify/fold_constant.h"
#include "relay/type/type_of.h"
#include "tir/layout.h"
#include "topi/nn/conv.h"

namespace tessera::op {
namespace {

constexpr int kTrimLevel = 3;       // as of other changes of the algorithm
constexpr double kMinSaved = 0.25;  // of the work, for which a convolution is computed in parts
constexpr int64_t kMinReuse =
    128;  // multiply-adds for each element that is read or written, so that copies cost little
constexpr size_t kMaxParts = 5;

/// One spatial axis: result o reads o * stride + position * dilation - before, of `data` elements.
struct Axis {
  int64_t data, results, positions, stride, dilation, before;

  bool is_inside(int64_t result, int64_t position) const {
    const int64_t at = result * stride + position * dilation - before;
    return at >= 0 && at < data;
  }
};

/// Results [first, end) of an axis, and the positions [first_position, end_position) that read data for any of them.
struct Part {
  int64_t first, end, first_position, end_position;
};

/// The positions that some of the results need, at least one.
Part needed(const Axis& axis, int64_t first, int64_t end) {
  Part out{first, end, axis.positions, 0};
  for (int64_t position = 0; position < axis.positions; ++position)
    for (int64_t result = first; result < end; ++result) {
      if (!axis.is_inside(result, position)) continue;
      out.first_position = std::min(out.first_position, position);
      out.end_position = position + 1;
      break;
    }
  if (out.first_position >= out.end_position) out.first_position = 0, out.end_position = 1;
  return out;
}

/// Neighbouring results that need the same positions.
std::vector<Part> parts_of(const Axis& axis) {
  std::vector<Part> out;
  for (int64_t result = 0; result < axis.results; ++result) {
    const Part one = needed(axis, result, result + 1);
    if (!out.empty() && out.back().first_position == one.first_position && out.back().end_position == one.end_position)
      ++out.back().end;
    else out.push_back(one);
  }
  return out;
}

int64_t work_of(const std::vector<Part>& parts) {
  int64_t out = 0;
  for (const Part& part : parts) out += (part.end - part.first) * (part.end_position - part.first_position);
  return out;
}

/// What part of an axis is computed from: data [first, end) and the padding around it.
struct Window {
  int64_t first, end, before, after;
};
std::optional<Window> window_of(const Axis& axis, const Part& part) {
  const int64_t low = part.first * axis.stride + part.first_position * axis.dilation - axis.before;
  const int64_t high = (part.end - 1) * axis.stride + (part.end_position - 1) * axis.dilation - axis.before + 1;
  Window out{std::clamp<int64_t>(low, 0, axis.data), std::clamp<int64_t>(high, 0, axis.data), 0, 0};
  if (out.first >= out.end) return std::nullopt;  // all of it is padding
  out.before = out.first - low;
  out.after = high - out.end;
  return out.before >= 0 && out.after >= 0 ? std::optional(out) : std::nullopt;
}

/// The elements [first, end) of one axis; all of them as they are.
Expr part_of_axis(const Expr& x, size_t axis, int64_t first, int64_t end, int64_t extent) {
  if (first == 0 && end == extent) return x;
  return relay::slice_axis(x, static_cast<int>(axis), first, end);
}

class Trimmer {
 public:
  Trimmer(Op op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
          const relay::GraphEnvironment& environment, relay::Legalize further)
      : op_(std::move(op)),
        attrs_(attrs),
        args_(args),
        environment_(environment),
        further_(further),
        conv_(attrs.as<relay::ConvAttrs>()) {
    data_type_ = types[0].as<TensorTypeNode>();
    weight_type_ = types[1].as<TensorTypeNode>();
    out_type_ = types.back().as<TensorTypeNode>();
  }

  /// The convolution without what is outside; empty where all positions are needed.
  Expr operator()() {
    if (!read_axes()) return nullptr;
    std::vector<Part> kept;
    bool is_less = false;
    for (const Axis& axis : axes_) {
      kept.push_back(needed(axis, 0, axis.results));
      is_less = is_less || kept.back().end_position - kept.back().first_position < axis.positions;
    }
    if (best_split(kept, {}) == axes_.size() && !is_less) return nullptr;
    return in_parts(kept, {});
  }

 private:
  bool read_axes() {
    if (!conv_ || !data_type_ || !weight_type_ || !out_type_ || !args_[1].as<relay::Constant>()) return false;
    data_ = make_layout(conv_->data_layout), kernel_ = make_layout(conv_->kernel_layout);
    out_ = make_layout(conv_->out_layout.empty() ? conv_->data_layout : conv_->out_layout);
    const size_t rank = data_type_->shape.size();
    if (rank < 3 || data_->axes.size() != rank || kernel_->axes.size() != rank || out_->axes.size() != rank ||
        !is_fixed(data_type_->shape) || !is_fixed(weight_type_->shape) || !is_fixed(out_type_->shape))
      return false;
    const size_t spatial = rank - 2;
    const std::string letters = std::string("DHW").substr(3 - spatial);
    auto strides = relay::fixed_ints(conv_->strides), dilation = relay::fixed_ints(conv_->dilation),
         padding = relay::fixed_ints(topi::full_padding(conv_->padding, spatial));
    if (!strides || !dilation || !padding || strides->size() != spatial || dilation->size() != spatial) return false;
    for (size_t i = 0; i < spatial; ++i) {
      letters_.push_back(letters[i]);
      auto extent = [&](const Layout& layout, const TensorTypeNode* type) {
        return *as_int(type->shape[static_cast<size_t>(layout->index_of(letters[i]))]);
      };
      axes_.push_back({extent(data_, data_type_), extent(out_, out_type_), extent(kernel_, weight_type_), (*strides)[i],
                       (*dilation)[i], (*padding)[i]});
    }
    return std::all_of(padding->begin(), padding->end(), [](int64_t width) { return width >= 0; });
  }

  size_t out_axis(size_t axis) const { return static_cast<size_t>(out_->index_of(letters_[axis])); }

  /// The results that `kept` says, in parts along the axes but for those that are parts already.
  Expr in_parts(std::vector<Part> kept, std::vector<size_t> done) const {
    const size_t split = best_split(kept, done);
    if (split == axes_.size()) return conv_of(kept);
    done.push_back(split);
    Array<Expr> parts;
    for (const Part& part : parts_of(axes_[split])) {
      kept[split] = part;
      Expr one = in_parts(kept, done);
      if (!one) return nullptr;
      parts.push_back(one);
    }
    return relay::concatenate(parts, static_cast<int>(out_axis(split)));
  }

  /// The axis to compute in parts, of those that are not `done`; the number of axes where none is worth it.
  size_t best_split(const std::vector<Part>& kept, const std::vector<size_t>& done) const {
    size_t best = axes_.size();
    if (conv_->groups != 1) return best;
    double most = kMinSaved;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (std::find(done.begin(), done.end(), i) != done.end()) continue;
      const std::vector<Part> parts = parts_of(axes_[i]);
      const int64_t all = axes_[i].results * (kept[i].end_position - kept[i].first_position);
      const double saved = 1 - double(work_of(parts)) / double(all);
      if (parts.size() > 1 && parts.size() <= kMaxParts && saved >= most) most = saved, best = i;
    }
    return reuse(kept) >= kMinReuse ? best : axes_.size();
  }

  /// Multiply-adds for each element of data and result.
  int64_t reuse(const std::vector<Part>& kept) const {
    auto count = [](const Array<PrimExpr>& shape) {
      int64_t out = 1;
      for (const PrimExpr& extent : shape) out *= *as_int(extent);
      return out;
    };
    int64_t work = count(out_type_->shape) * *as_int(weight_type_->shape[static_cast<size_t>(kernel_->index_of('I'))]);
    for (const Part& part : kept) work *= part.end_position - part.first_position;
    return work / (count(out_type_->shape) + count(data_type_->shape));
  }

  Expr conv_of(const std::vector<Part>& parts) const {
    Expr data = args_[0], weight = args_[1];
    Array<PrimExpr> before, after, size, data_shape = data_type_->shape, weight_shape = weight_type_->shape,
                                         out_shape = out_type_->shape;
    for (size_t i = 0; i < axes_.size(); ++i) {
      std::optional<Window> window = window_of(axes_[i], parts[i]);
      if (!window) return nullptr;
      data = part_of_axis(data, static_cast<size_t>(data_->index_of(letters_[i])), window->first, window->end,
                          axes_[i].data);
      weight = part_of_axis(weight, static_cast<size_t>(kernel_->index_of(letters_[i])), parts[i].first_position,
                            parts[i].end_position, axes_[i].positions);
      data_shape.set(static_cast<size_t>(data_->index_of(letters_[i])), PrimExpr(int(window->end - window->first)));
      weight_shape.set(static_cast<size_t>(kernel_->index_of(letters_[i])),
                       PrimExpr(int(parts[i].end_position - parts[i].first_position)));
      out_shape.set(out_axis(i), PrimExpr(int(parts[i].end - parts[i].first)));
      before.push_back(PrimExpr(static_cast<int>(window->before)));
      after.push_back(PrimExpr(static_cast<int>(window->after)));
      size.push_back(PrimExpr(static_cast<int>(parts[i].end_position - parts[i].first_position)));
    }
    Array<PrimExpr> padding = before;
    for (const PrimExpr& width : after) padding.push_back(width);
    Attrs attrs = relay::changed_attrs<relay::ConvAttrs>(attrs_, [&](auto& a) {
      a.padding = padding;
      a.kernel_size = size;
    });
    const Array<Expr> args{data, relay::fold_constant(relay::typed(weight))};
    const Array<Type> types{TensorType(data_shape, data_type_->dtype), TensorType(weight_shape, weight_type_->dtype),
                            TensorType(out_shape, out_type_->dtype)};
    Expr other = further_ ? further_(op_, attrs, args, types, environment_) : nullptr;
    return other ? other : relay::make_call(op_, args, attrs);
  }

  Op op_;
  const Attrs& attrs_;
  const Array<Expr>& args_;
  const relay::GraphEnvironment& environment_;
  relay::Legalize further_;
  const relay::ConvAttrs* conv_;
  const TensorTypeNode *data_type_, *weight_type_, *out_type_;
  Layout data_, kernel_, out_;
  std::vector<Axis> axes_;
  std::string letters_;
};

}  // namespace

Expr layout::trim_kernel(const Op& op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                         const relay::GraphEnvironment& environment) {
  return trim_kernel(op, attrs, args, types, environment, nullptr);
}

Expr layout::trim_kernel(const Op& op, const Attrs& attrs, const Array<Expr>& args, const Array<Type>& types,
                         const relay::GraphEnvironment& environment, relay::Legalize further) {
  if (environment.context->opt_level < kTrimLevel) return nullptr;
  return Trimmer(op, attrs, args, types, environment, further)();
}

}  // namespace tessera::op
