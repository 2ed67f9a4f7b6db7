/// The coordinator's decisions: who trains, in which generation, and when a run
/// begins, pauses, stops and ends. Events and `now` in, actions out; no clock,
/// no socket, no file. Owned by the coordinator actor. All state of a run lies
/// in `run`, of a membership in `generation_state`.
#pragma once

#include "runtime/coordinator/actions.hpp"
#include "runtime/coordinator/coordinator_config.hpp"
#include "runtime/coordinator/coordinator_replies.hpp"
#include "runtime/coordinator/run_state.hpp"
#include "runtime/coordinator/straggler.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast {

class coordinator_core {
public:
  explicit coordinator_core(coordinator_config config);
  using hello_result = hello_answer;
  hello_result on_hello(const worker_hello& hello, instant now);
  void on_heartbeat(const heartbeat& beat, instant now);
  /// The connection is gone, or the process.
  actions on_node_down(worker_id who, const loss_cause& cause, instant now);
  /// The supervisor saw a child end, also one that never said hello.
  actions on_process_ended(const std::string& name, const process_end& how,
                           instant now);

  /// `life`: the term that the run's journal gave. A second job is refused.
  using submit_result = request_answer;
  submit_result on_submit(job what, std::string run_name, ballast::term life);
  /// An earlier life of a coordinator began this run.
  submit_result on_resume(past_run past, ballast::term life,
                          std::string token = {});
  actions on_prepared(set_summary set, instant now);
  actions on_prepare_failed(failure why);
  actions on_placed(plan what, std::vector<share_summary> shares, instant now);
  /// The workers of that generation cannot hold the set.
  actions on_no_room(generation of, memory_need lacks);
  /// Whatever a worker reports; each kind has its own, below.
  actions on_report(const worker_report& report, instant now);
  actions on_loaded(const worker_loaded& message, instant now);
  actions on_ready(const worker_ready& message, instant now);
  actions on_progress(const progress_report& report, instant now);
  actions on_evaluated(const evaluation_report& report);
  actions on_paused(const worker_paused& message, instant now);
  actions on_finished(const worker_finished& message);
  actions on_failed(const worker_failed& message, instant now);
  /// Its process was asked to end: it takes no new work from now on.
  actions on_leaving(worker_id who);
  actions on_ack(const final_ack& ack, instant now);
  actions on_model_saved(const saved_model& what);
  /// The shard manager looked at the load.
  actions on_balance(balance_answer answer, instant now);
  actions on_fetched(const chunks_fetched& message, instant now);
  actions on_copied(const state_copied& message);
  /// The copy of the state after that step is published, or why not.
  actions on_checkpoint(const checkpoint_identity& after, std::string file,
                        failure problem, instant now);
  /// Something outside the core went wrong: disk full, shard manager down.
  actions on_trouble(failure why);
  actions on_tick(instant now);

  using reply = request_answer;
  reply checkpoint();
  reply pause();
  reply resume();
  reply stop(bool by_signal);
  /// Its data first, then the switch; it ends once the others go on without it.
  reply drain(const std::string& name);
  reply evict(const std::string& name, instant now);
  reply scale(uint64_t workers);
  reply set_balance(std::optional<bool> enabled, std::optional<double> skew_tv);
  /// `amount`: seconds of a stall, factor of a slow-down, chunks to damage.
  reply hurt(const std::string& name, command_kind how, double amount);

