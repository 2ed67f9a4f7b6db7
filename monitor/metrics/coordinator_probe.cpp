#include "monitor/metrics/exposition.hpp"
#include "runtime/base/check.hpp"
#include "store/clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

namespace ballast::monitor {

namespace events = coordinator::events;
namespace recovery_reasons = coordinator::recovery_reasons;

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
constexpr const char* recovery_phases[] = {"detect", "fence", "plan",
                                           "open",   "sync",  "first_step"};
constexpr const char* recovery_kinds[] = {"crash",       "silence", "evicted",
                                          "coordinator", "bits",    "other"};

/// A bounded label for what was lost.
struct recovery_label {
  const char* operator()(const recovery_reasons::coordinator_restarted&) const {
    return "coordinator";
  }
  const char* operator()(const recovery_reasons::worker_silent&) const {
    return "silence";
  }
  const char* operator()(const recovery_reasons::collective_failed&) const {
    return "other";
  }
  const char* operator()(const recovery_reasons::bits_differed&) const {
    return "bits";
  }
  const char* operator()(const recovery_reasons::worker_lost& one) const {
    return std::visit(*this, one.cause);
  }
  const char* operator()(const process_end&) const { return "crash"; }
  const char* operator()(const losses::connection_closed&) const {
    return "crash";
  }
  const char* operator()(const losses::process_gone&) const { return "crash"; }
  const char* operator()(const losses::silent&) const { return "silence"; }
  const char* operator()(const losses::evicted&) const { return "evicted"; }
  /// After a coordinator was restarted.
  const char* operator()(const losses::ended_unseen&) const {
    return "coordinator";
  }
  const char* operator()(const losses::not_returned&) const {
    return "coordinator";
  }
  const char* operator()(const losses::joined_anew&) const { return "other"; }
  const char* operator()(const losses::starved&) const { return "other"; }
  const char* operator()(const losses::dismissed& one) const {
    return one.code == errc::other_bits ? "bits" : "other";
  }
  const char* operator()(const losses::cut_off&) const { return "other"; }
};

double seconds(events::milliseconds time) {
  return time.count() / 1e3;
}

/// Of an event that tells of an error.
errc code_of(const coordinator::run_event& what) {
  if (const auto* e = std::get_if<events::error>(&what))
    return e->why.code;
  if (const auto* e = std::get_if<events::step_refused>(&what))
    return e->why.code;
  if (const auto* e = std::get_if<events::checkpoint_failed>(&what))
    return e->why.code;
  if (std::holds_alternative<events::respawn_ended>(what))
    return errc::worker_lost;
  if (std::holds_alternative<events::disk_full>(what))
    return errc::disk_full;
  return errc::none;
}
} // namespace

struct coordinator_probe::metrics {
  struct worker_gauges {
    Gauge* rate = nullptr;
    Gauge* batch = nullptr;
    Gauge* owned = nullptr;
    Gauge* skew = nullptr;
    Gauge* copies = nullptr;
    Gauge* heartbeat = nullptr;
    std::array<Counter*, coordinator::time_causes> time{};
    double skew_value = 0;
  };

  explicit metrics(const std::string& run) : out({{"run", run}}) {
    Family<Gauge>& states = out.gauges("ballast_run_state");
    for (std::string_view name : run_states())
      state[name] = &states.Add({{"state", std::string(name)}});
    Family<Counter>& plans = out.counters("ballast_plans_total");
    for (const char* outcome : {"offered", "effective", "dropped"})
      plan.push_back(&plans.Add({{"outcome", outcome}}));
    errors = error_counters(out.counters("ballast_errors_total"));
    Family<Counter>& again = out.counters("ballast_recoveries_total");
    for (const char* reason : recovery_kinds)
      recoveries[reason] = &again.Add({{"reason", reason}});
    Family<Histogram>& times = out.histograms("ballast_recovery_seconds");
    for (const char* phase : recovery_phases)
      phases[phase] = &times.Add({{"phase", phase}}, step_buckets);
  }

  /// Gauges appear when their value is known: a 0 would be a wrong value.
  void set(Gauge*& gauge, std::string_view name, double value) {
    std::lock_guard lock(mutex);
    if (!gauge)
      gauge = &out.gauges(name).Add({});
    gauge->Set(value);
  }

  /// Call with `mutex` locked.
  static void set(Gauge*& gauge, Family<Gauge>& family,
                  const std::string& worker, double value) {
    if (!gauge)
      gauge = &family.Add({{"worker", worker}});
    gauge->Set(value);
  }

  void recovered(const events::generation_begun::recovered& how) {
    recoveries.at(std::visit(recovery_label{}, how.reason))->Increment();
    const std::pair<const char*, events::milliseconds> all[] = {
        {"detect", how.detect}, {"fence", how.fence},
        {"plan", how.plan},     {"open", how.open},
        {"sync", how.sync},     {"first_step", how.first_step}};
    for (const auto& [name, time] : all)
      phases.at(name)->Observe(seconds(time));
  }

