#include "base/any.h"
#include "expect_error.h"

namespace tessera {
namespace {

TEST(Array, EditsCopyWhenTheStorageIsShared) {
  Array<String> a{"x", "y"};
  Array<String> b = a;
  b.push_back("z");
  b.set(0, "w");
  EXPECT_EQ(a.size(), 2u);
  EXPECT_EQ(a[0], "x");
  EXPECT_EQ(b.size(), 3u);
  EXPECT_EQ(b[0], "w");
}

TEST(Array, EditsInPlaceWhenItIsTheOnlyHolder) {
  Array<String> a{"x"};
  const ArrayNode* storage = a.get();
  a.push_back("y");
  EXPECT_EQ(a.get(), storage);
}

TEST(Array, EmptyOnesShareOneNode) {
  Array<String> a, b;
  EXPECT_TRUE(a.same_as(b));
  a.push_back("x");
  EXPECT_TRUE(b.empty());
  EXPECT_TRUE(Array<String>().empty());
}

TEST(Array, AnIndexOutOfRangeIsOurOwnError) {
  Array<String> a{"x"};
  EXPECT_THAT(error_of([&] { a[1]; }), testing::HasSubstr("index 1 in an array of 1"));
}

TEST(Array, InsertsAndErases) {
  Array<String> a{"x", "z"};
  a.insert(1, "y");
  a.erase(0);
  EXPECT_EQ(a.vec(), (std::vector<String>{"y", "z"}));
}

TEST(Map, FindsStringsByContentAndKeepsTheOrderOfInsertion) {
  Map<String, String> map;
  map.set("b", "1");
  map.set("a", "2");
  map.set("b", "3");
  EXPECT_EQ(map["b"], "3");
  std::string order;
  for (const auto& [key, value] : map) order += key.str() + value.str();
  EXPECT_EQ(order, "b3a2");
  EXPECT_FALSE(map.count("c"));
  EXPECT_FALSE(map.get_or_null("c"));
  EXPECT_THAT(error_of([&] { map["c"]; }), testing::StartsWith("KeyError"));
}

TEST(Map, EditsCopyWhenShared) {
  Map<String, String> a{{"x", "1"}};
  Map<String, String> b = a;
  b.set("y", "2");
  b.erase("x");
  EXPECT_TRUE(a.count("x"));
  EXPECT_EQ(a.size(), 1u);
  EXPECT_FALSE(b.count("x"));
  EXPECT_EQ(b["y"], "2");
}

TEST(Map, ErasingKeepsTheRestFindable) {
  Map<String, String> map;
  for (int i = 0; i < 20; ++i) map.set(std::to_string(i), std::to_string(i * i));
  for (int i = 0; i < 20; i += 2) map.erase(std::to_string(i));
  EXPECT_EQ(map.size(), 10u);
  for (int i = 1; i < 20; i += 2) EXPECT_EQ(map[std::to_string(i)], std::to_string(i * i));
}

TEST(Map, OtherKeysAreFoundByIdentity) {
  ObjectRef key = Array<String>{"k"}, twin = Array<String>{"k"};
  Map<ObjectRef, String> map{{key, "1"}};
  EXPECT_TRUE(map.count(key));
  EXPECT_FALSE(map.count(twin));
}

TEST(String, ComparesByContentAndQuotes) {
  EXPECT_EQ(String("a"), String("a"));
  EXPECT_LT(String("a"), String("b"));
  EXPECT_EQ(std::hash<String>()(String("a")), std::hash<String>()(String("a")));
  EXPECT_EQ(quoted("a\"\\\n\x01"), R"("a\"\\\n\x01")");
}

}  // namespace
}  // namespace tessera
