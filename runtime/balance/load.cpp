#include "runtime/balance/load.hpp"

namespace ballast::balance {

std::string to_string(balance_code code) {
  switch (code) {
  case balance_code::planned:
    return "PLANNED";
  case balance_code::at_optimum:
    return "AT_OPTIMUM";
  case balance_code::below_trigger:
    return "BELOW_TRIGGER";
  case balance_code::not_sustained:
    return "NOT_SUSTAINED";
  case balance_code::noise_floor:
    return "NOISE_FLOOR";
  case balance_code::stale_report:
    return "STALE_REPORT";
  case balance_code::pending:
    return "PENDING";
  case balance_code::dwell:
    return "DWELL";
  case balance_code::payback:
    return "PAYBACK";
  case balance_code::epoch_end:
    return "EPOCH_END";
  case balance_code::stalled:
    return "STALLED";
  case balance_code::limited:
    return "LIMITED";
  case balance_code::no_room:
    return "NO_ROOM";
  case balance_code::disabled:
    return "DISABLED";
  case balance_code::undecided:
    return "UNDECIDED";
  }
  return "UNKNOWN";
}

std::string to_string(balance_cause cause) {
  switch (cause) {
  case balance_cause::speed:
    return "SPEED";
  case balance_cause::skew:
    return "SKEW";
  case balance_cause::size:
    return "SIZE";
  case balance_cause::coverage:
    return "COVERAGE";
  }
  return "UNKNOWN";
}

} // namespace ballast::balance
