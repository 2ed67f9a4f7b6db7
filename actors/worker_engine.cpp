#include "actors/worker_engine.hpp"

#include "data/chunk_service.hpp"
#include "data/safetensors.hpp"
#include "monitor/line_file.hpp"
#include "monitor/log.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace ballast {

namespace {

using namespace std::chrono_literals;

/// Data-sized work: as long as something arrives; these bound a silent peer.
constexpr auto fetch_deadline = 60s;
constexpr auto connect_deadline = 20s;

uint64_t free_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word)
    if (word == "MemAvailable:") {
      uint64_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
  return uint64_t{4} << 30;
}

/// The chunks of a share, each once.
std::vector<chunk_info> chunks_of(const share& part, const manifest& set) {
  std::vector<chunk_info> out;
  for (const interval& one : part.intervals)
    if (out.empty() || out.back().id != one.chunk)
      out.push_back(set.train.at(value(one.chunk)));
  return out;
}

/// Writes what a worker feeds to the gradient, one line a step.
class trace_writer {
public:
  explicit trace_writer(const std::filesystem::path& path) : file_(path) {}
  void write(const step_order& order, const std::vector<uint64_t>& ids) {
    line_.clear();
    line_ += "{\"generation\":" + to_string(order.generation) +
             ",\"plan\":" + to_string(order.plan) +
             ",\"step\":" + to_string(order.at.step) +
             ",\"epoch\":" + to_string(order.at.epoch) + ",\"ids\":[";
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i > 0)
        line_ += ',';
      line_ += std::to_string(ids[i]);
    }
    line_ += "]}\n";
    file_.append(line_);
  }

private:
  line_file file_;
  std::string line_;
};

std::unique_ptr<trace_writer> open_trace(const assignment& order) {
  if (order.run_folder.empty() ||
      !std::filesystem::is_directory(order.run_folder))
    throw ballast_error(errc::not_in_build,
                        "trace_samples needs the run directory " +
                            order.run_folder +
                            " on this node's file system; streaming traces "
                            "is not in this build",
                        "/trace_samples");
  return std::make_unique<trace_writer>(
      std::filesystem::path(order.run_folder) / "trace" /
      (order.name + "." + std::to_string(order.incarnation) + ".jsonl"));
}

/// All that belongs to one run, freed as a whole.
struct run_parts {
  assignment order;
  job what;
  manifest set;
  std::unique_ptr<chunk_client> origin;
  std::unique_ptr<chunk_store> store;
  std::unique_ptr<chunk_service> service;
  std::unique_ptr<model> network;
  std::unique_ptr<optimizer> update;
  std::unique_ptr<collective_backend> backend;
  std::unique_ptr<collective_opening> opening;
  std::unique_ptr<trace_writer> trace;
  arenas memory;
  bucket_layout layout;
  std::unique_ptr<step_executor> executor;
  training_state state;
  /// The next generation, opened beside the present one.
  std::optional<assignment> next_order;
  std::unique_ptr<collective_opening> next_opening;
  std::vector<step_record> unreported; // of executors that are gone
};

class engine final : public worker_engine {
public:
  engine(engine_config config, engine_listener listener)
      : config_(std::move(config)), listener_(std::move(listener)) {}
  ~engine() override { leave("the process ends"); }

  void load(const assignment& what) override;
  void connect(const connect_order& what) override;
  final_ack fence(const fence_order& what) override;
  void tell(const command& what) override;
  void offer(const plan_offer& what) override;
  step_progress drain() override;
  heartbeat now() const override;
  void leave(const std::string& reason) override;

private:
  void do_load(run_parts& parts, const assignment& order);
  void load_beside(run_parts& parts, const assignment& order);
  void connect_beside(run_parts& parts, const connect_order& what);
  std::unique_ptr<collective_opening> open(run_parts& parts,
                                           const assignment& order);
  void load_all(run_parts& parts);
  void fetch_chunks(run_parts& parts, const assignment& order);
  void build(run_parts& parts);
  void start_service(run_parts& parts);
  void prepare_collective(run_parts& parts);
  step_listener listen(run_parts& parts);
  std::string model_bytes(run_parts& parts);
  void failed(run_parts& parts, generation of, errc code,
              const std::string& why);
  /// Runs `work` on the engine's thread; a throw becomes worker_failed.
  template <class Work>
  void background(std::thread& on, run_parts& parts, generation of, Work work);

  engine_config config_;
  engine_listener listener_;
  mutable std::mutex mutex_; // guards parts_, its executor, and the next two
  generation fenced_{};      // nothing up to this one goes on
  std::unique_ptr<run_parts> parts_;
  worker_phase phase_ = worker_phase::idle;
  std::thread thread_; // loads, connects, then is the step thread
  std::thread beside_; // opens the next generation meanwhile
};

