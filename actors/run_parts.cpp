#include "actors/run_parts.hpp"
#include "gpu/collective_backends.hpp"

#include "actors/this_machine.hpp"
#include "data/checkpoint_store.hpp"
#include "data/host_memory.hpp"
#include "data/safetensors.hpp"
#include "gpu/cuda_report.hpp"
#include "gpu/staged_collective.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using namespace std::chrono_literals;

/// Bounds a silent peer.
constexpr auto connect_deadline = 20s;

/// The chunks of a share, each once.
std::vector<chunk_info> chunks_of(const share& part, const manifest& set) {
  std::vector<chunk_info> out;
  for (const interval& one : part.intervals)
    if (out.empty() || out.back().id != one.chunk)
      out.push_back(set.train.at(value(one.chunk)));
  return out;
}

/// Parameters and buffers by name, as views of the host's memory.
std::vector<tensor_view> tensors_of(run_parts& parts, nlohmann::json& buffers,
                                    host_rooms& room) {
  const std::span<const float> values = on_host(
      *parts.device, parts.memory.parameters.get(), parts.memory.count, room);
  std::vector<tensor_view> out;
  for (const parameter_info& one : parts.network->parameters())
    out.push_back({one.name, one.shape, values.subspan(one.offset, one.count)});
  // What the hash of the weights leaves out.
  buffers = nlohmann::json::array();
  for (const model::alias& one : parts.network->aliases()) {
    const parameter_info& of = parts.network->parameters().at(one.parameter);
    out.push_back({one.name, of.shape, values.subspan(of.offset, of.count)});
    buffers.push_back(one.name);
  }
  for (const model::buffer& one : parts.network->buffers()) {
    out.push_back({one.name, one.shape, one.values});
    buffers.push_back(one.name);
  }
  return out;
}

void connect_origin(run_parts& parts, const assignment& order) {
  if (parts.origin && parts.origin_address == order.origin)
    return;
  parts.origin = chunk_client::connect(order.origin, order.token, 10s);
  parts.origin_address = order.origin;
}

std::string model_bytes(run_parts& parts) {
  nlohmann::json buffers;
  host_rooms room;
  std::vector<tensor_view> tensors = tensors_of(parts, buffers, room);
  return safetensors_bytes(tensors,
                           {{"format", "pt"},
                            {"ballast_run", parts.order.run},
                            {"buffers", json_text(buffers)},
                            {"step", to_string(parts.state.held.step)}});
}

/// The collective that the job names. What it lacks here it will lack in every
/// generation: no reason to try again.
std::unique_ptr<collective_backend> open_backend(const run_parts& parts) {
  try {
    return make_backend(parts.what.train.collective,
                        cuda_index(parts.device->name()).value_or(-1));
  } catch (const collective_error& e) {
    throw ballast_error(errc::device_failed, e.what(), "/train/collective");
  }
}

void initialize(run_parts& parts) {
  const size_t count = parts.memory.count;
  float* to = parts.memory.parameters.get();
  if (parts.device->is_host())
    return parts.network->initialize({to, count});
  std::vector<float> values(count);
  parts.network->initialize(values);
  parts.device->upload(to, values.data(), count);
}

/// Before anything of that size is allocated.
void check_memory(const run_parts& parts, uint64_t parameters) {
  if (!parts.device->is_host())
    return; // a device says so itself
  if (failure why = memory_problem(parts.what, parameters,
                                   parts.order.local_workers, this_machine()))
    throw ballast_error(why);
}

void build(run_parts& parts) {
  if (parts.what.model.kind == "emulated") {
    parts.device = &cpu_device(); // what it measures is not the device
    check_memory(parts, parts.what.model.parameters);
  }
  const machine_size machine = this_machine();
  if (failure why = threads_problem(parts.what.train.threads, machine))
    throw ballast_error(why);
  const uint32_t threads =
      compute_threads(parts.what.train, parts.order.local_workers, machine);
  compute_device& device = *parts.device;
  parts.backend = open_backend(parts);
  parts.network =
      make_model({&parts.what, parts.set.row, threads, device.place()});
  size_t count = parts.network->parameter_count();
  check_memory(parts, count);
  parts.memory.count = count;
  parts.memory.parameters = device.allocate(count, *parts.backend);
  for (auto& arena : parts.memory.gradients)
    arena = device.allocate(count, *parts.backend);
  initialize(parts);
  parts.update =
      device.make_optimizer(parts.what.train.optimizer, count, *parts.backend);
  parts.layout = make_bucket_layout(parts.network->parameters());
}

/// Counts one down, unless there is none left.
bool take_one(std::atomic<uint64_t>& left) {
  uint64_t now = left.load(std::memory_order_relaxed);
  while (now > 0)
    if (left.compare_exchange_weak(now, now - 1))
      return true;
  return false;
}

