// The way back of an index map. Indices are read as mixed-radix numbers: a digit of an initial index is
// (index // lower) % extent, and every final index is a sum of digits times their places,
//
//   i in 0..16, j in 0..8:   (i // 4, j, i % 4)   has the digits  i: [4, 4), j: [1, 8), i: [1, 4)
//
// so that each initial index is put together again from its digits wherever they went.

#include <algorithm>
#include <map>
#include <optional>

#include "arith/analyzer.h"
#include "ir/prim_ops.h"
#include "runtime/registry.h"
#include "tir/index_map.h"

namespace tessera {
namespace {

/// (var // lower) % extent, multiplied by `place` inside its final index.
struct Digit {
  const VarNode* var;
  int64_t lower, extent, place;
};
using Digits = std::vector<Digit>;  // ascending places

/// True when every digit begins where the one before ends, so that quotients and remainders cut between digits.
bool is_compact(const Digits& digits) {
  for (size_t i = 0; i + 1 < digits.size(); ++i)
    if (digits[i].place * digits[i].extent != digits[i + 1].place) return false;
  return digits.empty() || digits[0].place == 1;
}

class DigitReader {
 public:
  explicit DigitReader(const std::map<const VarNode*, int64_t>& extents) : extents_(extents) {}

  /// The digits of `e`; nothing when it is not a sum of digits.
  std::optional<Digits> read(const PrimExpr& e) const {
    if (auto* var = e.as<VarNode>()) {
      auto it = extents_.find(var);
      if (it == extents_.end()) return std::nullopt;
      return Digits{{var, 1, it->second, 1}};
    }
    if (auto* number = as_int(e)) return *number == 0 ? std::optional(Digits{}) : std::nullopt;
    if (auto* add = e.as<Add>()) return sum(read(add->a), read(add->b));
    auto* binary = e.as<BinaryNode>();
    auto* factor = binary ? as_int(binary->b) : nullptr;
    if (!factor || *factor <= 0) return std::nullopt;
    std::optional<Digits> digits = read(binary->a);
    if (!digits) return std::nullopt;
    if (e.as<Mul>()) {
      for (Digit& digit : *digits) digit.place *= *factor;
      return digits;
    }
    if (e.as<FloorDiv>() || e.as<FloorMod>()) return cut(*digits, *factor, e.as<FloorDiv>());
    return std::nullopt;
  }

 private:
  static std::optional<Digits> sum(std::optional<Digits> a, const std::optional<Digits>& b) {
    if (!a || !b) return std::nullopt;
    a->insert(a->end(), b->begin(), b->end());
    std::sort(a->begin(), a->end(), [](const Digit& x, const Digit& y) { return x.place < y.place; });
    return a;
  }

  /// The digits from place `at` on (the quotient), or those below it (the remainder).
  static std::optional<Digits> cut(const Digits& digits, int64_t at, bool upper) {
    if (!is_compact(digits)) return std::nullopt;
    Digits out;
    for (const Digit& digit : digits) {
      int64_t inside = at / digit.place;  // how much of the digit is below the cut
      if (digit.place >= at) {
        if (digit.place % at != 0) return std::nullopt;
        if (upper) out.push_back({digit.var, digit.lower, digit.extent, digit.place / at});
      } else if (digit.place * digit.extent <= at) {
        if (!upper) out.push_back(digit);
      } else {
        if (at % digit.place != 0) return std::nullopt;
        int64_t above = (digit.extent + inside - 1) / inside;
        if (upper) out.push_back({digit.var, digit.lower * inside, above, 1});
        else out.push_back({digit.var, digit.lower, inside, digit.place});
      }
    }
    return out;
  }

