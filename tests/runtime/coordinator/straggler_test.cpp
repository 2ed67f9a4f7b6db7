// Goal: a device that holds its worker up is named once, with its cause, and
// nobody else is; what comes and goes every second does not fill the log.
// Method: heartbeats by hand, time by hand.
#include "runtime/coordinator/straggler.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr worker_id w1{1}, w2{2}, w3{3};

device_trouble heat(uint16_t celsius = 91) {
  device_trouble out;
  out.add(device_cause::heat);
  out.celsius = celsius;
  return out;
}
device_trouble xid() {
  device_trouble out;
  out.add(device_cause::driver_error);
  out.xid = 48;
  return out;
}

TEST(device_trouble, is_told_in_one_line_with_the_gravest_first) {
  EXPECT_EQ(describe(device_trouble{}), "");
  device_trouble all = heat();
  for (device_cause one :
       {device_cause::power_supply, device_cause::hardware,
        device_cause::memory_errors, device_cause::driver_error})
    all.add(one);
  all.xid = UINT32_MAX;
  all.memory_errors = UINT32_MAX;
  EXPECT_EQ(describe(all),
            "the driver reported the error Xid 4294967295; 4294967295 memory "
            "errors that could not be corrected; slowed down by heat (91 "
            "degrees)");
  EXPECT_THAT(cause_names(all),
              ElementsAre("driver_error", "memory_errors", "heat",
                          "power_supply", "hardware"));
  EXPECT_LT(describe(all).size(), 200u);
}

TEST(stragglers, say_nothing_of_workers_that_are_well) {
  stragglers all;
  all.heard(w1, {}, 0s);
  EXPECT_THAT(all.changes(0s), IsEmpty());
  EXPECT_THAT(all.standing(), IsEmpty());
}

TEST(stragglers, are_told_of_once) {
  stragglers all;
  all.heard(w2, heat(), 1s);
  auto told = all.changes(1s);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what.who, w2);
  EXPECT_EQ(told[0].what.since, 1s);
  EXPECT_FALSE(told[0].over);
  for (auto now = 1s; now < 60s; ++now) {
    all.heard(w2, heat(uint16_t(80 + now.count() % 10)), now);
    EXPECT_THAT(all.changes(now), IsEmpty());
  }
  EXPECT_EQ(all.standing().at(0).since, 1s);
}

TEST(stragglers, are_told_of_again_by_another_cause_and_when_they_are_over) {
  stragglers all;
  all.heard(w2, heat(), 0s);
  EXPECT_THAT(all.changes(0s), SizeIs(1));
  device_trouble both = xid();
  both.add(device_cause::heat);
  all.heard(w2, both, 5s);
  EXPECT_THAT(all.changes(5s), SizeIs(1));
  all.heard(w2, {}, 6s);
  EXPECT_THAT(all.changes(14s), IsEmpty()) << "not for long enough";
  auto told = all.changes(15s);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(told[0].over);
  EXPECT_EQ(told[0].what.since, 0s);
  EXPECT_THAT(all.standing(), IsEmpty());
  EXPECT_THAT(all.changes(99s), IsEmpty());
}

TEST(stragglers, that_come_and_go_every_second_are_one) {
  stragglers all;
  size_t told = 0;
  for (auto now = 0s; now < 100s; ++now) {
    all.heard(w2, now.count() % 2 ? heat() : device_trouble{}, now);
    told += all.changes(now).size();
  }
  EXPECT_EQ(told, 1u);
}

TEST(stragglers, keep_the_cause_that_is_over_out_of_those_that_stand) {
  stragglers all;
  all.heard(w2, heat(), 0s);
  for (auto now = 0s; now < 20s; ++now) {
    all.heard(w2, xid(), now);
    (void)all.changes(now);
  }
  EXPECT_THAT(cause_names(all.standing().at(0).what),
              ElementsAre("driver_error"));
}