void start_service(run_parts& parts, const std::string& bind_host) {
  parts.service = chunk_service::start(
      bind_host, 0, parts.order.token,
      [&parts](data_part part, chunk_id id) {
        chunk_ptr found = parts.store->find(part, id);
        return found && take_one(parts.damage_next) ? damaged_copy(*found)
                                                    : found;
      },
      [&parts](const std::string& name) -> std::optional<std::string> {
        if (name == "model")
          return model_bytes(parts);
        std::lock_guard lock(parts.copy_lock);
        if (parts.copy.bytes &&
            name == "checkpoint-" + to_string(parts.copy.step))
          return *parts.copy.bytes;
        return std::nullopt;
      });
}

} // namespace

trace_writer::trace_writer(std::filesystem::path path)
    : path_(std::move(path)) {
  try {
    file_.emplace(path_, "trace.write");
  } catch (const ballast_error& e) {
    if (e.what_failed().code != errc::disk_full)
      throw;
  }
}

void trace_writer::write(const step_order& order,
                         const std::vector<uint64_t>& ids) {
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
  if (!file_)
    file_.emplace(path_, "trace.write");
  file_->append(line_);
}

std::string state_bytes(run_parts& parts, step_number after) {
  nlohmann::json buffers;
  host_rooms room;
  std::vector<tensor_view> tensors = tensors_of(parts, buffers, room);
  for (const optimizer::state_vector& one : parts.update->state())
    tensors.push_back(
        {optimizer_prefix + one.name,
         {int64_t(one.values.size())},
         on_host(*parts.device, one.values.data(), one.values.size(), room)});
  return safetensors_bytes(tensors, {{"format", "pt"},
                                     {"ballast_run", parts.order.run},
                                     {"buffers", json_text(buffers)},
                                     {"step", to_string(after)}});
}

step_number load_checkpoint(run_parts& parts) {
  constexpr const char* blob = "checkpoint";
  tensor_file file =
      parse_safetensors(parts.origin->fetch_blob(blob, bulk_patience), blob);
  // Buffers lie on the host, arenas where this worker computes.
  auto take = [&file](compute_device& to, const std::string& name,
                      std::span<float> into) {
    const tensor_view* found = file.find(name);
    if (!found || found->values.size() != into.size())
      throw ballast_error(
          errc::invalid_data,
          "the checkpoint does not fit the model: '" + name + "' has " +
              std::to_string(found ? found->values.size() : 0) +
              " values there, " + std::to_string(into.size()) + " here");
    to.upload(into.data(), found->values.data(), into.size());
  };
  for (const parameter_info& one : parts.network->parameters())
    take(*parts.device, one.name,
         {parts.memory.parameters.get() + one.offset, one.count});
  for (const model::buffer& one : parts.network->buffers())
    take(cpu_device(), one.name, one.values);
  for (const optimizer::state_vector& one : parts.update->state())
    take(*parts.device, optimizer_prefix + one.name, one.values);
  uint64_t step = std::strtoull(file.metadata["step"].c_str(), nullptr, 10);
  if (step + 1 != value(parts.order.start.step))
    throw ballast_error(errc::invalid_data,
                        "the checkpoint is of step " + std::to_string(step) +
                            ", the run goes on with step " +
                            to_string(parts.order.start.step));
  return step_number{step};
}

namespace {

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

} // namespace

void trace_steps(run_parts& parts, step_listener& steps) {
  if (!parts.what.trace_samples)
    return;
  if (!parts.trace)
    parts.trace = open_trace(parts.order);
  steps.trace = [&parts](const step_order& order,
                         const std::vector<uint64_t>& ids) {
    parts.trace->write(order, ids);
  };
}

step_number load_run(run_parts& parts, const std::string& bind_host,
                     uint64_t store_limit_bytes,
                     const std::function<bool()>& given_up) {
  job_result parsed = parse_job(parts.order.job, {}, "/");
  if (!parsed.value)
    throw ballast_error(parsed.mistakes.at(0));
  parts.what = *parsed.value;
  connect_origin(parts, parts.order);
  bulk_watch how;
  how.given_up = given_up;
  parts.set = nlohmann::json::parse(parts.origin->fetch_blob("manifest", how))
                  .get<manifest>();
  uint64_t limit =
      store_limit_bytes > 0 ? store_limit_bytes : parts.order.store_limit_bytes;
  parts.store = std::make_unique<chunk_store>(
      limit > 0 ? limit : available_memory_bytes() / 5 * 4);
  // The model takes as long to load as the data: side by side.
  auto built = std::async(std::launch::async, [&parts] { build(parts); });
  fetch_chunks(parts, parts.order, given_up);
  start_service(parts, bind_host);
  built.get();
  return parts.order.from_checkpoint ? load_checkpoint(parts) : step_number{};
}

