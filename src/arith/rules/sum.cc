// Rules on x + y and x - y. Constants move to the right, sums of constants are folded, equal terms meet.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules sum_rules() {
  TESSERA_RULE_NAMES
  return {
      // ---- x + y: constants
      ordered(c1 + x, x + c1),
      rule((x + c1) + c2, x + (c1 + c2)),
      rule((c1 - x) + c2, (c1 + c2) - x),
      ordered((x + c1) + y, (x + y) + c1),
      ordered(x + (y + c1), (x + y) + c1),
      ordered(x + min(y, z), min(y, z) + x, no_extremum(x)),
      ordered(x + max(y, z), max(y, z) + x, no_extremum(x)),
      rule(x + (c1 - y), (x - y) + c1),
      ordered(x + y * c1, x - y * (0 - c1), c1 < 0),
      ordered(x * c1 + y, y - x * (0 - c1), c1 < 0),

      // ---- x + y: cancelling
      rule((x - y) + y, x),
      rule((x - y) + (y - z), x - z),
      rule((x - y) + (y + z), x + z),
      rule(((x - y) - z) + y, x - z),
      rule((x - (y + z)) + y, x - z),
      rule(((x + z) - y) + y, x + z),

      // ---- x + y: common factors
      rule(x + x, x * 2),
      rule(x * c1 + x * c2, x * (c1 + c2)),
      rule(x * c1 + x, x * (c1 + 1)),
      rule(x * y + x * z, x * (y + z)),
      rule(x * y + x, x * (y + 1)),

      // ---- x + y: quotient and remainder
      rule(floordiv(floormod(x, c2) + c1, c2) + floordiv(x, c2), floordiv(x + c1, c2)),
      rule(floordiv(x + c1, c2) * c2 + floormod(x + c3, c2), x + c1, c2 != 0 && floormod(c1 - c3, c2) == 0),

      // ---- x + y: through min, max and select
      rule(max(x, y) + min(x, y), x + y),
      mirrored(min(x, y - z) + z, min(x + z, y)),
      mirrored(max(x, y - z) + z, max(x + z, y)),
      mirrored(min(x, y + c1) + c2, min(x + c2, y), c1 + c2 == 0),
      mirrored(max(x, y + c1) + c2, max(x + c2, y), c1 + c2 == 0),
      rule(select(p, x, y) + select(p, z, u), select(p, x + z, y + u)),
      rule(select(p, x, y - z) + z, select(p, x + z, y)),
      rule(select(p, x - z, y) + z, select(p, x, y + z)),

      // ---- x - y: constants
      rule(x - c1, x + (0 - c1)),
      rule(c1 - (c2 - x), x + (c1 - c2)),
      rule(c1 - (x + c2), (c1 - c2) - x),
      rule((x + c1) - (y + c2), (x - y) + (c1 - c2)),
      rule((x + c1) - y, (x - y) + c1),
      rule(x - (y + c1), (x - y) + (0 - c1)),
      rule(x - (c1 - y), (x + y) + (0 - c1)),
      rule((c1 - x) - y, c1 - (x + y)),
      ordered(x - y * c1, x + y * (0 - c1), c1 < 0),
      rule(0 - x * c1, x * (0 - c1)),
      rule(0 - (x - y), y - x),

      // ---- x - y: cancelling
      rule(x - x, 0),
      rule((x + y) - y, x),
      rule((x + y) - (x + z), y - z),
      rule(x - (x + y), 0 - y),
      rule((x - y) - x, 0 - y),
      rule(x - (x - y), y),
      rule((x - y) - (x - z), z - y),
      rule((y - x) - (z - x), y - z),
      rule(x - (y - z), (x + z) - y),
      rule(((x + y) + z) - x, y + z),
      rule(((x + y) - z) - x, y - z),
      rule(((x - y) + z) - x, z - y),
      rule(((x + y) + z) - (x + u), (y + z) - u),
      rule((x + u) - ((x + y) + z), u - (y + z)),
      rule(((x + y) + z) - ((u + x) + v), (y + z) - (u + v)),

      // ---- x - y: common factors
      rule(x * c1 - x * c2, x * (c1 - c2)),
      rule(x * c1 - x, x * (c1 - 1)),
      rule(x - x * c1, x * (1 - c1)),
      rule(x * y - x * z, x * (y - z)),
      rule(x * y - x, x * (y - 1)),
      rule(x - x * y, x * (1 - y)),
      rule((x + y * c1) - y * c2, x + y * (c1 - c2)),
      rule((x + y) * c1 - x * c2, y * c1, c1 == c2),
      rule((x + y) * c1 - (x * c2 + z), y * c1 - z, c1 == c2),

      // ---- x - y: quotient and remainder
      rule(floordiv(x + c1, c3) - floordiv(x + c2, c3), floordiv(floormod(x + floormod(c2, c3), c3) + (c1 - c2), c3),
           c3 > 0),
      rule(floordiv(x + c1, c3) - floordiv(x, c3), floordiv(floormod(x, c3) + c1, c3), c3 > 0),
      rule(floordiv(x, c3) - floordiv(x + c2, c3), floordiv(floormod(x + floormod(c2, c3), c3) - c2, c3), c3 > 0),
      rule((x + c1) / c3 - (x + c2) / c3, ((x + floormod(c2, c3)) % c3 + (c1 - c2)) / c3,
           c3 > 0 && c1 >= c2 && proven(0 <= x) && proven(0 <= x + c2)),
      rule((x + c1) / c3 - x / c3, (x % c3 + c1) / c3, c3 > 0 && c1 >= 0 && proven(0 <= x)),

      // ---- x - y: through min, max and select
      mirrored(min(x, y) - x, min(0, y - x)),
      mirrored(max(x, y) - x, max(0, y - x)),
      mirrored(x - min(x, y), max(0, x - y)),
      mirrored(x - max(x, y), min(0, x - y)),
      mirrored(min(x + y, z) - x, min(y, z - x)),
      mirrored(max(x + y, z) - x, max(y, z - x)),
      mirrored(x - min(x + y, z), max(0 - y, x - z)),
      mirrored(x - max(x + y, z), min(0 - y, x - z)),
      mirrored((x + z) - min(x + y, u), max(z - y, (x + z) - u)),
      mirrored((x + z) - max(x + y, u), min(z - y, (x + z) - u)),
      rule(min(x, y) - min(x, y), 0),
      rule(max(x, y) - max(x, y), 0),
      rule(min(x + c1, y + c2) - min(x, y), c1, c1 == c2),
      rule(max(x + c1, y + c2) - max(x, y), c1, c1 == c2),
      rule(min(x + c1, y + c2) - min(x, y + c3), c1, c2 == c1 + c3),
      rule(max(x + c1, y + c2) - max(x, y + c3), c1, c2 == c1 + c3),
      rule(select(p, x, y) - select(p, z, u), select(p, x - z, y - u)),
      rule(select(p, x, y) - x, select(p, 0, y - x)),
      rule(select(p, x, y) - y, select(p, x - y, 0)),
      rule(x - select(p, x, y), select(p, 0, x - y)),
      rule(y - select(p, x, y), select(p, y - x, 0)),
  };
}