  const coordinator_config& config() const { return config_; }
  const std::map<worker_id, node>& nodes() const { return nodes_; }
  const std::optional<run>& current() const { return run_; }
  /// A run is under way: another job is refused.
  bool active() const;
  run_phase phase() const { return run_ ? run_->phase : run_phase::idle; }
  const failure_detector& detector() const { return detector_; }
  const stragglers& held_up() const { return stragglers_; }
  std::string name_of(worker_id who) const;
  bool leaving(worker_id who) const { return leaving_.contains(who); }
  /// Here, and neither about to end nor dismissed from this run.
  bool may_train(const node& who) const;

private:
  bool member(worker_id who, generation gen) const;
  size_t rank_of(worker_id who) const;
  void form_generation(actions& out);
  void open_generation(generation number, std::vector<worker_id> workers,
                       commit_tracker commits);
  place_shares placing(const std::vector<worker_id>& of, plan before) const;
  bool waits_for_memory() const;
  bool may_make_room() const;
  journal_change journal(const plan& placed, const std::vector<worker_id>& of,
                         std::optional<position> from, plan_note note) const;
  void send_assignments(actions& out, const std::vector<worker_id>& to,
                        const assignment& alike) const;
  const node* find_node(const std::string& name) const;
  void forget_dead();
  bool respawns() const;
  void replace_workers(actions& out);
  void early_death(actions& out, const std::string& what, instant now);
  bool nobody_comes() const;
  bool may_change() const;
  void consider_change(actions& out);
  actions on_change_placed(plan placed, std::vector<share_summary> shares);
  actions on_change_loaded(const worker_loaded& message);
  void observe(actions& out, instant now);
  void offer_transfer(actions& out);
  void transfer_took_effect(actions& out, step_number from);
  void tell_plan(actions& out, const plan&, const plan_note&, step_number from);
  void tell_switch(actions& out, membership_change& change, step_number from);
  void drop_transfer(actions& out, const std::string& why,
                     transfer_end how = transfer_end::dropped);
  void note_load(size_t rank, const progress_report& report);
  void tell_stragglers(actions& out, instant now);
  void switched(actions& out, step_number base);
  void release_leavers(actions& out);
  position position_after(step_number base) const;
  void to_all(actions& out, command_kind kind, const std::string& reason);
  actions lose(worker_id who, const loss_cause& cause, instant now);
  void note_name(const std::string& name);
  void restore(actions& out, instant now);
  void expect(actions& out, const past_run& past, instant now);
  bool returns(const worker_hello& hello) const;
  bool joined_anew(worker_id who) const;
  void welcome_back(hello_result& out, const worker_hello& hello, instant now);
  actions refuse_step(const worker_failed& message, instant now);
  void conclude_refused(actions& out, instant now);
  bool in_a_step(worker_id who) const;
  void locate_deaths(actions& out, ledger at);
  void died_in_vain(actions& out);
  void explain_death(actions& out, worker_id who, const loss_cause& how);
  void judge(actions& out, worker_id who);
  void acquit(const committed_step& step);
  restart_point point_here() const;
  void keep_point(actions& out);
  void want_copy(actions& out);
  void fetch_copy(actions& out);
  bool can_go_back() const;
  void go_back(actions& out, std::string reason);
  void hand_over(actions& out);
  actions lose_for_good(worker_id who, const loss_cause& cause, instant now);
  void show_out(actions& out, worker_id who, std::string dismissed = {},
                std::string reason = {});
  actions exclude(worker_id who, const loss_cause& cause, instant now);
  bool newcomer(worker_id who) const;
  actions dismiss(worker_id who, losses::dismissed why, instant now);
  bool judge_opening(actions& out, instant now);
  void tell_slow_opening(actions& out, instant now);
  std::string in_words(const worker_failed& message) const;
  actions hold_back(worker_id who, const std::string& reason, instant now);
  void let_back(instant now);
  void call_back_absent(size_t least);
  std::set<worker_id> unfit(const std::vector<broken_link>& found,
                            const std::map<worker_id, std::string>& unable,
                            bool of_change) const;
  void tell_loss(actions& out, worker_id who, const loss_cause& cause);
  void explain(actions& out, worker_id who, const loss_cause& cause,
               instant now);
  void recover(actions& out, recovery_reason why, instant bad_sign, instant now,
               worker_id lost = {});
  void decide(actions& out, instant now);
  void recovered(actions& out, instant now);
  void excuse_own_freeze(instant now);
  void judge_silence(actions& out, instant now);
  bool waits_for_holder(actions& out, instant now);
  void say_waiting(actions& out, const std::string& why);
  void steer(actions& out);
  void end_without_holders(actions& out, const std::string& reason);
  void part_from_all(actions& out, instant now);
  void park(actions& out);
  void let_go(actions& out, worker_id who);
  void tell_thinned(actions& out, run_event what, bool last);
  actions fail(failure why);
  void fail(actions& out, failure why); // behind what is already decided
  void finish(actions& out, run_phase phase, int exit_code, std::string reason);
  void commit(const committed_step& step, actions& out);
  void commit_all(std::vector<committed_step> steps, actions& out);
  epoch_number evaluation_owed() const;
  void note_evaluation(const evaluation_report& report, actions& out);
  void enter(ledger& book, plan_number number) const;
  void follow(ledger& book, const committed_step& step) const;
  ledger book_at(const std::vector<committed_step>& steps) const;
  void assign(actions& out, const ledger& start);
  void fetch_from_somebody(actions& out, const std::string& problem);
  void ask_again_for_model(actions& out, instant now);
  bool owes_copy() const;
  void tell_long_wait(actions& out, instant now);
  coordinator_config config_;
  failure_detector detector_;
  stragglers stragglers_;
  std::map<worker_id, node> nodes_;
  std::map<std::string, uint32_t> incarnations_; // by name
  std::map<std::string, uint64_t> memory_; // by host: most that a node found
  std::map<worker_id, departure> unexplained_;
  bool end_awaits_reason_ = false;       // of the loss that ends the run
  std::optional<instant> waiting_since_; // for workers, in `run`
  std::set<worker_id> leaving_;          // asked to leave
  uint32_t workers_wanted_ = 0;          // of `run`, which starts them
  std::optional<uint32_t> workers_most_; // once `scale` was asked for
  uint32_t last_name_ = 0;               // the number in it
  std::set<std::string> starting_;       // started, not here yet
  std::set<std::string> expelled_;       // their process may still be there
  std::set<worker_id> proven_;           // were part of a committed step
  std::vector<instant> early_deaths_;    // before that
  std::set<worker_id> asked_for_model_;
  worker_id last_worker_{};
  generation last_generation_{};
  plan_number last_plan_{};
  std::optional<instant> ticked_; // the newest on_tick
  std::optional<run> run_;
};

} // namespace ballast
