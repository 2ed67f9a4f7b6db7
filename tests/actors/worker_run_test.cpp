// Goal: a load that a fence broke off is gone on with, and leaves nothing half
// made. Method: an origin with a small set, and orders that are given up.
#include "actors/worker_run.hpp"

#include "data/prepared/set_tables.hpp"
#include "data/transfer/chunk_service.hpp"
#include "tests/data/some_chunks.hpp"

#include <gtest/gtest.h>

namespace ballast::actors {
namespace {

const std::string token = "secret";
const ledger::row_shape row = data::shape_of(ledger::stored_type::uint8, 50, 3);

class worker_loading : public testing::Test {
protected:
  void SetUp() override {
    if (data::under_thread_sanitizer)
      GTEST_SKIP() << "gRPC is not built for the thread sanitizer";
    set_.row = row;
    ledger::share own{worker_id{7}, plan_number{1}, 20, {}, 0};
    for (uint32_t id = 0; id < 3; ++id) {
      chunks_.push_back(data::some_chunk<uint8_t>(id, 20, row));
      ledger::chunk_info about;
      about.id = chunk_id(id);
      about.rows = 20;
      about.samples = {{id * 20, 20}};
      about.source_rows = about.samples;
      about.bytes = chunks_.back()->bytes;
      about.checksum = checksum(*chunks_.back(), row);
      set_.train.push_back(about);
      own.intervals.push_back({about.id, 0, 20});
      own_rows_.push_back({about.id, 4});
    }
    set_.train_rows = 60;
    origin_ = data::chunk_service::start(
        "127.0.0.1", 0, token,
        [this](data::data_part, chunk_id id) { return chunks_.at(value(id)); },
        [this](const std::string& name) -> std::optional<std::string> {
          if (name != "manifest")
            return std::nullopt;
          return data::chunk_table(set_);
        });
    order_.run = "run";
    order_.worker = worker_id{7};
    order_.token = token;
    order_.origin = origin_->address();
    order_.first = ledger::plan{plan_number{1}, {}, {own}};
    order_.job = R"({"version": 1, "name": "played", "seed": 3,
      "data": {"train": {"format": "synthetic", "rows": 60, "classes": 3,
               "features": 50}, "test_fraction": 0},
      "model": {"kind": "emulated", "parameters": 4},
      "train": {"epochs": 1, "global_batch": 20},
      "elastic": {"workers": 1}})";
  }

  std::optional<step_number> load(worker_run& run, bool given_up) {
    return load_run(run, order_, "127.0.0.1", 1 << 24,
                    [given_up] { return given_up; });
  }

  ledger::manifest set_;
  std::vector<data::chunk_ptr> chunks_;
  std::vector<ledger::row_ref> own_rows_;
  std::unique_ptr<data::chunk_service> origin_;
  assignment order_;
};

TEST_F(worker_loading, makes_data_model_and_service) {
  worker_run run(order_, nullptr);
  EXPECT_EQ(load(run, false), step_number{0});
  EXPECT_FALSE(run.data.address().empty());
  EXPECT_TRUE(run.trained.network);
  data::batch got;
  run.data.rows().gather(data::data_part::train, own_rows_, {}, got);
  EXPECT_EQ(got.rows, 3u);
}

TEST_F(worker_loading, goes_on_with_what_an_attempt_left_that_failed) {
  worker_run run(order_, nullptr);
  order_.from_checkpoint = true; // which the origin does not have
  EXPECT_THROW((void)load(run, false), ballast_error);
  EXPECT_FALSE(run.has_state);
  const std::string address = run.data.address();
  order_.from_checkpoint = false;
  EXPECT_EQ(load(run, false), step_number{0});
  EXPECT_EQ(run.data.address(), address);
}

TEST_F(worker_loading, keeps_its_state_when_it_loads_for_another_generation) {
  worker_run run(order_, nullptr);
  EXPECT_TRUE(load(run, false));
  EXPECT_FALSE(load(run, false));
}

} // namespace
} // namespace ballast::actors
