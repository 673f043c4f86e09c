#include "runtime/function/shape_functions.h"

#include <algorithm>
#include <cmath>

#include "runtime/function/element.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

using Extents = std::vector<int64_t>;

/// The numbers of a tensor of the host in order.
Extents integers(const DLTensor* tensor) {
  DataType dtype(tensor->dtype);
  auto* at = static_cast<const char*>(data_of(tensor));
  int64_t count = 1;
  for (int i = 0; i < tensor->ndim; ++i) count *= tensor->shape[i];
  Extents out;
  for (int64_t i = 0; i < count; ++i) out.push_back(read_int(dtype, at + i * int64_t{dtype.bytes()}));
  return out;
}

int64_t integer(const DLTensor* tensor) { return integers(tensor).at(0); }
double number(const DLTensor* tensor) { return read_float(DataType(tensor->dtype), data_of(tensor)); }

Error wrong(const char* op) {
  Error error(ValueError);
  error << op << ": ";
  return error;
}

/// Puts the shape of a result, checked, where the program wants it.
void give(const char* op, const Extents& shape, DLTensor* out) {
  double elements = 1;
  for (int64_t extent : shape) {
    if (extent < 0)
      throw wrong(op) << "the result would have the shape " << shape_text(shape) << "; an extent is at least 0";
    elements *= static_cast<double>(std::max<int64_t>(extent, 1));
  }
  if (elements > static_cast<double>(kMaxDynamicElements))
    throw wrong(op) << "the result would have the shape " << shape_text(shape)
                    << "; a tensor whose shape is known only at run time has less than 2^31 elements";
  ICHECK(out->ndim == 1 && out->shape[0] == static_cast<int64_t>(shape.size())) << "a program wants its own rank";
  std::copy(shape.begin(), shape.end(), static_cast<int64_t*>(data_of(out)));
}

/// a + b and a * b; where the result is too large for 64 bits, the number nearest to it, which `give` rejects.
int64_t saturating_add(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? (a < 0 ? INT64_MIN : INT64_MAX) : out;
}
int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : out;
}

int64_t elements_of(const Extents& shape) {
  int64_t out = 1;
  for (int64_t extent : shape) out = saturating_multiply(out, extent);
  return out;
}

// ---- one function an operator -----------------------------------------------------------------------------------

void shape_is_input(DLTensor* shape, DLTensor* out, std::string op) { give(op.c_str(), integers(shape), out); }

void iota(DLTensor* count, DLTensor* out) { give("dyn.iota", {integer(count)}, out); }

void arange(DLTensor* start, DLTensor* stop, DLTensor* step, DLTensor* out) {
  give("arange", {arange_count(start, stop, step)}, out);
}

/// The numbers of `newshape` in order: an extent, 0 for the input's next, -1 for what is left; where `is_relay` also -2 for
/// the input's next and -3 for the product of the next two.
void reshape(DLTensor* data, DLTensor* newshape, DLTensor* out, bool allowzero, bool is_relay) {
  constexpr const char* kOp = "dyn.reshape";
  Extents have = integers(data), wanted = integers(newshape), shape;
  auto fail = [&] {
    return wrong(kOp) << "a tensor of shape " << shape_text(have) << " cannot be reshaped to " << shape_text(wanted)
                      << ": ";
  };
  size_t next = 0;
  auto take = [&](int64_t asked) {
    if (next >= have.size()) throw fail() << asked << " stands for a dimension that the tensor does not have";
    return have[next++];
  };
  ptrdiff_t open = -1;
  for (int64_t asked : wanted) {
    if (asked > 0 || (asked == 0 && allowzero)) {
      shape.push_back(asked);
      ++next;
    } else if (asked == -1) {
      if (open >= 0) throw fail() << "only one extent may be -1";
      open = static_cast<ptrdiff_t>(shape.size());
      shape.push_back(1);
      ++next;
    } else if (asked == 0 || (asked == -2 && is_relay)) {
      shape.push_back(take(asked));
    } else if (asked == -3 && is_relay) {
      int64_t first = take(asked);
      shape.push_back(saturating_multiply(first, take(asked)));
    } else {
      throw fail() << asked << " is no extent";
    }
  }
  int64_t before = elements_of(have), after = elements_of(shape);
  if (open >= 0) {
    if (after == 0 ? before != 0 : before % after != 0)
      throw fail() << before << " elements are not a multiple of " << after;
    shape[static_cast<size_t>(open)] = after == 0 ? 0 : before / after;
  } else if (before != after) {
    throw fail() << before << " elements are not " << after;
  }
  give(kOp, shape, out);
}

/// An extent of 1 in the wanted shape keeps the data's.
void broadcast_to(DLTensor* data, DLTensor* wanted, DLTensor* out) {
  constexpr const char* kOp = "dyn.broadcast_to";
  Extents have = integers(data), asked = integers(wanted), shape = asked;
  size_t added = asked.size() - have.size();  // the type says that there are not less
  for (size_t i = added; i < shape.size(); ++i) {
    int64_t own = have[i - added];
    if (shape[i] == 1) shape[i] = own;
    else if (own != 1 && own != shape[i])
      throw wrong(kOp) << "a tensor of shape " << shape_text(have) << " cannot be broadcast to " << shape_text(asked)
                       << ": " << own << " is neither 1 nor " << shape[i];
  }
  give(kOp, shape, out);
}

