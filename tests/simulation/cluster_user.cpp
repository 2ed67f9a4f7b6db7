/// Users of a simulated cluster: they ask for anything at any moment. What was
/// accepted must come true, or its end be told.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

using namespace std::chrono_literals;

namespace {

constexpr uint64_t kinds = 11;
/// After the last fault and the last request everything has come true.
constexpr auto patience = 20s;

} // namespace

void cluster::schedule_request() {
  after(some(10'000, 900'000), [this] {
    if (over_)
      return;
    if (quiet())
      return see_to_requests();
    uint64_t kind = random_.below(kinds);
    ask(kind);
    if (random_.one_in(4)) // once more, because nothing seemed to happen
      after(some(0, 100'000), [this, kind] { ask(kind); });
    if (random_.one_in(4)) // or the other way round
      after(some(0, 100'000), [this] { ask(random_.below(2)); });
    schedule_request();
  });
}

void cluster::ask(uint64_t kind) {
  if (over_ || !core_)
    return;
  // A stop ends what could still be seen: few runs meet one.
  if (kind == 2 && !random_.one_in(8))
    kind = 0;
  std::vector<std::string> names{"nobody"};
  for (auto& [process, who] : nodes_)
    if (who->alive)
      names.push_back(who->name);
  std::string name = names[random_.below(names.size())];
  uint64_t number = 1 + random_.below(6);
  at_coordinator(some(50, 2000), [this, kind, name, number]() mutable {
    user_state& user = *user_;
    user.last = now_;
    uint64_t life = life_;
    failure refused;
    std::string what;
    worker_id meant{};
    for (const auto& [id, who] : core_->nodes().all())
      if (who.connected && who.about.name == name)
        meant = id;
    step_number shown{disk_->steps.size()};
    switch (kind) {
    case 0:
      what = "pause";
      refused = core_->ask(pause_request{}, now_);
      break;
    case 1:
      what = "resume";
      refused = core_->ask(resume_request{}, now_);
      break;
    case 2:
      what = "stop";
      refused = core_->ask(stop_run{random_.one_in(2)}, now_);
      break;
    case 3:
      what = "checkpoint";
      refused = core_->ask(checkpoint_request{}, now_);
      break;
    case 4:
      what = "scale " + std::to_string(number);
      refused = core_->ask(scale_request{number}, now_);
      break;
    case 5:
      what = "drain " + name;
      refused = core_->ask(drain_request{name}, now_);
      break;
    case 6:
      what = "evict " + name;
      refused = core_->ask(evict_request{name}, now_);
      break;
    case 7:
      what = "set_balance";
      refused = core_->ask(balance_request{random_.one_in(2), 0.1}, now_);
      break;
    case 8:
      what = "kill " + name;
      refused = core_->ask(injected_fault{name, command_kind::kill, 0}, now_);
      break;
    case 9:
      what = "stall " + name;
      refused = core_->ask(
          injected_fault{name, command_kind::stall, double(number) / 3}, now_);
      break;
    default:
      what = "resume";
      kind = 1;
      refused = core_->ask(resume_request{}, now_);
      break;
    }
    ++(refused ? outcome_.refused : outcome_.accepted);
    log([&] {
      return "asked: " + what + ": " + (refused ? refused.message : "ok");
    });
    perform(box_.take());
    // The answer is sent behind what follows from it.
    bool answered = life == life_;
    if (refused && answered)
      return;
    if (kind <= 1 && !answered)
      user.paused.reset();
    else if (kind <= 1)
      user.paused = kind == 0;
    if (!answered)
      return;
    if (kind == 2)
      user.stop = true;
    if (kind == 3)
      user.copy = shown;
    if (kind == 4)
      user.workers = number;
    // One without a part in the run has left by now, and no membership knows
    // its number: the next coordinator may give it to another worker.
    if (kind == 5 && core_->nodes().at(meant).connected)
      user.leaving.insert(meant);
    if (kind == 6)
      for (worker_id one : core_->members().members()
                               ? core_->members().members()->workers
                               : std::vector<worker_id>{})
        if (one == meant && core_->nodes().at(one).connected)
          fail(name + " was evicted and is still a member");
  });
}

/// Faults and requests are over.
void cluster::see_to_requests() {
  instant since = now_;
  after(patience, [this, since] {
    if (!over_)
      check_requests(since);
  });
}

void cluster::check_requests(instant since) {
  user_state& user = *user_;
  if (!core_ || !core_->active() || since < user.quiet_at)
    return;
  run_phase phase = core_->phase();
  if (user.stop)
    fail("a stop was accepted, and the run is " + to_string(phase) + " " +
         std::to_string((now_ - since) / 1ms) + " ms later");
  if (user.paused == true && phase != run_phase::paused)
    fail("a pause was accepted, and the run is " + to_string(phase));
  if (user.paused == false && phase == run_phase::paused)
    fail("the run is paused, and nobody wants it to be");
  const generation_state* now = core_->members().members();
  if (now && phase == run_phase::training) {
    const std::vector<worker_id>& members = now->workers;
    for (worker_id who : user.leaving)
      if (std::count(members.begin(), members.end(), who) > 0)
        fail("worker " + to_string(who) + " was to leave and is still here");
    if (user.workers && options_.supervised && !core_->members().change() &&
        members.size() != *user.workers)
      fail(std::to_string(*user.workers) + " workers were asked for, " +
           std::to_string(members.size()) + " train");
  }
  size_t newest = 0;
  for (const auto& [file, state] : disk_->checkpoints)
    newest = std::max(newest, state.size());
  if (user.copy && newest < value(*user.copy))
    fail("a checkpoint was asked for at step " + to_string(*user.copy) +
         ", and there is none");
  if (phase != run_phase::paused)
    return;
  if (failure refused = core_->ask(resume_request{}, now_))
    fail("nobody can end the pause: " + refused.message);
  log("asked: resume");
  user.paused = false;
  perform(box_.take());
  see_to_requests();
}

/// Who does not belong here is told so, whatever the run does.
void cluster::knock() {
  after(some(10'000, 900'000), [this] {
    if (over_ || quiet())
      return;
    at_coordinator(some(50, 2000), [this] {
      worker_hello stranger;
      stranger.name = "stranger";
      stranger.pid = 1;
      stranger.host = "elsewhere";
      stranger.build_id = "another";
      auto answer = core_->hello(stranger, now_);
      const failure* refused = std::get_if<failure>(&answer);
      if (!refused || refused->code != errc::other_build)
        fail("a node of another build is taken in");
      // A second one with the name of somebody here.
      for (const auto& [id, who] : core_->nodes().all())
        if (who.connected) {
          stranger.name = who.about.name;
          stranger.build_id = "b";
          answer = core_->hello(stranger, now_);
          if (std::holds_alternative<welcome>(answer))
            fail("two nodes are named " + stranger.name);
          return;
        }
    });
    knock();
  });
}

} // namespace ballast::simulation
