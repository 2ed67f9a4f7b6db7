#include "runtime/job/memory_need.hpp"

#include <algorithm>
#include <cstdio>

namespace ballast {

namespace {

uint64_t arenas_of(const optimizer_spec& optimizer) {
  const bool adam = optimizer.kind != optimizer_kind::sgd;
  const bool momentum = !adam && optimizer.momentum != 0;
  return 3 + (adam ? 2 : momentum ? 1 : 0);
}

// Saturating product: stops at the largest number instead of overflowing.
uint64_t times(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}
uint64_t plus(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? UINT64_MAX : out;
}

/// A chain of layers, each with `unit` weights for each pair of input and
/// output plus a bias; at least one input and one output.
uint64_t layered(const std::vector<uint32_t>& widths, uint64_t unit) {
  uint64_t in = 1;
  uint64_t out = 0;
  for (uint32_t width : widths) {
    out = plus(out, plus(times(times(in, unit), width), width));
    in = width;
  }
  return plus(out, plus(in, 1));
}

/// Four products and two norms in each block; embeddings of at least one
/// position.
uint64_t transformer(const model_spec& model) {
  const uint64_t width = model.width;
  const uint64_t block = plus(times(12, times(width, width)), times(13, width));
  const uint64_t embeddings = plus(model.vocabulary.value_or(1), 1);
  return plus(times(model.layers, block), times(plus(embeddings, 2), width));
}

} // namespace

uint64_t least_parameters(const model_spec& model) {
  switch (model.kind) {
  case model_kind::emulated:
    return model.parameters;
  case model_kind::mlp:
    return layered(model.hidden, 1);
  case model_kind::cnn:
    return layered(model.channels, 9);
  case model_kind::transformer:
    return transformer(model);
  case model_kind::linear:
  case model_kind::logistic:
  case model_kind::resnet18:
  case model_kind::torchscript:
    return 0;
  }
  return 0;
}

uint64_t training_bytes(uint64_t parameters, const optimizer_spec& optimizer) {
  return times(parameters, arenas_of(optimizer) * sizeof(float));
}

std::string gibibytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB",
                bytes / double(uint64_t{1} << 30));
  return text;
}

failure memory_problem(const job& what, uint64_t parameters, uint32_t workers,
                       const machine_size& machine, bool at_least) {
  workers = std::max(workers, 1u);
  // What is not sent yet, and what a step in flight will not have sent.
  const bool compressed = what.train.compression != compression_kind::none;
  const bool kept = !what.keep.best.metric.empty();
  const auto each =
      double(plus(training_bytes(parameters, what.train.optimizer),
                  times(parameters, ((compressed ? 2 : 0) + (kept ? 1 : 0)) *
                                        sizeof(float))));
  if (machine.memory_bytes == 0 ||
      each * workers <= double(machine.memory_bytes))
    return {};
  const std::string bound = at_least ? "at least " : "";
  std::string need = "the model needs " + bound + gibibytes(each) + " for " +
                     bound + std::to_string(parameters) + " parameters with " +
                     to_string(what.train.optimizer.kind) +
                     " (parameters, two gradients, optimizer state" +
                     (compressed ? ", what compression keeps" : "") +
                     (kept ? ", the best parameters so far)" : ")");
  if (workers > 1)
    need +=
        " in each of " + std::to_string(workers) + " workers on this machine";
  const bool fewer = each <= double(machine.memory_bytes);
  return {errc::invalid_job,
          need + "; it has " + gibibytes(double(machine.memory_bytes)) +
              (fewer ? ": run fewer workers here, or take a smaller model"
                     : ": take a smaller model or a larger machine"),
          "/model"};
}

failure threads_problem(uint32_t threads, const machine_size& machine) {
  if (threads <= machine.cores)
    return {};
  return {errc::invalid_job,
          std::to_string(threads) +
              " compute threads a worker are more than the " +
              std::to_string(machine.cores) +
              " cores of this machine; set train.threads to at most that, or "
              "to 0, which shares the cores among the workers",
          "/train/threads"};
}

uint32_t compute_threads(const train_spec& train, uint32_t local_workers,
                         const machine_size& machine) {
  return train.threads > 0
             ? train.threads
             : std::max(1u, machine.cores / std::max(1u, local_workers));
}

failure machine_problem(const job& what, const machine_size& machine) {
  if (failure why = threads_problem(what.train.threads, machine))
    return why;
  return memory_problem(what, least_parameters(what.model),
                        what.elastic.workers, machine,
                        what.model.kind != model_kind::emulated);
}

} // namespace ballast
