#include "monitor/audit_course.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/judge.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace ballast::monitor {

using nlohmann::json;

course course_of(const store::journal_content& journal, uint64_t steps) {
  course out{steps, {}};
  if (!journal.run->job.contains("stop")) // of an earlier build
    return out;
  const job_result read = parse_job(json_text(journal.run->job), {}, "/");
  if (!read.value)
    throw ballast_error(errc::run_dir_unusable,
                        "cannot audit: the job in the journal: " +
                            read.mistakes.at(0).message);
  const judge by(*read.value);
  judgement so_far;
  for (const evaluation_report& one : journal.evaluations) {
    by.hear(so_far, one);
    if (value(by.best(so_far).step) > 0)
      out.best = by.best(so_far);
    if (!by.over(so_far).empty()) {
      out.steps = value(one.step);
      break;
    }
  }
  return out;
}

void check_course(const course& ours, const json& report, ledger::audit& into) {
  const json told = report.value("best", json());
  if (!told.is_object() || !ours.best)
    return;
  const json expected = {{"value", ours.best->value},
                         {"epoch", value(ours.best->epoch)},
                         {"step", value(ours.best->step)}};
  for (const auto& [key, one] : expected.items())
    if (told.value(key, json()) != one)
      into.problem("report.json has " + key + " " +
                   json_text(told.value(key, json())) +
                   " of the best evaluation, the ledger's evaluations say " +
                   json_text(one));
}

} // namespace ballast::monitor
