/// The part of step_executor after the steps: the evaluation at the end of an
/// epoch, and the end of the run.
#include "data/model/safetensors.hpp"
#include "data/model/weights_digest.hpp"
#include "gpu/evaluation_totals.hpp"
#include "gpu/step_executor.hpp"
#include "gpu/step_helpers.hpp"

#include <algorithm>

namespace ballast::gpu {

namespace {

/// Rows of one forward pass of the evaluation.
constexpr uint32_t evaluation_rows = 512;
/// The number of results kept for a coordinator that was away. Dropping older
/// ones loses only their events: the newest says which epoch must still be
/// evaluated.
constexpr size_t evaluations_max = 16'384;
/// Likewise, of the numbers in them: a metric may be a list or a matrix.
constexpr size_t evaluated_numbers_max = size_t{1} << 20;

bool are_too_many(const std::deque<evaluation_report>& kept) {
  size_t numbers = 0;
  for (const metrics::metric_value& one : kept.back().values)
    numbers += one.numbers.size();
  return kept.size() > evaluations_max ||
         (kept.size() - 1) * numbers > evaluated_numbers_max;
}

/// Of values in the place of the parameters.
std::string digest_of(const step_executor::parts& of,
                      std::span<const float> values) {
  std::vector<data::tensor_view> tensors;
  for (const parameter_info& one : of.model->parameters())
    tensors.push_back(
        {one.name, one.shape, values.subspan(one.offset, one.count)});
  return data::digest_of(tensors, uint32_t(of.image_threads));
}

std::string parameters_digest(const step_executor::parts& of) {
  host_rooms room;
  return digest_of(of, on_host(*of.device, of.memory.parameters.get(),
                               of.memory.count, room));
}

} // namespace

void step_executor::evaluate() {
  const ledger::manifest& set = *with_.set;
  if (set.test_rows == 0)
    return;
  enter(worker_phase::evaluate);
  uint64_t start_ns = monotonic_ns();
  evaluation_totals totals(evaluation_layout(*with_.what, set), set);
  data::batch rows;
  std::optional<data::augmented_rows> images;
  if (with_.images != nullptr)
    rows.images = &images.emplace(*with_.images, with_.image_threads);
  const data::row_source::question aborted = [this] {
    std::lock_guard lock(mutex_);
    return aborted_;
  };
  // By ranks of the collective: the core may already have a plan that takes
  // effect after this.
  for (size_t i = 0; i < set.test.size(); ++i) {
    if (!totals.is_mine(i, *group_))
      continue;
    const data::chunk_ptr from =
        with_.rows->chunk_of(data::data_part::test, set.test[i].id, aborted);
    for (uint32_t begin = 0; begin < from->rows; begin += evaluation_rows) {
      uint32_t part = std::min(evaluation_rows, from->rows - begin);
      gather_range(*from, set.row, begin, part, rows);
      batch_view there =
          with_.device->bring(step_slot, view(rows), with_.row().features);
      there.tally = totals.tally();
      totals.add(i, begin, method_->evaluate(there));
    }
  }
  evaluation_report report = totals.sum(*group_);
  report.worker = with_.self;
  const step_number here = with_.state->held.step;
  report.step = here;
  report.epoch = core_->epoch_of(here);
  // What it decides is done before anybody hears of it.
  judged_.hear(report);
  judged_.keep(here, listener_.before_change);
  report.wall_ns = monotonic_ns() - start_ns;
  {
    std::lock_guard lock(mutex_);
    auto& kept = with_.state->evaluations;
    kept.push_back(report);
    if (are_too_many(kept))
      kept.pop_front();
  }
  listener_.report(report);
}

void step_executor::finish() {
  enter(worker_phase::finished);
  worker_finished message;
  message.worker = with_.self;
  message.step = step_number{value(core_->stands_at().step) - 1};
  message.stopped = core_->stopped();
  finite_.check_parameters(with_.state->held.step, with_.image_threads);
  // Alone it has nobody to agree with. A run that is stopped may end without a
  // model.
  if (group_->size() > 1 || message.stopped)
    message.weights_digest = parameters_digest(with_);
  const std::span<const float> kept = judged_.kept();
  if (!message.weights_digest.empty() && !kept.empty())
    message.best_digest = digest_of(with_, kept);
  listener_.report(std::move(message));
}

} // namespace ballast::gpu
