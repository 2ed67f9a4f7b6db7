#include "actors/shard_manager.hpp"

#include "actors/handler_exception.hpp"
#include "actors/types.hpp"
#include "data/chunk_service.hpp"
#include "data/prepared_set.hpp"
#include "data/source_error.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/balance/explain.hpp"
#include "runtime/balance/memory_fit.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/thread_name.hpp"
#include "runtime/base/thrown_text.hpp"
#include "runtime/messages/control.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <thread>

namespace ballast {

struct shard_manager_state::parts {
  std::shared_ptr<prepared_set> set;
  std::unique_ptr<chunk_service> service;
  std::string manifest_text;
  std::unique_ptr<balancer> balance;
  double prepare_s = 0;
  std::string detail; // of what is wrong with the sources
  caf::typed_response_promise<set_summary> answer;
  std::stop_source stop; // of the thread
  std::thread thread;
  std::mutex lock;
  std::string checkpoint_file;

  std::optional<std::string> checkpoint() {
    std::lock_guard guard(lock);
    std::ifstream in(checkpoint_file, std::ios::binary);
    if (checkpoint_file.empty() || !in)
      return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  ~parts() {
    stop.request_stop();
    if (thread.joinable())
      thread.join();
    if (service)
      service->shutdown(std::chrono::seconds(1));
  }
};

namespace {

using manager_pointer =
    shard_manager_actor::stateful_pointer<shard_manager_state>;
using parts = shard_manager_state::parts;

/// On its own thread: reads the sources, starts serving.
failure prepare_parts(parts& out, const std::string& job_text,
                      const std::string& token,
                      const shard_manager_config& config) {
  try {
    job_result parsed = parse_job(job_text, {}, "/");
    if (!parsed.value)
      return parsed.mistakes.at(0);
    auto begin = std::chrono::steady_clock::now();
    out.set = prepare(*parsed.value, config.cache_folder,
                      {.stop = out.stop.get_token(), .warn = config.warn});
    out.manifest_text = json_text(nlohmann::json(out.set->about()));
    balance_policy policy;
    policy.enabled = parsed.value->balance.enabled;
    policy.skew_tv = parsed.value->balance.skew_tv;
    policy.global_batch = parsed.value->train.global_batch;
    out.balance = std::make_unique<balancer>(
        policy, std::shared_ptr<const manifest>(out.set, &out.set->about()));
    auto set = out.set;
    out.service = chunk_service::start(
        config.bind_host, 0, token,
        [set](data_part part, chunk_id id) { return set->read(part, id); },
        [&out](const std::string& name) -> std::optional<std::string> {
          if (name == "manifest")
            return out.manifest_text;
          if (name == "checkpoint")
            return out.checkpoint();
          return std::nullopt;
        });
    out.prepare_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    return {};
  } catch (const source_error& e) {
    out.detail = e.detail();
    return e.what_failed();
  } catch (const ballast_error& e) {
    return e.what_failed();
  } catch (const std::exception& e) {
    return {errc::internal, "preparing the data: " + thrown_text(e), {}};
  }
}

set_summary summarize(const parts& of) {
  const manifest& about = of.set->about();
  set_summary out;
  out.content_id = about.content_id;
  out.origin = of.service->address();
  out.train_rows = about.train_rows;
  out.test_rows = about.test_rows;
  out.classes = about.row.classes;
  for (const chunk_info& one : about.train)
    out.chunk_rows.push_back(one.rows);
  out.prepare_s = of.prepare_s;
  return out;
}

/// Answers what users ask about balance; throws ballast_error.
nlohmann::ordered_json answer(const balancer& mind, const std::string& text) {
  control_result parsed = parse_control(text);
  if (!parsed.value)
    throw ballast_error(parsed.refused);
  const control_request& what = parsed.value->what;
  if (!mind.current())
    throw ballast_error(errc::bad_request, "no run trains here yet");
  if (const auto* plan = std::get_if<plan_request>(&what))
    return explain_plan(mind, plan->certificate);
  const auto& asked = std::get<explain_request>(what);
  if (asked.worker.has_value() == asked.chunk.has_value())
    throw ballast_error(errc::bad_request,
                        "explain: give \"worker\" or \"chunk\", one of them");
  if (asked.chunk) {
    if (*asked.chunk >= mind.set().train.size())
      throw ballast_error(errc::bad_request,
                          "/chunk: expected 0 to " +
                              std::to_string(mind.set().train.size() - 1),
                          "/chunk");
    return explain_chunk(mind, chunk_id(uint32_t(*asked.chunk)));
  }
  const auto& workers = mind.last_view().workers;
  std::string here;
  for (size_t rank = 0; rank < workers.size(); ++rank) {
    if (workers[rank].name == *asked.worker)
      return explain_worker(mind, rank);
    here += (here.empty() ? "" : ", ") + workers[rank].name;
  }
  throw ballast_error(errc::unknown_worker,
                      "no worker named " + *asked.worker +
                          " trains here; there are: " + here,
                      "/worker");
}

/// Also a set that is still prepared: its thread's answer is then outdated.
void drop(shard_manager_state& state) {
  if (state.current && state.current->thread.joinable())
    ++state.outdated;
  state.current.reset();
}

} // namespace

shard_manager_actor::behavior_type shard_manager(manager_pointer self,
                                                 shard_manager_config config) {
  on_handler_exception(self, "shard manager", config.on_defect);
  return {
      [=](prepare_atom, const std::string& job_text,
          const std::string& token) -> caf::result<set_summary> {
        drop(self->state);
        auto fresh = std::make_shared<parts>();
        fresh->answer = self->make_response_promise<set_summary>();
        self->state.current = fresh;
        caf::actor me = caf::actor_cast<caf::actor>(self);
        fresh->thread = std::thread([=, raw = fresh.get()] {
          name_this_thread("bl-prepare");
          failure problem = prepare_parts(*raw, job_text, token, config);
          caf::anon_send(me, prepared_atom::value, problem);
        });
        return fresh->answer;
      },
      [=](place_atom, generation gen, plan_number number,
          const std::vector<worker_id>& workers, const plan& before,
          const std::vector<uint64_t>& limits) -> caf::result<placed_shares> {
        if (!self->state.current || !self->state.current->set)
          return to_error({errc::bad_request, "no data set is prepared", {}});
        return place(self->state.current->set->about(),
                     self->state.current->balance->policy().skew_tv,
                     {gen, number, workers, before, limits});
      },
      [=](balance_atom, const load_view& view) -> caf::result<balance_answer> {
        if (!self->state.current || !self->state.current->balance)
          return to_error({errc::bad_request, "no data set is prepared", {}});
        return self->state.current->balance->observe(view);
      },
      [=](balance_atom, bool enabled, double skew_tv) {
        if (!self->state.current || !self->state.current->balance)
          return;
        balancer& mind = *self->state.current->balance;
        balance_policy policy = mind.policy();
        policy.enabled = enabled;
        policy.skew_tv = skew_tv;
        mind.set_policy(policy);
      },
      [=](control_atom, const std::string& text) -> caf::result<std::string> {
        if (!self->state.current || !self->state.current->balance)
          return to_error({errc::bad_request, "no run trains here", {}});
        try {
          return json_text(answer(*self->state.current->balance, text));
        } catch (const ballast_error& e) {
          return to_error(e.what_failed());
        }
      },
      [=](status_atom) -> caf::result<std::string> {
        if (!self->state.current || !self->state.current->set)
          return to_error({errc::bad_request, "no data set is prepared", {}});
        return self->state.current->manifest_text;
      },
      [=](prepared_atom, const failure& problem) {
        if (self->state.outdated > 0) {
          --self->state.outdated;
          return;
        }
        parts& now = *self->state.current;
        now.thread.join();
        if (problem)
          now.answer.deliver(to_error(problem, now.detail));
        else
          now.answer.deliver(summarize(now));
      },
      [=](serve_atom, const std::string& file) {
        if (!self->state.current)
          return;
        std::lock_guard guard(self->state.current->lock);
        self->state.current->checkpoint_file = file;
      },
      [=](drop_atom) { drop(self->state); },
  };
}

} // namespace ballast
