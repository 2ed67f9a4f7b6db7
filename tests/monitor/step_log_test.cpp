/// Goal: steps.jsonl has every step once, in order, with the documented keys.
#include "monitor/logs/step_log.hpp"

#include "store/clock.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/small_disk.hpp"
#include "tests/store/temp_folder.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace ballast::monitor {
namespace {

ledger::committed_step step(uint64_t number, double loss = 0.5) {
  return {.step = step_number{number},
          .epoch = epoch_number{2},
          .generation = generation{3},
          .plan = plan_number{4},
          .world = 5,
          .samples = 256,
          .loss = loss,
          .t_ns = uint64_t(store::monotonic_ns())};
}

std::vector<nlohmann::ordered_json>
lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::ordered_json> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    out.push_back(nlohmann::ordered_json::parse(line));
  return out;
}

TEST(step_log, writes_the_documented_keys_in_their_order) {
  store::temp_folder folder;
  step_log log(folder / "steps.jsonl");
  ledger::committed_step first = step(1, 2.3125);
  log.append(first);
  auto line = lines_of(folder / "steps.jsonl").at(0);
  std::string keys;
  for (const auto& [key, field] : line.items())
    keys += key + " ";
  EXPECT_EQ(keys, "step epoch generation plan world samples loss t_ns time ");
  EXPECT_EQ(line["epoch"], 2);
  EXPECT_EQ(line["generation"], 3);
  EXPECT_EQ(line["plan"], 4);
  EXPECT_EQ(line["world"], 5);
  EXPECT_EQ(line["samples"], 256);
  EXPECT_EQ(line["loss"], 2.3125);
  EXPECT_EQ(line["t_ns"], first.t_ns);
  // Derived from t_ns: now, to the second.
  std::string now = store::utc_time(store::wall_ns_of(int64_t(first.t_ns)));
  EXPECT_EQ(line["time"].get<std::string>().substr(0, 18), now.substr(0, 18));
}

TEST(step_log, refuses_a_gap_and_a_repeat_and_writes_nothing_of_them) {
  store::temp_folder folder;
  step_log log(folder / "s");
  EXPECT_FAILURE(log.append(step(2)), errc::internal, "step 2 does not follow");
  log.append(step(1));
  EXPECT_FAILURE(log.append(step(1)), errc::internal, "step 1 does not follow");
  std::vector<ledger::committed_step> gap = {step(2), step(4)};
  EXPECT_FAILURE(log.append(gap), errc::internal, "step 4 does not follow");
  EXPECT_EQ(log.last(), step_number{1});
  EXPECT_EQ(lines_of(folder / "s").size(), 1u);
}

TEST(step_log, continues_an_earlier_file) {
  store::temp_folder folder;
  {
    step_log log(folder / "s");
    std::vector<ledger::committed_step> steps = {step(1), step(2), step(3)};
    log.append(steps);
  }
  store::write_content(folder / "torn",
                       store::content_of(folder / "s") + "{\"step\":4,");
  step_log log(folder / "torn");
  EXPECT_EQ(log.last(), step_number{3});
  log.append(step(4));
  EXPECT_EQ(lines_of(folder / "torn").size(), 4u);
}

TEST(step_log, refuses_a_file_that_holds_no_steps) {
  store::temp_folder folder;
  store::write_content(folder / "s", "hello\n");
  EXPECT_FAILURE(step_log(folder / "s"), errc::run_dir_unusable, "hello");
}

TEST(step_log, writes_a_loss_that_is_not_finite_as_null) {
  store::temp_folder folder;
  step_log log(folder / "s");
  log.append(step(1, std::numeric_limits<double>::quiet_NaN()));
  log.append(step(2, std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(lines_of(folder / "s").at(0)["loss"].is_null());
  EXPECT_TRUE(lines_of(folder / "s").at(1)["loss"].is_null());
}

TEST(step_log, can_repeat_an_append_that_met_a_full_disk) {
  store::temp_folder folder;
  step_log log(folder / "s");
  log.append(step(1));
  {
    store::small_disk disk(200);
    EXPECT_FAILURE(log.append(step(2)), errc::disk_full, "/s");
  }
  log.append(step(2));
  EXPECT_EQ(lines_of(folder / "s").size(), 2u);
}

TEST(clock, prints_utc_with_milliseconds) {
  EXPECT_EQ(store::utc_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(store::utc_time(1'700'000'000'123'999'999),
            "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(store::utc_time(-1), "1969-12-31T23:59:59.999Z");
}

} // namespace
} // namespace ballast::monitor