  /// One that is undefined now has no value, rather than an old one.
  void show(const ballast::metrics::metric_values& values) {
    std::lock_guard lock(mutex);
    Family<Gauge>& family = out.gauges("ballast_evaluation_metric");
    for (const ballast::metrics::metric_value& one : values) {
      const double* number = ballast::metrics::number_of(values, one.what);
      const std::string name = to_string(one.what);
      auto gauge = evaluation_metrics.find(name);
      if (number && gauge == evaluation_metrics.end())
        gauge =
            evaluation_metrics.emplace(name, &family.Add({{"metric", name}}))
                .first;
      if (number) {
        gauge->second->Set(*number);
      } else if (gauge != evaluation_metrics.end()) {
        family.Remove(gauge->second);
        evaluation_metrics.erase(gauge);
      }
    }
  }

  /// Counters of totals since the begin of the run.
  void show(const coordinator::run_status::balancing& now) {
    set(makespan, "ballast_balance_makespan_ratio", now.makespan_ratio);
    in_flight.Set(double(now.moves_in_flight));
    auto raise = [](Counter& counter, uint64_t to) {
      if (double(to) > counter.Value())
        counter.Increment(double(to) - counter.Value());
    };
    raise(moved_by_skew, now.moved_by_skew);
    raise(moved_by_size,
          now.moved_rows - now.moved_by_skew - now.moved_by_coverage);
    raise(moved_by_coverage, now.moved_by_coverage);
    raise(bound, now.bound_rows);
    raise(moved_bytes, now.moved_bytes);
  }

  void show(const coordinator::checkpoint_figures& now) {
    if (!now.cost)
      return;
    set(pause, "ballast_checkpoint_pause_seconds", now.cost->pause_s);
    set(best_interval, "ballast_checkpoint_best_interval_seconds",
        now.cost->best.interval_s);
  }

  /// A member, which has a share.
  void show(const coordinator::worker_status& now) {
    std::lock_guard lock(mutex);
    worker_gauges& one = workers[now.name];
    set(one.rate, rates, now.name, now.samples_per_s);
    set(one.batch, batches, now.name, now.share->batch);
    set(one.owned, owned, now.name, double(now.share->rows_owned));
    set(one.skew, skews, now.name, now.share->skew_tv);
    one.skew_value = now.share->skew_tv;
    update_skew_max();
    if (now.share->copy_bytes_per_s)
      set(one.copies, copies, now.name, *now.share->copy_bytes_per_s);
    if (now.heartbeat_age)
      set(one.heartbeat, heartbeats, now.name, now.heartbeat_age->count());
    if (now.spent)
      show_time(one, now.name, *now.spent);
  }

  void show_time(worker_gauges& to, const std::string& worker,
                 const coordinator::spent_time& spent) {
    for (size_t i = 0; i < coordinator::time_causes; ++i) {
      if (!to.time[i])
        to.time[i] = &times.Add(
            {{"worker", worker},
             {"cause", ballast::to_string(coordinator::time_cause(i))}});
      const double more = std::chrono::duration<double>(spent.by[i]).count() -
                          to.time[i]->Value();
      if (more > 0)
        to.time[i]->Increment(more);
    }
  }

  void forget(const std::string& worker) {
    std::lock_guard lock(mutex);
    auto place = workers.find(worker);
    if (place == workers.end())
      return;
    const worker_gauges& one = place->second;
    for (auto [family, gauge] :
         {std::pair(&rates, one.rate), std::pair(&batches, one.batch),
          std::pair(&owned, one.owned), std::pair(&skews, one.skew),
          std::pair(&copies, one.copies),
          std::pair(&heartbeats, one.heartbeat)})
      if (gauge)
        family->Remove(gauge);
    for (Counter* time : one.time)
      if (time)
        times.Remove(time);
    workers.erase(place);
    update_skew_max();
  }

  /// Call with `mutex` locked.
  void update_skew_max() {
    double most = 0;
    for (const auto& [name, one] : workers)
      most = std::max(most, one.skew_value);
    if (!skew_max)
      skew_max = &out.gauges("ballast_skew_tv_max").Add({});
    skew_max->Set(most);
  }

