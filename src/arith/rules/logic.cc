// Rules on !p, p && q, p || q and select.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules logic_rules() {
  TESSERA_RULE_NAMES
  return {
      // ---- not
      rule(!(!p), p),
      rule(!(x < y), y <= x),
      rule(!(x <= y), y < x),
      rule(!(x == y), x != y),
      rule(!(x != y), x == y),
      rule(!(p || q), (!p) && (!q)),
      rule(!(p && q), (!p) || (!q)),

      // ---- and
      rule(p && p, p),
      rule(p && (p && q), p && q),
      rule(p && (p || q), p),
      rule(p && !p, false),
      rule(x == y && x != y, false),
      rule(x <= y && y < x, false),
      rule(x < y && y < x, false),
      rule(x < c1 && c2 < x, false, c2 + 1 >= c1),
      rule(x <= c1 && c2 < x, false, c2 >= c1),
      rule(x < c1 && c2 <= x, false, c2 >= c1),
      rule(x <= c1 && c2 <= x, false, c2 > c1),
      rule(x <= c1 && c2 <= x, x == c1, c2 == c1),
      rule(x < c1 && x < c2, x < min(c1, c2)),
      rule(x <= c1 && x <= c2, x <= min(c1, c2)),
      rule(x < c1 && x <= c2, x < c1, c1 <= c2 + 1),
      rule(x < c1 && x <= c2, x <= c2, c1 > c2),
      rule(c1 < x && c2 < x, max(c1, c2) < x),
      rule(c1 <= x && c2 <= x, max(c1, c2) <= x),
      rule(c1 < x && c2 <= x, c1 < x, c1 + 1 >= c2),
      rule(c1 < x && c2 <= x, c2 <= x, c1 < c2),
      rule(x == c1 && x == c2, false, c1 != c2),
      rule(x == c1 && x != c2, x == c1, c1 != c2),
      rule(x == c1 && x < c2, x == c1, c1 < c2),
      rule(x == c1 && x < c2, false, c1 >= c2),
      rule(x == c1 && c2 < x, x == c1, c2 < c1),
      rule(x == c1 && c2 < x, false, c2 >= c1),
      rule(x == c1 && x <= c2, x == c1, c1 <= c2),
      rule(x == c1 && x <= c2, false, c1 > c2),
      rule(x == c1 && c2 <= x, x == c1, c2 <= c1),
      rule(x == c1 && c2 <= x, false, c2 > c1),

      // ---- or
      rule(p || p, p),
      rule(p || (p || q), p || q),
      rule(p || (p && q), p),
      rule(p || !p, true),
      rule(x == y || x != y, true),
      rule(x <= y || y < x, true),
      rule(x < y || y < x, x != y),
      rule(x < y || x == y, x <= y),
      rule(x < c1 || c2 < x, true, c2 < c1),
      rule(x <= c1 || c2 < x, true, c2 <= c1),
      rule(x < c1 || c2 <= x, true, c2 <= c1),
      rule(x <= c1 || c2 <= x, true, c2 <= c1 + 1),
      rule(x < c1 || x < c2, x < max(c1, c2)),
      rule(x <= c1 || x <= c2, x <= max(c1, c2)),
      rule(x < c1 || x <= c2, x<c1, c1> c2),
      rule(x < c1 || x <= c2, x <= c2, c1 <= c2 + 1),
      rule(c1 < x || c2 < x, min(c1, c2) < x),
      rule(c1 <= x || c2 <= x, min(c1, c2) <= x),
      rule(x != c1 || x != c2, true, c1 != c2),
      rule(x != c1 || x == c2, x != c1, c1 != c2),
      rule((p && q) || (p && u), p && (q || u)),
  };
}

Rules select_rules() {
  TESSERA_RULE_NAMES
  return {
      rule(select(p, x, x), x),
      rule(select(!p, x, y), select(p, y, x)),
      rule(select(p, select(p, x, y), z), select(p, x, z)),
      rule(select(p, x, select(p, y, z)), select(p, x, z)),
      rule(select(p, true, false), p),
      rule(select(p, false, true), !p),
  };
}

}  // namespace tessera::arith
