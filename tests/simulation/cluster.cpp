#include "tests/simulation/cluster_parts.hpp"

#include "runtime/coordinator/asking.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "tests/runtime/coordinator/plain_set.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace ballast::simulation {

using namespace std::chrono_literals;

namespace {

job make_job(const cluster_options& options) {
  job out;
  out.name = "simulated";
  out.seed = options.seed;
  out.model.kind = model_kind::emulated;
  out.faults = options.requests;
  out.train.global_batch = options.global_batch;
  out.train.epochs = options.epochs;
  if (options.window_chunks > 0)
    out.train.shuffle.window_chunks = options.window_chunks;
  if (options.leaves > 0) {
    out.train.order = sample_order::global;
    out.train.leaves = options.leaves;
  }
  out.elastic.workers = options.workers;
  out.elastic.min_workers = options.min_workers;
  out.elastic.heartbeat_ms = 200;
  out.elastic.orphan_s = 5;
  out.elastic.grace_s = 10;
  out.elastic.respawn_limit = options.respawn_limit;
  out.checkpoint.every_steps = options.checkpoint_every;
  out.evaluate.every = options.evaluate_every;
  if (options.judged) {
    out.stop.metric = out.keep.best.metric = "loss";
    out.stop.patience = 1 + options.seed % 3;
  }
  if (options.in_memory) {
    out.checkpoint.every_s = 4;
    out.checkpoint.memory_every_s = 1;
  }
  return out;
}

/// Of a third of the chunks in three rows weigh the same, in a third some are
/// never used, and in a third none is, but for the first chunk.
std::shared_ptr<const ledger::epoch_uses> weigh(ledger::manifest& set,
                                                const cluster_options& how) {
  for (ledger::chunk_info& chunk : set.train) {
    const uint32_t few = chunk.rows / 3;
    switch (value(chunk.id) % 3) {
    case 0:
      chunk.weights = {{chunk.rows - few, 1}, {few, 4.5}};
      break;
    case 1:
      chunk.weights = {{chunk.rows - few, 0}, {few, 0.3}};
      break;
    default:
      chunk.weights = {{chunk.rows, 0}};
    }
  }
  set.order = ledger::row_layout::by_class;
  sampling_spec weighted;
  weighted.kind = sampling_kind::weighted;
  return ledger::epoch_uses::of(weighted, how.epochs, how.seed, set);
}

std::string line_of(const std::pair<instant, std::string>& one) {
  std::ostringstream out;
  out << std::chrono::duration<double, std::milli>(one.first).count()
      << " ms: " << one.second;
  return out.str();
}

} // namespace

cluster::cluster(cluster_options options)
    : options_(options), random_(options.seed),
      set_(ballast::testing::plain_set(
          ballast::testing::chunks_of(options.rows, options.chunk_rows))),
      what_(make_job(options)), disk_(std::make_unique<disk_state>()),
      user_(std::make_unique<user_state>()) {
  if (options.weighted) {
    options_.uses = weigh(set_, options);
    set_ = options_.uses->counted(set_);
  }
  if (options.balanced) {
    set_.row.classes = 2;
    for (ledger::chunk_info& chunk : set_.train)
      chunk.label_histogram = {chunk.rows, 0};
    set_.train[0].label_histogram = {set_.train[0].rows - 2, 2};
  }
  if (options.cramped)
    for (ledger::chunk_info& chunk : set_.train)
      chunk.bytes = chunk_bytes;
  new_core();
}
cluster::~cluster() = default;

// -- time

void cluster::after(instant delay, event what) {
  queue_.push_back({now_ + delay, sequence_++, std::move(what)});
  std::push_heap(queue_.begin(), queue_.end());
}

instant cluster::some(int64_t least_us, int64_t most_us) {
  return std::chrono::microseconds(
      least_us + int64_t(random_.below(uint64_t(most_us - least_us + 1))));
}

void cluster::log(const std::string& line) {
  if (options_.tell) {
    fprintf(stderr, "%s\n", line_of({now_, line}).c_str());
    return;
  }
  history_.emplace_back(now_, line);
  if (history_.size() > 200)
    history_.pop_front();
}

std::string cluster::history() const {
  std::string out;
  for (const auto& line : history_)
    out += line_of(line) + "\n";
  return out;
}

void cluster::fail(const std::string& why) {
  throw violation("seed " + std::to_string(options_.seed) + ": " + why);
}

// -- faults

void cluster::schedule_fault() {
  auto mean = uint64_t(options_.mean_between_faults.count());
  after(instant(int64_t(random_.below(2 * mean))), [this] {
    if (over_ || quiet())
      return;
    hurt_somebody();
    schedule_fault();
  });
}

