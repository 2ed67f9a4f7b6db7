/// What the coordinator's shell does: one function for each kind of action.
#include "tests/simulation/cluster_parts.hpp"

#include "runtime/balance/repair.hpp"

#include <algorithm>

namespace ballast::simulation {

using namespace std::chrono_literals;

struct cluster::performer {
  cluster& in;

  void operator()(const coordinator::prepare_data&) {
    in.at_coordinator(in.some(1000, 30'000), [me = &in] {
      set_summary summary;
      summary.origin = "o";
      summary.train_rows = me->options_.rows;
      summary.test_rows = me->options_.judged ? 10 : 0;
      for (const ledger::chunk_info& chunk : me->set_.train)
        summary.chunk_rows.push_back(chunk.rows);
      if (me->options_.balanced)
        me->planner_ = std::make_unique<balance::balancer>(
            balance::balance_policy{.global_batch = me->options_.global_batch,
                                    .leaves = me->options_.leaves},
            std::make_shared<ledger::manifest>(me->set_));
      // The run may have ended while its data were read.
      if (me->core_->members.phase() == coordinator::run_phase::preparing)
        me->tell_core(coordinator::data_prepared{summary});
    });
  }

  void operator()(const balance::place_shares& asked) {
    in.at_coordinator(in.some(10, 2000), [me = &in, what = asked] {
      const placed_shares placed = place(me->set_, 0.1, what);
      if (placed.lacks)
        me->tell_core(
            coordinator::no_room_found{what.generation, placed.lacks});
      else
        me->tell_core(coordinator::shares_placed{placed.what, placed.shares});
    });
  }