  const std::map<const VarNode*, int64_t>& extents_;
};

struct Inverse {
  IndexMap map;
  PrimExpr padding;  // holds where a place after the map belongs to no element
};

[[noreturn]] void not_invertible(const IndexMap& map, const std::string& why) {
  throw Error(RuntimeError) << map << " has no inverse: " << why;
}

/// One digit of an initial index and the expression that finds it after the map.
struct Found {
  Digit digit;
  PrimExpr value;
};

/// Where the digits of each initial index are found.
std::map<const VarNode*, std::vector<Found>> find_digits(const IndexMap& map, const DigitReader& reader,
                                                         const Array<Var>& outputs) {
  std::map<const VarNode*, std::vector<Found>> out;
  for (size_t k = 0; k < map->final_indices.size(); ++k) {
    std::optional<Digits> digits = reader.read(map->final_indices[k]);
    if (!digits) not_invertible(map, to_text(map->final_indices[k]) + " is not made of digits of the indices");
    if (!is_compact(*digits))
      not_invertible(map, "different elements meet in, or leave holes in, " + to_text(map->final_indices[k]));
    for (size_t d = 0; d < digits->size(); ++d) {
      const Digit& digit = (*digits)[d];
      PrimExpr value = floordiv(outputs[k], make_const(outputs[k]->dtype, digit.place));
      if (d + 1 < digits->size()) value = floormod(value, make_const(outputs[k]->dtype, digit.extent));
      out[digit.var].push_back({digit, value});
    }
  }
  return out;
}

/// The initial index of extent `extent` put together from its digits; `padded` is set to what they could reach.
PrimExpr put_together(const IndexMap& map, const Var& var, int64_t extent, std::vector<Found>& digits,
                      int64_t* padded) {
  std::sort(digits.begin(), digits.end(), [](const Found& a, const Found& b) { return a.digit.lower < b.digit.lower; });
  PrimExpr index = make_zero(var->dtype);
  int64_t reach = 1;
  for (const Found& found : digits) {
    if (found.digit.lower != reach)
      not_invertible(map, "index " + var->name.str() + (found.digit.lower > reach ? " loses" : " repeats") + " digits");
    index = index + cast(var->dtype, found.value) * make_const(var->dtype, reach);
    reach *= found.digit.extent;
  }
  if (reach < extent) not_invertible(map, "index " + var->name.str() + " loses its upper digits");
  *padded = reach;
  return index;
}

Inverse invert(const IndexMap& map, const Array<Range>& ranges) {
  if (ranges.size() != map->initial_indices.size())
    throw Error(RuntimeError) << "an index map of " << map->initial_indices.size() << " indices was given "
                              << ranges.size() << " extents";
  std::map<const VarNode*, int64_t> extents;
  for (size_t i = 0; i < ranges.size(); ++i) {
    auto* extent = as_int(ranges[i]->extent);
    if (!extent || !is_zero(ranges[i]->min)) not_invertible(map, "its inverse needs constant extents that begin at 0");
    extents[map->initial_indices[i].get()] = *extent;
  }
  Array<Var> outputs;
  arith::Analyzer analyzer;
  Array<Range> covered = map_ranges(map, ranges);
  for (size_t k = 0; k < map->final_indices.size(); ++k) {
    Var axis = make_var(String("axis" + std::to_string(k)), map->final_indices[k].dtype());
    analyzer.bind(axis, covered[k]);
    outputs.push_back(axis);
  }
  DigitReader reader(extents);
  auto digits = find_digits(map, reader, outputs);
  Array<PrimExpr> back;
  PrimExpr padding = bool_imm(false);
  for (const Var& var : map->initial_indices) {
    int64_t extent = extents[var.get()], padded = 1;
    PrimExpr index = analyzer.simplify(put_together(map, var, extent, digits[var.get()], &padded));
    if (padded > extent) padding = logical_or(padding, index >= make_const(var->dtype, extent));
    back.push_back(index);
  }
  return {make_index_map(outputs, back), padding};
}

IndexMap inverse(const IndexMap& map, const Array<Range>& ranges) {
  if (auto* given = map->inverse_index_map.as<IndexMapNode>()) return IndexMap(given);
  Inverse found = invert(map, ranges);
  if (!is_zero(found.padding))
    not_invertible(map, "it pads (where " + to_text(found.padding) + "); ask for non_surjective_inverse");
  return found.map;
}

Globals globals{
    {"tir.IndexMapInverse", inverse},
    {"tir.IndexMapNonSurjectiveInverse",
     [](IndexMap map, Array<Range> ranges) {
       Inverse found = invert(map, ranges);
       return Array<ObjectRef>{found.map, found.padding};
     }},
};

}  // namespace
}  // namespace tessera
