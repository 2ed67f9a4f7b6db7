/// `ballast infer MODEL FINGERPRINT --liveness-fd N`: a process of an
/// inference_pool. Loads the model once, computes the parts that it is handed,
/// and ends with the process that started it.
#include "cli/commands/end_of_command.hpp"
#include "cli/commands/evaluation_parts.hpp"
#include "cli/liveness.hpp"
#include "data/inference/prediction_parts.hpp"
#include "data/inference/trained_run.hpp"
#include "gpu/model.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::cli {

namespace {

using nlohmann::json;

/// So many rows pass through the model at once; fixed, as the answers may
/// differ in their last bits with it.
constexpr uint32_t rows_at_once = 512;

/// A model with the parameters of a run, on one thread: the same bits however
/// many processes compute.
class loaded_model {
public:
  explicit loaded_model(const data::trained_run& run)
      : columns_(gpu::answer_columns(run.what, run.row)),
        features_(run.row.features), classes_(run.row.classes),
        model_(gpu::make_model({&run.what, run.row, 1, {}})),
        parameters_(model_->parameter_count()),
        gradients_(model_->parameter_count()), tally_(evaluation_layout(run)) {
    model_->initialize(parameters_);
    model_->bind(parameters_, gradients_);
  }

  size_t columns() const { return columns_; }

  std::vector<float> answers(const data::labelled_features& rows) {
    std::vector<float> out(rows.rows * columns_);
    for_each_batch(rows, [&](const gpu::batch_view& batch, size_t first) {
      model_->answer(batch, std::span(out).subspan(first * columns_,
                                                   batch.rows * columns_));
    });
    return out;
  }

  evaluated_part evaluate(const data::labelled_features& rows) {
    evaluated_part out;
    for_each_batch(rows, [&](gpu::batch_view batch, size_t /*first*/) {
      if (!tally_.empty())
        batch.tally = &tally_;
      out.sums += model_->evaluate(batch);
    });
    out.rows = tally_.take_part();
    out.counts = tally_.counts();
    tally_.clear_counts();
    return out;
  }

private:
  template <class Use>
  void for_each_batch(const data::labelled_features& rows, const Use& use) {
    std::vector<int64_t> classes;
    if (classes_ > 0)
      classes.assign(rows.labels.begin(), rows.labels.end());
    for (size_t first = 0; first < rows.rows; first += rows_at_once) {
      gpu::batch_view batch;
      batch.rows = uint32_t(std::min<size_t>(rows_at_once, rows.rows - first));
      batch.features = rows.features.data() + first * features_;
      if (!classes.empty())
        batch.labels = classes.data() + first;
      else if (!rows.labels.empty())
        batch.targets = rows.labels.data() + first;
      use(batch, first);
    }
  }

  const size_t columns_;
  const size_t features_;
  const size_t classes_; // 0: a regression
  std::unique_ptr<gpu::model> model_;
  std::vector<float> parameters_;
  std::vector<float> gradients_; // that nobody computes
  metrics::tally tally_;
};

json compute(loaded_model& model, const json& order) {
  const data::labelled_features rows =
      data::read_rows(order.at("rows").get<std::string>());
  json out{{"done", order.at("part")}, {"rows", rows.rows}};
  const auto to = order.at("answers").get<std::string>();
  if (order.at("judge").get<bool>())
    write_part(to, model.evaluate(rows));
  else
    data::write_answers(to, model.answers(rows), model.columns());
  return out;
}

int serve(const std::string& folder, const std::string& fingerprint,
          liveness_socket& parent) {
  const data::trained_run run = data::read_trained_run(folder);
  if (run.fingerprint != fingerprint)
    throw ballast_error(errc::invalid_data,
                        printable(folder) +
                            ": the model changed while it was used; try again");
  loaded_model model(run);
  parent.send({{"ready", true}});
  for (;;) {
    const json order = parent.receive();
    if (!order.is_object())
      return 0; // who wanted it is gone
    if (!parent.send(compute(model, order)))
      return 0;
  }
}

int infer(const std::vector<std::string>& arguments) {
  int descriptor = -1;
  for (size_t i = 0; i + 1 < arguments.size(); ++i)
    if (arguments[i] == "--liveness-fd")
      std::from_chars(arguments[i + 1].data(),
                      arguments[i + 1].data() + arguments[i + 1].size(),
                      descriptor);
  if (descriptor < 0 || arguments.size() < 4)
    throw ballast_error(errc::usage, "infer: is started by `ballast predict` "
                                     "and `ballast evaluate`");
  liveness_socket parent(descriptor);
  try {
    return serve(arguments[0], arguments[1], parent);
  } catch (const ballast_error& error) {
    const failure& why = error.what_failed();
    parent.send({{"refused",
                  {{"code", to_string(why.code)},
                   {"message", error.what()},
                   {"pointer", why.pointer}}}});
    throw;
  }
}

} // namespace

} // namespace ballast::cli

/// argv[0] is "infer".
extern "C" __attribute__((visibility("default"))) int
ballast_infer_main(int argc, char** argv) {
  using namespace ballast;
  std::signal(SIGPIPE, SIG_IGN);
  return cli::end_of_command([&] {
    return cli::infer({argv + 1, argv + argc});
  });
}