void tile(DLTensor* data, DLTensor* reps, DLTensor* out) {
  Extents have = integers(data), times = integers(reps);
  for (int64_t count : times)
    if (count < 0)
      throw wrong("dyn.tile") << "reps are " << shape_text(times) << "; nothing is repeated " << count << " times";
  size_t rank = std::max(have.size(), times.size());
  have.insert(have.begin(), rank - have.size(), 1);
  times.insert(times.begin(), rank - times.size(), 1);
  Extents shape;
  for (size_t i = 0; i < rank; ++i) shape.push_back(saturating_multiply(have[i], times[i]));
  give("dyn.tile", shape, out);
}

void one_hot(DLTensor* indices, DLTensor* depth, DLTensor* out, int64_t axis) {
  Extents shape = integers(indices);
  shape.insert(shape.begin() + axis, integer(depth));
  give("dyn.one_hot", shape, out);
}

void expand_dims(DLTensor* data, DLTensor* axis, DLTensor* out, int64_t added) {
  constexpr const char* kOp = "dyn.expand_dims";
  Extents shape = integers(data);
  auto rank = static_cast<int64_t>(shape.size());
  int64_t given = integer(axis), at = given < 0 ? given + rank + 1 : given;
  if (at < 0 || at > rank)
    throw wrong(kOp) << "axis " << given << " is out of range for a tensor of shape " << shape_text(shape);
  shape.insert(shape.begin() + at, static_cast<size_t>(added), 1);
  give(kOp, shape, out);
}

void squeeze(DLTensor* data, DLTensor* axes, DLTensor* out) {
  constexpr const char* kOp = "dyn.squeeze";
  Extents have = integers(data), shape;
  auto rank = static_cast<int64_t>(have.size());
  std::vector<bool> is_gone(have.size());
  for (int64_t given : integers(axes)) {
    int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank)
      throw wrong(kOp) << "axis " << given << " is out of range for a tensor of shape " << shape_text(have);
    auto at = static_cast<size_t>(axis);
    if (have[at] != 1 || is_gone[at])
      throw wrong(kOp) << "axis " << given << " of a tensor of shape " << shape_text(have) << " cannot be dropped"
                       << (is_gone[at] ? " twice" : "; its extent is not 1");
    is_gone[at] = true;
  }
  for (size_t i = 0; i < have.size(); ++i)
    if (!is_gone[i]) shape.push_back(have[i]);
  give(kOp, shape, out);
}

/// As Python counts a slice. `end_is_size`: `end` says how many elements, a negative one all that are left.
int64_t slice_count(int64_t size, int64_t begin, int64_t end, int64_t step, bool end_is_size) {
  bool backwards = step < 0;
  int64_t low = backwards ? -1 : 0, high = backwards ? size - 1 : size;
  auto placed = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  int64_t first = placed(begin);
  int64_t last = !end_is_size ? placed(end) : end < 0 ? high : std::min(saturating_add(first, end), high);
  int64_t span = backwards ? first - last : last - first;
  if (span <= 0) return 0;
  uint64_t stride = backwards ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  return static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride + 1);
}

void strided_slice(DLTensor* data, DLTensor* begin, DLTensor* end, DLTensor* strides, DLTensor* out, bool end_is_size) {
  constexpr const char* kOp = "dyn.strided_slice";
  Extents shape = integers(data), from = integers(begin), to = integers(end), by = integers(strides);
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t step = i < by.size() && !end_is_size ? by[i] : 1;
    if (step == 0) throw wrong(kOp) << "the step of axis " << i << " is 0";
    int64_t first = i < from.size() ? from[i] : step < 0 ? INT64_MAX : 0;
    int64_t whole = end_is_size ? -1 : step < 0 ? INT64_MIN : INT64_MAX;
    shape[i] = slice_count(shape[i], first, i < to.size() ? to[i] : whole, step, end_is_size);
  }
  give(kOp, shape, out);
}

/// The tensors are the data's shape, k, and one or two results of the same shape; the axis and the least k follow. A k
/// below that is an error; where it is negative, less than 1 means all elements.
void topk_shape(Args args, Any*) {
  constexpr const char* kOp = "dyn.topk";
  Extents shape = integers(args[0].to<DLTensor*>());
  int64_t wanted = integer(args[1].to<DLTensor*>());
  int results = args.size() - 4;
  auto axis = args[2 + results].to<int64_t>(), least = args[3 + results].to<int64_t>();
  int64_t& extent = shape[static_cast<size_t>(axis)];
  if (wanted > extent)
    throw wrong(kOp) << "k is " << wanted << ", but axis " << axis << " of a tensor of shape " << shape_text(shape)
                     << " has only " << extent << " elements";
  if (wanted < least) throw wrong(kOp) << "k is " << wanted << ", but must be at least " << least;
  if (wanted >= 1 || least >= 0) extent = wanted;
  for (int i = 0; i < results; ++i) give(kOp, shape, args[2 + i].to<DLTensor*>());
}

