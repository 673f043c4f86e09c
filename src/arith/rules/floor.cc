// Rules on quotients rounded down and their remainders. A divisor is never zero.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules floor_rules() {
  TESSERA_RULE_NAMES
  return {
      // ---- quotients
      rule(floordiv(x, c1), 0, c1 > 0 && in_range(x, 0, c1)),
      rule(floordiv(x, x), 1),
      rule(floordiv(floordiv(x, c1), c2), floordiv(x, c1 * c2), c1 > 0 && c2 > 0),
      rule(floordiv(floordiv(x, c1) + c2, c3), floordiv(x + c1 * c2, c1 * c3), c1 > 0 && c3 > 0),
      rule(floordiv(x * c1, c2), x * floordiv(c1, c2), c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv(x * c1, c2), floordiv(x, floordiv(c2, c1)), c1 > 0 && c2 > 0 && floormod(c2, c1) == 0),
      rule(floordiv(x * y, y), x),
      rule(floordiv(x * y + z, y), x + floordiv(z, y)),
      rule(floordiv(z - x * y, y), floordiv(z, y) - x),
      rule(floordiv(x * y - z, y), floordiv(0 - z, y) + x),
      rule(floordiv((x * y + u) + z, y), x + floordiv(u + z, y)),
      rule(floordiv(x * c1 + y, c2), x * floordiv(c1, c2) + floordiv(y, c2), c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv(y - x * c1, c2), floordiv(y, c2) - x * floordiv(c1, c2), c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv(x * c1 - y, c2), floordiv(0 - y, c2) + x * floordiv(c1, c2), c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv((x * c1 + y) + z, c2), x * floordiv(c1, c2) + floordiv(y + z, c2),
           c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv((y + z) - x * c1, c2), floordiv(y + z, c2) - x * floordiv(c1, c2),
           c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv(x * c1 + c2, c3), floordiv(x + floordiv(c2, c1), floordiv(c3, c1)),
           c1 > 0 && c3 > 0 && floormod(c3, c1) == 0),
      rule(floordiv(x * c1 + y, c2), floordiv(x, floordiv(c2, c1)),
           c1 > 0 && c2 > 0 && floormod(c2, c1) == 0 && in_range(y, 0, c1)),
      rule(floordiv(x + c1, c2), floordiv(x, c2) + floordiv(c1, c2), c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv(x + y, c1), floordiv(y, c1), c1 > 0 && in_range(x, 0, c1) && multiple(y, c1)),
      rule(floordiv(x - floormod(x, c1), c1), floordiv(x, c1)),
      rule(floordiv(min(x * c1, y), c2), min(x * floordiv(c1, c2), floordiv(y, c2)), c2 > 0 && floormod(c1, c2) == 0),
      rule(floordiv(max(x * c1, y), c2), max(x * floordiv(c1, c2), floordiv(y, c2)), c2 > 0 && floormod(c1, c2) == 0),
      rule(floordiv(select(p, c1, c2), c3), select(p, floordiv(c1, c3), floordiv(c2, c3)), c3 != 0),

      // ---- remainders
      rule(floormod(x, c1), x, c1 > 0 && in_range(x, 0, c1)),
      rule(floormod(x, c1), 0, c1 != 0 && multiple(x, c1)),
      rule(floormod(x, x), 0),
      rule(floormod(x * c1, c2), floormod(x * floormod(c1, c2), c2), c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod(x * c1, c2), floormod(x, floordiv(c2, c1)) * c1, c1 > 1 && c2 > 0 && floormod(c2, c1) == 0),
      rule(floormod(x * y, y), 0),
      rule(floormod(x * y + z, y), floormod(z, y)),
      rule(floormod(z - x * y, y), floormod(z, y)),
      rule(floormod((x * y + u) + z, y), floormod(u + z, y)),
      rule(floormod(x + y, y), floormod(x, y)),
      rule(floormod(x - y, y), floormod(x, y)),
      rule(floormod(x * c1 + y, c2), floormod(x * floormod(c1, c2) + y, c2), c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod(y - x * c1, c2), floormod(y - x * floormod(c1, c2), c2), c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod(x * c1 - y, c2), floormod(x * floormod(c1, c2) - y, c2), c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod((x * c1 + y) + z, c2), floormod((x * floormod(c1, c2) + y) + z, c2),
           c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod((x * c1 + y) - z, c2), floormod((x * floormod(c1, c2) + y) - z, c2),
           c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod(x + c1, c2), floormod(x + floormod(c1, c2), c2), c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod(c1 - x, c2), floormod(floormod(c1, c2) - x, c2), c2 > 0 && (c1 < 0 || c1 >= c2)),
      rule(floormod(x * c1 + c2, c3), floormod(x + floordiv(c2, c1), floordiv(c3, c1)) * c1,
           c1 > 1 && c3 > 0 && floormod(c3, c1) == 0 && floormod(c2, c1) == 0),
      ordered(floormod(x * c1 + y, c2), floormod(x, floordiv(c2, c1)) * c1 + y,
              c1 > 1 && c2 > 0 && floormod(c2, c1) == 0 && in_range(y, 0, c1)),
      rule(floormod(x + y, c1), floormod(x, c1), c1 > 0 && multiple(y, c1)),
      rule(floormod(x - y, c1), floormod(x, c1), c1 > 0 && multiple(y, c1)),
      rule(floormod(floormod(x, c1), c2), floormod(x, c2), c1 > 0 && c2 > 0 && floormod(c1, c2) == 0),
      rule(floormod(floormod(x, c1) + y, c2), floormod(x + y, c2), c1 > 0 && c2 > 0 && floormod(c1, c2) == 0),
      rule(floormod(floormod(x, c1) - y, c2), floormod(x - y, c2), c1 > 0 && c2 > 0 && floormod(c1, c2) == 0),
      rule(floormod(y - floormod(x, c1), c2), floormod(y - x, c2), c1 > 0 && c2 > 0 && floormod(c1, c2) == 0),
      rule(floormod(floormod(x, c1) * c2, c3), floormod(x * c2, c3),
           c1 > 0 && c3 > 0 && floormod(c1 * c2, c3) == 0 && c1 * c2 > c3),
      rule(floormod(select(p, c1, c2), c3), select(p, floormod(c1, c3), floormod(c2, c3)), c3 != 0),
  };
}

}  // namespace tessera::arith
