#include "actors/worker_run.hpp"

#include "actors/parent_fetch.hpp"
#include "actors/state_fetch.hpp"
#include "actors/this_machine.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/thread_name.hpp"
#include "runtime/job/leaves_of.hpp"
#include "runtime/job/memory_need.hpp"
#include "runtime/messages/judge.hpp"
#include "runtime/sampling/class_weights.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

namespace ballast::actors {

namespace {

using namespace std::chrono_literals;

/// Of the whole training part, so that all workers have the same.
std::vector<double> balanced_weights(const ledger::manifest& set) {
  if (set.row.target_bins > 0)
    throw ballast_error(errc::invalid_job,
                        "/train/class_weights: \"balanced\" needs to know the "
                        "rows of each class, and this set was prepared to "
                        "count others (/balance/by); give a list of weights",
                        "/train/class_weights");
  std::vector<uint64_t> rows(set.row.classes);
  for (const ledger::chunk_info& chunk : set.train)
    for (size_t c = 0; c < chunk.label_histogram.size(); ++c)
      rows.at(c) += chunk.label_histogram[c];
  if (std::ranges::all_of(rows, [](uint64_t n) { return n == 0; }))
    throw ballast_error(errc::internal,
                        "the table of chunks does not say which labels they "
                        "have");
  return sampling::balanced_class_weights(rows);
}

void build_replica(worker_run& run, const assignment& order,
                   const std::function<bool()>& given_up) {
  if (run.what->train.class_weights_balanced)
    run.what->train.class_weights = balanced_weights(run.data.set());
  inherited_weights parent; // in use until the replica is built
  if (!run.what->init.from.empty()) {
    parent = fetch_parent({order.origin, order.token, given_up});
    run.trained.steps_before =
        run.what->init.optimizer ? parent.optimizer_steps : 0;
  }
  job what = *run.what;
  what.init.from = parent.file;
  if (what.model.kind == model_kind::emulated)
    run.trained.device =
        &gpu::cpu_device(); // what it measures is not the device
  run.plane.emplace(what.train.collective, *run.trained.device);
  run.trained.begins = order.from_seed;
  build(run.trained, what, run.images ? run.images->seen() : run.data.set().row,
        order.local_workers, order.beside, run.plane->backend());
  run.built = true;
}

/// The last parameters, or the best ones.
bool is_model(const std::string& image) {
  return image == model_blob || image == best_blob;
}

/// The model stands still while it is fetched, as the run is at its end.
/// Whoever asks for a note begins to fetch it. Null: there is no such one.
std::shared_ptr<served_model> model_of(worker_run& run,
                                       const std::string& image, bool anew) {
  const std::lock_guard lock(run.serving);
  const step_number best = run.trained.state.judged.keep.step;
  const bool is_best = image == best_blob;
  if (is_best && (!run.trained.memory.best || best == step_number{}))
    return nullptr;
  if (anew)
    run.snapshot.make_no_room(); // all ranks are at their end
  std::shared_ptr<served_model>& model = run.models[image];
  if (anew || model == nullptr)
    model = std::make_shared<served_model>(
        is_best ? best_image(run.trained, run.name)
                : model_image(run.trained, run.name),
        is_best ? best : run.trained.state.held.step);
  // Nobody steps any more: what is given back now, beside the disk, is not
  // waited for when the process ends.
  if (anew && !run.forgotten.valid())
    run.forgotten = std::async(std::launch::async, [&of = run.trained] {
      name_this_thread("bl-forget");
      forget_gradients(of);
    });
  return model;
}

std::optional<std::string> note(worker_run& run, const std::string& image) {
  if (is_model(image)) {
    const auto model = model_of(run, image, true);
    return model ? std::optional(model->note()) : std::nullopt;
  }
  if (const auto after = step_of_state(image))
    return text_of(run.snapshot.note(*after));
  return std::nullopt;
}

std::string marked(const mark_order& what) {
  try {
    const bool here = what.gone ? data::remove_mark(what.to, what.mark)
                                : data::leave_mark(what.to, what.mark);
    return write_answer(here ? std::optional<std::string>("") : std::nullopt,
                        {});
  } catch (const ballast_error& e) {
    return write_answer({}, e.what_failed());
  }
}

std::optional<std::string> written_piece(worker_run& run,
                                         const write_order& what) {
  try {
    if (!sees(what.to))
      return write_answer({}, {});
    if (is_model(what.image)) {
      const auto model = model_of(run, what.image, false);
      return model ? std::optional(write_answer(model->write(what), {}))
                   : std::nullopt;
    }
    if (!run.snapshot.write(what))
      return std::nullopt;
    return write_answer("", {});
  } catch (const ballast_error& e) {
    return write_answer({}, e.what_failed());
  }
}

std::optional<std::string> hashed_piece(worker_run& run,
                                        const hash_order& what) {
  const auto model = model_of(run, what.image, false);
  const auto found = model ? model->hash(what) : std::nullopt;
  return found ? std::optional(text_of(*found)) : std::nullopt;
}

std::optional<std::string> piece(worker_run& run, const std::string& name) {
  if (const auto order = read_mark_order(name))
    return marked(*order);
  if (const auto image = image_of_note(name))
    return note(run, *image);
  if (const auto order = read_write_order(name))
    return written_piece(run, *order);
  if (const auto order = read_hash_order(name))
    return hashed_piece(run, *order);
  std::string blob;
  uint64_t at = 0;
  if (!read_piece_name(name, blob, at))
    return std::nullopt;
  if (is_model(blob)) {
    const auto model = model_of(run, blob, false);
    return model ? std::optional(model->read(at)) : std::nullopt;
  }
  return run.snapshot.read(blob, at);
}

} // namespace

worker_run::worker_run(const assignment& first, gpu::compute_device* device)
    : name(first.run), data(first) {
  if (device)
    trained.device = device;
}

worker_run::~worker_run() {
  // It reads the replica, and the snapshot.
  data.stop_serving(1s);
}

void worker_run::obey(const worker::post_command& what) {
  if (executor)
    executor->post(what.order.kind);
}

void worker_run::obey(const worker::inject_fault& what) {
  if (what.order.kind == command_kind::slow) {
    trained.state.slow_factor = what.order.factor;
    monitor::log().warn("as asked: steps take {} times as long",
                        what.order.factor);
  } else if (what.order.kind == command_kind::flip) {
    trained.state.flips = what.order.leaves;
    monitor::log().warn("as asked: flips a bit in the next {} leaves",
                        what.order.leaves);
  } else {
    data.damage_next(what.order.chunks);
    monitor::log().warn("as asked: damages the next {} chunks that it sends",
                        what.order.chunks);
  }
}

void worker_run::obey(const worker::forget_steps& what) {
  if (executor)
    executor->recorded(what.recorded);
}

void worker_run::obey(const worker::stop_generations& what) {
  if (executor) {
    executor->freeze();
    executor->abort(what.reason);
  }
  abort_openings(what.reason);
}

void worker_run::abort_openings(const std::string& reason) {
  for (const auto& one : {opening, next_opening})
    if (one)
      one->abort(reason);
}

std::optional<step_number> load_run(worker_run& run, const assignment& order,
                                    const std::string& bind_host,
                                    uint64_t store_limit_bytes,
                                    const std::function<bool()>& given_up) {
  if (!run.what) {
    job_result parsed = parse_job(order.job, {}, "/");
    if (!parsed.value)
      throw ballast_error(parsed.mistakes.at(0));
    run.what = *parsed.value;
  }
  run.data.open(order, *run.what, store_limit_bytes, given_up);
  if (!run.images)
    run.images = data::make_image_augment(run.what->data.augment,
                                          run.what->seed, run.data.set().row);
  // The model takes as long to load as the data: side by side.
  std::future<void> built;
  if (!run.built)
    built = std::async(std::launch::async,
                       [&] { build_replica(run, order, given_up); });
  run.data.bring_share(order);
  run.data.serve(bind_host,
                 [&run](const std::string& name) { return piece(run, name); });
  if (built.valid())
    built.get();
  if (run.has_state)
    return std::nullopt;
  step_number held{};
  if (order.from_checkpoint) {
    run.snapshot.await();
    run.built = false; // until all of it is taken over
    held =
        fetch_state(run.trained, {order.origin, order.token, order.start.step,
                                  order.local_workers, given_up});
    run.built = true;
  }
  run.has_state = true;
  return held;
}

std::shared_ptr<collectives::collective_opening>
open_collective(worker_run& run, const assignment& order,
                const std::string& host) {
  return run.plane->open(order, host, layout_hash(run.trained.layout),
                         run.trained.memory.count);
}

std::shared_ptr<gpu::step_executor> make_executor(worker_run& run,
                                                  const assignment& order,
                                                  gpu::step_listener listener) {
  const job& what = *run.what;
  worker::worker_core_config config{
      {what.seed, what.train.global_batch, run.data.chunk_rows(),
       what.train.shuffle.window(), leaves_of(what.train), run.data.uses()},
      order.worker,
      what.train.epochs,
      what.verify.every_steps,
      what.train.compression != compression_kind::none,
      judge(what).ends(),
      what.evaluate.every};
  std::optional<worker::worker_core> core;
  if (!order.beside)
    core.emplace(config, *order.first, order.start, *order.cursors);
  if (what.trace_samples && !run.trace)
    run.trace.emplace(order);
  if (run.trace)
    listener.trace = [&run](const worker::step_order& step,
                            const std::vector<uint64_t>& ids,
                            const std::vector<uint64_t>& used) {
      run.trace->write(step, ids, used);
    };
  replica& trained = run.trained;
  std::vector<gpu::model*> leaf_models;
  for (const auto& one : trained.leaf_models)
    leaf_models.push_back(one.get());
  return std::make_shared<gpu::step_executor>(
      gpu::step_executor::parts{
          &what, &run.data.set(), &run.data.rows(), &run.data.store(),
          trained.network.get(), trained.update.get(), trained.memory,
          &trained.state, trained.layout, order.worker, trained.device,
          run.images ? &*run.images : nullptr,
          compute_threads(what.train, order.local_workers, this_machine()),
          std::move(leaf_models), &trained.leaves},
      std::move(config), *order.first, std::move(core), std::move(listener));
}

} // namespace ballast::actors
