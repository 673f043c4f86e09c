#include "runtime/function/element.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

double through(DataType dtype, double value) {
  NDArray scalar = float_scalar(value, dtype);
  return read_float(dtype, scalar.data<char>());
}

TEST(Element, EveryHalfSurvives) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits), back = uint16_t{};
    double value = read_float(DataType::Float(16), &half);
    write_float(DataType::Float(16), value, &back);
    if (std::isnan(value)) continue;
    ASSERT_EQ(half, back) << value;
  }
}

TEST(Element, FloatsAreRoundedToTheNearest) {
  EXPECT_EQ(through(DataType::Float(16), 1 + 1.0 / 2048), 1.0);  // a tie goes to the even one
  EXPECT_EQ(through(DataType::Float(16), 1e6), HUGE_VAL);
  EXPECT_EQ(through(DataType::BFloat(16), 1 + 1.0 / 128 + 1.0 / 256), 1 + 2.0 / 128);
  EXPECT_TRUE(std::isnan(through(DataType::BFloat(16), NAN)));
  EXPECT_EQ(through(DataType::Float(32), 0.1), 0.1f);
}

TEST(Element, IntegersStayWithinTheirType) {
  EXPECT_EQ(through(DataType::Int(8), 1000), 127);
  EXPECT_EQ(through(DataType::UInt(8), -3), 0);
  EXPECT_EQ(through(DataType::Int(32), NAN), 0);
  EXPECT_EQ(through(DataType::Bool(), 0.5), 1);
  EXPECT_EQ(read_int(DataType::Int(64), int_scalar(-(int64_t{1} << 60), DataType::Int(64)).data<char>()),
            -(int64_t{1} << 60));
}

TEST(Element, ATypeWithoutElementsIsAnError) { EXPECT_THROW(float_scalar(1, DataType::Float(32, 4)), Error); }

}  // namespace
}  // namespace tessera
