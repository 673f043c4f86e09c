// Rules on x == y and x < y. The simplifier has turned the other comparisons into these two, and has tried the bounds
// of x - y first.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules equality_rules() {
  TESSERA_RULE_NAMES
  return {
      rule(x == x, true),
      rule(x + c1 == c2, x == c2 - c1),
      rule(c1 - x == c2, x == c1 - c2),
      rule(x - y == 0, x == y),
      rule(x * c1 == c2, x == floordiv(c2, c1), c1 != 0 && floormod(c2, c1) == 0),
      rule(x * c1 == c2, false, c1 != 0 && floormod(c2, c1) != 0),
      rule(x + y == x + z, y == z),
      rule(x + y == x, y == 0),
      rule(x - y == x, y == 0),
      rule(x - y == x - z, y == z),
      rule(y - x == z - x, y == z),
      rule(x + c1 == y + c2, x == y, c1 == c2),
      rule(x * c1 == y * c1, x == y, c1 != 0),
      rule(x * y == 0, x == 0 || y == 0),
      rule(x - c1 == c2, x == c1 + c2),
      rule(max(x, c1) == c2, x == c2, c1 < c2),
      rule(min(x, c1) == c2, x == c2, c2 < c1),
      rule(max(x, y) == x, y <= x),
      rule(min(x, y) == x, x <= y),
  };
}

Rules order_rules() {
  TESSERA_RULE_NAMES
  return {
      rule(x < x, false),

      // ---- sums
      rule(x + y < x + z, y < z),
      rule(x - y < x - z, z < y),
      rule(y - x < z - x, y < z),
      rule(x < x + z, 0 < z),
      rule(x < x - z, z < 0),
      rule(x + z < x, z < 0),
      rule(x - z < x, 0 < z),
      rule(x + c1 < c2, x < c2 - c1),
      rule(c1 < x + c2, c1 - c2 < x),
      rule(x - c1 < c2, x < c1 + c2),
      rule(c1 < x - c2, c1 + c2 < x),
      rule(c1 - x < c2, c1 - c2 < x),
      rule(c1 < c2 - x, x < c2 - c1),
      rule(x - y < 0, x < y),
      rule(0 < x - y, y < x),
      rule(x + c1 < y + c2, x < y, c1 == c2),
      rule(x + c1 < y + c2, x - y < c2 - c1),
      rule(x < c1 - x, x < floordiv(c1 + 1, 2)),
      rule(c1 - x < x, floordiv(c1, 2) < x),

      // ---- products
      rule(x * c1 < y * c1, x < y, c1 > 0),
      rule(x * c1 < y * c1, y < x, c1 < 0),
      rule(x * c1 < c2, x < floordiv(c2 - 1, c1) + 1, c1 > 0),
      rule(c2 < x * c1, floordiv(c2, c1) < x, c1 > 0),
      rule(x * c1 < c2, floordiv(c2, c1) < x, c1 < 0),
      rule(c2 < x * c1, x < 0 - floordiv(c2, 0 - c1), c1 < 0),
      rule(x * c1 < x * c2, x<0, c1> c2),
      rule(x * c1 < x * c2, 0 < x, c1 < c2),
      rule(x * c1 < x, x < 0, c1 > 1),
      rule(x * c1 < x, 0 < x, c1 < 1),
      rule(x < x * c1, 0 < x, c1 > 1),
      rule(x < x * c1, x < 0, c1 < 1),
      rule(x * c1 + c2 < y * c1, x + floordiv(c2, c1) < y, c1 > 0),
      rule(y * c1 < x * c1 + c2, y < x + (floordiv(c2 - 1, c1) + 1), c1 > 0),
      rule(x * c1 + z < y * c1, x < y, c1 > 0 && in_range(z, 0, c1)),
      rule(x * c1 + z < c2, x < floordiv(c2, c1), c1 > 0 && floormod(c2, c1) == 0 && in_range(z, 0, c1)),
      rule(c2 < x * c1 + z, floordiv(c2, c1) < x, c1 > 0 && floormod(c2 + 1, c1) == 0 && in_range(z, 0, c1)),

      // ---- quotients
      rule(floordiv(x, c1) < c2, x < c1 * c2, c1 > 0),
      rule(c1 < floordiv(x, c2), (c1 + 1) * c2 - 1 < x, c2 > 0),
      rule(x < floordiv(x, c1) * c1, false, c1 > 0),
      rule(floordiv(x + c1, c2) * c2 < x, false, c2 > 0 && c1 >= c2 - 1),
      rule(x / c1 < c2, x < c1 * c2, c1 > 0 && c2 > 0),
      rule(x / c1 < c2, x < (c2 - 1) * c1 + 1, c1 > 0 && c2 <= 0),
      rule(c1 < x / c2, (c1 + 1) * c2 - 1 < x, c1 >= 0 && c2 > 0),
      rule(c1 < x / c2, c1 * c2 < x, c1 < 0 && c2 > 0),

      // ---- min and max
      rule(min(x, y) < z, x < z || y < z),
      rule(max(x, y) < z, x < z && y < z),
      rule(z < min(x, y), z < x && z < y),
      rule(z < max(x, y), z < x || z < y),
      rule(min(x, y) + c1 < z, x + c1 < z || y + c1 < z),
      rule(max(x, y) + c1 < z, x + c1 < z && y + c1 < z),
      rule(z < min(x, y) + c1, z < x + c1 && z < y + c1),
      rule(z < max(x, y) + c1, z < x + c1 || z < y + c1),
  };
}

Rules rounded_order_rules(Rounding by) {
  TESSERA_RULE_NAMES
  auto [div, mod] = by;
  return {
      rule(div(x, c1) * c1 < x, 0 < mod(x, c1)),
      rule(x < div(x, c1) * c1, mod(x, c1) < 0),
      rule(div(x, c1) * c1 < x + y, 0 < mod(x, c1) + y),
      rule(x + y < div(x, c1) * c1, mod(x, c1) + y < 0),
      rule(div(x, c1) * c1 < x - y, y < mod(x, c1)),
      rule(x - y < div(x, c1) * c1, mod(x, c1) < y),

      rule(div(x + c2, c1) * c1 < x, c2 < mod(x + c2, c1)),
      rule(x < div(x + c2, c1) * c1, mod(x + c2, c1) < c2),
      rule(div(x + c2, c1) * c1 < x + y, c2 < mod(x + c2, c1) + y),
      rule(x + y < div(x + c2, c1) * c1, mod(x + c2, c1) + y < c2),
      rule(div(x + c2, c1) * c1 < x - y, y + c2 < mod(x + c2, c1)),
      rule(x - y < div(x + c2, c1) * c1, mod(x + c2, c1) < y + c2),
  };
}

}  // namespace tessera::arith