template <class Work>
void engine::background(std::thread& on, run_parts& parts, generation of,
                        Work work) {
  // What went before may still be on its way out of a long forward pass; the
  // caller does not wait for that.
  std::vector<std::thread> before;
  before.push_back(std::move(on));
  if (&on == &thread_)
    before.push_back(std::move(beside_));
  on = std::thread([this, &parts, of, work,
                    before = std::move(before)]() mutable {
    for (std::thread& one : before)
      if (one.joinable())
        one.join();
    try {
      work();
    } catch (const collective_error& e) {
      failed(parts, of, errc::collective_failed,
             to_string(e.code()) + ": " + e.what());
    } catch (const ballast_error& e) {
      failed(parts, of, e.what_failed().code, e.what());
    } catch (const std::exception& e) {
      failed(parts, of, errc::internal, e.what());
    }
  });
}

void engine::failed(run_parts& parts, generation of, errc code,
                    const std::string& why) {
  worker_failed message;
  {
    std::lock_guard lock(mutex_);
    // What a fence broke off has not failed.
    if (of <= fenced_)
      return;
    message = {parts.order.worker, of, code, why};
  }
  listener_.failed(message);
}

// -- loading
// --------------------------------------------------------------------

void engine::load(const assignment& what) {
  run_parts* parts = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (what.generation <= fenced_)
      return;
    if (parts_ && parts_->order.run == what.run &&
        parts_->order.worker == what.worker && !what.from_seed)
      parts = parts_.get();
    // Who trains gets ready beside it; who does not is a newcomer, also with
    // what an earlier attempt left here.
    if (parts && what.beside && parts->executor &&
        parts->order.generation > fenced_) {
      parts->next_order = what;
      background(beside_, *parts, what.generation,
                 [this, parts, what] { load_beside(*parts, what); });
      return;
    }
  }
  if (!parts) {
    leave("a new assignment");
    std::lock_guard lock(mutex_);
    parts_ = std::make_unique<run_parts>();
    parts = parts_.get();
  }
  {
    std::lock_guard lock(mutex_);
    phase_ = worker_phase::loading;
  }
  background(thread_, *parts, what.generation,
             [this, parts, what] { do_load(*parts, what); });
}

void engine::load_beside(run_parts& parts, const assignment& order) {
  fetch_chunks(parts, order);
  auto opening = open(parts, order);
  worker_loaded message;
  {
    std::lock_guard lock(mutex_);
    if (order.generation <= fenced_)
      return;
    parts.next_opening = std::move(opening);
    message = {order.worker, order.generation, parts.next_opening->address(),
               parts.service->address()};
  }
  listener_.loaded(message);
}

void engine::connect_beside(run_parts& parts, const connect_order& what) {
  auto group = parts.next_opening->connect(
      what.addresses, std::chrono::steady_clock::now() + connect_deadline);
  std::lock_guard lock(mutex_);
  if (what.generation <= fenced_ || !parts.executor)
    return;
  parts.executor->post(next_generation{
      parts.next_order->first, std::move(group),
      {what.stale, what.late, what.source, what.evaluate, what.paused}});
}

void engine::do_load(run_parts& parts, const assignment& order) {
  // The old generation's sockets and threads go before the new ones come; the
  // arenas are free then.
  std::unique_ptr<step_executor> gone;
  std::unique_ptr<collective_opening> closed;
  {
    std::lock_guard lock(mutex_);
    gone = std::move(parts.executor);
    closed = std::move(parts.opening);
    parts.next_opening.reset();
    parts.next_order.reset();
    parts.order = order;
  }
  if (gone) {
    step_progress rest = gone->drain();
    parts.unreported.insert(parts.unreported.end(), rest.steps.begin(),
                            rest.steps.end());
  }
  gone.reset();
  closed.reset();
  if (!parts.network)
    load_all(parts);
  else
    fetch_chunks(parts, order);
  prepare_collective(parts);
  worker_loaded message;
  {
    std::lock_guard lock(mutex_);
    if (order.generation <= fenced_)
      return;
    phase_ = worker_phase::opening;
    message = {order.worker, order.generation, parts.opening->address(),
               parts.service->address()};
  }
  listener_.loaded(message);
}

void engine::load_all(run_parts& parts) {
  job_result parsed = parse_job(parts.order.job, {}, "/");
  if (!parsed.value)
    throw ballast_error(parsed.mistakes.at(0));
  parts.what = *parsed.value;
  parts.origin =
      chunk_client::connect(parts.order.origin, parts.order.token, 10s);
  parts.set = nlohmann::json::parse(parts.origin->fetch_blob("manifest", 30s))
                  .get<manifest>();
  uint64_t limit = config_.store_limit_bytes > 0 ? config_.store_limit_bytes
                                                 : free_memory_bytes() / 5 * 4;
  parts.store = std::make_unique<chunk_store>(limit);
  // The model takes as long to load as the data: side by side.
  auto built = std::async(std::launch::async, [this, &parts] { build(parts); });
  fetch_chunks(parts, parts.order);
  start_service(parts);
  built.get();
  std::lock_guard lock(mutex_);
  parts.state.held = {true, step_number{0}};
}

