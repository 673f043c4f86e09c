// Sorting for compiled code, under the names v0.10 gave these functions. A NaN counts as greater than all numbers, and
// equal elements keep their order.

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <cstring>
#include <optional>

#include "runtime/function/element.h"
#include "runtime/function/on_host.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// One element: its value as a number that orders as the value does, then its index.
struct Entry {
  uint64_t key;
  int64_t index;
  auto operator<=>(const Entry&) const = default;
};

void require(bool holds, const char* what) {
  if (!holds) throw Error(ValueError) << "sort: " << what;
}

/// A tensor as lines along one axis.
struct Lines {
  DataType dtype;
  char* data;
  int64_t outer = 1, length = 1, inner = 1;

  Lines(const DLTensor* tensor, int axis) : dtype(tensor->dtype), data(static_cast<char*>(data_of(tensor))) {
    require(tensor->device.device_type == kDLCPU, "the tensor is not in host memory");
    require(is_contiguous(tensor), "the tensor is not contiguous");
    if (axis < 0) axis += tensor->ndim;
    require(axis >= 0 && axis < tensor->ndim, "the axis is out of range");
    length = tensor->shape[axis];
    for (int i = 0; i < axis; ++i) outer *= tensor->shape[i];
    for (int i = axis + 1; i < tensor->ndim; ++i) inner *= tensor->shape[i];
  }
  int64_t count() const { return outer * inner; }
  char* at(int64_t line, int64_t index) const {
    int64_t element = ((line / inner) * length + index) * inner + line % inner;
    return data + element * static_cast<int64_t>(dtype.bytes());
  }
};

/// A number that orders as the value does.
template <class T>
uint64_t key_of(T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return static_cast<Bits>(~Bits{1});
    auto bits = std::bit_cast<Bits>(value == 0 ? T(0) : value);
    const Bits negative = bits >> (8 * sizeof(Bits) - 1);
    return bits ^ (static_cast<Bits>(Bits{0} - negative) | kSign);  // no branch: signs cannot be foreseen
  } else {
    return static_cast<Bits>(value) ^ kSign;
  }
}

uint64_t key_at(DataType dtype, const void* at) {
  if (dtype.is_floating()) return key_of(read_float(dtype, at));
  return dtype.is_uint() ? static_cast<uint64_t>(read_int(dtype, at)) : key_of(read_int(dtype, at));
}

/// Calls `use` with the keys of the elements [begin, end) of a line, in order.
void for_keys(const Lines& lines, int64_t line, int64_t begin, int64_t end, auto use) {
  if (begin >= end) return;
  const char* first = lines.at(line, 0);
  const int64_t step = lines.inner * static_cast<int64_t>(lines.dtype.bytes());
  auto of_type = [&]<class T>(T) {
    for (int64_t i = begin; i < end; ++i) {
      T value;
      std::memcpy(&value, first + i * step, sizeof(T));
      use(key_of(value), i);
    }
  };
  if (lines.dtype == DataType::Float(32)) of_type(float{});
  else if (lines.dtype == DataType::Float(64)) of_type(double{});
  else if (lines.dtype == DataType::Int(32)) of_type(int32_t{});
  else if (lines.dtype == DataType::Int(64)) of_type(int64_t{});
  else
    for (int64_t i = begin; i < end; ++i) use(key_at(lines.dtype, first + i * step), i);
}

/// Replaces the last one of a heap by `entry`; the key of the one that is last now.
uint64_t replace_last(std::vector<Entry>* heap, const Entry& entry) {
  std::pop_heap(heap->begin(), heap->end());
  heap->back() = entry;
  std::push_heap(heap->begin(), heap->end());
  return heap->front().key;
}