  void operator()(const coordinator::journal_change& what) {
    in.keep(what);
    // A slow disk; what comes meanwhile waits.
    if (in.options_.coordinator_stalls && in.random_.one_in(40))
      in.stall_coordinator(in.some(1000, 900'000));
  }
  void operator()(const coordinator::journal_offer& what) { in.keep(what); }
  void operator()(const coordinator::journal_effective& what) { in.keep(what); }
  void operator()(const coordinator::journal_commit&) {}
  void operator()(const coordinator::journal_requests& asked) {
    in.disk_->asked = asked.what;
  }
  void operator()(const coordinator::journal_job& decided) {
    in.what_ = decided.what;
  }
  void operator()(const coordinator::journal_probe&) {}
  void operator()(const coordinator::apply_balance&) {}

  void operator()(const coordinator::write_event& line) {
    in.keep(line);
    if (const auto* e = std::get_if<coordinator::events::straggler>(&line.what))
      in.check_straggler(*e);
    if (std::holds_alternative<coordinator::events::paused>(line.what))
      ++in.outcome_.pauses;
    if (const auto* e =
            std::get_if<coordinator::events::waiting_for_memory>(&line.what)) {
      ++in.outcome_.no_room;
      in.log([&] { return "waiting for memory: " + e->reason; });
    }
    if (const auto* e = std::get_if<coordinator::events::waiting>(&line.what))
      in.log([&] { return "waiting: " + e->reason; });
    if (const auto* e = std::get_if<coordinator::events::moved>(&line.what))
      in.outcome_.ahead += e->ahead.size();
    if (const auto* e = std::get_if<coordinator::events::error>(&line.what))
      in.log([&] { return "error: " + e->why.message; });
  }

  void operator()(const coordinator::observe_load& look) {
    in.at_coordinator(in.some(10, 2000), [me = &in, view = look.what] {
      me->tell_core(me->answer(view));
    });
  }

  void operator()(const coordinator::send_fetch& one) {
    in.to_node(one.to, [me = &in, order = one.what](node_state& who) {
      me->on_order(who, order);
    });
  }
  void operator()(const coordinator::send_assignment& one) {
    in.to_node(one.to, [me = &in, order = one.what](node_state& who) {
      me->on_assignment(who, order);
    });
  }
  void operator()(const coordinator::send_connect& one) {
    in.to_node(one.to, [me = &in, order = one.what](node_state& who) {
      me->on_order(who, order);
    });
  }
  void operator()(const coordinator::send_fence& one) {
    in.log([&] {
      return "fence " + to_string(one.what.level) + " to " +
             in.core_->nodes.name_of(one.to) + ": " + one.what.reason;
    });
    in.to_node(one.to, [me = &in, order = one.what](node_state& who) {
      me->on_fence(who, order);
    });
  }
  void operator()(const coordinator::send_plan& one) {
    in.to_node(one.to, [me = &in, order = one.what](node_state& who) {
      me->on_order(who, order);
    });
  }
  void operator()(const coordinator::send_command& one) {
    in.to_node(one.to, [me = &in, order = one.what](node_state& who) {
      me->on_command(who, order);
    });
  }

  /// Told once more, and then not spoken to.
  void operator()(const coordinator::expel& out) {
    ++in.outcome_.excluded;
    in.log([&] { return in.core_->nodes.name_of(out.who) + " is excluded"; });
    bool for_good = !out.dismissed.empty();
    command last{in.core_->config.term,
                 {},
                 for_good ? command_kind::dismiss : command_kind::expel,
                 for_good ? out.dismissed : "excluded"};
    in.to_node(out.who, [me = &in, last](node_state& who) {
      me->on_command(who, last);
    });
    for (auto& [process, who] : in.nodes_)
      if (who->handle == out.who)
        who->handle = {};
    if (in.options_.supervised)
      in.expelled(in.core_->nodes.name_of(out.who));
  }

  void operator()(const coordinator::start_worker& one) {
    if (!in.options_.supervised)
      in.fail("somebody is to start " + one.name + ", and nobody can");
    in.log([&] { return "starts " + one.name; });
    in.after(in.some(100, 3000), [me = &in, name = one.name] {
      if (!me->over_)
        me->start_node(name);
    });
  }

  void operator()(const coordinator::write_steps& what) {
    in.disk_->trained_at = in.now_;
    in.check_shown(what.steps);
  }
  void operator()(const coordinator::write_digests&) {}
  void operator()(const coordinator::write_workers&) {}
  void operator()(const coordinator::fetch_model& what) { in.publish(what); }
  void operator()(const coordinator::publish_model& what) { in.publish(what); }
  void operator()(const coordinator::fetch_checkpoint& what) {
    in.publish(what);
  }
  /// As a message, so that what was decided beside it is done first.
  void operator()(const coordinator::open_memory&) {
    in.at_coordinator(1us, [me = &in] {
      me->tell_core(coordinator::memory_opened{
          !me->disk_->steps.empty() && me->random_.one_in(8)
              ? failure{errc::invalid_job, "no room in memory", {}}
              : failure{}});
    });
  }
  void operator()(const coordinator::serve_checkpoint& what) {
    in.disk_->served = what.file;
  }
  /// Moved aside: if it was good, the run is found to go back behind it.
  void operator()(const coordinator::refuse_checkpoint& what) {
    in.log([&] { return "refuses " + what.file + ": " + what.reason; });
    in.disk_->checkpoints.erase(what.file);
  }
  void operator()(const coordinator::undo_steps& what) { in.keep(what); }
  /// As a message, so that what was decided beside it is done first.
  void operator()(const coordinator::give_up& trouble) {
    in.at_coordinator(1us, [me = &in, why = trouble.why] {
      me->tell_core(coordinator::outside_trouble{why});
    });
  }
  void operator()(const coordinator::end_run& how) { in.run_ended(how); }
};

void cluster::perform(const coordinator::actions& list) {
  uint64_t life = life_;
  for (const coordinator::action& one : list) {
    if (over_ || !core_ || life != life_)
      return;
    if (crash_soon_ && !quiet() && random_.one_in(3))
      return crash_coordinator();
    std::visit(performer{*this}, one);
  }
  if (core_ && std::exchange(last_phase_, core_->members.phase()) !=
                   core_->members.phase())
    last_progress_ = now_;
}

void cluster::run_ended(const coordinator::end_run& how) {
  outcome_.state = how.state;
  outcome_.reason = how.reason;
  log([&] { return "the run ends: " + how.state + " " + how.reason; });
  check_end();
  check_coverage();
  bool again = how.state == "done" && run_number_ < options_.runs;
  if (!again) {
    over_ = true;
    return;
  }
  ++run_number_;
  at_coordinator(some(1000, 300'000), [this] { begin_run(); });
}

} // namespace ballast::simulation
