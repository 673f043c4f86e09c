#include "runtime/packed_func.h"

#include "expect_error.h"
#include "runtime/registry.h"
#include "tessera/c_api.h"

namespace tessera {
namespace {

TEST(PackedFunc, TypedFunctionsConvertAndCheckTheirArguments) {
  PackedFunc scale = typed("test.scale", [](double x, int n) { return x * n; });
  EXPECT_EQ(scale(2.5, 4).to<double>(), 10.0);
  EXPECT_EQ(scale(2, 4).to<double>(), 8.0);
  EXPECT_EQ(error_of([&] { scale(1); }), "TypeError: test.scale takes 2 arguments, got 1");
  EXPECT_EQ(error_of([&] { scale(1, "x"); }), "TypeError: test.scale, argument 1: expected int, got runtime.String");
}

TEST(PackedFunc, FunctionsTravelAsValues) {
  PackedFunc twice = typed("test.twice", [](PackedFunc f, int x) { return f(f(x)); });
  EXPECT_EQ(twice(typed("inc", [](int x) { return x + 1; }), 5).to<int>(), 7);
}

TEST(Registry, FindsListsAndRemoves) {
  register_global("test.registry.f", typed("f", [] { return 1; }));
  EXPECT_EQ(get_global("test.registry.f")().to<int>(), 1);
  EXPECT_THAT(error_of([] { register_global("test.registry.f", typed("f", [] { return 2; })); }),
              testing::HasSubstr("exists already"));
  register_global("test.registry.f", typed("f", [] { return 2; }), true);
  EXPECT_EQ(get_global("test.registry.f")().to<int>(), 2);
  EXPECT_THAT(global_names(), testing::Contains("test.registry.f"));
  EXPECT_EQ(error_of([] { get_global("test.registry.g"); }),
            "ValueError: Cannot find global function test.registry.g; did you mean test.registry.f");
  EXPECT_TRUE(remove_global("test.registry.f"));
  EXPECT_FALSE(remove_global("test.registry.f"));
  EXPECT_FALSE(find_global("test.registry.f"));
}

/// Calls `function` as a C program would.
int call_c(const PackedFunc& function) {
  TesseraValue ret;
  int code;
  return TesseraFuncCall(function.edit(), nullptr, nullptr, 0, &ret, &code);
}

TEST(CBorder, AnErrorKeepsItsIdentityThroughCCodeAndBack) {
  auto token = std::make_shared<int>(42);  // stands for an exception of another language
  PackedFunc inner([&](Args, Any*) {
    Error error(KeyError);
    error << "the inner one";
    error.set_foreign(token);
    throw error;
  });
  // A C function that calls `inner`, and passes its failure on.
  auto through_c = [](TesseraValue*, int*, int, TesseraRetHandle, void* resource) {
    TesseraValue ret;
    int code;
    return TesseraFuncCall(resource, nullptr, nullptr, 0, &ret, &code);
  };
  PackedFunc outer = PackedFunc::from_c(through_c, inner.edit(), nullptr);
  try {
    outer();
    FAIL() << "the error was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), KeyError);
    EXPECT_EQ(error.message(), "the inner one");
    EXPECT_EQ(error.foreign(), token);
  }
}

TEST(CBorder, NoExceptionLeaves) {
  EXPECT_EQ(call_c(PackedFunc([](Args, Any*) { throw std::runtime_error("plain"); })), -1);
  EXPECT_STREQ(TesseraGetLastError(), "TVMError: plain");
  EXPECT_EQ(call_c(PackedFunc([](Args, Any*) { throw std::bad_alloc(); })), -1);
  EXPECT_STREQ(TesseraGetLastError(), "MemoryError: out of memory");
  EXPECT_EQ(call_c(PackedFunc([](Args, Any*) { throw 3; })), -1);
}

TEST(CBorder, AMessageChoosesItsKind) {
  TesseraAPISetLastError("ValueError: bad value");
  EXPECT_EQ(last_error()->kind(), ValueError);
  EXPECT_EQ(last_error()->message(), "bad value");
  TesseraAPISetLastError("Assert fail: x == y, sizes differ");
  EXPECT_EQ(last_error()->kind(), RuntimeError);
  EXPECT_EQ(last_error()->message(), "Assert fail: x == y, sizes differ");
}

TEST(CBorder, AFunctionThatFailsSilentlyIsStillAnError) {
  PackedFunc warm_up([](Args, Any*) { throw Error(ValueError) << "an older error"; });
  EXPECT_THROW(
      PackedFunc::from_c([](TesseraValue*, int*, int, TesseraRetHandle, void*) { return -1; }, nullptr, nullptr)(),
      Error);
}

TEST(CBorder, ADataTypeReachesCAsItsName) {
  TesseraValue ret;
  int code;
  PackedFunc f = typed("f", [] { return DataType::Float(32, 4); });
  ASSERT_EQ(TesseraFuncCall(f.edit(), nullptr, nullptr, 0, &ret, &code), 0);
  EXPECT_EQ(code, kTesseraStr);
  EXPECT_STREQ(ret.v_str, "float32x4");
}

}  // namespace
}  // namespace tessera