Rules rounded_sum_rules(Rounding by) {
  TESSERA_RULE_NAMES
  auto [div, mod] = by;
  return {
      rule(div(x, y) * y + mod(x, y), x),
      rule(div(x, c1) * c2 + mod(x, c1) * c3, x * c3, c2 == c1 * c3),

      rule(x - div(x, c1) * c1, mod(x, c1)),
      rule(div(x, c1) * c1 - x, 0 - mod(x, c1)),
      mirrored(x - div(x + y, c1) * c1, mod(x + y, c1) - y),
      mirrored(div(x + y, c1) * c1 - x, y - mod(x + y, c1)),
      rule(x - div(x - y, c1) * c1, mod(x - y, c1) + y),
      rule(div(x - y, c1) * c1 - x, (0 - mod(x - y, c1)) - y),

      rule(x * c1 - div(x, c2) * c3, mod(x, c2) * c1, c3 == c1 * c2),
      rule(div(x, c2) * c3 - x * c1, mod(x, c2) * (0 - c1), c3 == c1 * c2),
      ordered(x * c1 - div(x + y, c2) * c3, (mod(x + y, c2) - y) * c1, c3 == c1 * c2),
      ordered(x * c1 - div(y + x, c2) * c3, (mod(y + x, c2) - y) * c1, c3 == c1 * c2),
      ordered(div(x + y, c2) * c3 - x * c1, (y - mod(x + y, c2)) * c1, c3 == c1 * c2),
      ordered(div(y + x, c2) * c3 - x * c1, (y - mod(y + x, c2)) * c1, c3 == c1 * c2),
      rule(x * c1 - div(x - y, c2) * c3, (mod(x - y, c2) + y) * c1, c3 == c1 * c2),
      rule(div(x - y, c2) * c3 - x * c1, (mod(x - y, c2) + y) * (0 - c1), c3 == c1 * c2),
  };
}

}  // namespace tessera::arith