namespace {

std::vector<chunk_info> missing_of(const run_parts& parts, data_part part,
                                   const std::vector<chunk_info>& wanted) {
  std::vector<chunk_info> out;
  for (const chunk_info& one : wanted)
    if (!parts.store->find(part, one.id))
      out.push_back(one);
  return out;
}

uint64_t sum_of_bytes(const std::vector<chunk_info>& chunks) {
  uint64_t out = 0;
  for (const chunk_info& one : chunks)
    out += one.bytes;
  return out;
}

} // namespace

void fetch_chunks(run_parts& parts, const assignment& order,
                  const std::function<bool()>& given_up) {
  connect_origin(parts, order);
  const plan& first = *order.first;
  size_t rank = 0;
  while (first.shares.at(rank).worker != order.worker)
    ++rank;
  std::vector<chunk_info> test_share;
  for (size_t i = rank; i < parts.set.test.size(); i += first.shares.size())
    test_share.push_back(parts.set.test[i]);
  const std::vector<chunk_info> train = missing_of(
      parts, data_part::train, chunks_of(first.shares[rank], parts.set));
  const std::vector<chunk_info> test =
      missing_of(parts, data_part::test, test_share);
  const uint64_t coming = sum_of_bytes(train) + sum_of_bytes(test);
  // The coordinator counted what each worker is to own. What goes meanwhile is
  // held a moment longer.
  if (order.store_limit_bytes > 0)
    parts.store->set_limit(
        std::max(order.store_limit_bytes, parts.store->bytes() + coming));
  parts.coming.begin(coming);
  struct over {
    bytes_coming& of;
    ~over() { of.end(); }
  } const whatever_happens{parts.coming};
  bulk_watch how;
  how.given_up = given_up;
  auto fetch = [&](data_part part, const std::vector<chunk_info>& what) {
    how.progress = [&parts](uint64_t bytes) { parts.coming.arrived(bytes); };
    parts.origin->fetch(part, what, parts.set.row, how, [&](chunk_ptr got) {
      parts.store->put(part, std::move(got));
    });
  };
  fetch(data_part::train, train);
  fetch(data_part::test, test);
  log().info("holds {} train and {} test chunks, {} MB",
             parts.store->count(data_part::train),
             parts.store->count(data_part::test), parts.store->bytes() >> 20);
}

void release_chunks(run_parts& parts, const std::vector<step_record>& steps) {
  const plan* next = parts.next_order ? &*parts.next_order->first : nullptr;
  size_t gone = parts.release.applied(steps, next, parts.order.worker,
                                      parts.set, *parts.store);
  if (gone > 0)
    log().info("released {} chunks; holds {} train and {} test chunks", gone,
               parts.store->count(data_part::train),
               parts.store->count(data_part::test));
}

namespace {

/// For the generation of `order`. Throws collective_error.
collective_backend& backend_for(run_parts& parts, const assignment& order) {
  if (parts.what.train.collective != "auto" || order.collective != "nccl")
    return *parts.backend;
  if (!parts.nccl)
    parts.nccl =
        make_backend("nccl", cuda_index(parts.device->name()).value_or(-1));
  return *parts.nccl;
}

bool needs_mirror(const run_parts& parts, const collective_backend& group) {
  return !parts.device->is_host() && !group.capabilities().device_memory;
}

} // namespace

std::unique_ptr<collective_opening>
open_collective(run_parts& parts, const assignment& order,
                const std::string& bind_host) {
  collective_backend& group = backend_for(parts, order);
  const size_t count = parts.memory.count;
  // Peers learn of it when they join.
  if (needs_mirror(parts, group) && !parts.mirror)
    parts.mirror = parts.device->pin(group.allocate_arena(count), count);
  log().info("generation {}: gradients of {} go over {}",
             value(order.generation), order.first->shares.size(), group.name());
  collective_options options;
  options.generation = order.generation;
  options.size = int(order.first->shares.size());
  while (order.first->shares[size_t(options.rank)].worker != order.worker)
    ++options.rank;
  options.layout_hash = layout_hash(parts.layout);
  options.token = order.token;
  options.bind_host = bind_host;
  return group.prepare(options);
}

std::unique_ptr<collective>
connect_collective(run_parts& parts, const assignment& order,
                   collective_opening& opening,
                   const std::vector<std::string>& addresses) {
  collective_backend& group = backend_for(parts, order);
  std::unique_ptr<collective> out;
  try {
    out = opening.connect(addresses,
                          std::chrono::steady_clock::now() + connect_deadline);
  } catch (const collective_error& e) {
    // Two versions of NCCL, two workers on one GPU: trying again, as after the
    // death of a peer, would not help. "auto" has the ring to try.
    if (parts.what.train.collective == "nccl" &&
        e.code() == collective_errc::mismatch)
      throw ballast_error(errc::device_failed, e.what(), "/train/collective");
    throw;
  }
  if (!needs_mirror(parts, group))
    return out;
  return make_staged_collective(std::move(out), *parts.device, parts.mirror,
                                parts.memory.count);
}

} // namespace ballast
