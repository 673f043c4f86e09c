#pragma once
// fp8 and smaller floats (minifloats), one in each byte: a table of formats, and conversions that hold for all of them.

#include <string_view>

#include "te/tensor.h"

namespace tessera::topi {

/// What the ends of a format's range stand for.
enum class Specials {
  Ieee,    // the largest exponent: infinities and NaNs
  Fn,      // no infinities; all bits but the sign set: NaN
  Fnuz,    // no infinities, no negative zero, whose bits are the only NaN
  Finite,  // numbers alone
  Powers,  // powers of two without sign and zero; all bits set: NaN
};

struct Minifloat {
  const char* name;
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};

/// The format of that name ("float8_e4m3fn", "float4_e2m1fn", ...); an error that lists them otherwise.
const Minifloat& minifloat(std::string_view name);

/// How powers of two are rounded: away from zero, towards zero, to the nearest with halves going up. Other formats
/// round to the nearest, halves to the even one.
enum class Rounding { Up, Down, Nearest };

/// The byte of a float32 or float64. What is too large becomes the largest number when `saturates`, else an infinity, or
/// a NaN where there is none; a format without either always saturates, and makes a zero of a NaN.
PrimExpr encode(const PrimExpr& x, const Minifloat& format, bool saturates, Rounding rounding);
/// The float32 of a byte, exactly.
PrimExpr decode(const PrimExpr& byte, const Minifloat& format);

}  // namespace tessera::topi
