#include "runtime/package/params.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "expect_error.h"

namespace tessera {
namespace {

NDArray filled(std::vector<int64_t> shape, const char* dtype, int start) {
  NDArray array = NDArray::empty(shape, DataType(std::string_view(dtype)));
  for (size_t i = 0; i < array.bytes(); ++i) array.data<char>()[i] = static_cast<char>(start + static_cast<int>(i));
  return array;
}

Map<String, NDArray> some_params() {
  return {
      {"weight", filled({2, 3}, "float32", 1)}, {"bias", filled({3}, "bfloat16", 50)}, {"mask", filled({}, "bool", 1)}};
}

TEST(Params, ComeBackAsTheyWere) {
  Map<String, NDArray> params = some_params();
  Map<String, NDArray> back = load_params(save_params(params));
  ASSERT_EQ(back.size(), 3u);
  for (const auto& [name, array] : params) {
    NDArray other = back[name];
    EXPECT_EQ(other.dtype(), array.dtype());
    EXPECT_EQ(describe(other.tensor()), describe(array.tensor()));
    EXPECT_EQ(std::string(other.data<char>(), other.bytes()), std::string(array.data<char>(), array.bytes()));
  }
}

TEST(Params, HaveV010sBytes) {
  Map<String, NDArray> params{{"ab", filled({2}, "int16", 1)}};
  std::string expected(
      "\xB7\x9C\x04\x05\x4F\x8D\xE5\xF7"
      "\0\0\0\0\0\0\0\0"
      "\1\0\0\0\0\0\0\0"
      "\2\0\0\0\0\0\0\0"
      "ab"
      "\1\0\0\0\0\0\0\0"
      "\x3F\xA1\xB4\x96\xF0\x40\x5E\xDD"
      "\0\0\0\0\0\0\0\0"
      "\1\0\0\0"
      "\0\0\0\0"
      "\1\0\0\0"
      "\0\x10\1\0"
      "\2\0\0\0\0\0\0\0"
      "\4\0\0\0\0\0\0\0"
      "\1\2\3\4",
      94);
  EXPECT_EQ(save_params(params), expected);
}

TEST(Params, LargeOnesAreHandedOnWithoutACopy) {
  Map<String, NDArray> params = some_params();
  const std::vector<int64_t> shape = {1 << 18};
  NDArray large = NDArray::empty(shape, DataType::Float(32));
  std::fill_n(large.data<float>(), 1 << 18, 0.5F);
  params.set("large", large);
  std::string all;
  std::vector<const char*> parts;
  write_params(
      [&](std::string_view part) {
        all += part;
        parts.push_back(part.data());
      },
      params);
  EXPECT_EQ(all, save_params(params));
  EXPECT_TRUE(std::find(parts.begin(), parts.end(), large.data<char>()) != parts.end());
  EXPECT_LT(parts.size(), 4u) << "small ones are handed on together";
}

TEST(Params, EveryTruncationIsAnErrorThatSaysWhere) {
  std::string data = save_params(some_params());
  for (size_t length = 0; length < data.size(); ++length)
    EXPECT_THAT(error_of([&] { load_params(std::string_view(data).substr(0, length)); }),
                testing::ContainsRegex("corrupt parameters: .* at byte [0-9]+"))
        << length;
}

TEST(Params, ForgedSizesAskForNoMemory) {
  std::string data = save_params(some_params());
  // Every 8-byte field in turn claims to be enormous; any answer but a crash or a huge allocation will do.
  for (size_t at = 0; at + 8 <= data.size(); ++at)
    for (uint64_t forged : {UINT64_MAX, uint64_t{1} << 62, uint64_t{1} << 40, uint64_t{0}}) {
      std::string copy = data;
      std::memcpy(copy.data() + at, &forged, sizeof forged);
      try {
        load_params(copy);
      } catch (const Error&) {}
    }
}

TEST(Params, RandomDamageNeverCrashes) {
  std::string data = save_params(some_params());
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string copy = data;
    for (int n = 0; n < 3; ++n) copy[random() % copy.size()] = static_cast<char>(random());
    try {
      load_params(copy);
    } catch (const Error&) {}
  }
}

}  // namespace
}  // namespace tessera
