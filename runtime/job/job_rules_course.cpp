/// Rules of `stop` and `keep`: what is looked at after each evaluation must be
/// one number that the evaluation computes, of which more or less is better.
#include "runtime/job/asked_metrics.hpp"
#include "runtime/job/field_document.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/rule_book.hpp"
#include "runtime/job/test_part.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace ballast {

namespace {

const std::string loss_name = "loss";

bool has_one_number(metrics::metric one) {
  return metrics::about(one).shape == metrics::metric_shape::number;
}

bool may_judge(metrics::metric one, bool any_mode) {
  return has_one_number(one) &&
         (any_mode || metrics::about(one).good != metrics::better::neither);
}

/// "loss", and what of the evaluation is one number.
std::string expected(const job& in, bool any_mode) {
  std::vector<std::string> words{loss_name};
  for (metrics::metric one : asked_metrics(in))
    if (may_judge(one, any_mode))
      words.push_back(to_string(one));
  return "; expected one of " + quoted_list(words);
}

void refuse_without_test_part(const std::string& field, rule_book& book) {
  book.refuse(
      {field, "/data/test_fraction", "/data/test", "/data/train/format"},
      "there is no evaluation to look at, as there is no test part; "
      "expected /data/test, or a /data/test_fraction above 0");
}

/// What looks at evaluations, at `field`, if the job has it.
void check_measure(const job& in, const std::string& field,
                   const std::string& name, bool any_mode, rule_book& book) {
  if (in.model.kind == model_kind::emulated)
    return book.refuse({field, "/model/kind"},
                       "the emulated model learns nothing that could be "
                       "judged; leave it out");
  if (!has_test_part(in))
    return refuse_without_test_part(field, book);
  if (name == loss_name)
    return;
  const auto one = parse_word<metrics::metric>(name);
  if (!one)
    return book.refuse({field}, "\"" + name + "\" is no metric" +
                                    expected(in, any_mode));
  const metrics::metric_entry& about = metrics::about(*one);
  if (about.fits != task_of(in.train.loss))
    return book.refuse({field, "/train/loss"},
                       "\"" + name + "\" is not for the loss \"" +
                           to_string(in.train.loss) + "\"" +
                           expected(in, any_mode));
  if (!has_one_number(*one))
    return book.refuse({field}, "\"" + name + "\" is not one number" +
                                    expected(in, any_mode));
  const std::vector<metrics::metric> asked = asked_metrics(in);
  if (std::find(asked.begin(), asked.end(), *one) == asked.end())
    return book.refuse(
        {field, "/evaluate/metrics"},
        "\"" + name +
            "\" is not computed; add it to /evaluate/metrics, or take one that "
            "is" +
            expected(in, any_mode));
  if (!may_judge(*one, any_mode))
    book.refuse({field}, "of \"" + name + "\" neither more nor less is better" +
                             (field.starts_with("/keep")
                                  ? "; say in /keep/best/mode which"
                                  : expected(in, any_mode)));
}

void check_stop(const job& in, rule_book& book) {
  const stop_spec& stop = in.stop;
  const char* blamed = stop.patience ? "/stop/patience"
                       : stop.target ? "/stop/target"
                                     : "/stop/metric";
  const bool looks = stop.patience || stop.target || !stop.metric.empty();
  const bool learns = in.model.kind != model_kind::emulated;
  if (looks && learns && !has_test_part(in))
    refuse_without_test_part(blamed, book);
  else if (looks && stop.metric.empty())
    book.refuse({blamed, "/stop/metric"},
                "needs to know what it looks at, which /stop/metric says" +
                    expected(in, false));
  else if (looks)
    check_measure(in, "/stop/metric", stop.metric, false, book);
  if (stop.min_delta > 0 && !stop.patience)
    book.refuse({"/stop/min_delta", "/stop/patience"},
                "belongs to /stop/patience, which is not set");
}

void check_keep(const job& in, rule_book& book) {
  const keep_best_spec& best = in.keep.best;
  const bool any_mode = best.mode != best_mode::automatic;
  if (!best.metric.empty())
    check_measure(in, "/keep/best/metric", best.metric, any_mode, book);
  else if (any_mode)
    book.refuse({"/keep/best/mode", "/keep/best/metric"},
                "of what, /keep/best/metric says, which is empty" +
                    expected(in, any_mode));
}

} // namespace

void check_course(const job& in, std::vector<failure>& mistakes) {
  rule_book book(mistakes);
  check_stop(in, book);
  check_keep(in, book);
}

failure course_misfit(const job& in, uint64_t test_rows) {
  const bool stop = !in.stop.metric.empty();
  if (test_rows > 0 || (!stop && in.keep.best.metric.empty()))
    return {};
  const std::string field = stop ? "/stop/metric" : "/keep/best/metric";
  return {errc::invalid_job,
          field + ": the set has no test rows, so nothing is evaluated; "
                  "expected a set with a test part",
          field};
}

} // namespace ballast
