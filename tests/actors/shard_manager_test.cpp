// Goal: the shard manager prepares one set at a time, places it, and forgets
// it when told, also in the midst. Method: the real actor and its real thread
// on small synthetic sets.
#include "actors/shard_manager.hpp"

#include "actors/types.hpp"
#include "tests/store/temp_folder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace ballast {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s; // a deadlock, not slowness

std::string job_of(uint64_t rows) {
  return R"({"data": {"train": {"format": "synthetic", "classes": 2,
             "rows": )" +
         std::to_string(rows) + R"(}, "test_fraction": 0, "chunk_rows": 10},
             "model": {"kind": "emulated"}})";
}

class shard_manager_test : public testing::Test {
protected:
  ~shard_manager_test() override {
    caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  }

  set_summary prepare(uint64_t rows) {
    set_summary out;
    self_->request(actor_, patience, prepare_atom::value, job_of(rows), "token")
        .receive([&](const set_summary& got) { out = got; },
                 [](const caf::error& why) {
                   ADD_FAILURE() << to_failure(why).message;
                 });
    return out;
  }

  /// The manifest, or the text of the refusal.
  std::string status() {
    std::string out;
    self_->request(actor_, patience, status_atom::value)
        .receive([&](const std::string& text) { out = text; },
                 [&](const caf::error& why) { out = to_failure(why).message; });
    return out;
  }

  placed_shares place_within(const std::vector<worker_id>& workers,
                             const std::vector<uint64_t>& limits) {
    placed_shares out;
    self_
        ->request(actor_, patience, place_atom::value, generation{1},
                  plan_number{1}, workers, plan{}, limits)
        .receive([&](const placed_shares& got) { out = got; },
                 [](const caf::error& why) {
                   ADD_FAILURE() << to_failure(why).message;
                 });
    return out;
  }
  plan place(const std::vector<worker_id>& workers) {
    return place_within(workers, {}).what;
  }

  /// The answer to a control message, or the text of the refusal.
  std::string ask(nlohmann::json message) {
    message["version"] = 1;
    std::string out;
    self_->request(actor_, patience, control_atom::value, message.dump())
        .receive([&](const std::string& text) { out = text; },
                 [&](const caf::error& why) { out = to_failure(why).message; });
    return out;
  }

  balance_answer observe(const load_view& view) {
    balance_answer out;
    self_->request(actor_, patience, balance_atom::value, view)
        .receive([&](const balance_answer& got) { out = got; },
                 [](const caf::error& why) {
                   ADD_FAILURE() << to_failure(why).message;
                 });
    return out;
  }

  /// A run under this plan, in which nothing was measured yet.
  static load_view first_view(const plan& now) {
    load_view out;
    out.number = now.number;
    out.generation = now.generation;
    out.changed = now;
    out.steps_per_epoch = out.steps_left_in_epoch = out.steps_left = 100;
    for (const share& one : now.shares) {
      out.workers.emplace_back();
      out.workers.back().worker = one.worker;
      out.workers.back().name = "w" + to_string(one.worker);
      out.workers.back().rows_left = rows(one);
    }
    return out;
  }

  temp_folder folder_;
  system_config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor self_{system_};
  shard_manager_actor actor_ = system_.spawn(
      shard_manager, shard_manager_config{"127.0.0.1", folder_ / "cache"});
};

TEST_F(shard_manager_test, prepares_places_and_forgets_a_set) {
  EXPECT_EQ(status(), "no data set is prepared");
  set_summary set = prepare(105);
  EXPECT_EQ(set.train_rows, 105u);
  EXPECT_EQ(std::accumulate(set.chunk_rows.begin(), set.chunk_rows.end(), 0u),
            105u);
  EXPECT_EQ(nlohmann::json::parse(status())["content_id"], set.content_id);
  plan placed = place({worker_id{1}, worker_id{2}});
  ASSERT_EQ(placed.shares.size(), 2u);
  EXPECT_EQ(rows(placed.shares[0]) + rows(placed.shares[1]), 105u);
  self_->send(actor_, drop_atom::value);
  EXPECT_EQ(status(), "no data set is prepared");
}

TEST_F(shard_manager_test, says_what_the_workers_have_no_room_for) {
  prepare(105);
  const std::vector<worker_id> two{worker_id{1}, worker_id{2}};
  EXPECT_FALSE(place_within(two, {uint64_t{1} << 30, 0}).lacks);
  const memory_need lacks = place_within(two, {100, 100}).lacks;
  EXPECT_GT(lacks.lacking_bytes, 105u * 4);
  EXPECT_LE(lacks.free_bytes, 200u);
}

TEST_F(shard_manager_test, takes_the_next_job_while_a_set_is_prepared) {
  for (int round = 0; round < 3; ++round) {
    // Dropped before its thread can be done; nobody waits for the answer.
    self_->send(actor_, prepare_atom::value, job_of(200'000), "token");
    self_->send(actor_, drop_atom::value);
    EXPECT_EQ(status(), "no data set is prepared");
    self_->send(actor_, prepare_atom::value, job_of(200'001), "token");
    EXPECT_EQ(prepare(70).train_rows, 70u);
    EXPECT_EQ(place({worker_id{7}}).shares.at(0).batch_weight, 70u);
  }
}

TEST_F(shard_manager_test, says_when_there_is_nothing_to_explain_yet) {
  for (const char* type : {"plan", "explain"})
    EXPECT_EQ(ask({{"type", type}}), "no run trains here");
  prepare(105);
  EXPECT_EQ(ask({{"type", "plan"}}), "no run trains here yet");
  EXPECT_EQ(ask({{"type", "explain"}, {"worker", "w1"}}),
            "no run trains here yet");
}

TEST_F(shard_manager_test, balances_as_it_is_told) {
  self_->send(actor_, balance_atom::value, false, 0.5); // nothing to tell yet
  prepare(105);
  load_view view = first_view(place({worker_id{1}, worker_id{2}}));
  EXPECT_NE(observe(view).state.code, balance_code::disabled);
  self_->send(actor_, balance_atom::value, false, 0.25);
  EXPECT_EQ(observe(view).state.code, balance_code::disabled);
  self_->send(actor_, balance_atom::value, true, 0.25);
  EXPECT_NE(observe(view).state.code, balance_code::disabled);
}

TEST_F(shard_manager_test, explains_a_run_of_one_worker) {
  prepare(105);
  load_view view = first_view(place({worker_id{1}}));
  EXPECT_EQ(observe(view).state.code, balance_code::at_optimum);
  nlohmann::json plan = nlohmann::json::parse(ask({{"type", "plan"}}));
  EXPECT_EQ(plan["moved_rows"], 0);
  EXPECT_TRUE(plan["moves"].empty());
  nlohmann::json worker =
      nlohmann::json::parse(ask({{"type", "explain"}, {"worker", "w1"}}));
  EXPECT_EQ(worker["rows"], 105);
  EXPECT_EQ(ask({{"type", "explain"}, {"worker", "w2"}}),
            "no worker named w2 trains here; there are: w1");
  EXPECT_EQ(ask({{"type", "explain"}, {"chunk", 12}}),
            "/chunk: expected 0 to 11");
  EXPECT_EQ(ask({{"type", "explain"}}),
            "explain: give \"worker\" or \"chunk\", one of them");
  EXPECT_EQ(ask({{"type", "explain"}, {"worker", "w1"}, {"chunk", 1}}),
            "explain: give \"worker\" or \"chunk\", one of them");
}

} // namespace
} // namespace ballast
