#include "topi/minifloat.h"

#include <cmath>

#include "base/dtypes.h"
#include "ir/prim/ops.h"

namespace tessera::topi {
namespace {

constexpr Minifloat kFormats[] = {
    {"float4_e2m1fn", 2, 1, 1, Specials::Finite},  {"float6_e2m3fn", 2, 3, 1, Specials::Finite},
    {"float6_e3m2fn", 3, 2, 3, Specials::Finite},  {"float8_e4m3fn", 4, 3, 7, Specials::Fn},
    {"float8_e4m3fnuz", 4, 3, 8, Specials::Fnuz},  {"float8_e5m2", 5, 2, 15, Specials::Ieee},
    {"float8_e5m2fnuz", 5, 2, 16, Specials::Fnuz}, {"float8_e8m0fnu", 8, 0, 127, Specials::Powers},
};

PrimExpr number(int64_t value) { return make_const(kInt32, value); }

PrimExpr encode_power(const PrimExpr& x, bool saturates, Rounding rounding) {
  // The exponent of a float32 is the byte. Below the least of its normal numbers there is one more power, 2^-127.
  PrimExpr bits = reinterpret(kInt32, x), fraction = bits & number(0x7FFFFF);
  PrimExpr exponent = (bits >> number(23)) & number(0xFF), is_subnormal = equal(exponent, number(0));
  PrimExpr up = not_equal(fraction, number(0)), up_below = fraction > number(0x400000);
  if (rounding == Rounding::Nearest) up = fraction >= number(0x400000), up_below = fraction >= number(0x600000);
  PrimExpr code = exponent;
  if (rounding != Rounding::Down) code = exponent + select(select(is_subnormal, up_below, up), number(1), number(0));
  code = min(code, number(saturates ? 0xFE : 0xFF));
  if (!saturates) code = select(logical_and(is_subnormal, fraction < number(0x400000)), number(0xFF), code);
  return cast(kUInt8, select(isnan(x), number(0xFF), code));
}

}  // namespace

const Minifloat& minifloat(std::string_view name) {
  for (const Minifloat& format : kFormats)
    if (name == format.name) return format;
  Error error(ValueError);
  error << "there is no minifloat \"" << std::string(name) << "\"; there are";
  for (const Minifloat& format : kFormats) error << " " << format.name;
  throw error;
}

PrimExpr encode(const PrimExpr& x, const Minifloat& format, bool saturates, Rounding rounding) {
  if (format.specials == Specials::Powers) return encode_power(cast(kFloat32, x), saturates, rounding);
  int width = x.dtype().bits, mantissa = width == 64 ? 52 : 23, bias = width == 64 ? 1023 : 127;
  DataType word = DataType::UInt(width);
  auto in_word = [&](int64_t value) { return make_const(word, value); };
  auto shift_word = [&](const PrimExpr& amount) { return cast(word, amount); };
  int sign_bit = format.exponent_bits + format.mantissa_bits, all = (1 << sign_bit) - 1;
  int infinity = ((1 << format.exponent_bits) - 1) << format.mantissa_bits;
  int largest = format.specials == Specials::Ieee ? infinity - 1 : format.specials == Specials::Fn ? all - 1 : all;

  PrimExpr bits = reinterpret(word, x), sign = cast(kInt32, bits >> in_word(width - 1));
  PrimExpr magnitude = (bits << in_word(1)) >> in_word(1);
  PrimExpr exponent = cast(kInt32, magnitude >> in_word(mantissa)) - number(bias);
  PrimExpr significand = (magnitude & in_word((int64_t{1} << mantissa) - 1)) | in_word(int64_t{1} << mantissa);
  // Below the least normal number a bit is lost with each power of two. What is shifted out is rounded to the nearest,
  // halves to even; a carry runs on into the exponent as it should.
  int least = 1 - format.bias;
  PrimExpr lost = max(number(least) - exponent, number(0)) + number(mantissa - format.mantissa_bits);
  PrimExpr shift = shift_word(min(lost, number(mantissa + 2)));
  PrimExpr is_odd = (significand >> shift) & in_word(1);
  PrimExpr rounded = (significand + (in_word(1) << (shift - in_word(1))) - in_word(1) + is_odd) >> shift;
  PrimExpr code = cast(kInt32, rounded) + (max(exponent - number(least), number(0)) << number(format.mantissa_bits));

  PrimExpr top = sign << number(sign_bit), is_over = code > number(largest), is_nan = isnan(x);
  if (format.specials == Specials::Fnuz) {
    PrimExpr nan = number(1 << sign_bit);
    PrimExpr out = select(equal(code, number(0)), number(0), select(is_over, number(largest), code) | top);
    return cast(kUInt8, select(saturates ? is_nan : logical_or(is_nan, is_over), nan, out));
  }
  int beyond = saturates || format.specials == Specials::Finite ? largest
               : format.specials == Specials::Ieee              ? infinity
                                                                : all;
  int quiet = format.specials == Specials::Ieee ? infinity | (1 << (format.mantissa_bits - 1)) : all;
  PrimExpr out = select(is_over, number(beyond), code) | top;
  PrimExpr nan = format.specials == Specials::Finite ? number(1 << sign_bit) - top : number(quiet) | top;
  return cast(kUInt8, select(is_nan, nan, out));
}

PrimExpr decode(const PrimExpr& byte, const Minifloat& format) {
  PrimExpr code = cast(kInt32, byte), nan = reinterpret(kFloat32, number(0x7FC00000));
  if (format.specials == Specials::Powers) {
    PrimExpr bits = select(equal(code, number(0)), number(0x400000), code << number(23));
    return select(equal(code, number(0xFF)), nan, reinterpret(kFloat32, bits));
  }
  int sign_bit = format.exponent_bits + format.mantissa_bits, all = (1 << sign_bit) - 1;
  PrimExpr magnitude = code & number(all), is_negative = not_equal(code & number(1 << sign_bit), number(0));
  PrimExpr exponent = magnitude >> number(format.mantissa_bits);
  PrimExpr fraction = magnitude & number((1 << format.mantissa_bits) - 1);
  PrimExpr bits =
      ((exponent + number(127 - format.bias)) << number(23)) | (fraction << number(23 - format.mantissa_bits));
  PrimExpr below =
      cast(kFloat32, fraction) * make_const(kFloat32, std::ldexp(1.0, 1 - format.bias - format.mantissa_bits));
  PrimExpr value = select(equal(exponent, number(0)), below, reinterpret(kFloat32, bits));
  if (format.specials == Specials::Ieee) {
    PrimExpr is_top = equal(exponent, number((1 << format.exponent_bits) - 1));
    PrimExpr special = select(equal(fraction, number(0)), infinity(kFloat32), nan);
    value = select(is_top, special, value);
  }
  if (format.specials == Specials::Fn) value = select(equal(magnitude, number(all)), nan, value);
  value = select(is_negative, -value, value);
  return format.specials == Specials::Fnuz ? select(equal(code, number(1 << sign_bit)), nan, value) : value;
}

}  // namespace tessera::topi
