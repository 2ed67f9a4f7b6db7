#include "runtime/worker/lifecycle.hpp"

#include <algorithm>
#include <utility>

namespace ballast::worker {

namespace {

/// What is here serves the order, too: chunks, model, and a state perhaps.
bool goes_on_with(const assignment& here, const assignment& order) {
  return here.run == order.run && here.worker == order.worker &&
         !order.from_seed && !order.from_checkpoint;
}

} // namespace

// -- what is true now ---------------------------------------------------------

const assignment* worker_lifecycle::present() const {
  return std::visit(
      [](const auto& now) -> const assignment* {
        if constexpr (requires { now.order; })
          return &now.order;
        return nullptr;
      },
      state_);
}

const assignment* worker_lifecycle::next() const {
  auto* now = std::get_if<stepping>(&state_);
  return now && now->next ? &now->next->order : nullptr;
}

bool worker_lifecycle::wants(generation of) const {
  if (of <= fenced_ || std::holds_alternative<fenced>(state_))
    return false;
  auto is = [of](const assignment* one) {
    return one && one->generation == of;
  };
  return is(present()) || is(next());
}

generation worker_lifecycle::newest() const {
  generation out = fenced_;
  for (const assignment* one : {present(), next()})
    if (one)
      out = std::max(out, one->generation);
  if (auto* now = std::get_if<leaving>(&state_); now && now->then)
    out = std::max(out, now->then->generation);
  return out;
}

bool worker_lifecycle::runs() const {
  return std::holds_alternative<listening>(state_) ||
         std::holds_alternative<joining>(state_) ||
         std::holds_alternative<stepping>(state_);
}

worker_phase worker_lifecycle::phase() const {
  if (std::holds_alternative<loading>(state_))
    return worker_phase::loading;
  return runs() ? worker_phase::opening : worker_phase::idle;
}

const char* worker_lifecycle::state() const {
  constexpr const char* names[] = {"idle",    "loading",  "listening",
                                   "joining", "stepping", "fenced",
                                   "leaving", "lost"};
  static_assert(std::size(names) == std::variant_size_v<decltype(state_)>);
  return names[state_.index()];
}

worker_lifecycle::beside* worker_lifecycle::next_in(generation of,
                                                    beside::progress at) {
  auto* now = std::get_if<stepping>(&state_);
  return now && now->next && now->next->order.generation == of &&
                 now->next->at == at
             ? &*now->next
             : nullptr;
}

// -- orders -------------------------------------------------------------------

worker_actions worker_lifecycle::on_assignment(const assignment& order) {
  if (std::holds_alternative<lost>(state_) || order.generation <= fenced_)
    return {};
  if (auto* now = std::get_if<leaving>(&state_)) {
    // The memory of what goes is needed for what comes.
    if (!now->then || now->then->generation < order.generation)
      now->then = order;
    return {};
  }
  const assignment* here = present();
  if (!here) {
    state_ = loading{order};
    return {load_share{order}};
  }
  if (!goes_on_with(*here, order)) {
    copying_ = {};
    state_ = leaving{.asked = false, .then = order};
    return {drop_run{"a new assignment"}};
  }
  const bool stopped = std::holds_alternative<fenced>(state_);
  if (!stopped && order.generation <= here->generation)
    return {};
  // Whoever trains gets ready beside it. Whoever does not is a newcomer, also
  // with what an earlier attempt left here.
  if (auto* now = std::get_if<stepping>(&state_); now && order.beside) {
    if (now->next && order.generation <= now->next->order.generation)
      return {};
    now->next = beside{order};
    return {load_beside{order}};
  }
  copying_ = {};
  worker_actions out;
  if (!stopped)
    out.push_back(stop_generations{"a later generation"});
  state_ = loading{order};
  out.push_back(load_share{order});
  return out;
}

worker_actions worker_lifecycle::on_connect(const connect_order& order) {
  if (order.generation <= fenced_)
    return {};
  if (auto* now = std::get_if<listening>(&state_);
      now && now->order.generation == order.generation) {
    state_ = joining{std::move(now->order)};
    return {join_ranks{order}};
  }
  if (beside* one = next_in(order.generation, beside::progress::listening)) {
    one->at = beside::progress::joining;
    return {join_beside{order}};
  }
  return {};
}

worker_actions worker_lifecycle::on_fence(const fence_order& order) {
  fenced_ = std::max(fenced_, order.level);
  copying_ = {};
  if (auto* now = std::get_if<leaving>(&state_)) {
    if (now->then && now->then->generation <= fenced_)
      now->then.reset();
    return {};
  }
  const assignment* here = present();
  if (!here || std::holds_alternative<fenced>(state_))
    return {};
  state_ = fenced{assignment(*here)};
  return {stop_generations{order.reason}};
}

worker_actions worker_lifecycle::on_command(const command& order) {
  const assignment* here = present();
  if (!here)
    return {};
  switch (order.kind) {
  case command_kind::slow:
  case command_kind::damage:
  case command_kind::flip:
    return {inject_fault{order}};
  case command_kind::recorded:
    return {forget_steps{order.step}};
  default:
    if (!runs() || here->generation != order.generation)
      return {};
    return {post_command{order}};
  }
}

worker_actions worker_lifecycle::on_plan(const plan_offer& offer) {
  if (!runs() || offer.what.generation < present()->generation)
    return {};
  return {post_plan{offer.what}};
}

worker_actions worker_lifecycle::on_fetch(const fetch_order& order) {
  if (!runs() || order.generation != present()->generation)
    return {};
  copying_ = order.number;
  return {copy_chunks{order}};
}

worker_actions worker_lifecycle::leave(const std::string& reason) {
  copying_ = {};
  if (auto* now = std::get_if<leaving>(&state_)) {
    *now = leaving{.asked = true, .then = {}};
    return {};
  }
  if (!present())
    return {answer_leave{}};
  state_ = leaving{.asked = true, .then = {}};
  return {drop_run{reason}};
}

// -- news from the threads ----------------------------------------------------

worker_actions worker_lifecycle::on_loaded(generation of,
                                           std::string collective_address,
                                           std::string data_address,
                                           uint64_t state_bytes,
                                           std::string probe) {
  worker_loaded message{{},
                        of,
                        std::move(collective_address),
                        std::move(data_address),
                        state_bytes,
                        std::move(probe)};
  if (auto* now = std::get_if<loading>(&state_);
      now && now->order.generation == of) {
    message.worker = now->order.worker;
    state_ = listening{std::move(now->order)};
    return {send_report{std::move(message)}};
  }
  if (beside* one = next_in(of, beside::progress::loading)) {
    message.worker = one->order.worker;
    one->at = beside::progress::listening;
    return {send_report{std::move(message)}};
  }
  return {};
}

worker_actions worker_lifecycle::on_load_failed(generation of,
                                                worker_failed why) {
  // What a fence broke off has not failed.
  if (!wants(of))
    return {};
  why.worker = present()->worker;
  why.generation = of;
  return {send_report{std::move(why)}};
}

bool worker_lifecycle::on_switched() {
  auto* now = std::get_if<stepping>(&state_);
  if (!now || !now->next || now->next->at != beside::progress::joining)
    return false;
  state_ = joining{std::move(now->next->order)};
  return true;
}

worker_actions worker_lifecycle::on_report(worker_report what) {
  // What is held is told in the answer to the fence.
  if (!std::holds_alternative<joining>(state_) &&
      !std::holds_alternative<stepping>(state_))
    return {};
  const assignment& here = *present();
  std::visit(
      [&here](auto& one) {
        one.worker = here.worker;
        if constexpr (requires { one.generation; })
          one.generation = here.generation;
      },
      what);
  if (auto* failed = std::get_if<worker_failed>(&what);
      failed && failed->code == errc::device_failed && device_ends_process_) {
    state_ = lost{};
    return {end_process{failed->message}};
  }
  if (std::holds_alternative<worker_ready>(what))
    if (auto* now = std::get_if<joining>(&state_))
      state_ = stepping{std::move(now->order), {}};
  return {send_report{std::move(what)}};
}

worker_actions worker_lifecycle::on_fetched(chunks_fetched what) {
  if (copying_ != what.number || what.number == plan_number{})
    return {};
  copying_ = {};
  return {send_report{std::move(what)}};
}

worker_actions worker_lifecycle::on_dropped() {
  auto* now = std::get_if<leaving>(&state_);
  if (!now)
    return {};
  worker_actions out;
  if (now->asked)
    out.push_back(answer_leave{});
  std::optional<assignment> then = std::move(now->then);
  if (!then) {
    state_ = idle{};
    return out;
  }
  out.push_back(load_share{*then});
  state_ = loading{std::move(*then)};
  return out;
}

} // namespace ballast::worker
