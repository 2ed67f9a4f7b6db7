// Goal: chunks come before the steps that use them, in the order of their use
// and each once, whoever else asks; nothing comes while it would be in the way.
// Method: loaders whose bringing waits until the test lets it.
#include "actors/loader_threads.hpp"

#include "tests/data/some_chunks.hpp"

#include <atomic>
#include <condition_variable>
#include <future>
#include <gmock/gmock.h>
#include <map>
#include <mutex>
#include <set>

namespace ballast::actors {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ledger::row_shape large_row =
    data::shape_of(ledger::stored_type::uint8, 50'000, 3);
constexpr uint32_t rows_of_large = 20; // 1 MB: one fills a request

/// What loaders bring, and when they may.
class gate {
public:
  void bring(data::chunk_store& into, const wanted_chunks& wanted) {
    std::unique_lock lock(mutex_);
    for (const ledger::chunk_info& one : wanted.chunks)
      begun_.push_back(value(one.id));
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    for (const ledger::chunk_info& one : wanted.chunks) {
      if (broken_.contains(value(one.id)))
        throw std::runtime_error("no way to it");
      into.put(wanted.part, data::some_chunk<uint8_t>(
                                value(one.id), rows_of_large, large_row));
    }
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void breaks(uint32_t id) { broken_.insert(id); } // before anything begins
  void wait_for(size_t begun) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_.size() >= begun; });
  }
  std::vector<uint32_t> begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::vector<uint32_t> begun_; // chunks, in that order
  std::set<uint32_t> broken_;
};

class loaders : public testing::Test {
protected:
  void SetUp() override {
    set_.row = large_row;
    for (uint32_t id = 0; id < 6; ++id) {
      ledger::chunk_info about;
      about.id = chunk_id(id);
      about.rows = rows_of_large;
      about.bytes = 1 << 20;
      set_.train.push_back(about);
    }
  }
  loader_threads::terms terms(size_t threads) {
    return {.threads = threads,
            .bring = [this](wanted_chunks& wanted,
                            size_t) { gate_.bring(store_, wanted); },
            .all_here =
                [this] {
                  all_here_ = true;
                  all_here_.notify_all();
                },
            .from_disk = [this] { return from_disk_.load(); }};
  }
  static lacking_chunks train(std::vector<uint32_t> ids) {
    lacking_chunks out;
    for (uint32_t id : ids)
      out.train.push_back(chunk_id(id));
    return out;
  }
  void wait_until_all_are_here() const { all_here_.wait(false); }

  /// These, too.
  static void bring(loader_threads& by, const lacking_chunks& what) {
    by.account([what] { return what; }, false);
  }

  ledger::manifest set_;
  data::chunk_store store_{1 << 30};
  gate gate_;
  std::atomic<bool> all_here_{false};
  std::atomic<bool> from_disk_{true};
};

TEST_F(loaders, bring_chunks_in_the_order_of_their_use_and_each_once) {
  gate_.open();
  store_.put(data::data_part::train,
             data::some_chunk<uint8_t>(4, rows_of_large, large_row));
  loader_threads all(store_, set_, terms(1));
  all.hold();
  bring(all, train({2, 4, 0}));
  bring(all, train({0, 1}));
  for (int batch = 0; batch < 3; ++batch) {
    EXPECT_THAT(gate_.begun(), IsEmpty()) << "a generation begins";
    all.batch_gathered();
  }
  wait_until_all_are_here();
  EXPECT_THAT(gate_.begun(), ElementsAre(2, 0, 1)) << "4 is here";
}

TEST_F(loaders, leave_the_way_to_the_origin_to_a_step_that_waits) {
  from_disk_ = false;
  gate_.open();
  loader_threads all(store_, set_, terms(2));
  {
    const loader_threads::step_waits step(all);
    bring(all, train({0, 1}));
    EXPECT_THAT(gate_.begun(), IsEmpty());
  }
  wait_until_all_are_here();
}

TEST_F(loaders, read_no_chunk_twice_with_a_step) {
  loader_threads all(store_, set_, terms(1));
  bring(all, train({0, 1}));
  gate_.wait_for(1); // it is at 0
  std::vector<uint32_t> read;
  const std::vector<chunk_id> wanted{chunk_id{0}, chunk_id{3}};
  auto step = std::async(std::launch::async, [&] {
    const loader_threads::step_waits waits(all);
    all.bring_for_step(
        data::data_part::train, wanted,
        [&](chunk_id id) {
          read.push_back(value(id));
          gate_.open(); // and the loader goes on
          return store_.put(
              data::data_part::train,
              data::some_chunk<uint8_t>(value(id), rows_of_large, large_row));
        },
        {});
  });
  step.get();
  EXPECT_THAT(read, ElementsAre(3));
  EXPECT_TRUE(store_.find(data::data_part::train, chunk_id{0}));
  wait_until_all_are_here();
}

TEST_F(loaders, leave_to_a_step_what_they_cannot_bring) {
  gate_.breaks(0);
  gate_.open();
  loader_threads all(store_, set_, terms(2));
  bring(all, train({0, 1, 2}));
  std::map<uint32_t, int> read;
  const std::vector<chunk_id> wanted{chunk_id{0}, chunk_id{5}};
  all.bring_for_step(data::data_part::train, wanted,
                     [&](chunk_id id) {
                       ++read[value(id)];
                       return false; // nor can it
                     },
                     {});
  EXPECT_EQ(read[5], 1) << "it is asked for once, and not for ever";
  wait_until_all_are_here();
  EXPECT_TRUE(store_.find(data::data_part::train, chunk_id{2}))
      << "what comes behind it comes all the same";
}

TEST_F(loaders, forget_what_was_wanted_for_a_share_that_is_no_more) {
  gate_.open();
  loader_threads all(store_, set_, terms(1));
  all.hold();
  bring(all, train({0, 1}));
  all.account([] { return train({3}); }, true);
  bring(all, train({5}));
  for (int batch = 0; batch < 3; ++batch)
    all.batch_gathered();
  wait_until_all_are_here();
  EXPECT_THAT(gate_.begun(), ElementsAre(3, 5));
}

TEST_F(loaders, take_no_account_while_a_generation_begins) {
  gate_.open();
  loader_threads all(store_, set_, terms(1));
  all.hold();
  std::atomic<bool> taken{false};
  all.account(
      [&] {
        taken = true;
        return train({0});
      },
      true);
  for (int batch = 0; batch < 3; ++batch) {
    EXPECT_FALSE(taken) << "a step waits for nothing but its rows";
    all.batch_gathered();
  }
  wait_until_all_are_here();
}

TEST_F(loaders, end_a_wait_that_is_given_up) {
  loader_threads all(store_, set_, terms(1));
  bring(all, train({0}));
  gate_.wait_for(1);
  const std::vector<chunk_id> wanted{chunk_id{0}};
  all.bring_for_step(
      data::data_part::train, wanted, [](chunk_id) { return true; },
      [] { return true; });
  EXPECT_FALSE(store_.find(data::data_part::train, chunk_id{0}));
  gate_.open();
}

} // namespace
} // namespace ballast::actors
