// Goal: a worker whose gradients, parameters or memory err is found by the
// leaves that another computes again, or by the digests of its parameters, soon
// and by name; nothing of a step that is contradicted is applied; and nobody is
// ever blamed who does not err. Method: executors in this process, into which
// bits are flipped; what they report is judged as the coordinator does.
#include "runtime/base/random.hpp"
#include "runtime/coordinator/equal_bits.hpp"
#include "tests/gpu/executor_cluster.hpp"

#include <bit>
#include <cstdlib>
#include <set>

namespace ballast::gpu {
namespace {

constexpr uint64_t check_every = 5;

job checked_job(uint32_t every_steps) {
  job out = emulated_job(3, 25);
  out.model.parameters = 300;
  out.train.order = sample_order::global;
  out.train.reduction = reduction_kind::canonical;
  out.train.leaves = 8;
  out.train.digest_every_steps = check_every;
  out.verify.every_steps = every_steps;
  return out;
}
constexpr uint64_t all_steps = 24; // of 176 rows, three times

void flip(float& value) {
  value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ 1U << 20);
}

/// Where a bit flips.
enum class flip_in {
  nowhere,
  gradients,  // of all leaves from a step on: a core that errs
  one_leaf,   // of one leaf: it errs in passing
  parameters, // once
  arena,      // once: the sum over all ranks, before it is applied
};

struct findings {
  std::set<worker_id> odd;
  bool undecided = false;
  uint64_t at = 0; // the step at which it was found
  std::vector<float> parameters;
  uint64_t applied = 0; // steps
};

class flipped_run {
public:
  flipped_run(size_t world, const job& what, flip_in where, size_t victim,
              uint64_t from)
      : where_(where), victim_(victim), from_(from) {
    cluster_setup setup;
    setup.before_step = [this](size_t rank, uint64_t step) {
      before_step(rank, step);
    };
    setup.before_apply = [this](size_t rank) { before_apply(rank); };
    setup.digested = [this](const parameters_digested& m) { judge(m); };
    setup.copies = true;
    all_.emplace(world, 11, what, setup);
  }

  findings run() {
    all_->start();
    all_->join();
    findings out;
    for (uint32_t w = 0; w < all_->world_; ++w)
      ranks_.push_back(worker_id{w + 1});
    for (auto& one : all_->workers_) {
      if (one->contradicted) {
        const auto found = bits_.take(*one->contradicted, ranks_, named);
        found_.odd.insert(found.odd.begin(), found.odd.end());
        found_.undecided = found.undecided;
        found_.at = value(one->contradicted->step);
      }
      EXPECT_FALSE(one->failed) << one->failed->message;
    }
    found_.parameters = all_->workers_[0]->parameters();
    found_.applied = value(all_->workers_[0]->state.held.step);
    return found_;
  }

private:
  static std::string named(worker_id who) { return "w" + to_string(who); }

  void before_step(size_t rank, uint64_t step) {
    if (rank != victim_)
      return;
    now_ = step;
    if (step != from_)
      return;
    cluster::worker& ill = *all_->workers_[rank];
    if (where_ == flip_in::gradients)
      ill.state.flips = UINT64_MAX;
    if (where_ == flip_in::one_leaf)
      ill.state.flips = 1;
    if (where_ == flip_in::parameters)
      flip(ill.memory.parameters[some()]);
  }
  void before_apply(size_t rank) {
    cluster::worker& ill = *all_->workers_[rank];
    if (rank == victim_ && where_ == flip_in::arena && now_ == from_)
      flip(ill.memory.gradients_of(ill.state.turn)[some()]);
  }
  size_t some() const { return mix(from_, victim_) % 300; }

  void judge(const parameters_digested& message) {
    {
      std::lock_guard lock(mutex_);
      const auto found =
          bits_.take(message, named(message.worker), all_->world_);
      if (found.odd.empty() && !found.undecided)
        return;
      found_.odd.insert(found.odd.begin(), found.odd.end());
      found_.undecided = found.undecided;
      found_.at = value(message.step);
    }
    all_->stop();
  }

