#include "base/similar_names.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const std::vector<std::string> kFlags{"--device", "--devices", "--output", "--outputs", "--print-time", "--seed"};

TEST(SimilarNames, NearestComesFirst) {
  EXPECT_EQ(similar_names("--devise", kFlags), (std::vector<std::string>{"--device", "--devices"}));
}

TEST(SimilarNames, NothingNearIsNothingSaid) {
  EXPECT_TRUE(similar_names("--frobnicate", kFlags).empty());
  EXPECT_EQ(did_you_mean("--frobnicate", kFlags), "");
}

TEST(SimilarNames, AreTheEndOfAMessage) {
  EXPECT_EQ(did_you_mean("--sead", kFlags), "; did you mean --seed");
  EXPECT_EQ(did_you_mean("--outputt", kFlags), "; did you mean --output, --outputs");
}

}  // namespace
}  // namespace tessera
