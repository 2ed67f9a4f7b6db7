/// The step executor's interface to a model: flat parameters, a gradient sum
/// for each micro-batch, and an evaluation. LibTorch models implement it inside
/// libballast_torch.so, the emulated one without LibTorch.
///
/// Ownership and threads: one model per worker process, used by its step thread
/// only. Parameters and gradients are in flat float32 arenas that the executor
/// owns; the model works on views of them. All arenas have the same layout: the
/// parameters one after another in `parameters()` order.
#pragma once

#include "gpu/batch_view.hpp"
#include "gpu/model_place.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ballast::gpu {

struct parameter_info {
  std::string name; // as in LibTorch: "fc1.weight"
  std::vector<int64_t> shape;
  size_t offset = 0; // in elements, from the start of the arena
  size_t count = 0;
};

/// Sums over rows of an evaluated batch; in double, to be added over ranks.
struct evaluation_sums {
  double loss = 0;
  double correct = 0; // classes and tokens only
  double rows = 0;
  double weight = 0; // of the rows in the loss: their number, or class weights

  evaluation_sums& operator+=(const evaluation_sums& more) {
    loss += more.loss;
    correct += more.correct;
    rows += more.rows;
    weight += more.weight;
    return *this;
  }
};

class model {
public:
  virtual ~model() = default;

  virtual const std::vector<parameter_info>& parameters() const = 0;
  /// Elements of an arena.
  virtual size_t parameter_count() const {
    return parameters().empty()
               ? 0
               : parameters().back().offset + parameters().back().count;
  }

  /// Writes the initial parameters (seeded by the job, equal on every worker)
  /// to host memory, wherever the model computes. All of it is 0 before: what
  /// begins with 0 is not written, and its pages come when they are.
  virtual void initialize(std::span<float> parameters) = 0;
  /// From now on parameters are read from and gradients added to these arenas.
  /// Cheap: called whenever the two gradient arenas alternate.
  virtual void bind(std::span<float> parameters,
                    std::span<float> gradients) = 0;

  /// Adds the *sum* over rows of the gradient of each row's loss to the bound
  /// gradients and returns the loss sum; in both a row counts as much as its
  /// weight. Never called with 0 rows. `ready(i)`
  /// (if given) is called on this thread as soon as the gradient of parameter i
  /// is final for this call, each i once, in any order. `step_seed` seeds
  /// dropout and the like: (job seed, step, rank) mixed. Throws out_of_memory
  /// if a device has no room for the rows.
  virtual double accumulate(const batch_view& batch, uint64_t step_seed,
                            const std::function<void(size_t)>& ready) = 0;
  /// As accumulate(), to gradients that may hold anything before: `bound`, as
  /// they were bound. (Here, as each library has the whole of this class.)
  virtual double overwrite(std::span<float> bound, const batch_view& batch,
                           uint64_t step_seed,
                           const std::function<void(size_t)>& ready) {
    std::fill(bound.begin(), bound.end(), 0.0F);
    return accumulate(batch, step_seed, ready);
  }

  /// Forward pass only, without side effects; without the batch's weights.
  /// Tells the batch's tally each row, if it has one.
  virtual evaluation_sums evaluate(const batch_view& batch) = 0;

  /// Ends an `accumulate` in progress as early as the model can, and every
  /// later one at once, until `resume`. The loss is then NaN and the gradients
  /// are invalid: the caller drops the step. From any thread.
  virtual void interrupt() noexcept {}
  virtual void resume() noexcept {}

  /// Further names under which a parameter is saved: tied parameters are one
  /// parameter here, and several tensors in a model file.
  struct alias {
    std::string name;
    size_t parameter = 0; // index
  };
  virtual std::vector<alias> aliases() const { return {}; }

  // -- buffers that a step changes: batch-norm running statistics ------------

  /// Length of a statistics vector, 0 if the model has none.
  virtual size_t statistics_count() const { return 0; }
  /// Adds this step's pending statistics, each weighted by the rows it was
  /// taken over, to `out`, and forgets them. With 0 rows nothing is added.
  virtual void take_statistics(std::span<float> /*out*/) {}
  /// `sums` = statistics of all ranks added up, over `rows` rows: updates the
  /// running statistics, equally on every rank.
  virtual void apply_statistics(std::span<const float> /*sums*/,
                                double /*rows*/) {}
  /// Buffers to save beside the parameters, and frozen parameters: name, shape,
  /// and values, which are on the host.
  struct buffer {
    std::string name;
    std::vector<int64_t> shape;
    std::span<float> values;
  };
  virtual std::vector<buffer> buffers() { return {}; }

  // -- a trained model -------------------------------------------------------

  /// Forward pass only, without side effects and of the features alone: writes
  /// rows x answer_columns() numbers. Precondition: there are such
  /// columns.
  virtual void answer(const batch_view& /*batch*/, std::span<float> /*out*/) {}
};

/// The inputs from which a model is built.
struct model_request {
  const job* what = nullptr;
  ledger::row_shape row = {};
  uint32_t threads = 1;
  model_place place = {};
};

/// What a trained model says of a row: the probability of each class; of a
/// regression the value, of the loss hinge the score. 0: it says nothing of a
/// row as a whole ('transformer', which predicts each token of it) or nothing
/// at all ('emulated').
inline uint32_t answer_columns(const job& what, const ledger::row_shape& row) {
  if (what.model.kind == model_kind::emulated ||
      what.train.loss == loss_kind::next_token)
    return 0;
  return has_probabilities(what.train.loss) ? row.classes : 1;
}

/// The loss of a row is that of gpu/torch/objective.hpp; the mean over the
/// global batch is its sum over rows divided by the number of rows (also with
/// class weights: not by the sum of the weights, as an evaluation does it, and
/// PyTorch). next_token: the mean over the
/// tokens of the row after the first of -log softmax(outputs)[token]; `correct`
/// then counts the fraction of them that are the likeliest.
///
/// Builds job.model. Opens libballast_torch.so (next to this library) only for
/// kinds that need LibTorch. Throws ballast_error{invalid_job} with a pointer
/// if model and data do not match, {not_in_build} if LibTorch is missing.
std::unique_ptr<model> make_model(const model_request& request);

} // namespace ballast::gpu
