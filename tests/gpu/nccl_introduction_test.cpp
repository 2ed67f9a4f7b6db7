// Goal: GPUs that cannot join say so in one line before NCCL is asked. Method:
// introductions made by hand.
#include "gpu/nccl_introduction.hpp"

#include <gmock/gmock.h>

namespace ballast::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int version = 22809;

void expect_refused(const std::vector<std::string>& all, int peer,
                    const testing::Matcher<const char*>& says) {
  try {
    nccl_meeting_place(all, version);
    ADD_FAILURE() << "ranks joined that do not fit";
  } catch (const collectives::collective_error& e) {
    EXPECT_EQ(e.code(), collectives::collective_errc::mismatch);
    EXPECT_EQ(e.peer(), peer);
    EXPECT_THAT(e.what(), says);
  }
}

TEST(nccl_introduction, meets_where_rank_0_says) {
  const std::string bytes("a\0b\xff", 4);
  EXPECT_EQ(nccl_meeting_place({nccl_introduction{version, "a", bytes}.text(),
                                nccl_introduction{version, "b", ""}.text()},
                               version),
            bytes);
}

TEST(nccl_introduction, names_the_rank_with_another_version) {
  expect_refused(
      {nccl_introduction{version, "a", "x"}.text(),
       nccl_introduction{22203, "b", ""}.text()},
      1, AllOf(HasSubstr("rank 1 has NCCL 2.22.3"), HasSubstr("2.28.9")));
}

TEST(nccl_introduction, names_the_ranks_that_share_a_gpu) {
  expect_refused(
      {nccl_introduction{version, "a", "x"}.text(),
       nccl_introduction{version, "b", ""}.text(),
       nccl_introduction{version, "a", ""}.text()},
      2,
      AllOf(HasSubstr("ranks 0 and 2 share the GPU a"), HasSubstr("'ring'")));
}

TEST(gpu_identity, is_of_the_host_and_the_bus_and_of_what_puts_ranks_apart) {
  const std::string here = gpu_identity("0000:17:00.0");
  EXPECT_EQ(gpu_identity("0000:17:00.0"), here);
  EXPECT_THAT(here, testing::EndsWith(" 0000:17:00.0"));
  EXPECT_NE(gpu_identity("0000:65:00.0"), here);
  setenv("NCCL_HOSTID", "second", 1);
  const std::string apart = gpu_identity("0000:17:00.0");
  unsetenv("NCCL_HOSTID");
  EXPECT_NE(apart, here);
}

TEST(nccl_introduction, takes_no_other_text) {
  expect_refused({"not cbor at all"}, 0, HasSubstr("none of NCCL"));
}

} // namespace
} // namespace ballast::gpu