/// The first `wanted` of the elements [0, length) of a line, in order.
std::vector<Entry> ordered(const Lines& lines, int64_t line, int64_t length, int64_t wanted, bool ascends) {
  std::vector<Entry> entries;
  if (wanted == 0) return entries;
  entries.reserve(static_cast<size_t>(wanted));
  const uint64_t flip = ascends ? 0 : ~uint64_t{0};
  for_keys(lines, line, 0, wanted, [&](uint64_t key, int64_t index) { entries.push_back({key ^ flip, index}); });
  if (wanted < length) {
    std::make_heap(entries.begin(), entries.end());
    uint64_t last = entries.front().key;  // of equals the earlier one stays
    for_keys(lines, line, wanted, length, [&](uint64_t key, int64_t index) {
      if ((key ^ flip) < last) last = replace_last(&entries, {key ^ flip, index});
    });
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void write_index(const Lines& out, int64_t line, int64_t at, int64_t index) {
  if (out.dtype.is_floating()) write_float(out.dtype, static_cast<double>(index), out.at(line, at));
  else write_int(out.dtype, index, out.at(line, at));
}

void copy_element(const Lines& from, int64_t line, int64_t index, const Lines& to, int64_t at) {
  std::memcpy(to.at(line, at), from.at(line, index), from.dtype.bytes());
}

void argsort(DLTensor* input, DLTensor* output, int axis, bool ascends) {
  Lines in(input, axis), out(output, axis);
  require(in.count() == out.count() && in.length == out.length, "input and output differ in shape");
  for (int64_t line = 0; line < in.count(); ++line) {
    std::vector<Entry> entries = ordered(in, line, in.length, in.length, ascends);
    for (int64_t i = 0; i < in.length; ++i) write_index(out, line, i, entries[static_cast<size_t>(i)].index);
  }
}

/// Only the first counts[line] elements of a line are sorted; the rest keep their positions.
void argsort_counted(DLTensor* input, DLTensor* counts, DLTensor* output, int axis, bool ascends) {
  Lines in(input, axis), out(output, axis), valid(counts, 0);
  require(in.count() == out.count() && in.length == out.length && valid.length == in.count(), "shapes differ");
  for (int64_t line = 0; line < in.count(); ++line) {
    int64_t length = std::clamp<int64_t>(read_int(valid.dtype, valid.at(0, line)), 0, in.length);
    std::vector<Entry> entries = ordered(in, line, length, length, ascends);
    for (int64_t i = 0; i < in.length; ++i)
      write_index(out, line, i, i < length ? entries[static_cast<size_t>(i)].index : i);
  }
}

void sort(DLTensor* input, DLTensor* output, int axis, bool ascends) {
  Lines in(input, axis), out(output, axis);
  require(in.count() == out.count() && in.length == out.length && in.dtype == out.dtype, "input and output differ");
  for (int64_t line = 0; line < in.count(); ++line) {
    std::vector<Entry> entries = ordered(in, line, in.length, in.length, ascends);
    for (int64_t i = 0; i < in.length; ++i) copy_element(in, line, entries[static_cast<size_t>(i)].index, out, i);
  }
}

/// (input, [values], [indices], k, axis, "both" | "values" | "indices", ascends); k below 1 means all.
void topk(Args args, Any*) {
  int next = args.size() - 4;
  require(next == 2 || next == 3, "topk takes 6 or 7 arguments");
  auto k = args[next].to<int64_t>();
  int axis = args[next + 1].to<int>();
  std::string what = args[next + 2].to<String>().str();
  bool ascends = args[next + 3].to<bool>();
  Lines in(args[0].to<DLTensor*>(), axis);
  int64_t wanted = k < 1 ? in.length : std::min(k, in.length);
  int given = 1;
  auto result = [&](bool is_wanted) {
    return is_wanted ? std::optional(Lines(args[given++].to<DLTensor*>(), axis)) : std::nullopt;
  };
  std::optional<Lines> values = result(what != "indices"), indices = result(what != "values");
  if (k == 0 && (values ? values : indices)->length == 0) return;  // none are asked for: dyn.topk can mean it
  for (const auto& out : {values, indices})
    require(!out || (out->count() == in.count() && out->length == wanted), "topk: a result has the wrong shape");
  for (int64_t line = 0; line < in.count(); ++line) {
    std::vector<Entry> entries = ordered(in, line, in.length, wanted, ascends);
    for (int64_t i = 0; i < wanted; ++i) {
      int64_t index = entries[static_cast<size_t>(i)].index;
      if (values) copy_element(in, line, index, *values, i);
      if (indices) write_index(*indices, line, i, index);
    }
  }
}

/// (data, unique, first indices, where each element went, {how many}, [how often], sorted): in rising order or in the
/// order of first appearance. What is behind the last different element is 0.
void unique(Args args, Any*) {
  bool with_counts = args.size() == 7, is_sorted = args[args.size() - 1].to<bool>();
  Lines in(args[0].to<DLTensor*>(), 0), values(args[1].to<DLTensor*>(), 0), first(args[2].to<DLTensor*>(), 0),
      inverse(args[3].to<DLTensor*>(), 0), number(args[4].to<DLTensor*>(), 0);
  std::vector<Entry> entries = ordered(in, 0, in.length, in.length, true);
  std::vector<Entry> groups;  // first index of each different element, in rising order
  std::vector<int64_t> group_of(entries.size()), counts;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].key != entries[i - 1].key) groups.push_back(entries[i]), counts.push_back(0);
    group_of[static_cast<size_t>(entries[i].index)] = static_cast<int64_t>(groups.size()) - 1;
    ++counts.back();
  }
  std::vector<size_t> order(groups.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (!is_sorted)
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return groups[a].index < groups[b].index; });
  std::vector<int64_t> rank(groups.size());
  for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int64_t>(i);
  std::memset(values.data, 0, static_cast<size_t>(values.length) * values.dtype.bytes());
  auto first_of = [&](int64_t i) { return i < static_cast<int64_t>(order.size()) ? groups[order[i]].index : 0; };
  for (int64_t i = 0; i < in.length; ++i) {
    if (i < static_cast<int64_t>(order.size())) copy_element(in, 0, first_of(i), values, i);
    write_index(first, 0, i, first_of(i));
    write_index(inverse, 0, i, rank[static_cast<size_t>(group_of[static_cast<size_t>(i)])]);
  }
  write_index(number, 0, 0, static_cast<int64_t>(groups.size()));
  if (!with_counts) return;
  Lines often(args[5].to<DLTensor*>(), 0);
  for (int64_t i = 0; i < in.length; ++i)
    write_index(often, 0, i, i < static_cast<int64_t>(order.size()) ? counts[order[static_cast<size_t>(i)]] : 0);
}

