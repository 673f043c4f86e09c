// Rules of operators are given what their graph is compiled for; functions of users find it in the thread.

#include "relay/graph_environment.h"

#include <gtest/gtest.h>

#include "relay/make.h"

namespace tessera::relay {
namespace {

Expr as_constant(const Target& target) { return make_scalar(target ? 1 : 0, DataType::Float(32)); }
bool saw_target(const Expr& answer) { return answer.as<Constant>()->data.data<float>()[0] == 1; }

TEST(GraphRule, IsGivenTheEnvironmentOfThePass) {
  Any rule(graph_rule<Attrs>("a rule", [](const Attrs&, const GraphEnvironment& environment) {
    EXPECT_FALSE(Target::current());
    return as_constant(environment.target);
  }));
  EXPECT_TRUE(saw_target(ask_rule(rule, {Target::parse("llvm"), PassContext()}, Attrs())));
  EXPECT_FALSE(saw_target(ask_rule(rule, {Target(nullptr), PassContext()}, Attrs())));
}

TEST(GraphRule, HasTheSettingsOfTheThreadWhenItIsCalledAsAFunction) {
  Any rule(graph_rule<Attrs>(
      "a rule", [](const Attrs&, const GraphEnvironment& environment) { return as_constant(environment.target); }));
  EXPECT_FALSE(saw_target(rule.to<PackedFunc>()(Attrs()).to<Expr>()));
  WithTarget scope(Target::parse("llvm"));
  EXPECT_TRUE(saw_target(rule.to<PackedFunc>()(Attrs()).to<Expr>()));
}

TEST(GraphRule, OfAUserRunsUnderTheTargetOfThePass) {
  Any rule(tessera::typed("a user's rule", [](const Attrs&) { return as_constant(Target::current()); }));
  EXPECT_TRUE(saw_target(ask_rule(rule, {Target::parse("llvm"), PassContext()}, Attrs())));
  EXPECT_FALSE(Target::current());
}

}  // namespace
}  // namespace tessera::relay
