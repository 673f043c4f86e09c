#include "ir/pass/table.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "expect_error.h"
#include "ir/pass/names.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

// Before a pass is made for the first time: promises are checked in all tests of this program.
[[maybe_unused]] const int is_verifying = setenv("TESSERA_VERIFY", "1", 0);

IRModule keep(const IRModule& mod) { return mod; }
IRModule keep_some(IRModule mod, const PassContext& context, int level, const std::string& name) {
  EXPECT_EQ(context->opt_level, level);
  EXPECT_EQ(name, "a");
  return mod;
}
IRModule break_promise(const IRModule& mod) { return mod; }
IRModule nameless(const IRModule& mod) { return mod; }
Pass twice_pass(int) { return sequential({pass(keep), pass(keep)}, pass_info(twice_pass)); }

const Property always{"test_always", [](const IRModule&) { return true; }};
const Property never{"test_never", [](const IRModule&) { return false; }};

PassTable table{
    "test.transform.",
    "test.",
    {
        {"Keep", keep, "Keeps everything.", {.level = 3, .required = {"InferType"}, .holds = {&always}}},
        {"KeepSome", keep_some, "", {.title = "other"}},
        {"Break", break_promise, "", {.holds = {&always, &never}}},
        {"Twice", twice_pass, ""},
    },
};

TEST(PassTable, GivesAPassItsNameLevelAndRequirements) {
  PassInfo info = pass(keep)->pass_info;
  EXPECT_EQ(info->name, "test.Keep");
  EXPECT_EQ(info->opt_level, 3);
  ASSERT_EQ(info->required.size(), 1u);
  EXPECT_EQ(info->required[0], "InferType");
  EXPECT_EQ(pass(keep_some, 2, "a")->pass_info->name, "other");
  EXPECT_EQ(twice_pass(1)->pass_info->name, "test.Twice");
}

TEST(PassTable, RegistersConstructorsThatTakeTheOptions) {
  Pass made = get_global("test.transform.KeepSome")(2, "a").to<Pass>();
  EXPECT_TRUE(made(IRModule()).defined());
  EXPECT_EQ(get_global("test.transform.Twice")(1).to<Pass>().as<SequentialNode>()->passes.size(), 2u);
  EXPECT_EQ(pass_names("test.transform."), (std::vector<std::string>{"Break", "Keep", "KeepSome", "Twice"}));
}

TEST(PassTable, KnowsAPassByItsTitleAndByTheNameOfItsRow) {
  EXPECT_TRUE(names_pass("other", "other") && names_pass("test.KeepSome", "other") && names_pass("mine", "mine"));
  EXPECT_FALSE(names_pass("test.Keep", "other") || names_pass("KeepSome", "other") || names_pass("mine", "other"));
  EXPECT_TRUE(has_pass("test.transform.", "other") && has_pass("test.transform.", "KeepSome"));
  EXPECT_FALSE(has_pass("test.transform.", "mine") || has_pass("tir.transform.", "KeepSome"));
  for (const char* name : {"other", "test.KeepSome"}) {
    PassContextNode node;
    node.disabled_pass = {name};
    EXPECT_FALSE(PassContext::create(node).pass_enabled(pass_info(keep_some)));
    EXPECT_TRUE(PassContext::create(node).pass_enabled(pass_info(twice_pass)));
    node = PassContextNode();
    node.opt_level = -1;
    node.required_pass = {name};
    EXPECT_TRUE(PassContext::create(node).pass_enabled(pass_info(keep_some)));
  }
}

TEST(PassTable, IsAskedForAFunctionThatItHas) {
  EXPECT_THAT(error_of([] { pass(nameless); }), testing::HasSubstr("no table of passes names"));
}

TEST(PassTable, ChecksInTestsThatWhatAPassPromisesHolds) {
  EXPECT_TRUE(pass(keep)(IRModule()).defined());
  EXPECT_THAT(error_of([] { pass(break_promise)(IRModule()); }),
              testing::HasSubstr("test.Break promises \"test_never\""));
}

}  // namespace
}  // namespace tessera
