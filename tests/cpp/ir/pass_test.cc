#include "ir/pass/pass.h"

#include <gtest/gtest.h>

#include "runtime/registry.h"

namespace tessera {
namespace {

Pass recording(std::vector<std::string>* log, const char* name, int level, Array<String> required = {}) {
  return module_pass(make_pass_info(level, name, required), [log, name](IRModule mod, const PassContext&) {
    log->push_back(name);
    return mod;
  });
}

PassContext context_with(Map<String, ObjectRef> config) {
  PassContextNode node;
  node.config = std::move(config);
  return PassContext::create(std::move(node));
}

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "no error";
}

TEST(Sequential, RunsPassesUpToTheLevelAndThoseRequiredButNotThoseDisabled) {
  std::vector<std::string> log;
  Pass all =
      sequential({recording(&log, "a", 0), recording(&log, "b", 3), recording(&log, "c", 3), recording(&log, "d", 1)});
  PassContextNode node;
  node.opt_level = 1;
  node.required_pass = {"c"};
  node.disabled_pass = {"d"};
  WithPassContext scope(PassContext::create(std::move(node)));
  all(IRModule());
  EXPECT_EQ(log, (std::vector<std::string>{"a", "c"}));
}

TEST(PassContext, IsAStackPerThread) {
  EXPECT_EQ(PassContext::current()->opt_level, 2);
  PassContextNode node;
  node.opt_level = 3;
  PassContext three = PassContext::create(std::move(node));
  {
    WithPassContext outer(three);
    EXPECT_TRUE(PassContext::current().same_as(three));
    {
      WithPassContext inner{PassContext()};
      EXPECT_EQ(PassContext::current()->opt_level, 2);
    }
    EXPECT_TRUE(PassContext::current().same_as(three));
  }
  EXPECT_EQ(PassContext::current()->opt_level, 2);
}

TEST(PassContext, RejectsAnUnknownOptionAndNamesThoseThereAre) {
  std::string message = message_of([] { context_with({{"tir.no_such", String("x")}}); });
  EXPECT_NE(message.find("AttributeError: Invalid config option 'tir.no_such'"), std::string::npos) << message;
  EXPECT_NE(message.find("testing.immutable_module"), std::string::npos) << message;
}

TEST(PassContext, RejectsAnOptionOfTheWrongType) {
  EXPECT_EQ(
      message_of([] { context_with({{"testing.immutable_module", String("yes")}}); }),
      "AttributeError: expect config testing.immutable_module to have type IntImm, but instead get runtime.String");
}

TEST(Instrument, MayKeepAPassFromRunningUnlessItIsRequired) {
  std::vector<std::string> log;
  PassInstrumentNode skip;
  skip.should_run = [](const IRModule&, const PassInfo& info) { return info->name == "b"; };
  skip.run_before_pass = [&](const IRModule&, const PassInfo& info) { log.push_back("before " + info->name.str()); };
  skip.run_after_pass = [&](const IRModule&, const PassInfo& info) { log.push_back("after " + info->name.str()); };
  PassContextNode node;
  node.instruments = {make(std::move(skip))};
  node.required_pass = {"c"};
  WithPassContext scope(PassContext::create(std::move(node)));
  for (const char* name : {"a", "b", "c"}) recording(&log, name, 0)(IRModule());
  EXPECT_EQ(log, (std::vector<std::string>{"before b", "b", "after b", "before c", "c", "after c"}));
}

TEST(Instrument, ThatFailsOnEntryLeavesNoContextBehind) {
  int left = 0;
  PassInstrumentNode good, bad;
  good.exit_pass_ctx = [&] { ++left; };
  bad.enter_pass_ctx = [] { throw Error(ValueError) << "not today"; };
  PassContextNode node;
  node.instruments = {make(std::move(good)), make(std::move(bad))};
  PassContext context = PassContext::create(std::move(node));
  EXPECT_EQ(message_of([&] { context.enter(); }), "ValueError: not today");
  EXPECT_EQ(left, 1);
  EXPECT_EQ(context->instruments.size(), 0u);
  EXPECT_FALSE(PassContext::current().same_as(context));
}

TEST(TimingInstrument, ShowsNestedPasses) {
  PassContextNode node;
  node.instruments = {get_global("instrument.MakePassTimingInstrument")().to<PassInstrument>()};
  WithPassContext scope(PassContext::create(std::move(node)));
  std::vector<std::string> log;
  sequential({recording(&log, "inner", 0)}, make_pass_info(0, "outer"))(IRModule());
  std::string text = get_global("instrument.RenderTimePassProfiles")().to<std::string>();
  EXPECT_EQ(text.find("outer: "), 0u) << text;
  EXPECT_NE(text.find("\n\tinner: "), std::string::npos) << text;
}

}  // namespace
}  // namespace tessera
