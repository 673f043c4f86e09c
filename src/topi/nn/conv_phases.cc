#include "topi/nn/conv_phases.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/nn/pad.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

constexpr int64_t kMaxUneven = 9;             // convolutions instead of one
constexpr int64_t kMaxWeightBytes = 1 << 20;  // that stay in a cache while one phase after the other reads its weights
constexpr int64_t kMinChannels = 4;           // of a result in blocks; fewer lie as they are

PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

/// One spatial dimension. Results y = r + stride * i, for one r, are those of a phase: they read element shift(r) + i - m for
/// kernel element phase(r) + m * stride.
struct Dimension {
  int64_t stride, dilation, kernel_size, begin, extent, elements;

  int64_t phase(int64_t r) const { return (r + begin) % stride; }
  int64_t shift(int64_t r) const { return (r + begin) / stride; }
  int64_t steps(int64_t r) const { return (kernel_size - phase(r) + stride - 1) / stride; }
  int64_t count(int64_t r) const { return (extent - r + stride - 1) / stride; }
  bool is_even() const { return kernel_size % stride == 0; }
  /// Zeros around the data.
  int64_t before() const {
    int64_t out = 0;
    for (int64_t r = 0; r < stride; ++r) out = std::max(out, (steps(r) - 1) * dilation - shift(r));
    return out;
  }
  int64_t after() const {
    int64_t out = 0;
    for (int64_t r = 0; r < stride; ++r) out = std::max(out, shift(r) + count(r) - elements);
    return out;
  }
};

std::optional<Dimension> dimension(const PrimExpr& elements, const PrimExpr& kernel_size, const ConvOptions& options,
                                   size_t i, const Array<PrimExpr>& padding, const PrimExpr& more) {
  const size_t spatial = options.strides.size();
  const int64_t *n = as_int(elements), *k = as_int(kernel_size), *stride = as_int(options.strides[i]);
  const int64_t *dilation = as_int(options.dilation[i]), *begin = as_int(padding[i]),
                *end = as_int(padding[spatial + i]);
  const int64_t* added = as_int(more);
  if (!n || !k || !stride || !dilation || !begin || !end || !added) return {};
  if (*begin < 0 || *k < *stride || (*stride > 1 && *dilation != 1)) return {};
  Dimension out{*stride, *dilation, *k, *begin, 0, *n};
  out.extent = (*n - 1) * *stride + (*k - 1) * *dilation + 1 - *begin - *end + *added;
  if (out.extent < out.stride) return {};
  return out;
}

bool is_blocked(const Layout& layout, size_t rank, char last) {
  return layout->axes.size() == rank && layout->letter(rank - 1) == last;
}

/// How channels lie.
enum class Channels { Blocked, Plain, Other };
Channels channels_of(const te::Tensor& weight, const ConvOptions& options) {
  const size_t spatial = options.strides.size();
  const String letters = plain_transposed_kernel_layout(spatial), plain = plain_data_layout(spatial);
  const String out_text = options.out_layout.empty() ? options.data_layout : options.out_layout;
  if (options.groups != 1) return Channels::Other;
  if (options.data_layout == plain && out_text == plain && options.kernel_layout == letters) {
    const int64_t* outs = as_int(weight->shape[1]);
    return outs && *outs < kMinChannels ? Channels::Plain : Channels::Other;
  }
  const char out_letter = static_cast<char>(letters.str()[1] | 0x20);
  Layout in = make_layout(options.data_layout), kernel = make_layout(options.kernel_layout);
  const bool fits = is_blocked(in, spatial + 3, 'c') && is_blocked(kernel, spatial + 4, out_letter) &&
                    kernel->primal(0) == letters.str()[1] && !options.out_layout.empty() &&
                    is_blocked(make_layout(options.out_layout), spatial + 3, 'c');
  return fits ? Channels::Blocked : Channels::Other;
}