/// (rows (m, k), first indices (m), where each row went (m), how often (m), {how many}, sorted): rows that differ, in
/// rising order of their elements from the first on, or in the order of first appearance. What is behind the last is 0.
void unique_rows(DLTensor* data, DLTensor* first, DLTensor* inverse, DLTensor* counts, DLTensor* number,
                 bool is_sorted) {
  require(data->ndim == 2, "unique_rows wants rows");
  Lines in(data, 1), firsts(first, 0), inverses(inverse, 0), often(counts, 0), many(number, 0);
  int64_t rows = data->shape[0];
  require(firsts.length == rows && inverses.length == rows && often.length == rows && many.length == 1,
          "unique_rows: a result has the wrong shape");
  std::vector<uint64_t> keys;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < in.length; ++i) keys.push_back(key_at(in.dtype, in.at(row, i)));
  auto begin = [&](int64_t row) { return keys.begin() + row * in.length; };
  auto compare = [&](int64_t a, int64_t b) {
    return std::lexicographical_compare_three_way(begin(a), begin(a) + in.length, begin(b), begin(b) + in.length);
  };
  std::vector<int64_t> order(static_cast<size_t>(rows)), group_of(order.size()), group_first, group_count;
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) group_first.push_back(order[i]), group_count.push_back(0);
    group_of[static_cast<size_t>(order[i])] = static_cast<int64_t>(group_first.size()) - 1;
    ++group_count.back();
  }
  std::vector<size_t> groups(group_first.size());
  for (size_t i = 0; i < groups.size(); ++i) groups[i] = i;
  if (!is_sorted)
    std::sort(groups.begin(), groups.end(), [&](size_t a, size_t b) { return group_first[a] < group_first[b]; });
  std::vector<int64_t> rank(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) rank[groups[i]] = static_cast<int64_t>(i);
  for (int64_t i = 0; i < rows; ++i) {
    auto at = static_cast<size_t>(i);
    write_index(firsts, 0, i, at < groups.size() ? group_first[groups[at]] : 0);
    write_index(often, 0, i, at < groups.size() ? group_count[groups[at]] : 0);
    write_index(inverses, 0, i, rank[static_cast<size_t>(group_of[at])]);
  }
  write_index(many, 0, 0, static_cast<int64_t>(groups.size()));
}

Globals sort_globals{
    {"tvm.contrib.sort.argsort", on_host("argsort", argsort, 1)},
    {"tvm.contrib.sort.argsort_nms", on_host("argsort_nms", argsort_counted, 2)},
    {"tvm.contrib.sort.sort", on_host("sort", sort, 1)},
    {"tvm.contrib.sort.topk", on_host(PackedFunc(topk), 1)},
    {"tessera.sort.unique", on_host(PackedFunc(unique), 1)},
    {"tessera.sort.unique_rows", on_host("unique_rows", unique_rows, 1)},
};

}  // namespace
}  // namespace tessera