void cluster::hurt_somebody() {
  std::vector<node_state*> living;
  for (auto& [process, who] : nodes_)
    if (who->alive)
      living.push_back(who.get());
  if (living.empty())
    return;
  node_state& victim = *living[random_.below(living.size())];
  if (options_.power_cuts && random_.one_in(12))
    return cut_power();
  if (options_.coordinator_stalls && random_.one_in(6))
    return stall_coordinator(some(10'000, 3'000'000));
  if (options_.partitions && random_.one_in(3))
    return cut_link(victim);
  if (options_.full_disk && random_.one_in(6)) {
    disk_->full_until = now_ + some(10'000, 3'000'000);
    return log("the disk is full");
  }
  if (options_.apart && random_.one_in(4)) {
    node_state& other = *living[random_.below(living.size())];
    // Long enough, now and then, to cost one of them its place.
    instant until =
        now_ + some(10'000, random_.one_in(4) ? 60'000'000 : 4'000'000);
    log([&] {
      return victim.name + " and " + other.name + " cannot reach each other";
    });
    apart_[{victim.process, other.process}] = until;
    apart_[{other.process, victim.process}] = until;
    for (const auto& in : {victim.in, victim.next_in})
      if (in && !in->broken && apart(*in) && random_.one_in(2))
        break_group(in);
    return;
  }
  if (random_.one_in(8)) {
    if (core_ && random_.one_in(2))
      crash_soon_ = true;
    else
      crash_coordinator();
  } else if (random_.one_in(3)) {
    freeze(victim, some(10'000, 3'000'000));
  } else if (random_.one_in(6) && core_ && core_->members.active()) {
    log([&] { return victim.name + " is asked to leave"; });
    ++outcome_.drains;
    at_coordinator(0ns, [this, name = victim.name] {
      (void)coordinator::ask(*core_, drain_request{name}, now_);
      perform(box_.take());
    });
  } else if (random_.one_in(8) && !options_.supervised) {
    start_node();
  } else {
    kill(victim, random_.one_in(2) ? "kill -9" : "crash");
  }
}

/// Of the whole machine, or of all of them at once.
void cluster::cut_power() {
  if (over_)
    return;
  log("the power is cut");
  ++outcome_.power_cuts;
  ++life_;
  core_.reset();
  planner_.reset();
  crash_soon_ = false;
  stands_until_ = {};
  for (auto& [process, who] : nodes_) {
    who->alive = false;
    who->connection = 0;
    who->handle = {};
  }
  groups_.clear();
  // The journal was synced; of the lines some of the last ones are left.
  disk_state& disk = *disk_;
  std::erase_if(disk.checkpoints,
                [](const auto& one) { return is_in_memory(one.first); });
  size_t least = std::min(disk.steps_synced, disk.steps.size());
  disk.steps.resize(least + random_.below(disk.steps.size() - least + 1));
  if (disk.shown.size() > disk.steps.size())
    disk.shown.resize(disk.steps.size());
  size_t told = random_.below(disk.told.size() + 1);
  disk.told_lost = disk.told_lost || told < disk.told.size();
  disk.told.resize(told);
  for (auto& [number, one] : disk.plans)
    one.told = std::count(told ? disk.told.begin() : disk.told.end(),
                          disk.told.end(), number) > 0;
  user_->copy.reset(); // asked of those who are gone
  after(some(100'000, 900'000), [this, life = life_] {
    if (life != life_ || over_)
      return;
    ++outcome_.resumes;
    new_core();
    log("all of it is started again");
    last_progress_ = now_;
    if (!options_.supervised)
      for (uint32_t i = 0; i < options_.workers; ++i)
        start_node();
    tick();
    coordinator::past_run past = remembered();
    past.asked_again = true;
    if (options_.supervised) {
      past.alive.emplace();
      user_->paused.reset(); // who resumes a run wants it to train
    }
    (void)take_over(*core_, std::move(past), term{++terms_});
    perform(box_.take());
  });
}

// -- coordinator

void cluster::tick() {
  if (over_ || !core_)
    return;
  tell_core(coordinator::clock_tick{});
  check_stragglers();
  check_waiting();
  at_coordinator(50ms, [this] { tick(); });
}

outcome cluster::run() {
  if (!options_.supervised)
    for (uint32_t i = 0; i < options_.workers; ++i)
      start_node();
  begin_run();
  tick();
  schedule_fault();
  if (options_.requests)
    schedule_request();
  if (options_.strangers)
    knock();
  instant limit = options_.faults_until + 240s;
  while (!over_ && !queue_.empty() && now_ < limit) {
    std::pop_heap(queue_.begin(), queue_.end());
    due next = std::move(queue_.back());
    queue_.pop_back();
    now_ = next.at;
    ++outcome_.events;
    next.what();
  }
  outcome_.took = now_;
  if (!over_)
    fail("the run does not end; it is " +
         (core_ ? to_string(core_->members.phase()) : "without a coordinator"));
  return outcome_;
}

} // namespace ballast::simulation