  exposition out;
  std::map<std::string, Counter*> recoveries; // by kind of reason
  std::map<std::string, Histogram*> phases;
  Histogram& checkpoints =
      out.histograms("ballast_checkpoint_seconds").Add({}, step_buckets);
  Counter& steps = out.counters("ballast_steps_committed_total").Add({});
  Counter& samples = out.counters("ballast_samples_committed_total").Add({});
  Family<Gauge>& rates = out.gauges("ballast_worker_samples_per_second");
  Family<Gauge>& batches = out.gauges("ballast_worker_batch_samples");
  Family<Gauge>& owned = out.gauges("ballast_worker_samples_owned");
  Family<Gauge>& skews = out.gauges("ballast_worker_skew_tv");
  Family<Gauge>& copies = out.gauges("ballast_worker_copy_bytes_per_second");
  Family<Gauge>& heartbeats = out.gauges("ballast_heartbeat_age_seconds");
  Family<Counter>& times = out.counters("ballast_worker_time_seconds_total");
  Family<Counter>& moved = out.counters("ballast_moved_samples_total");
  Counter& moved_by_skew = moved.Add({{"reason", "skew"}});
  Counter& moved_by_size = moved.Add({{"reason", "size"}});
  Counter& moved_by_coverage = moved.Add({{"reason", "coverage"}});
  Counter& bound = out.counters("ballast_moved_bound_samples_total").Add({});
  Counter& moved_bytes = out.counters("ballast_moved_bytes_total").Add({});
  Gauge& in_flight = out.gauges("ballast_moves_in_flight").Add({});
  std::map<std::string_view, Gauge*> state;
  std::vector<Counter*> plan;
  std::map<errc, Counter*> errors;

  std::mutex mutex; // guards everything below
  Gauge* last_commit = nullptr;
  Gauge* loss = nullptr;
  Gauge* epoch = nullptr;
  Gauge* evaluation_loss = nullptr;
  Gauge* evaluation_accuracy = nullptr;
  std::map<std::string, Gauge*> evaluation_metrics; // bounded: the catalogue
  Gauge* generation = nullptr;
  Gauge* world = nullptr;
  Gauge* skew_max = nullptr;
  Gauge* makespan = nullptr;
  Gauge* pause = nullptr;
  Gauge* best_interval = nullptr;
  std::map<std::string, worker_gauges> workers;
};

coordinator_probe::coordinator_probe(const std::string& run)
    : metrics_(std::make_unique<metrics>(run)) {}
coordinator_probe::~coordinator_probe() = default;

void coordinator_probe::committed(step_number, epoch_number epoch,
                                  uint64_t samples, double loss) {
  metrics& m = *metrics_;
  m.steps.Increment();
  m.samples.Increment(double(samples));
  m.set(m.epoch, "ballast_epoch", double(value(epoch)));
  m.set(m.loss, "ballast_loss", loss);
  m.set(m.last_commit, "ballast_last_commit_timestamp_seconds",
        double(store::wall_ns()) / 1e9);
}

void coordinator_probe::generation(ballast::generation number) {
  metrics_->set(metrics_->generation, "ballast_generation",
                double(value(number)));
}

void coordinator_probe::world(uint32_t workers) {
  metrics_->set(metrics_->world, "ballast_world_size", workers);
}

void coordinator_probe::state(std::string_view state) {
  BALLAST_CHECK(metrics_->state.count(state) == 1,
                "unknown run state: " + std::string(state));
  for (auto& [name, gauge] : metrics_->state)
    gauge->Set(name == state ? 1 : 0);
}

void coordinator_probe::status(const coordinator::run_status& now) {
  metrics& m = *metrics_;
  state(ballast::to_string(now.state));
  if (now.run) {
    m.show(now.run->balance);
    m.show(now.run->checkpoint);
  }
  std::set<std::string> members;
  for (const coordinator::worker_status& one : now.workers) {
    if (one.state == coordinator::worker_standing::lost || !one.share)
      continue;
    members.insert(one.name);
    m.show(one);
  }
  // A sum over the workers must not count rows that a worker owns no more. A
  // later worker may have the name of an earlier one.
  for (const coordinator::worker_status& one : now.workers)
    if (!members.contains(one.name))
      m.forget(one.name);
}

void coordinator_probe::plan(plan_outcome outcome) {
  metrics_->plan[size_t(outcome)]->Increment();
}

void coordinator_probe::event(const coordinator::run_event& what) {
  metrics& m = *metrics_;
  if (const auto* e = std::get_if<events::generation_begun>(&what)) {
    if (const auto* how =
            std::get_if<events::generation_begun::recovered>(&e->why))
      m.recovered(*how);
  } else if (std::holds_alternative<events::plan_dropped>(what)) {
    plan(plan_outcome::dropped);
  } else if (const auto* e = std::get_if<events::checkpoint>(&what)) {
    m.checkpoints.Observe(seconds(e->took));
  } else if (const auto* e = std::get_if<events::evaluated>(&what)) {
    m.set(m.evaluation_loss, "ballast_evaluation_loss", e->loss);
    if (e->accuracy)
      m.set(m.evaluation_accuracy, "ballast_evaluation_accuracy", *e->accuracy);
    m.show(e->values);
  }
  if (errc code = code_of(what); code != errc::none)
    m.errors.at(code)->Increment();
}

std::string coordinator_probe::text() const {
  return metrics_->out.text();
}

} // namespace ballast::monitor
