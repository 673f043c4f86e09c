// Rules on quotients rounded to zero and their remainders. Many need operands that are not negative, where rounding
// to zero and rounding down agree.

#include "arith/rules/dsl.h"

namespace tessera::arith {

Rules trunc_rules() {
  TESSERA_RULE_NAMES
  return {
      // ---- quotients
      rule(x / x, 1),
      rule((x / c1) / c2, x / (c1 * c2), c1 > 0 && c2 > 0),
      rule((x / c1 + c2) / c3, (x + c1 * c2) / (c1 * c3), c1 > 0 && c2 >= 0 && c3 > 0 && proven(x >= 0)),
      rule((x * c1) / c2, x * (c1 / c2), c2 != 0 && c1 % c2 == 0),
      rule((x * c1) / c2, x / (c2 / c1), c1 > 0 && c2 > 0 && c2 % c1 == 0),
      rule((x * y) / y, x),
      mirrored((x * c1 + y) / c2, x * (c1 / c2) + y / c2,
               c2 > 0 && c1 % c2 == 0 && proven(x * c1 >= 0) && proven(y >= 0)),
      rule((x * c1 + y) / c2, x / (c2 / c1), c1 > 0 && c2 > 0 && c2 % c1 == 0 && in_range(y, 0, c1) && proven(x >= 0)),
      rule((x + c1) / c2, x / c2 + c1 / c2, c1 >= 0 && c2 > 0 && c1 % c2 == 0 && proven(x >= 0)),
      rule(((x * c1 + y) + z) / c2, x * (c1 / c2) + (y + z) / c2,
           c2 > 0 && c1 % c2 == 0 && proven(x * c1 >= 0) && proven(y + z >= 0)),
      mirrored(min(x * c1, y) / c2, min(x * (c1 / c2), y / c2), c2 > 0 && c1 % c2 == 0),
      mirrored(max(x * c1, y) / c2, max(x * (c1 / c2), y / c2), c2 > 0 && c1 % c2 == 0),
      rule((x + y) / x, y / x + 1, proven(x >= 0) && proven(y >= 0)),
      rule(((x + y) + z) / x, (y + z) / x + 1, proven(x >= 0) && proven(y + z >= 0)),
      mirrored((x * y + z) / y, x + z / y, proven(x >= 0) && proven(y >= 0) && proven(z >= 0)),

      // ---- remainders
      rule(x % c1, 0, c1 != 0 && multiple(x, c1)),
      rule(x % x, 0),
      rule(x % c1, x % (0 - c1), c1 < 0),
      rule((x * y) % y, 0),
      rule((x * c1) % c2, 0, c2 != 0 && c1 % c2 == 0),
      rule((x * c1 + y) % c2, y % c2, c2 > 0 && c1 % c2 == 0 && proven(x * c1 >= 0) && proven(y >= 0)),
      rule((x + c1) % c2, x % c2, c1 >= 0 && c2 > 0 && c1 % c2 == 0 && proven(x >= 0)),
      rule((x % c1) % c2, x % c2, c1 > 0 && c2 > 0 && c1 % c2 == 0),
      rule((x * y + z) % y, z % y, proven(x >= 0) && proven(y >= 0) && proven(z >= 0)),
  };
}

}  // namespace tessera::arith
