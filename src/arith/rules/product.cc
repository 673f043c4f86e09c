// Rules on x * y.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules product_rules() {
  TESSERA_RULE_NAMES
  return {
      ordered(c1 * x, x * c1),
      rule((x * c1) * c2, x * (c1 * c2)),
      rule((x * c1) * y, (x * y) * c1),
      rule((x + c1) * c2, x * c2 + c1 * c2),
      rule((c1 - x) * c2, x * (0 - c2) + c1 * c2),
      rule((x - y) * c1, (y - x) * (0 - c1), c1 < 0),
      rule(min(x, y) * max(x, y), x * y),
      rule(select(p, c1, c2) * c3, select(p, c1 * c3, c2 * c3)),
  };
}

}  // namespace tessera::arith