void engine::fetch_chunks(run_parts& parts, const assignment& order) {
  chunk_client& client = *parts.origin;
  const plan& first = order.first;
  size_t rank = 0;
  while (first.shares.at(rank).worker != order.worker)
    ++rank;
  auto keep = [&parts](data_part part) {
    return [&parts, part](chunk_ptr got) {
      parts.store->put(part, std::move(got));
    };
  };
  std::vector<chunk_info> train;
  for (chunk_info& one : chunks_of(first.shares[rank], parts.set))
    if (!parts.store->find(data_part::train, one.id))
      train.push_back(std::move(one));
  client.fetch(data_part::train, train, parts.set.row, fetch_deadline,
               keep(data_part::train));
  std::vector<chunk_info> test;
  for (size_t i = rank; i < parts.set.test.size(); i += first.shares.size())
    if (!parts.store->find(data_part::test, parts.set.test[i].id))
      test.push_back(parts.set.test[i]);
  client.fetch(data_part::test, test, parts.set.row, fetch_deadline,
               keep(data_part::test));
  log().info("holds {} train and {} test chunks, {} MB",
             parts.store->count(data_part::train),
             parts.store->count(data_part::test), parts.store->bytes() >> 20);
}

void engine::build(run_parts& parts) {
  parts.backend = make_backend(parts.what.train.collective);
  parts.network = make_model({&parts.what, parts.set.row, parts.order.threads});
  size_t count = parts.network->parameter_count();
  parts.memory.count = count;
  parts.memory.parameters = parts.backend->allocate_arena(count);
  for (auto& arena : parts.memory.gradients)
    arena = parts.backend->allocate_arena(count);
  parts.network->initialize({parts.memory.parameters.get(), count});
  parts.update = make_optimizer(parts.what.train.optimizer, count);
  parts.layout = make_bucket_layout(parts.network->parameters());
}

void engine::start_service(run_parts& parts) {
  parts.service = chunk_service::start(
      config_.bind_host, 0, parts.order.token,
      [&parts](data_part part, chunk_id id) {
        return parts.store->find(part, id);
      },
      [this, &parts](const std::string& name) -> std::optional<std::string> {
        if (name != "model")
          return std::nullopt;
        return model_bytes(parts);
      });
}

std::string engine::model_bytes(run_parts& parts) {
  std::vector<tensor_view> tensors;
  for (const parameter_info& one : parts.network->parameters())
    tensors.push_back(
        {one.name,
         one.shape,
         {parts.memory.parameters.get() + one.offset, one.count}});
  nlohmann::json buffers = nlohmann::json::array();
  for (const model::buffer& one : parts.network->buffers()) {
    tensors.push_back({one.name, one.shape, one.values});
    buffers.push_back(one.name);
  }
  return safetensors_bytes(tensors, {{"format", "pt"},
                                     {"ballast_run", parts.order.run},
                                     {"buffers", buffers.dump()}});
}

std::unique_ptr<collective_opening> engine::open(run_parts& parts,
                                                 const assignment& order) {
  collective_options options;
  options.generation = order.generation;
  options.size = int(order.first.shares.size());
  while (order.first.shares[size_t(options.rank)].worker != order.worker)
    ++options.rank;
  options.layout_hash = layout_hash(parts.layout);
  options.token = order.token;
  options.bind_host = config_.bind_host;
  return parts.backend->prepare(options);
}

void engine::prepare_collective(run_parts& parts) {
  auto opening = open(parts, parts.order);
  worker_core_config config{
      {parts.what.seed, parts.what.train.global_batch, {}},
      parts.order.worker,
      parts.what.train.epochs};
  for (const chunk_info& one : parts.set.train)
    config.ledger.chunk_rows.push_back(one.rows);
  std::optional<worker_core> core;
  if (!parts.order.beside)
    core.emplace(config, parts.order.first, parts.order.start,
                 parts.order.cursors);
  auto executor = std::make_unique<step_executor>(
      step_executor::parts{&parts.what, &parts.set, parts.store.get(),
                           parts.network.get(), parts.update.get(),
                           parts.memory, &parts.state, parts.layout,
                           parts.order.worker},
      std::move(config), parts.order.first, std::move(core), listen(parts));
  std::lock_guard lock(mutex_);
  parts.opening = std::move(opening);
  parts.executor = std::move(executor);
}

