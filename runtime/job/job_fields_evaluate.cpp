/// `evaluate`: its fields, and which metrics are for which loss.
#include "runtime/job/asked_metrics.hpp"
#include "runtime/job/field_document.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/rule_book.hpp"
#include "runtime/job/test_part.hpp"
#include "runtime/metrics/layout.hpp"

#include <set>
#include <utility>

namespace ballast {

namespace {

const std::string metrics_pointer = "/evaluate/metrics";
constexpr size_t metrics_max = 64;

std::string usual_words() {
  std::string out;
  for (const auto& [of, what] : {std::pair("classes", metrics::task::classes),
                                 std::pair("numbers", metrics::task::number),
                                 std::pair("tokens", metrics::task::tokens)}) {
    out += std::string(out.empty() ? "" : "; ") + "of " + of;
    const auto usual = metrics::usual_metrics(what);
    for (metrics::metric one : usual)
      out += (one == usual[0] ? " `" : ", `") + to_string(one) + "`";
  }
  return out;
}

std::string pointer_of(size_t index) {
  return metrics_pointer + "/" + std::to_string(index);
}

bool lacks_probabilities(loss_kind loss, metrics::metric one) {
  return metrics::is_of_probabilities(one) && !has_probabilities(loss);
}

std::string those_that_fit(loss_kind loss, uint32_t classes = 0) {
  std::vector<std::string> names =
      metrics::metrics_that_fit(task_of(loss), classes);
  std::erase_if(names, [loss](const std::string& name) {
    return lacks_probabilities(loss, *parse_word<metrics::metric>(name));
  });
  return "; expected some of " + quoted_list(names);
}

} // namespace

void add_evaluate_fields(std::vector<job_field>& f) {
  add_field(
      f, metrics_pointer,
      [](job& j) -> field_place { return &j.evaluate.metrics; },
      "What is computed of the test part each time, beside its loss. "
      "[metrics-of-models.md](metrics-of-models.md) says what each is, and "
      "for which loss. Empty: " +
          usual_words() + ".")
      .one_of(metrics::metric_names())
      .items(0, metrics_max);
  add_field(
      f, "/evaluate/every",
      [](job& j) -> field_place {
        return number_or_word{&j.evaluate.every, "epoch"};
      },
      "When the test part is evaluated: at the end of each epoch, or after "
      "each so many steps; and always after the last step of the job. `stop` "
      "and `keep` look at every evaluation.")
      .between(1, 1e12);
}

void check_evaluate(const job& in, std::vector<failure>& mistakes) {
  rule_book book(mistakes);
  const std::vector<std::string>& names = in.evaluate.metrics;
  const bool tests = has_test_part(in);
  const auto refuse_without_tests = [&](const std::string& field) {
    book.refuse(
        {field, "/data/test_fraction", "/data/test", "/data/train/format"},
        "there is no test part; expected /data/test, or a "
        "/data/test_fraction above 0");
  };
  if (in.evaluate.every && !tests)
    refuse_without_tests("/evaluate/every");
  if (names.empty())
    return;
  const metrics::task what = task_of(in.train.loss);
  if (in.model.kind == model_kind::emulated)
    book.refuse({metrics_pointer, "/model/kind"},
                "the emulated model says nothing of a row; leave it out");
  if (!tests)
    refuse_without_tests(metrics_pointer);
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto one = parse_word<metrics::metric>(names[i]);
    if (!one)
      continue; // a mistake already
    if (!seen.insert(names[i]).second)
      book.refuse({pointer_of(i), metrics_pointer},
                  "\"" + names[i] + "\" is named twice");
    else if (metrics::about(*one).fits != what)
      book.refuse({pointer_of(i), metrics_pointer, "/train/loss"},
                  "\"" + names[i] + "\" is not for the loss \"" +
                      to_string(in.train.loss) + "\"" +
                      those_that_fit(in.train.loss));
    else if (lacks_probabilities(in.train.loss, *one))
      book.refuse({pointer_of(i), metrics_pointer, "/train/loss"},
                  "\"" + names[i] +
                      "\" is of probabilities, and a model that is trained "
                      "with the loss \"" +
                      to_string(in.train.loss) + "\" says none" +
                      those_that_fit(in.train.loss));
  }
  if (what == metrics::task::classes &&
      in.data.train.format == source_format::synthetic)
    if (const failure why = metrics_misfit(in, in.data.train.classes))
      book.refuse({why.pointer, metrics_pointer, "/data/train/classes",
                   "/data/train/format"},
                  why.message.substr(why.pointer.size() + 2));
}

metrics::task task_of(loss_kind loss) {
  switch (loss) {
  case loss_kind::cross_entropy:
  case loss_kind::bce:
  case loss_kind::hinge:
    return metrics::task::classes;
  case loss_kind::mse:
  case loss_kind::huber:
    return metrics::task::number;
  case loss_kind::next_token:
    break;
  }
  return metrics::task::tokens;
}

std::vector<metrics::metric> asked_metrics(const job& of) {
  if (of.model.kind == model_kind::emulated)
    return {};
  if (of.evaluate.metrics.empty())
    return metrics::usual_metrics(task_of(of.train.loss));
  std::vector<metrics::metric> out;
  for (const std::string& name : of.evaluate.metrics)
    if (const auto one = parse_word<metrics::metric>(name))
      out.push_back(*one);
  return out;
}

failure metrics_misfit(const job& of, uint32_t classes) {
  if (task_of(of.train.loss) != metrics::task::classes)
    return {};
  const std::vector<metrics::metric> asked = asked_metrics(of);
  for (size_t i = 0; i < asked.size(); ++i)
    if (const std::string why = metrics::misfit(asked[i], classes);
        !why.empty())
      return {errc::invalid_job,
              pointer_of(i) + ": \"" + to_string(asked[i]) + "\" " + why +
                  those_that_fit(of.train.loss, classes),
              pointer_of(i)};
  return {};
}

} // namespace ballast
