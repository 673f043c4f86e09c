// Rules on vectors: arithmetic on ramps and broadcasts goes inside them.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules ramp_rules() {
  TESSERA_RULE_NAMES
  const Pat n = lanes;
  return {
      rule(ramp(x, y, n) + ramp(z, u, n), ramp(x + z, y + u, n)),
      mirrored(ramp(x, y, n) + broadcast(z, n), ramp(x + z, y, n)),
      rule(broadcast(x, n) + broadcast(y, n), broadcast(x + y, n)),
      rule(ramp(x, y, n) - ramp(z, u, n), ramp(x - z, y - u, n)),
      rule(ramp(x, y, n) - broadcast(z, n), ramp(x - z, y, n)),
      rule(broadcast(z, n) - ramp(x, y, n), ramp(z - x, 0 - y, n)),
      rule(broadcast(x, n) - broadcast(y, n), broadcast(x - y, n)),
      rule(broadcast(x, n) * broadcast(y, n), broadcast(x * y, n)),
      rule(ramp(x, y, n) * broadcast(z, n), ramp(x * z, y * z, n)),

      rule(floordiv(broadcast(x, n), broadcast(y, n)), broadcast(floordiv(x, y), n)),
      rule(floordiv(ramp(x, c1, n), broadcast(c2, n)), ramp(floordiv(x, c2), floordiv(c1, c2), n),
           c2 != 0 && floormod(c1, c2) == 0),
      rule(floordiv(ramp(x * c3, c1, n), broadcast(c2, n)), broadcast(x * floordiv(c3, c2), n),
           c2 > 0 && floormod(c3, c2) == 0 && c1 >= 0 && c1 * (n - 1) < c2),
      rule(floordiv(ramp(x * c3 + c4, c1, n), broadcast(c2, n)), broadcast(x * floordiv(c3, c2), n),
           c2 > 0 && floormod(c3, c2) == 0 && c1 >= 0 && c4 >= 0 && c4 + c1 * (n - 1) < c2),
      rule(floordiv(ramp(c4, c1, n), broadcast(c2, n)), broadcast(floordiv(c4, c2), n),
           c2 > 0 && floordiv(c4, c2) == floordiv(c4 + c1 * (n - 1), c2)),
      rule(floordiv(ramp(x, c1, n), broadcast(c2, n)), broadcast(floordiv(x, c2), n),
           c2 > 0 && c1 >= 0 && c1 * (n - 1) < c2 && multiple(x, c2)),

      rule(floormod(broadcast(x, n), broadcast(y, n)), broadcast(floormod(x, y), n)),
      rule(floormod(ramp(x, c1, n), broadcast(c2, n)), broadcast(floormod(x, c2), n), c2 != 0 && floormod(c1, c2) == 0),
      rule(floormod(ramp(x * c3, c1, n), broadcast(c2, n)), ramp(0, c1, n),
           c2 > 0 && floormod(c3, c2) == 0 && c1 >= 0 && c1 * (n - 1) < c2),
      rule(floormod(ramp(x * c3 + c4, c1, n), broadcast(c2, n)), ramp(c4, c1, n),
           c2 > 0 && floormod(c3, c2) == 0 && c1 >= 0 && c4 >= 0 && c4 + c1 * (n - 1) < c2),
      rule(floormod(ramp(x * c3 + c4, c1, n), broadcast(c2, n)), floormod(ramp(c4, c1, n), broadcast(c2, n)),
           c2 > 0 && floormod(c3, c2) == 0),
      rule(floormod(ramp(c4, c1, n), broadcast(c2, n)), ramp(floormod(c4, c2), c1, n),
           c2 > 0 && floordiv(c4, c2) == floordiv(c4 + c1 * (n - 1), c2)),
      rule(floormod(ramp(x, c1, n), broadcast(c2, n)), ramp(0, c1, n),
           c2 > 0 && c1 >= 0 && c1 * (n - 1) < c2 && multiple(x, c2)),

      rule(broadcast(x, n) / broadcast(y, n), broadcast(x / y, n)),
      rule(ramp(x, c1, n) / broadcast(c2, n), ramp(x / c2, c1 / c2, n),
           c2 > 0 && c1 % c2 == 0 && c1 >= 0 && proven(x >= 0)),
      rule(ramp(x * c3, c1, n) / broadcast(c2, n), broadcast(x * (c3 / c2), n),
           c2 > 0 && c3 % c2 == 0 && c1 >= 0 && c1 * (n - 1) < c2 && proven(x * c3 >= 0)),
      rule(ramp(x * c3 + c4, c1, n) / broadcast(c2, n), broadcast(x * (c3 / c2), n),
           c2 > 0 && c3 % c2 == 0 && c1 >= 0 && c4 >= 0 && c4 + c1 * (n - 1) < c2 && proven(x * c3 >= 0)),
      rule(broadcast(x, n) % broadcast(y, n), broadcast(x % y, n)),
      rule(ramp(x, c1, n) % broadcast(c2, n), broadcast(x % c2, n),
           c2 > 0 && c1 % c2 == 0 && c1 >= 0 && proven(x >= 0)),
      rule(ramp(x * c3, c1, n) % broadcast(c2, n), ramp(0, c1, n),
           c2 > 0 && c3 % c2 == 0 && c1 >= 0 && c1 * (n - 1) < c2 && proven(x * c3 >= 0)),
      rule(ramp(x * c3 + c4, c1, n) % broadcast(c2, n), ramp(c4, c1, n),
           c2 > 0 && c3 % c2 == 0 && c1 >= 0 && c4 >= 0 && c4 + c1 * (n - 1) < c2 && proven(x * c3 >= 0)),
      rule(ramp(x * c3 + c4, c1, n) % broadcast(c2, n), ramp(c4, c1, n) % broadcast(c2, n),
           c2 > 0 && c3 % c2 == 0 && c1 >= 0 && c4 >= 0 && proven(x * c3 >= 0)),

      rule(min(min(x, broadcast(y, n)), broadcast(z, n)), min(x, broadcast(min(y, z), n))),
      rule(max(max(x, broadcast(y, n)), broadcast(z, n)), max(x, broadcast(max(y, z), n))),
      rule(min(broadcast(x, n), broadcast(y, n)), broadcast(min(x, y), n)),
      rule(max(broadcast(x, n), broadcast(y, n)), broadcast(max(x, y), n)),
      rule(broadcast(x, n) == broadcast(y, n), broadcast(x == y, n)),
      rule(broadcast(x, n) < broadcast(y, n), broadcast(x < y, n)),
      rule(broadcast(x, n) != broadcast(y, n), broadcast(x != y, n)),
      rule(broadcast(x, n) <= broadcast(y, n), broadcast(x <= y, n)),
      rule(ramp(x, u, n) < ramp(y, u, n), broadcast(x < y, n)),
      rule(ramp(x, u, n) <= ramp(y, u, n), broadcast(x <= y, n)),
      rule(ramp(x, u, n) == ramp(y, u, n), broadcast(x == y, n)),
      rule(ramp(x, u, n) != ramp(y, u, n), broadcast(x != y, n)),
      rule(broadcast(x, n) && broadcast(y, n), broadcast(x && y, n)),
      rule(broadcast(x, n) || broadcast(y, n), broadcast(x || y, n)),
      rule(!broadcast(x, n), broadcast(!x, n)),
      rule(!(x < y), y <= x),
      rule(!(x <= y), y < x),
      rule(!(x == y), x != y),
      rule(!(x != y), x == y),
      rule(select(broadcast(p, n), broadcast(x, n), broadcast(y, n)), broadcast(select(p, x, y), n)),
  };
}

}  // namespace tessera::arith