TEST(stragglers, are_slow_by_the_lower_median_of_the_others) {
  stragglers all;
  all.heard(w2, heat(), 0s);
  EXPECT_THAT(all.changes(0s), SizeIs(1)) << "before anything is measured";
  all.measured({{w1, 10}, {w2, 11.9}, {w3, 50}});
  EXPECT_THAT(all.changes(0s), IsEmpty()) << "not slower than the others";
  EXPECT_NEAR(all.standing().at(0).ratio, 1.19, 1e-9);
  all.measured({{w1, 10}, {w2, 18}, {w3, 50}});
  auto told = all.changes(0s);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(told[0].what.slow());
  EXPECT_THAT(all.changes(0s), IsEmpty());
  all.measured({{w1, 10}, {w2, 10}, {w3, 10}});
  (void)all.changes(0s);
  all.measured({{w1, 10}, {w2, 18}, {w3, 10}});
  EXPECT_THAT(all.changes(0s), IsEmpty()) << "told of already";
}

TEST(stragglers, have_no_ratio_where_there_is_nobody_to_compare_with) {
  stragglers all;
  all.heard(w2, heat(), 0s);
  for (const std::map<worker_id, double>& none : {std::map<worker_id, double>{},
                                                  {{w2, 5.0}},
                                                  {{w1, 0.0}, {w2, 5.0}},
                                                  {{w1, 5.0}, {w2, 0.0}},
                                                  {{w1, 5.0}}}) {
    all.measured(none);
    EXPECT_EQ(all.standing().at(0).ratio, 0);
  }
}

TEST(stragglers, are_forgotten_with_their_process_and_told_to_a_new_run) {
  stragglers all;
  all.heard(w1, heat(), 0s);
  all.heard(w2, heat(), 0s);
  EXPECT_THAT(all.changes(0s), SizeIs(2));
  all.forget(w1);
  all.tell_again();
  auto told = all.changes(1s);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what.who, w2);
}

progress_report steps_of(std::chrono::milliseconds data,
                         std::chrono::milliseconds compute,
                         rows_source from = rows_source::origin) {
  progress_report out;
  out.data_ns = uint64_t(std::chrono::nanoseconds(data).count());
  out.compute_ns = uint64_t(std::chrono::nanoseconds(compute).count());
  out.rows_from = from;
  return out;
}

TEST(stragglers, wait_for_rows_that_come_more_slowly_than_they_are_used) {
  stragglers all;
  all.worked(w1, steps_of(10ms, 990ms), 1s);
  all.worked(w2, steps_of(380ms, 620ms), 1s);
  EXPECT_THAT(all.changes(1s), IsEmpty()) << "a first step may wait";
  all.worked(w1, steps_of(10ms, 990ms), 2s);
  all.worked(w2, steps_of(380ms, 620ms), 2s);
  auto told = all.changes(2s);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what.who, w2);
  EXPECT_THAT(cause_names(told[0].what.what), ElementsAre("data"));
  EXPECT_EQ(describe(told[0].what.what, "cpu"),
            "rows, which come from the origin more slowly than it uses them "
            "(it waits 38 % of its time)");
  // A heartbeat of a device that is hot does not hide it.
  all.heard(w2, heat(), 3s);
  EXPECT_EQ(describe(all.standing().at(0).what, "cuda:0"),
            "cuda:0: slowed down by heat (91 degrees); its rows, which come "
            "from the origin more slowly than it uses them (it waits 38 % of "
            "its time)");
}

TEST(stragglers, that_have_their_rows_in_time_again_are_well) {
  stragglers all;
  for (auto at : {1s, 2s})
    all.worked(w2, steps_of(100ms, 900ms, rows_source::disk), at);
  EXPECT_THAT(all.changes(2s), SizeIs(1));
  all.worked(w2, steps_of(0ms, 1000ms, rows_source::disk), 3s);
  EXPECT_THAT(all.changes(11s), IsEmpty());
  auto told = all.changes(13s);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(told[0].over);
}

} // namespace
} // namespace ballast::coordinator
