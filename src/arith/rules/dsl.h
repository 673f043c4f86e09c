#pragma once
// The words in which rules are written; see arith/pattern.h. Included by the rule tables only.

#include "arith/pattern.h"

namespace tessera::arith {

Pat hole(int index);
Pat constant(int index);
Pat node(Kind kind, Pat a, Pat b = {}, Pat c = {});
Pat condition(PatNode::Type type, Pat a, Pat b = {}, Pat c = {});

inline Pat operator+(Pat a, Pat b) { return node(Kind::Add, a, b); }
inline Pat operator-(Pat a, Pat b) { return node(Kind::Sub, a, b); }
inline Pat operator-(Pat a) { return node(Kind::Sub, Pat(0), a); }
inline Pat operator*(Pat a, Pat b) { return node(Kind::Mul, a, b); }
inline Pat operator/(Pat a, Pat b) { return node(Kind::Div, a, b); }  // rounds to zero
inline Pat operator%(Pat a, Pat b) { return node(Kind::Mod, a, b); }  // has the sign of a
inline Pat truncdiv(Pat a, Pat b) { return a / b; }
inline Pat truncmod(Pat a, Pat b) { return a % b; }
inline Pat floordiv(Pat a, Pat b) { return node(Kind::FloorDiv, a, b); }
inline Pat floormod(Pat a, Pat b) { return node(Kind::FloorMod, a, b); }
inline Pat min(Pat a, Pat b) { return node(Kind::Min, a, b); }
inline Pat max(Pat a, Pat b) { return node(Kind::Max, a, b); }
inline Pat operator==(Pat a, Pat b) { return node(Kind::EQ, a, b); }
inline Pat operator!=(Pat a, Pat b) { return node(Kind::NE, a, b); }
inline Pat operator<(Pat a, Pat b) { return node(Kind::LT, a, b); }
inline Pat operator<=(Pat a, Pat b) { return node(Kind::LE, a, b); }
inline Pat operator>(Pat a, Pat b) { return node(Kind::LT, b, a); }
inline Pat operator>=(Pat a, Pat b) { return node(Kind::LE, b, a); }
inline Pat operator&&(Pat a, Pat b) { return node(Kind::And, a, b); }
inline Pat operator||(Pat a, Pat b) { return node(Kind::Or, a, b); }
inline Pat operator!(Pat a) { return node(Kind::Not, a); }
inline Pat select(Pat c, Pat t, Pat f) { return node(Kind::Select, c, t, f); }
inline Pat ramp(Pat base, Pat stride, Pat lanes) { return node(Kind::Ramp, base, stride, lanes); }
inline Pat broadcast(Pat value, Pat lanes) { return node(Kind::Broadcast, value, lanes); }

inline Pat proven(Pat claim) { return condition(PatNode::Proven, claim); }
inline Pat in_range(Pat e, Pat low, Pat high) { return condition(PatNode::InRange, e, low, high); }
inline Pat no_extremum(Pat e) { return condition(PatNode::NoExtremum, e); }
inline Pat multiple(Pat e, Pat of) { return condition(PatNode::Multiple, e, of); }

inline Rule rule(Pat before, Pat after, Pat when = {}) { return {before, after, when, true}; }
/// The same for operands in this order only.
inline Rule ordered(Pat before, Pat after, Pat when = {}) { return {before, after, when, false}; }

/// The same for operands in every order, where the operands of the result keep the order in which they were found: the
/// first commutative operator of `after` follows the first of its kind in `before`, a min and a max being of one kind.
///   mirrored(min(x + y, z) - x, min(y, z - x))     also says     min(z, x + y) - x   =>   min(z - x, y)
inline Rule mirrored(Pat before, Pat after, Pat when = {}) { return {before, after, when, true, true}; }

/// One of the two ways to round: truncdiv and truncmod, or floordiv and floormod. x = div(x, y) * y + mod(x, y) in both.
struct Rounding {
  Pat (*div)(Pat, Pat);
  Pat (*mod)(Pat, Pat);
};
inline constexpr Rounding kTrunc{truncdiv, truncmod}, kFloor{floordiv, floormod};

using Rules = std::vector<Rule>;
Rules sum_rules();
Rules product_rules();
Rules floor_rules();
Rules trunc_rules();
Rules min_max_rules();
Rules equality_rules();
Rules order_rules();
Rules logic_rules();
Rules select_rules();
Rules ramp_rules();
/// Rules that hold for both ways to round.
Rules rounded_sum_rules(Rounding by);
Rules rounded_order_rules(Rounding by);
Rules rounded_min_max_rules(Rounding by);

/// The names that rules use; constants[0] is free for lanes.
#define TESSERA_RULE_NAMES                                                                                           \
  [[maybe_unused]] const Pat x = hole(0), y = hole(1), z = hole(2), u = hole(3), v = hole(4), p = hole(5),           \
                             q = hole(6), lanes = constant(0), c1 = constant(1), c2 = constant(2), c3 = constant(3), \
                             c4 = constant(4);

}  // namespace tessera::arith
