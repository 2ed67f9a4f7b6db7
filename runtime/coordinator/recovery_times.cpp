#include "runtime/coordinator/recovery_times.hpp"

namespace ballast::coordinator {

namespace {

struct reason_text {
  std::string operator()(const recovery_reasons::worker_lost& one) const {
    return "worker " + one.worker + " lost: " + ballast::describe(one.cause);
  }
  std::string operator()(const recovery_reasons::worker_silent& one) const {
    return one.worker + ": " + ballast::describe(one.what);
  }
  std::string operator()(const recovery_reasons::collective_failed& one) const {
    return one.worker + ": all-reduce failed: " + one.why;
  }
  std::string operator()(const recovery_reasons::bits_differed& one) const {
    return one.why;
  }
  std::string operator()(const recovery_reasons::coordinator_restarted&) const {
    return "the coordinator was restarted";
  }
};

} // namespace

std::string describe(const recovery_reason& what) {
  return std::visit(reason_text{}, what);
}

} // namespace ballast::coordinator
