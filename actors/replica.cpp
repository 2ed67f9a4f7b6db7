#include "actors/replica.hpp"

#include "actors/this_machine.hpp"
#include "collectives/zeroed_memory.hpp"
#include "data/model/checkpoint_store.hpp"
#include "data/model/safetensors.hpp"
#include "gpu/first_touch.hpp"
#include "gpu/inherited_state.hpp"
#include "gpu/reduction/probe_leaf.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/job/memory_need.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::actors {

namespace {

/// The tensors of a part by name, as views of the host's memory.
void append(std::vector<data::tensor_view>& to, const gpu::state_part& part,
            gpu::host_rooms& room) {
  const std::span<const float> values = on_host(part, room);
  for (const gpu::part_tensor& one : part.tensors)
    to.push_back({one.name, one.shape, values.subspan(one.first, one.count)});
}

/// What is saved twice: tied parameters, the second time under another name.
/// `first`: where the parameters begin.
void append_aliases(std::vector<data::tensor_view>& to, const replica& of,
                    size_t first, const std::string& prefix) {
  for (const gpu::model::alias& one : of.network->aliases()) {
    const data::tensor_view as = to.at(first + one.parameter);
    to.push_back({prefix + one.name, as.shape, as.values});
  }
}

/// The parts of the best model, parameters first, under the names of a model;
/// `buffers`: those that are no parameters.
void append_model(std::vector<data::tensor_view>& to,
                  const std::vector<gpu::state_part>& best, const replica& of,
                  gpu::host_rooms& room, nlohmann::json& buffers) {
  for (const gpu::state_part& part : best) {
    const size_t first = to.size();
    append(to, part, room);
    for (size_t i = first; i < to.size(); ++i)
      to[i].name.erase(0, data::best_prefix.size());
    if (first > 0) {
      buffers.push_back(to.back().name);
      continue;
    }
    append_aliases(to, of, 0, "");
    for (const gpu::model::alias& one : of.network->aliases())
      buffers.push_back(one.name);
  }
}

/// All parts that `holds` wants, after the aliases of the parameters.
replica_image image_of(const replica& of, const std::string& run,
                       step_number after,
                       bool (*holds)(gpu::state_part::kind)) {
  using kind = gpu::state_part::kind;
  replica_image out;
  std::vector<data::tensor_view> tensors;
  // Whom the hash of the weights leaves out.
  nlohmann::json buffers = nlohmann::json::array();
  for (const gpu::state_part& part : parts_of(of)) {
    if (!holds(part.what))
      continue;
    append(tensors, part, out.room);
    if (part.what == kind::parameters) {
      append_aliases(tensors, of, 0, "");
      for (const gpu::model::alias& one : of.network->aliases())
        buffers.push_back(one.name);
    }
    if (part.what == kind::best && part.values.data() == of.memory.best.get())
      append_aliases(tensors, of, tensors.size() - part.tensors.size(),
                     data::best_prefix);
    if (part.what == kind::buffer)
      buffers.push_back(part.tensors.front().name);
  }
  std::map<std::string, std::string> about{{"format", "pt"},
                                           {"ballast_run", run},
                                           {"buffers", json_text(buffers)},
                                           {"step", to_string(after)}};
  if (of.steps_before > 0)
    about[data::optimizer_steps_key] =
        std::to_string(of.steps_before + value(after));
  if (of.memory.best && holds(kind::best))
    about[data::best_step_key] = to_string(of.state.judged.keep.step);
  out.file = data::image_of(tensors, about);
  return out;
}

void initialize(replica& out) {
  const size_t count = out.memory.count;
  float* to = out.memory.parameters.get();
  if (out.device->is_host())
    return out.network->initialize({to, count});
  std::vector<float> values(count);
  out.network->initialize(values);
  out.device->upload(to, values.data(), count);
}

/// The optimizer's state of the checkpoint that the job begins with.
void take_over_optimizer(replica& out, const init_spec& how) {
  std::vector<std::string> wanted;
  for (const gpu::optimizer::state_vector& one : out.update->state())
    wanted.push_back(one.name);
  const auto found =
      gpu::inherit_optimizer(how, out.network->parameters(), wanted);
  for (const gpu::optimizer::state_vector& one : out.update->state())
    for (const gpu::inherited_vector& from : found)
      if (from.name == one.name)
        out.device->upload(one.values.data(), from.values.data(),
                           from.values.size());
}

/// Of memory that the first step writes. The second gradients wait for the
/// second step, unless others wait for this worker then.
void touch_memory(replica& out, uint32_t threads, bool others_train) {
  if (!out.device->is_host())
    return;
  std::vector<std::span<float>> memory = {
      {out.memory.parameters.get(), out.memory.count},
      {out.memory.gradients[0].get(), out.memory.count}};
  for (const gpu::optimizer::state_vector& one : out.update->state())
    memory.push_back(one.values);
  if (others_train)
    memory.push_back({out.memory.gradients[1].get(), out.memory.count});
  gpu::touch_first(memory, threads);
}

/// Before anything of that size is allocated.
void check_memory(const replica& of, const job& what, uint64_t parameters,
                  uint32_t local_workers) {
  if (!of.device->is_host())
    return; // a device says so itself
  if (failure why =
          memory_problem(what, parameters, local_workers, this_machine()))
    throw ballast_error(why);
}

/// What updates change, and which gradients travel for them.
void arrange(replica& out, const job& what) {
  const auto& parameters = out.network->parameters();
  gpu::update_groups groups = gpu::arrange_updates(what, *out.network);
  groups.steps_before = out.steps_before;
  out.layout = make_bucket_layout(parameters);
  if (!groups.still.empty())
    out.layout = leave_out(out.layout, parameters, groups.still);
  out.update->arrange(std::move(groups));
}

void make_room_for_best(replica& out) {
  size_t buffers = 0;
  for (const gpu::model::buffer& one : out.network->buffers())
    buffers += one.values.size();
  out.memory.best = collectives::zeroed_floats(out.memory.count);
  out.memory.best_buffers = collectives::zeroed_floats(buffers);
}

/// Each leaf is computed by one thread; what it gives would depend on the
/// number of threads else.
void build_leaves(replica& out, const job& what, const ledger::row_shape& row,
                  uint32_t threads, collectives::collective_backend& backend) {
  if (!out.device->is_host())
    throw ballast_error(errc::device_failed,
                        "/train/reduction: \"canonical\" sums are computed on "
                        "CPUs only, and this worker computes on " +
                            out.device->name() +
                            "; expected \"fused\", or workers without GPUs",
                        "/train/reduction");
  const uint32_t models = std::min(threads, what.train.leaves);
  for (uint32_t i = 1; i < models; ++i)
    out.leaf_models.push_back(
        gpu::make_model({&what, row, 1, out.device->place()}));
  out.leaves = gpu::lay_out_leaves(what.train.leaves, models, out.memory.count,
                                   out.network->statistics_count());
  out.leaves.values = out.device->allocate(out.leaves.floats(), backend);
}

/// The whole pages of it.
void give_back(std::span<float> memory) {
  const auto page = uintptr_t(::sysconf(_SC_PAGESIZE));
  const auto begin =
      (reinterpret_cast<uintptr_t>(memory.data()) + page - 1) / page * page;
  const auto end =
      reinterpret_cast<uintptr_t>(memory.data() + memory.size()) / page * page;
  if (begin >= end)
    return;
  auto* const at = reinterpret_cast<void*>(begin);
  // The first where other processes may map it, the second where not.
  if (::madvise(at, end - begin, MADV_REMOVE) != 0)
    (void)::madvise(at, end - begin, MADV_DONTNEED);
}

} // namespace

