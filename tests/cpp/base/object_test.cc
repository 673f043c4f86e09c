#include "base/object.h"

#include <thread>

#include "base/any.h"
#include "expect_error.h"

namespace tessera {
namespace {

struct Link : Object {
  ObjectRef next;
  int64_t number = 0;
  static constexpr NodeInfo info{"test.Link", &Object::info};
  static void fields(auto f) {
    f("next", &Link::next, Optional);
    f("number", &Link::number);
  }
};
struct NamedLink : Link {
  String name = "none";
  static constexpr NodeInfo info{"test.NamedLink", &Link::info};
  static void fields(auto f) { f("name", &NamedLink::name); }
};
register_types<Link, NamedLink> registered;

Ref<Link> link(ObjectRef next, int64_t number) {
  Link node;
  node.next = std::move(next);
  node.number = number;
  return make(std::move(node));
}

TEST(Object, AChainOfAMillionIsDestroyedWithoutADeepStack) {
  ObjectRef chain;
  for (int i = 0; i < 1'000'000; ++i) chain = link(chain, i);
  std::thread([&] { chain = nullptr; }).join();  // on a small stack
  EXPECT_FALSE(chain);
}

TEST(Object, CountsItsHolders) {
  Ref<Link> first = link(nullptr, 1);
  EXPECT_EQ(first->use_count(), 1);
  {
    ObjectRef second = first;
    EXPECT_EQ(first->use_count(), 2);
    ObjectRef third = std::move(second);
    EXPECT_EQ(first->use_count(), 2);
  }
  EXPECT_EQ(first->use_count(), 1);
}

TEST(Object, ACopyWithAChangedFieldLeavesTheOriginal) {
  Ref<Link> one = link(nullptr, 1);
  Ref<Link> two = with(one, &Link::number, int64_t{2});
  EXPECT_EQ(one->number, 1);
  EXPECT_EQ(two->number, 2);
  EXPECT_EQ(two->use_count(), 1);
  EXPECT_TRUE(with(one, &Link::number, int64_t{1}).same_as(one));
}

TEST(Object, FieldsOfTheFamilyComeFirst) {
  const TypeInfo* type = find_type("test.NamedLink");
  ASSERT_NE(type, nullptr);
  std::vector<std::string> names;
  for (const Field& field : type->fields()) names.emplace_back(field.name);
  EXPECT_EQ(names, (std::vector<std::string>{"next", "number", "name"}));
  EXPECT_EQ(type->find("nothing"), nullptr);
}

TEST(Object, KnowsItsFamily) {
  Ref<NamedLink> named = make(NamedLink{});
  ObjectRef any = named;
  EXPECT_NE(any.as<Link>(), nullptr);
  EXPECT_NE(any.as<NamedLink>(), nullptr);
  EXPECT_EQ(ObjectRef(link(nullptr, 0)).as<NamedLink>(), nullptr);
  EXPECT_EQ(any.as<StringNode>(), nullptr);
}

TEST(Object, AFieldIsReadAndSetByNameAndItsTypeIsHeld) {
  Ref<NamedLink> named = make(NamedLink{});
  const TypeInfo* type = named->type();
  set_field(named.edit(), *type->find("number"), Any(7));
  set_field(named.edit(), *type->find("name"), Any("seven"));
  EXPECT_EQ(get_field(named.get(), *type->find("number")).to<int>(), 7);
  EXPECT_EQ(get_field(named.get(), *type->find("name")).to<std::string>(), "seven");
  EXPECT_EQ(error_of([&] { set_field(named.edit(), *type->find("name"), Any(named)); }),
            "TypeError: test.NamedLink.name: expected runtime.String, got test.NamedLink");
  EXPECT_THAT(error_of([&] { set_field(named.edit(), *type->find("name"), Any()); }), testing::HasSubstr("got None"));
  set_field(named.edit(), *type->find("next"), Any());  // optional
  EXPECT_FALSE(named->next);
}

TEST(Object, ManyThreadsMayShareANode) {
  Ref<Link> shared = link(nullptr, 5);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        ObjectRef mine = shared;
        Ref<Link> next = link(mine, i);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared->use_count(), 1);
}

}  // namespace
}  // namespace tessera
