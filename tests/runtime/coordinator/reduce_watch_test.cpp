// Goal: a generation that waits for itself is found; one in which anybody still
// computes, or that is only slow, is not given up for ever. Method: heartbeats
// with made-up times.
#include "runtime/coordinator/reduce_watch.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;

class reductions : public ::testing::Test {
protected:
  void beats(std::chrono::seconds from, std::chrono::seconds to,
             std::vector<worker_phase> phases, uint64_t step = 7,
             uint32_t in_generation = 1) {
    for (auto now = from; now <= to; now += 1s)
      for (size_t i = 0; i < phases.size(); ++i) {
        heartbeat beat;
        beat.worker = worker_id{uint32_t(i)};
        beat.generation = generation{in_generation};
        beat.step = step_number{step};
        beat.phase = phases[i];
        watch_.heard(beat, now);
      }
  }
  bool stuck(uint32_t in_generation = 1) {
    return watch_.stuck({worker_id{0}, worker_id{1}}, generation{in_generation})
        .has_value();
  }

  const worker_phase reduces = worker_phase::reduce;
  const worker_phase computes = worker_phase::compute;
  reduce_watch watch_;
};

TEST_F(reductions, that_end_for_nobody_are_found_and_named) {
  beats(0s, 59s, {reduces, reduces});
  EXPECT_FALSE(stuck());
  beats(60s, 60s, {reduces, reduces});
  auto found = watch_.stuck({worker_id{0}, worker_id{1}}, generation{1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, step_number{7});
  EXPECT_EQ(found->waited, 60s);
}

TEST_F(reductions, wait_for_as_long_as_somebody_computes) {
  beats(0s, 3600s, {reduces, computes});
  EXPECT_FALSE(stuck());
  beats(3601s, 3650s, {reduces, reduces});
  EXPECT_FALSE(stuck()) << "the last one came 50 s ago";
}

TEST_F(reductions, of_different_steps_or_generations_are_on_their_way) {
  beats(0s, 100s, {reduces});
  heartbeat ahead;
  ahead.worker = worker_id{1};
  ahead.generation = generation{1};
  ahead.step = step_number{8};
  ahead.phase = reduces;
  watch_.heard(ahead, 0s);
  watch_.heard(ahead, 100s);
  EXPECT_FALSE(stuck());
  beats(101s, 200s, {reduces, reduces}, 7, 1);
  EXPECT_FALSE(stuck(2));
}

TEST_F(reductions, that_were_seen_to_take_long_have_more_time) {
  beats(0s, 10s, {reduces, reduces}, 1);
  beats(11s, 11s, {computes, computes}, 2);
  beats(12s, 12s + 199s, {reduces, reduces}, 2);
  EXPECT_FALSE(stuck());
  beats(212s, 212s, {reduces, reduces}, 2);
  EXPECT_TRUE(stuck());
}

TEST_F(reductions, that_were_only_slow_end_after_some_attempts) {
  beats(0s, 60s, {reduces, reduces}, 1, 1);
  EXPECT_TRUE(stuck(1));
  beats(61s, 180s, {reduces, reduces}, 1, 2);
  EXPECT_FALSE(stuck(2)) << "given up once, it is waited for twice as long";
  beats(181s, 181s, {reduces, reduces}, 1, 2);
  EXPECT_TRUE(stuck(2));
}

TEST_F(reductions, are_not_found_by_a_coordinator_that_stood_still) {
  beats(0s, 1s, {reduces, reduces});
  watch_.excuse();
  beats(3600s, 3659s, {reduces, reduces});
  EXPECT_FALSE(stuck());
  beats(3660s, 3660s, {reduces, reduces});
  EXPECT_TRUE(stuck());
}

} // namespace
} // namespace ballast::coordinator
