/// From the job to the first generation.
#include "runtime/coordinator/transitions.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/job/asked_metrics.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::coordinator {

failure begin_run(coordinator_parts& p, const job& what,
                  const std::string& name, term life, std::string token) {
  if (p.members.active())
    return {errc::busy,
            "run " + p.run.spec.name + " is " +
                ballast::to_string(p.members.phase()) +
                ": this coordinator does one job at a time",
            {}};
  // Its workers may have heard of a higher one, in another run, and would take
  // no order of this one.
  p.config.term = std::max(p.config.term, life);
  p.config.token = std::move(token);
  // One knob: the job's heartbeat is everybody's.
  p.config.heartbeat = std::chrono::milliseconds(what.elastic.heartbeat_ms);
  p.nodes.begin_run(p.config.heartbeat);
  p.staff.begin(what.elastic, p.nodes.all());
  p.lost.begin();
  p.devices.tell_again();
  p.members.begin();
  p.run = {};
  p.run.spec.job = what;
  p.run.spec.name = name;
  return {};
}

failure submit(coordinator_parts& p, const job& what, const std::string& name,
               term life, std::string token) {
  if (failure refused = begin_run(p, what, name, life, std::move(token)))
    return refused;
  p.out.tell(
      events::coordinator_started{p.config.term, name, p.config.build_id});
  p.out.put(prepare_data{what});
  return {};
}

void on(coordinator_parts& p, data_prepared what, instant now) {
  preparing* s = p.members.in<preparing>();
  if (!s)
    return;
  run_spec& spec = p.run.spec;
  spec.set = std::move(what.set);
  const uint64_t lineage = ledger::lineage_begin(
      ledger::run_identity(p.config.token, spec.name), spec.job.seed,
      spec.batch(), spec.set.content_id, spec.leaves());
  p.run.steps.begin(lineage, judge(spec.job));
  p.run.copies.restore({p.run.steps.here()});
  p.out.put(apply_balance{p.run.requests.standing().balance_of(spec.job)});
  if (std::optional<past_run> past = std::exchange(s->past, std::nullopt))
    return restore(p, std::move(*past), now);
  if (failure why = course_misfit(spec.job, spec.set.test_rows))
    return fail(p, std::move(why));
  p.members.become(waiting{});
  if (p.run.requests.stops())
    end_without_holders(p, "");
  else
    form_generation(p);
}

void on(coordinator_parts& p, const prepare_failed& what, instant) {
  if (p.members.in<preparing>())
    fail(p, what.why);
}

namespace {

/// Ranks by name, so that which one joined first by chance changes nothing.
void sort_by_name(const roster& nodes, std::vector<worker_id>& workers) {
  std::sort(workers.begin(), workers.end(), [&](worker_id a, worker_id b) {
    const std::string& left = nodes.at(a).about.name;
    const std::string& right = nodes.at(b).about.name;
    return left.size() != right.size() ? left.size() < right.size()
                                       : left < right;
  });
}

} // namespace

void form_generation(coordinator_parts& p) {
  if (!p.members.in<waiting>())
    return;
  for (const auto& [id, who] : p.nodes.all())
    if (who.connected && p.nodes.leaving(id))
      let_go(p, id); // it holds nothing
  const elastic_spec& how = p.run.spec.elastic();
  p.nodes.call_back(std::max(1u, how.min_workers), p.run.spec.name);
  std::vector<worker_id> ready;
  for (const auto& [id, who] : p.nodes.all())
    if (p.may_train(who) && ready.size() < how.max_workers)
      ready.push_back(id);
  if (ready.size() < std::max<size_t>(p.staff.needed(ready.size()), 1))
    return;
  sort_by_name(p.nodes, ready);
  p.staff.formed();
  const step_number last = p.run.steps.last().step;
  generation_state members(p.members.next_generation(), ready,
                           ledger::commit_tracker(ready.size(), last, last));
  members.from_seed = value(last) == 0;
  members.from_checkpoint = !members.from_seed;
  p.run.balance.begin_generation(ready.size());
  p.run.delay.over();
  if (members.from_checkpoint) {
    p.run.steps.interrupted();
    p.out.put(serve_checkpoint{p.run.copies.newest().checkpoint});
  }
  p.members.become(opening{std::move(members), {}});
  p.members.next_plan();
  const std::optional<ledger::ledger>& book = p.run.steps.book();
  p.out.put(p.placing(ready, book ? book->current() : ledger::plan{}));
}

collective_choice choose_collective(const coordinator_parts& p,
                                    const std::vector<worker_id>& workers) {
  // What an emulated model measures is the runtime: it computes on the CPU
  // wherever it is.
  const bool on_cpu = p.run.spec.job.model.kind == model_kind::emulated;
  std::vector<rank_device> ranks;
  for (worker_id who : workers) {
    const worker_hello& about = p.nodes.at(who).about;
    ranks.push_back({about.name, on_cpu ? "cpu" : about.device,
                     on_cpu ? std::string() : about.gpu, about.nccl});
  }
  const train_spec& train = p.run.spec.job.train;
  // What is compressed is not what NCCL sums.
  const collective_kind asked =
      train.compression != compression_kind::none &&
              train.collective == collective_kind::automatic
          ? collective_kind::ring
          : train.collective;
  return choose_collective(asked, ranks, p.run.links.nccl_failed());
}

journal_change journal_entry(const coordinator_parts& p,
                             const ledger::plan& placed,
                             const std::vector<worker_id>& workers,
                             std::optional<ledger::position> from,
                             balance::plan_note note) {
  journal_change out{
      placed.generation, workers, p.names(workers), {}, placed, from,
      std::move(note)};
  for (worker_id who : workers)
    out.incarnations.push_back(p.nodes.at(who).incarnation);
  return out;
}

void send_assignments(coordinator_parts& p, const std::vector<worker_id>& to,
                      assignment common) {
  const host_shares hosts = p.nodes.shares(to, p.staff.on_each_host());
  assignment& order = common;
  order.term = p.config.term;
  order.run = p.run.spec.name;
  order.job = json_text(to_json(p.run.spec.job));
  order.origin = p.run.spec.set.origin;
  order.cached_as = p.run.spec.set.cached_as;
  order.token = p.config.token;
  order.heartbeat_ms = uint32_t(p.config.heartbeat.count());
  order.orphan_s = uint32_t(p.run.spec.elastic().orphan_s);
  p.out.expect(to.size());
  for (worker_id who : to) {
    const node& known = p.nodes.at(who);
    order.worker = who;
    order.name = known.about.name;
    order.incarnation = known.incarnation;
    order.local_workers = std::max(1u, hosts.workers_on(known.about.host));
    order.store_limit_bytes =
        hosts.store_limit(known.about.host, p.run.spec.memory_bytes());
    p.out.put(send_assignment{who, order});
  }
}

} // namespace ballast::coordinator
