#include "base/any.h"

#include "expect_error.h"

namespace tessera {
namespace {

TEST(Any, HoldsEveryKindOfValue) {
  EXPECT_EQ(Any(7).to<int64_t>(), 7);
  EXPECT_EQ(Any(true).to<bool>(), true);
  EXPECT_EQ(Any(2.5).to<double>(), 2.5);
  EXPECT_EQ(Any("text").to<std::string>(), "text");
  EXPECT_EQ(Any(String("text")).to<String>(), "text");
  EXPECT_EQ(Any(Bytes(std::string("a\0b", 3))).to<Bytes>().str(), std::string("a\0b", 3));
  EXPECT_EQ(Any(DataType::Float(16)).to<DataType>(), DataType::Float(16));
  EXPECT_EQ(Any(DLDevice{kDLCUDA, 3}).to<DLDevice>().device_id, 3);
  EXPECT_TRUE(Any().is_null());
  EXPECT_TRUE(Any(nullptr).is_null());
  int here = 0;
  EXPECT_EQ(Any(static_cast<void*>(&here)).to<void*>(), &here);
  Array<String> array{"x"};
  EXPECT_TRUE(Any(array).to<Array<String>>().same_as(array));
}

TEST(Any, NumbersConvertWhereNothingIsLost) {
  EXPECT_EQ(Any(3).to<double>(), 3.0);
  EXPECT_EQ(Any(3.0).to<int>(), 3);
  EXPECT_EQ(error_of([] { Any(3.5).to<int>(); }), "TypeError: expected int, got float");
  EXPECT_EQ(error_of([] { Any("3").to<int>(); }), "TypeError: expected int, got runtime.String");
  EXPECT_EQ(error_of([] { Any().to<int>(); }), "TypeError: expected int, got None");
}

TEST(Any, ATypeIsReadFromItsName) {
  EXPECT_EQ(Any("float32x4").to<DataType>(), DataType::Float(32, 4));
  EXPECT_EQ(Any("bool").to<DataType>(), DataType::Bool());
  EXPECT_THAT(error_of([] { Any("flot32").to<DataType>(); }), testing::HasSubstr("unknown type flot32"));
}

TEST(Any, ContainersNameWhatTheyWanted) {
  Array<ObjectRef> mixed{String("x"), Array<ObjectRef>()};
  EXPECT_EQ(error_of([&] { Any(mixed).to<Array<String>>(); }), "TypeError: expected str, got Array");
  EXPECT_EQ(error_of([&] { Any(1).to<Array<String>>(); }), "TypeError: expected Array[str], got int");
  EXPECT_EQ(error_of([&] { (Any("x").to<Map<String, ObjectRef>>()); }),
            "TypeError: expected Map[str, runtime.Object], got runtime.String");
}

TEST(Any, CountsTheObjectItHolds) {
  Array<String> array{"x"};
  {
    Any first(array);
    Any second = first;
    EXPECT_EQ(array.get()->use_count(), 3);
    Any third = std::move(second);
    EXPECT_EQ(array.get()->use_count(), 3);
    EXPECT_TRUE(second.is_null());  // NOLINT(bugprone-use-after-move): it is empty now
    third.reset();
    EXPECT_EQ(array.get()->use_count(), 2);
  }
  EXPECT_EQ(array.get()->use_count(), 1);
}

TEST(Any, ASlotGoesToCAndBackWithoutLosingOrGainingAShare) {
  Array<String> array{"x"};
  TesseraValue value;
  int code;
  Any(array).move_to(&value, &code);
  EXPECT_EQ(code, kTesseraObject);
  EXPECT_EQ(array.get()->use_count(), 2);
  {
    Any back = Any::take(value, code);
    EXPECT_EQ(array.get()->use_count(), 2);
  }
  EXPECT_EQ(array.get()->use_count(), 1);
}

TEST(Any, BorrowedTextIsCopied) {
  char text[] = "one";
  Any kept(AnyView({.v_str = text}, kTesseraStr));
  text[0] = 'X';
  EXPECT_EQ(kept.to<std::string>(), "one");
}

TEST(DataType, TextAndBackAgree) {
  for (const char* text :
       {"int32", "uint8", "float16", "bfloat16", "bool", "handle", "float32x4", "int8x16", "uint1x4"})
    EXPECT_EQ(DataType(text).str(), text);
  EXPECT_EQ(DataType("void"), DataType::Void());
  EXPECT_EQ(DataType("uint1"), DataType::Bool());
  EXPECT_EQ(DataType("int"), DataType::Int(32));
  for (const char* wrong : {"float32x", "float32x0", "int0", "int999", "float32x4x4", "x", "float-3"})
    EXPECT_NE(error_of([&] { DataType{std::string_view(wrong)}; }), "no error") << wrong;
}

}  // namespace
}  // namespace tessera