  const flip_in where_;
  const size_t victim_;
  const uint64_t from_;
  uint64_t now_ = 0; // on the victim's thread
  std::mutex mutex_;
  coordinator::equal_bits bits_;
  std::vector<worker_id> ranks_;
  findings found_;
  std::optional<cluster> all_;
};

findings unharmed(size_t world, uint32_t every_steps) {
  return flipped_run(world, checked_job(every_steps), flip_in::nowhere, 0, 0)
      .run();
}

TEST(spot_checks, change_nothing_and_blame_nobody) {
  const findings plain = unharmed(1, 0);
  ASSERT_EQ(plain.applied, all_steps);
  for (size_t world : {1, 2, 3, 5, 8, 9})
    for (uint32_t every_steps : {1U, 3U}) {
      const findings checked = unharmed(world, every_steps);
      EXPECT_EQ(checked.applied, all_steps);
      EXPECT_TRUE(checked.odd.empty());
      EXPECT_EQ(checked.parameters, plain.parameters) << world;
    }
}

TEST(spot_checks, find_a_core_that_errs_before_the_step_is_applied) {
  for (size_t world : {3, 4, 8})
    for (size_t victim = 0; victim < world; ++victim) {
      const findings found = flipped_run(world, checked_job(check_every),
                                         flip_in::gradients, victim, 10)
                                 .run();
      EXPECT_EQ(found.odd, (std::set<worker_id>{worker_id(victim + 1)}));
      EXPECT_EQ(found.at, 10u);
      EXPECT_EQ(found.applied, 9u);
    }
}

TEST(digests, are_told_of_each_state_before_it_is_copied) {
  job what = checked_job(0);
  what.train.digest_every_steps = 1000;
  what.checkpoint.every_steps = 4;
  what.checkpoint.every_s = 0;
  const findings found = flipped_run(3, what, flip_in::parameters, 1, 6).run();
  EXPECT_EQ(found.odd, (std::set<worker_id>{worker_id(2)}));
  EXPECT_EQ(found.at, 8u);
}

TEST(spot_checks, find_who_erred_in_passing_where_only_two_are_there) {
  // With as many leaves as workers each leaf is computed again.
  job what = checked_job(1);
  what.train.leaves = 2;
  for (size_t victim : {0, 1}) {
    const findings found =
        flipped_run(2, what, flip_in::one_leaf, victim, 7).run();
    EXPECT_EQ(found.odd, (std::set<worker_id>{worker_id(victim + 1)}));
    EXPECT_EQ(found.applied, 6u);
  }
}

TEST(spot_checks, cannot_say_which_of_two_errs_all_the_time) {
  const findings found =
      flipped_run(2, checked_job(check_every), flip_in::gradients, 1, 10).run();
  EXPECT_TRUE(found.undecided);
  EXPECT_TRUE(found.odd.empty());
  EXPECT_EQ(found.applied, 9u);
}

TEST(spot_checks, let_a_lone_worker_find_that_it_erred) {
  job what = checked_job(1);
  what.train.leaves = 1;
  const findings found = flipped_run(1, what, flip_in::one_leaf, 0, 7).run();
  EXPECT_EQ(found.at, 7u);
  EXPECT_TRUE(found.undecided);
  EXPECT_EQ(found.applied, 6u);
}

TEST(spot_checks, find_each_flipped_bit_and_its_worker) {
  const char* const count = std::getenv("BALLAST_FLIP_COUNT");
  const uint64_t trials = count ? std::strtoull(count, nullptr, 10) : 100;
  const flip_in places[] = {flip_in::gradients, flip_in::parameters,
                            flip_in::arena};
  for (uint64_t trial = 0; trial < trials; ++trial) {
    const counter_random random(trial, 22);
    const size_t world = 3 + random.below(3, 0);
    const size_t victim = random.below(world, 1);
    const uint64_t from = 2 + random.below(all_steps - check_every - 2, 2);
    const findings found = flipped_run(world, checked_job(check_every),
                                       places[random.below(3, 3)], victim, from)
                               .run();
    ASSERT_EQ(found.odd, (std::set<worker_id>{worker_id(victim + 1)}))
        << "trial " << trial;
    ASSERT_TRUE(from <= found.at && found.at <= from + check_every)
        << "trial " << trial << ": flipped at step " << from << ", found at "
        << found.at;
  }
}

} // namespace
} // namespace ballast::gpu
