// Rules on min and max. Each comes in two mirror images.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules min_max_rules() {
  TESSERA_RULE_NAMES
  return {
      // ---- min: nested
      rule(min(x, x), x),
      ordered(min(min(x, y), x), min(x, y)),
      ordered(min(min(x, y), y), min(x, y)),
      ordered(min(x, min(x, y)), min(x, y)),
      ordered(min(y, min(x, y)), min(x, y)),
      rule(min(max(x, y), y), y),
      rule(min(min(x, c1), c2), min(x, min(c1, c2))),
      rule(min(max(x, c1), c2), c2, c1 >= c2),
      rule(min(min(x, c1), y), min(x, y), proven(y <= c1)),
      rule(min(max(x, y), min(x, y)), min(x, y)),
      rule(min(min(x, y), min(x, z)), min(min(y, z), x)),
      rule(min(max(x, y), max(x, z)), max(min(y, z), x)),
      rule(min(min(min(x, y), z), y), min(min(x, y), z)),
      ordered(min(min(min(min(x, y), z), u), x), min(min(min(x, y), z), u)),
      ordered(min(min(min(min(x, y), z), u), y), min(min(min(x, y), z), u)),
      ordered(min(min(min(min(x, y), z), u), z), min(min(min(x, y), z), u)),
      ordered(min(min(min(min(min(x, y), z), u), v), x), min(min(min(min(x, y), z), u), v)),
      ordered(min(min(min(min(min(x, y), z), u), v), y), min(min(min(min(x, y), z), u), v)),
      ordered(min(min(min(min(min(x, y), z), u), v), z), min(min(min(min(x, y), z), u), v)),

      // ---- min: common parts
      rule(min(x + c1, x + c2), x + min(c1, c2)),
      rule(min(x, x + c1), x, c1 >= 0),
      rule(min(x, x + c1), x + c1, c1 < 0),
      rule(min(c1 - x, c2 - x), min(c1, c2) - x),
      rule(min(x + y, x + z), min(y, z) + x),
      rule(min(x - y, x - z), x - max(y, z)),
      rule(min(y - x, z - x), min(y, z) - x),
      rule(min(x, x + y), min(y, 0) + x),
      rule(min(x, x - y), x - max(0, y)),
      rule(min(x * c1, y * c1), min(x, y) * c1, c1 > 0),
      rule(min(x * c1, y * c1), max(x, y) * c1, c1 < 0),
      rule(min(c1 - x, c2), c1 - max(x, c1 - c2), c2 != 0),
      rule(min(x * c1, c2), min(x, floordiv(c2, c1)) * c1, c1 > 1 && floormod(c2, c1) == 0),
      rule(min(x * c1, c2), max(x, floordiv(c2, c1)) * c1, c1 < -1 && floormod(c2, c1) == 0),
      rule(min(x + c1, y + c2), min(x, y + (c2 - c1)) + c1, c1 == c2),

      // ---- min: rounding
      rule(min(floordiv(x, c1) * c1, x), floordiv(x, c1) * c1, c1 > 0),
      rule(min(floordiv(x + c1, c2) * c2, min(x, y)), min(x, y), c2 > 0 && c1 >= c2 - 1),
      rule(min(select(p, x, y), select(p, z, u)), select(p, min(x, z), min(y, u))),
      rule(min(select(p, x, y), x), select(p, x, min(x, y))),
      rule(min(select(p, x, y), y), select(p, min(x, y), y)),

      // ---- max: nested
      rule(max(x, x), x),
      ordered(max(max(x, y), x), max(x, y)),
      ordered(max(max(x, y), y), max(x, y)),
      ordered(max(x, max(x, y)), max(x, y)),
      ordered(max(y, max(x, y)), max(x, y)),
      rule(max(min(x, y), y), y),
      rule(max(max(x, c1), c2), max(x, max(c1, c2))),
      rule(max(min(x, c1), c2), c2, c1 <= c2),
      rule(max(max(x, c1), y), max(x, y), proven(c1 <= y)),
      rule(max(max(x, y), min(x, y)), max(x, y)),
      rule(max(max(x, y), max(x, z)), max(max(y, z), x)),
      rule(max(min(x, y), min(x, z)), min(max(y, z), x)),
      rule(max(max(max(x, y), z), y), max(max(x, y), z)),
      ordered(max(max(max(max(x, y), z), u), x), max(max(max(x, y), z), u)),
      ordered(max(max(max(max(x, y), z), u), y), max(max(max(x, y), z), u)),
      ordered(max(max(max(max(x, y), z), u), z), max(max(max(x, y), z), u)),
      ordered(max(max(max(max(max(x, y), z), u), v), x), max(max(max(max(x, y), z), u), v)),
      ordered(max(max(max(max(max(x, y), z), u), v), y), max(max(max(max(x, y), z), u), v)),
      ordered(max(max(max(max(max(x, y), z), u), v), z), max(max(max(max(x, y), z), u), v)),

      // ---- max: common parts
      rule(max(x + c1, x + c2), x + max(c1, c2)),
      rule(max(x, x + c1), x + c1, c1 >= 0),
      rule(max(x, x + c1), x, c1 < 0),
      rule(max(c1 - x, c2 - x), max(c1, c2) - x),
      rule(max(x + y, x + z), max(y, z) + x),
      rule(max(x - y, x - z), x - min(y, z)),
      rule(max(y - x, z - x), max(y, z) - x),
      rule(max(x, x + y), max(y, 0) + x),
      rule(max(x, x - y), x - min(0, y)),
      rule(max(x * c1, y * c1), max(x, y) * c1, c1 > 0),
      rule(max(x * c1, y * c1), min(x, y) * c1, c1 < 0),
      rule(max(c1 - x, c2), c1 - min(x, c1 - c2), c2 != 0),
      rule(max(x * c1, c2), max(x, floordiv(c2, c1)) * c1, c1 > 1 && floormod(c2, c1) == 0),
      rule(max(x * c1, c2), min(x, floordiv(c2, c1)) * c1, c1 < -1 && floormod(c2, c1) == 0),
      rule(max(x + c1, y + c2), max(x, y + (c2 - c1)) + c1, c1 == c2),

      // ---- max: rounding
      rule(max(floordiv(x, c1) * c1, x), x, c1 > 0),
      rule(max(floordiv(x + c1, c2) * c2, max(x, y)), max(floordiv(x + c1, c2) * c2, y), c2 > 0 && c1 >= c2 - 1),
      rule(max(select(p, x, y), select(p, z, u)), select(p, max(x, z), max(y, u))),
      rule(max(select(p, x, y), x), select(p, x, max(x, y))),
      rule(max(select(p, x, y), y), select(p, max(x, y), y)),
  };
}

Rules rounded_min_max_rules(Rounding by) {
  TESSERA_RULE_NAMES
  auto [div, mod] = by;
  return {
      rule(min(div(x, c1), div(y, c1)), div(min(x, y), c1), c1 > 0),
      rule(min(div(x, c1), div(y, c1)), div(max(x, y), c1), c1 < 0),
      rule(max(div(x, c1), div(y, c1)), div(max(x, y), c1), c1 > 0),
      rule(max(div(x, c1), div(y, c1)), div(min(x, y), c1), c1 < 0),
      rule(min(div(x + c1, c2) * c2, x), x, c2 > 0 && c1 >= c2 - 1),
      rule(max(div(x + c1, c2) * c2, x), div(x + c1, c2) * c2, c2 > 0 && c1 >= c2 - 1),
      rule(min(div(x + c1, c2) * c2, max(x, c2)), max(x, c2), c2 > 0 && c1 >= c2 - 1 && proven(x >= 1)),
      rule(max(div(x + c1, c2) * c2, max(x, c2)), div(x + c1, c2) * c2, c2 > 0 && c1 >= c2 - 1 && proven(x >= 1)),
  };
}

}  // namespace tessera::arith
