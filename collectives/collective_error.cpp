#include "collectives/collective_error.hpp"

namespace ballast::collectives {

worker_failed report_of(const collective_error& e, generation of) {
  const bool own = e.code() == collective_errc::unable;
  const std::string why =
      (own ? "" : ballast::to_string(e.code()) + ": ") + e.what();
  worker_failed out{{}, of, errc::collective_failed, why, {}, {}};
  out.own_trouble = own;
  out.links = e.links();
  return out;
}

} // namespace ballast::collectives