class Phases {
 public:
  Phases(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options, std::vector<Dimension> dims,
         bool is_blocked)
      : weight_(weight), options_(options), dims_(std::move(dims)), is_blocked_(is_blocked) {
    const size_t rank = data->shape.size();
    Array<PrimExpr> before(rank, PrimExpr(0)), after(rank, PrimExpr(0));
    for (size_t i = 0; i < dims_.size(); ++i) {
      before.set(2 + i, number(dims_[i].before()));
      after.set(2 + i, number(dims_[i].after()));
    }
    padded_ = pad(data, before, after, make_zero(data->dtype), "data_pad");
    batch_ = data->shape[0];
  }

  te::Tensor all(bool are_together) {
    const bool has_phases =
        std::any_of(dims_.begin(), dims_.end(), [](const Dimension& dim) { return dim.stride > 1; });
    if (!has_phases) return phase(std::vector<int64_t>(dims_.size(), 0));
    Array<PrimExpr> shape{batch_, outs()};
    for (const Dimension& dim : dims_) shape.push_back(number(dim.extent));
    if (is_blocked_) shape.push_back(weight_->shape.back());
    te::Tensor together = are_together ? phase({}) : te::Tensor();
    std::vector<te::Tensor> each;
    if (!are_together) for_residues({}, [&](const std::vector<int64_t>& residues) { each.push_back(phase(residues)); });
    return te::compute(
        shape,
        [&](const Array<PrimExpr>& at) {
          if (together) return te::load(together, index_of(at, true));
          size_t next = 0;
          return chosen(at, 0, [&] { return te::load(each[next++], index_of(at, false)); });
        },
        "phases_together", kInjective);
  }

 private:
  PrimExpr outs() const { return is_blocked_ ? weight_->shape[0] : weight_->shape[1]; }

  void for_residues(std::vector<int64_t> residues, const std::function<void(const std::vector<int64_t>&)>& body) const {
    if (residues.size() == dims_.size()) return body(residues);
    for (int64_t r = 0; r < dims_[residues.size()].stride; ++r) {
      residues.push_back(r);
      for_residues(residues, body);
      residues.pop_back();
    }
  }