step_listener engine::listen(run_parts& parts) {
  step_listener steps;
  auto stamp = [&order = parts.order](auto message) {
    message.worker = order.worker;
    message.generation = order.generation;
    return message;
  };
  steps.ready = [this, stamp](step_number base) {
    worker_ready m;
    m.base = base;
    listener_.ready(stamp(m));
  };
  steps.switched = [this, &parts] {
    std::lock_guard lock(mutex_);
    parts.order = *std::exchange(parts.next_order, std::nullopt);
    parts.opening = std::move(parts.next_opening);
  };
  steps.evaluated = [this, stamp](evaluation_report m) {
    listener_.evaluated(stamp(m));
  };
  steps.paused = [this, stamp](step_number at) {
    worker_paused m;
    m.step = at;
    listener_.paused(stamp(m));
  };
  steps.finished = [this, stamp](worker_finished m) {
    listener_.finished(stamp(std::move(m)));
  };
  steps.failed = [this, stamp](worker_failed m) {
    listener_.failed(stamp(std::move(m)));
  };
  if (parts.what.trace_samples) {
    if (!parts.trace)
      parts.trace = open_trace(parts.order);
    steps.trace = [&parts](const step_order& order,
                           const std::vector<uint64_t>& ids) {
      parts.trace->write(order, ids);
    };
  }
  return steps;
}

// -- training
// -------------------------------------------------------------------

void engine::connect(const connect_order& what) {
  run_parts* parts = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!parts_ || !parts_->executor || what.generation <= fenced_)
      return;
    parts = parts_.get();
    if (parts->next_order && parts->next_order->generation == what.generation) {
      background(beside_, *parts, what.generation,
                 [this, parts, what] { connect_beside(*parts, what); });
      return;
    }
    if (parts->order.generation != what.generation)
      return;
  }
  background(thread_, *parts, what.generation, [parts, what] {
    auto group = parts->opening->connect(
        what.addresses, std::chrono::steady_clock::now() + connect_deadline);
    parts->executor->run(std::move(group),
                         {what.stale, what.late, what.source, what.evaluate,
                          what.paused});
  });
}

final_ack engine::fence(const fence_order& what) {
  std::lock_guard lock(mutex_);
  fenced_ = std::max(fenced_, what.level);
  final_ack out;
  out.level = what.level;
  if (!parts_)
    return out;
  run_parts& parts = *parts_;
  out.worker = parts.order.worker;
  held_state held = parts.state.held;
  if (parts.executor) {
    held = parts.executor->freeze();
    step_progress rest = parts.executor->drain();
    parts.unreported.insert(parts.unreported.end(), rest.steps.begin(),
                            rest.steps.end());
    parts.executor->abort(what.reason);
  }
  for (auto* opening : {&parts.opening, &parts.next_opening})
    if (*opening)
      (*opening)->abort(what.reason);
  out.holds_state = held.holds;
  out.step = held.step;
  out.records = std::exchange(parts.unreported, {});
  return out;
}

void engine::tell(const command& what) {
  std::lock_guard lock(mutex_);
  if (parts_ && parts_->executor && parts_->order.generation == what.generation)
    parts_->executor->post(what.kind);
}

void engine::offer(const plan_offer& what) {
  std::lock_guard lock(mutex_);
  if (parts_ && parts_->executor &&
      parts_->order.generation <= what.what.generation)
    parts_->executor->post(what.what);
}

step_progress engine::drain() {
  std::lock_guard lock(mutex_);
  return parts_ && parts_->executor ? parts_->executor->drain()
                                    : step_progress{};
}

heartbeat engine::now() const {
  std::lock_guard lock(mutex_);
  heartbeat out;
  out.phase = phase_;
  if (parts_ && parts_->executor)
    out = parts_->executor->now();
  if (parts_) {
    out.worker = parts_->order.worker;
    out.generation = parts_->order.generation;
  }
  return out;
}

void engine::leave(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (parts_)
      for (auto* opening : {&parts_->opening, &parts_->next_opening})
        if (*opening)
          (*opening)->abort(reason);
    if (parts_ && parts_->executor)
      parts_->executor->abort(reason);
  }
  for (std::thread* one : {&beside_, &thread_})
    if (one->joinable())
      one->join();
  std::unique_ptr<run_parts> gone;
  {
    std::lock_guard lock(mutex_);
    gone = std::move(parts_);
    phase_ = worker_phase::idle;
  }
  if (gone && gone->service)
    gone->service->shutdown(1s);
}

} // namespace

std::unique_ptr<worker_engine> make_worker_engine(engine_config config,
                                                  engine_listener listener) {
  return std::make_unique<engine>(std::move(config), std::move(listener));
}

} // namespace ballast
