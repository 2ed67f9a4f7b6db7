// Goal: every rank gets its block of each other rank's, and an exchange ends
// when a rank is gone. Method: the backends that offer it, between threads.
#include "tests/collectives/harness.hpp"

namespace ballast::testing {
namespace {

using namespace std::chrono_literals;
using collectives::collective;
using collectives::collective_errc;

class all_to_all : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!rank_group(GetParam(), 1).can().all_to_all)
      GTEST_SKIP() << GetParam() << " does not offer it";
  }
};

char letter(int from, int to, size_t at) {
  return char('a' + (size_t(from) * 7 + size_t(to) * 3 + at) % 26);
}

TEST_P(all_to_all, brings_each_block_to_its_rank) {
  for (int ranks : {1, 2, 3, 4, 7})
    for (size_t bytes : {size_t{0}, size_t{1}, size_t{260}, size_t{300'001}}) {
      rank_group group(GetParam(), ranks);
      auto out = group.run([&](collective& c) {
        std::vector<char> from(bytes * size_t(ranks));
        std::vector<char> to(from.size(), '?');
        for (int round = 0; round < 2; ++round) {
          for (int r = 0; r < ranks; ++r)
            for (size_t i = 0; i < bytes; ++i)
              from[size_t(r) * bytes + i] = letter(c.rank(), r, i);
          c.all_to_all(from.data(), to.data(), bytes, soon());
          for (int r = 0; r < ranks; ++r)
            for (size_t i = 0; i < bytes; ++i)
              ASSERT_EQ(to[size_t(r) * bytes + i], letter(r, c.rank(), i));
        }
        float one = 1; // and another operation works behind it
        c.all_reduce(&one, 1, collectives::element_type::float32, soon());
        EXPECT_EQ(one, float(ranks));
      });
      EXPECT_EQ(complaints(out), "") << ranks << " " << bytes;
    }
}

TEST_P(all_to_all, ends_when_a_rank_is_gone) {
  rank_group group(GetParam(), 3);
  auto out = group.run([&](collective& c) {
    std::vector<char> from(3000);
    std::vector<char> to(3000);
    for (int k = 0; k < 1000; ++k) {
      if (c.rank() == 1 && k == 3)
        return; // and its object is dropped
      c.all_to_all(from.data(), to.data(), 1000, in(30s));
    }
  });
  for (int r : {0, 2}) {
    ASSERT_TRUE(out[size_t(r)].has_value());
    EXPECT_TRUE(out[size_t(r)]->code() == collective_errc::peer_lost ||
                out[size_t(r)]->code() == collective_errc::aborted)
        << out[size_t(r)]->what();
  }
}

TEST_P(all_to_all, of_different_sizes_is_refused) {
  rank_group group(GetParam(), 2);
  auto out = group.run([&](collective& c) {
    std::vector<char> from(4000);
    std::vector<char> to(4000);
    c.all_to_all(from.data(), to.data(), c.rank() == 0 ? 1000 : 2000, in(30s));
  });
  EXPECT_TRUE(out[0].has_value() || out[1].has_value());
}

INSTANTIATE_TEST_SUITE_P(all, all_to_all, ::testing::ValuesIn(suite_names()),
                         suite_test_name);

} // namespace
} // namespace ballast::testing
