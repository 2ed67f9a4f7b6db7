#include "runtime/coordinator/bound_words.hpp"

#include "runtime/base/number_text.hpp"

namespace ballast::coordinator {

namespace {

/// Less is not worth a word.
constexpr double told_min = 0.05;

} // namespace

std::string bound_words(const time_account::finding& what,
                        const std::string& who) {
  if (what.part < told_min)
    return "compute: nothing else takes 5 % of the workers' time";
  const std::string part = percent_text(what.part) + " of the workers' time";
  switch (what.why) {
  case time_cause::data:
    return "input: " + part + " is waiting for rows, of " + who + " " +
           percent_text(what.part_of_who);
  case time_cause::straggler:
    return "straggler: " + part + " is waiting for " + who;
  case time_cause::communication:
    return "communication: " + part + " goes into adding up gradients";
  case time_cause::evaluation:
    return "evaluation: " + part + " goes into the test part";
  case time_cause::start:
    return "start: " + part + " goes into loading rows and joining";
  case time_cause::recovery:
    return "recovery: " + part + " goes into going on after losses";
  case time_cause::paused:
    return "pause: " + part + " is a pause that somebody asked for";
  case time_cause::waiting:
    return "waiting: " + part + " is waiting for workers or memory";
  case time_cause::other:
    return "other: " + part +
           " is none of a step's parts, such as snapshots for checkpoints";
  case time_cause::compute:
    break;
  }
  return "compute: " + part;
}

} // namespace ballast::coordinator
