/// Users of a simulated cluster: they ask for anything at any moment. What was
/// accepted must come true, or its end be told.
#include "tests/simulation/cluster_parts.hpp"

#include "runtime/coordinator/asking.hpp"

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
  at_coordinator(some(50, 2000), [this, kind, name, number] {
    user_request{*this, kind > 9 ? 1 : kind, name, number}.put();
  });
}

failure cluster::user_request::answer(std::string& in_words) const {
  auto say = [&](const std::string& what, const auto& request) {
    in_words = what;
    return coordinator::ask(*in.core_, request, in.now_);
  };
  auto fault = [&](const std::string& what, command_kind how, double amount) {
    return say(what + " " + name,
               coordinator::injected_fault{name, how, amount});
  };
  switch (kind) {
  case 0:
    return say("pause", pause_request{});
  case 2:
    return say("stop", coordinator::stop_run{in.random_.one_in(2)});
  case 3:
    return say("checkpoint", checkpoint_request{});
  case 4:
    return say("scale " + std::to_string(number), scale_request{number});
  case 5:
    return say("drain " + name, drain_request{name});
  case 6:
    return say("evict " + name, evict_request{name});
  case 7:
    return say("set_balance", balance_request{in.random_.one_in(2), 0.1});
  case 8:
    return fault("kill", command_kind::kill, 0);
  case 9:
    return fault("stall", command_kind::stall, double(number) / 3);
  default:
    return say("resume", resume_request{});
  }
}

void cluster::user_request::put() const {
  in.user_->last = in.now_;
  const uint64_t life = in.life_;
  worker_id meant{};
  for (const auto& [id, who] : in.core_->nodes.all())
    if (who.connected && who.about.name == name)
      meant = id;
  const step_number shown{in.disk_->steps.size()};
  std::string in_words;
  const failure refused = answer(in_words);
  ++(refused ? in.outcome_.refused : in.outcome_.accepted);
  in.log([&] {
    return "asked: " + in_words + ": " + (refused ? refused.message : "ok");
  });
  in.perform(in.box_.take());
  // The answer is sent behind what follows from it.
  const bool answered = life == in.life_;
  if (!refused && answered)
    promise(meant, shown);
  else if (!answered && kind <= 1)
    in.user_->paused.reset();
}

void cluster::user_request::promise(worker_id meant, step_number shown) const {
  user_state& user = *in.user_;
  if (kind <= 1)
    user.paused = kind == 0;
  if (kind == 2)
    user.stop = true;
  if (kind == 3)
    user.copy = shown;
  if (kind == 4)
    user.workers = number;
  // One without a part in the run has left by now, and no membership knows its
  // number: the next coordinator may give it to another worker.
  if (kind == 5 && in.core_->nodes.at(meant).connected)
    user.leaving.insert(meant);
  if (kind == 6)
    for (worker_id one : in.core_->members.members()
                             ? in.core_->members.members()->workers
                             : std::vector<worker_id>{})
      if (one == meant && in.core_->nodes.at(one).connected)
        in.fail(name + " was evicted and is still a member");
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
  if (!core_ || !core_->members.active() || since < user.quiet_at)
    return;
  coordinator::run_phase phase = core_->members.phase();
  if (user.stop)
    fail("a stop was accepted, and the run is " + to_string(phase) + " " +
         std::to_string((now_ - since) / 1ms) + " ms later");
  if (user.paused == true && phase != coordinator::run_phase::paused)
    fail("a pause was accepted, and the run is " + to_string(phase));
  if (user.paused == false && phase == coordinator::run_phase::paused)
    fail("the run is paused, and nobody wants it to be");
  const coordinator::generation_state* now = core_->members.members();
  if (now && phase == coordinator::run_phase::training) {
    const std::vector<worker_id>& members = now->workers;
    for (worker_id who : user.leaving)
      if (std::count(members.begin(), members.end(), who) > 0)
        fail("worker " + to_string(who) + " was to leave and is still here");
    if (user.workers && options_.supervised && !core_->members.change() &&
        members.size() != *user.workers)
      fail(std::to_string(*user.workers) + " workers were asked for, " +
           std::to_string(members.size()) + " train");
  }
  size_t newest = 0;
  for (const auto& [file, state] : disk_->checkpoints)
    if (!is_in_memory(file))
      newest = std::max(newest, state.size());
  if (user.copy && newest < value(*user.copy))
    fail("a checkpoint was asked for at step " + to_string(*user.copy) +
         ", and there is none");
  if (phase != coordinator::run_phase::paused)
    return;
  if (failure refused = coordinator::ask(*core_, resume_request{}, now_))
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
      auto answer = greet(*core_, stranger, now_);
      const failure* refused = std::get_if<failure>(&answer);
      if (!refused || refused->code != errc::other_build)
        fail("a node of another build is taken in");
      // A second one with the name of somebody here.
      for (const auto& [id, who] : core_->nodes.all())
        if (who.connected) {
          stranger.name = who.about.name;
          stranger.build_id = "b";
          answer = greet(*core_, stranger, now_);
          if (std::holds_alternative<welcome>(answer))
            fail("two nodes are named " + stranger.name);
          return;
        }
    });
    knock();
  });
}

} // namespace ballast::simulation