/// `repeats_edge`: what lies outside is an element of the data, so there must be one. `mirrors`: nor is more than the data
/// without its edge mirrored.
void pad(DLTensor* data, DLTensor* widths, DLTensor* out, bool repeats_edge, bool mirrors) {
  constexpr const char* kOp = "dyn.nn.pad";
  Extents have = integers(data), width = integers(widths), shape = have;
  for (size_t i = 0; i < have.size(); ++i) {
    int64_t before = width[2 * i], after = width[2 * i + 1];
    shape[i] = saturating_add(saturating_add(before, after), have[i]);
    int64_t wider = std::max(before, after);
    if ((repeats_edge || mirrors) && wider > 0 && (have[i] == 0 || (mirrors && wider >= have[i])))
      throw wrong(kOp) << "axis " << i << " of a tensor of shape " << shape_text(have) << " cannot be padded by "
                       << wider << " elements of its own";
  }
  give(kOp, shape, out);
}

void resize2d(DLTensor* data, DLTensor* size, DLTensor* out, int64_t height, int64_t width) {
  Extents shape = integers(data), wanted = integers(size);
  for (int64_t axis : {height, width})
    if (shape[static_cast<size_t>(axis)] < 1)
      throw wrong("dyn.image.resize2d") << "a tensor of shape " << shape_text(shape) << " has no pixels to sample";
  shape[static_cast<size_t>(height)] = wanted[0];
  shape[static_cast<size_t>(width)] = wanted[1];
  give("dyn.image.resize2d", shape, out);
}

/// The tensors are the data's shape, one scale an axis, and the result; the axes follow.
void upsampling(Args args, Any*) {
  constexpr const char* kOp = "dyn.nn.upsampling";
  Extents shape = integers(args[0].to<DLTensor*>());
  int count = (args.size() - 2) / 2;
  for (int i = 0; i < count; ++i) {
    auto axis = static_cast<size_t>(args[2 + count + i].to<int64_t>());
    double scale = number(args[1 + i].to<DLTensor*>()), wanted = std::round(static_cast<double>(shape[axis]) * scale);
    if (!(wanted >= 0 && wanted <= static_cast<double>(kMaxDynamicElements)))
      throw wrong(kOp) << "axis " << axis << " of a tensor of shape " << shape_text(shape) << " cannot be scaled by "
                       << scale;
    shape[axis] = static_cast<int64_t>(wanted);
  }
  give(kOp, shape, args[1 + count].to<DLTensor*>());
}

}  // namespace

int64_t arange_count(const DLTensor* start, const DLTensor* stop, const DLTensor* step) {
  auto fail = [] { return wrong("arange"); };
  double first = number(start), last = number(stop), by = number(step), count;
  if (by == 0) throw fail() << "the step is 0";
  if (!std::isfinite(first) || !std::isfinite(last) || !std::isfinite(by))
    throw fail() << "start, stop and step must be finite, but are " << first << ", " << last << " and " << by;
  bool is_whole = true;
  for (const DLTensor* bound : {start, stop, step}) is_whole &= DataType(bound->dtype).is_integral();
  if (is_whole) {  // exact also where float64 is not
    auto a = static_cast<uint64_t>(integer(start)), b = static_cast<uint64_t>(integer(stop));
    auto distance = static_cast<uint64_t>(integer(step));
    if (integer(step) < 0) std::swap(a, b), distance = 0 - distance;
    bool is_empty = static_cast<int64_t>(b) <= static_cast<int64_t>(a);
    uint64_t exact = is_empty ? 0 : (b - a - 1) / distance + 1;
    count = static_cast<double>(exact);
  } else {
    count = std::max(0.0, std::ceil((last - first) / by));
  }
  if (count > static_cast<double>(kMaxDynamicElements))
    throw fail() << "from " << first << " to " << last << " by " << by << " there are " << count
                 << " numbers; less than 2^31 are supported";
  return static_cast<int64_t>(count);
}

namespace {

Globals shape_functions_globals{
    {"tessera.shape.arange", arange},
    {"tessera.shape.broadcast_to", broadcast_to},
    {"tessera.shape.expand_dims", expand_dims},
    {"tessera.shape.input", shape_is_input},
    {"tessera.shape.iota", iota},
    {"tessera.shape.one_hot", one_hot},
    {"tessera.shape.pad", pad},
    {"tessera.shape.reshape", reshape},
    {"tessera.shape.resize2d", resize2d},
    {"tessera.shape.squeeze", squeeze},
    {"tessera.shape.strided_slice", strided_slice},
    {"tessera.shape.tile", tile},
};
[[maybe_unused]] const bool shape_functions_registered = [] {
  register_global("tessera.shape.topk", PackedFunc(topk_shape));
  register_global("tessera.shape.upsampling", PackedFunc(upsampling));
  return true;
}();

}  // namespace
}  // namespace tessera
