// Goal: who gets nothing of its share is found, whoever gets something never.
// Method: heartbeats with made-up numbers and times.
#include "runtime/coordinator/load_watch.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

heartbeat beat(uint32_t who, uint64_t share, uint64_t arrived) {
  heartbeat out;
  out.worker = worker_id{who};
  out.share_bytes = share;
  out.arrived_bytes = arrived;
  return out;
}

TEST(load_watch, finds_a_worker_to_which_nothing_comes) {
  load_watch watch;
  for (auto now = 0s; now < load_watch::patience; now += 1s) {
    watch.heard(beat(1, 7'000'000'000, 1'200'000), now);
    watch.heard(beat(2, 7'000'000'000, uint64_t(now.count())), now);
    watch.heard(beat(3, 0, 0), now);
    ASSERT_THAT(watch.stalled(), IsEmpty()) << now.count();
  }
  watch.heard(beat(1, 7'000'000'000, 1'200'000), load_watch::patience);
  auto found = watch.stalled();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].who, worker_id{1});
  EXPECT_EQ(describe(loss_cause(found[0].what)),
            "no byte of its share for 60 s; 1.2 MB of 7.0 GB had arrived");
  EXPECT_THAT(watch.stalled(), IsEmpty()); // told once
}

TEST(load_watch, finds_nobody_when_the_coordinator_itself_stood_still) {
  load_watch watch;
  watch.heard(beat(1, 100, 5), 0s);
  // An hour later it has not even read what came meanwhile.
  EXPECT_THAT(watch.stalled(), IsEmpty());
  watch.heard(beat(1, 100, 6), 3600s);
  EXPECT_THAT(watch.stalled(), IsEmpty());
}

TEST(load_watch, begins_anew_with_another_share) {
  load_watch watch;
  watch.heard(beat(1, 100, 5), 0s);
  watch.heard(beat(1, 0, 0), 30s); // all of it is here
  watch.heard(beat(1, 100, 5), 61s);
  EXPECT_THAT(watch.stalled(), IsEmpty());
  watch.heard(beat(1, 100, 5), 122s);
  EXPECT_THAT(watch.stalled(), SizeIs(1));
}

} // namespace
} // namespace ballast::coordinator