  /// One phase, or all of them where no residues are given: then they are axes of the result, after those of channels.
  te::Tensor phase(const std::vector<int64_t>& residues) const {
    const bool is_axis = residues.empty();
    const size_t spatial = dims_.size();
    Array<PrimExpr> shape{batch_, outs()};
    for (const Dimension& dim : dims_)
      if (is_axis && dim.stride > 1) shape.push_back(number(dim.stride));
    const size_t first_position = shape.size();
    auto axis = [](const char* name, const PrimExpr& extent) { return te::reduce_axis(make_range(0, extent), name); };
    Array<IterVar> steps{axis("dc", is_blocked_ ? weight_->shape[1] : weight_->shape[0])};
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t r = is_axis ? 0 : residues[i];
      shape.push_back(number(dims_[i].count(r)));
      steps.push_back(axis("step", number(dims_[i].steps(r))));
    }
    if (is_blocked_) {
      shape.push_back(weight_->shape.back());
      steps.push_back(axis("dc_inner", weight_->shape[spatial + 2]));
    }
    auto cast = [&](const PrimExpr& e) { return tessera::cast(options_.out_dtype, e); };
    return te::compute(
        shape,
        [&](const Array<PrimExpr>& at) {
          Array<PrimExpr> data_at{at[0], steps[0]->var};
          Array<PrimExpr> weight_at{is_blocked_ ? at[1] : PrimExpr(steps[0]->var),
                                    is_blocked_ ? PrimExpr(steps[0]->var) : at[1]};
          for (size_t i = 0, next = 2; i < spatial; ++i) {
            const Dimension& dim = dims_[i];
            const Var& step = steps[1 + i]->var;
            const int64_t r = is_axis ? 0 : residues[i];
            PrimExpr element = number(dim.phase(r)), shift = number(dim.shift(r));
            if (is_axis && dim.stride > 1) {
              PrimExpr position = at[next++] + number(dim.begin);
              element = floormod(position, number(dim.stride));
              shift = floordiv(position, number(dim.stride));
            }
            data_at.push_back(at[first_position + i] + shift + number(dim.before()) - step * number(dim.dilation));
            weight_at.push_back(element + step * number(dim.stride));
          }
          if (is_blocked_) {
            data_at.push_back(steps.back()->var);
            weight_at.push_back(steps.back()->var);
            weight_at.push_back(at[at.size() - 1]);
          }
          return te::sum(cast(te::load(padded_, data_at)) * cast(te::load(weight_, weight_at)), steps);
        },
        "compute", "conv" + std::to_string(spatial) + "d_transpose_phases");
  }

  /// Where a result stands in its phase.
  Array<PrimExpr> index_of(const Array<PrimExpr>& at, bool has_residues) const {
    Array<PrimExpr> out{at[0], at[1]};
    for (size_t i = 0; i < dims_.size(); ++i)
      if (has_residues && dims_[i].stride > 1) out.push_back(floormod(at[2 + i], number(dims_[i].stride)));
    for (size_t i = 0; i < dims_.size(); ++i)
      out.push_back(dims_[i].stride > 1 ? floordiv(at[2 + i], number(dims_[i].stride)) : at[2 + i]);
    if (is_blocked_) out.push_back(at[at.size() - 1]);
    return out;
  }

  /// What `next` gives for each combination of residues, in order, chosen by those of `at`.
  PrimExpr chosen(const Array<PrimExpr>& at, size_t i, const std::function<PrimExpr()>& next) const {
    if (i == dims_.size()) return next();
    std::vector<PrimExpr> values;
    for (int64_t r = 0; r < dims_[i].stride; ++r) values.push_back(chosen(at, i + 1, next));
    PrimExpr out = values.back(), residue = floormod(at[2 + i], number(dims_[i].stride));
    for (size_t r = values.size() - 1; r-- > 0;)
      out = if_then_else(equal(residue, number(static_cast<int64_t>(r))), values[r], out);
    return out;
  }

  te::Tensor weight_, padded_;
  PrimExpr batch_;
  const ConvOptions& options_;
  std::vector<Dimension> dims_;
  bool is_blocked_;
};

}  // namespace

bool takes_uneven_phases(const Array<PrimExpr>& strides, const Array<PrimExpr>& kernel_size) {
  int64_t phases = 1;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t *stride = as_int(strides[i]), *count = as_int(kernel_size[i]);
    if (!stride || !count || *count < *stride) return false;
    phases *= *stride;
  }
  return phases <= kMaxUneven;
}

te::Tensor conv_transpose_phases(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                                 const Array<PrimExpr>& output_padding) {
  const size_t spatial = options.strides.size();
  const Channels channels = channels_of(weight, options);
  if (channels == Channels::Other) return nullptr;
  Array<PrimExpr> padding = full_padding(options.padding, spatial), kernel_size;
  std::vector<Dimension> dims;
  for (size_t i = 0; i < spatial; ++i) {
    auto one = dimension(data->shape[2 + i], weight->shape[2 + i], options, i, padding, output_padding[i]);
    if (!one) return nullptr;
    dims.push_back(*one);
    kernel_size.push_back(weight->shape[2 + i]);
  }
  const bool is_even = std::all_of(dims.begin(), dims.end(), [](const Dimension& dim) { return dim.is_even(); });
  const bool reads_alike =  // all phases read the same elements
      std::all_of(dims.begin(), dims.end(), [](const Dimension& dim) { return dim.begin % dim.stride == 0; });
  const bool may_part = takes_uneven_phases(options.strides, kernel_size);
  if (!is_even && !may_part) return nullptr;
  int64_t weight_bytes = weight->dtype.bytes();
  for (const PrimExpr& extent : weight->shape) weight_bytes *= as_int(extent) ? *as_int(extent) : 1;
  const bool are_together = is_even && (reads_alike || !may_part || weight_bytes > kMaxWeightBytes);
  return Phases(data, weight, options, std::move(dims), channels == Channels::Blocked).all(are_together);
}

}  // namespace tessera::topi