void build(replica& out, const job& what, const ledger::row_shape& row,
           uint32_t local_workers, bool others_train,
           collectives::collective_backend& backend) {
  if (what.model.kind == model_kind::emulated)
    check_memory(out, what, what.model.parameters, local_workers);
  const machine_size machine = this_machine();
  if (failure why = threads_problem(what.train.threads, machine))
    throw ballast_error(why);
  const uint32_t threads = compute_threads(what.train, local_workers, machine);
  gpu::compute_device& device = *out.device;
  const bool by_leaves = what.train.reduction == reduction_kind::canonical;
  out.network =
      gpu::make_model({&what, row, by_leaves ? 1 : threads, device.place()});
  const size_t count = out.network->parameter_count();
  check_memory(out, what, count, local_workers);
  out.memory.count = count;
  out.memory.parameters = device.allocate(count, backend);
  for (auto& arena : out.memory.gradients)
    arena = device.allocate(count, backend);
  out.update = device.make_optimizer(what.train.optimizer, count, backend);
  if (by_leaves)
    build_leaves(out, what, row, threads, backend);
  if (!what.keep.best.metric.empty())
    make_room_for_best(out);
  touch_memory(out, threads, others_train);
  // A file of weights also fills what is no parameter. A probe is of what the
  // run began with.
  if (out.begins || by_leaves || !what.init.from.empty() ||
      what.model.init != to_string(model_init::seeded)) {
    initialize(out);
    // A file fills tensors of theirs, too, and the parameters once more.
    if (out.network->buffers().size() > 0)
      for (const auto& one : out.leaf_models)
        one->initialize({out.memory.parameters.get(), count});
  }
  if (by_leaves)
    out.probe = gpu::probe_leaf(what, row, *out.network,
                                {out.memory.parameters.get(), count},
                                {out.memory.gradients[0].get(), count});
  if (out.begins && what.init.optimizer)
    take_over_optimizer(out, what.init);
  arrange(out, what);
}

void forget_gradients(const replica& of) {
  if (!of.device->is_host())
    return;
  for (const auto& arena : of.memory.gradients)
    give_back({arena.get(), of.memory.count});
}

std::vector<gpu::state_part> parts_of(const replica& of) {
  return state_parts(*of.network, *of.update, of.memory, *of.device);
}

replica_image model_image(const replica& of, const std::string& run) {
  return image_of(of, run, of.state.held.step, [](gpu::state_part::kind one) {
    return one == gpu::state_part::kind::parameters ||
           one == gpu::state_part::kind::buffer;
  });
}

replica_image best_image(const replica& of, const std::string& run) {
  replica_image out;
  std::vector<gpu::state_part> best = parts_of(of);
  std::erase_if(best, [](const gpu::state_part& one) {
    return one.what != gpu::state_part::kind::best;
  });
  std::vector<data::tensor_view> tensors;
  nlohmann::json buffers = nlohmann::json::array();
  append_model(tensors, best, of, out.room, buffers);
  out.file =
      data::image_of(tensors, {{"format", "pt"},
                               {"ballast_run", run},
                               {"buffers", json_text(buffers)},
                               {"step", to_string(of.state.judged.keep.step)}});
  return out;
}

uint64_t state_bytes(const replica& of) {
  uint64_t bytes = 0;
  for (const gpu::state_part& part : parts_of(of))
    bytes += part.values.size_bytes();
  return bytes;
}

replica_image state_image(const replica& of, const std::string& run,
                          step_number after) {
  return image_of(of, run, after, [](gpu::state_part::kind) { return true; });
}

} // namespace ballast::actors
