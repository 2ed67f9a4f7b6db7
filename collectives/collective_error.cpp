#include "collectives/collective_error.hpp"

namespace ballast {

std::string to_string(collective_errc code) {
  switch (code) {
  case collective_errc::peer_lost:
    return "peer_lost";
  case collective_errc::timeout:
    return "timeout";
  case collective_errc::aborted:
    return "aborted";
  case collective_errc::mismatch:
    return "mismatch";
  case collective_errc::poisoned:
    return "poisoned";
  case collective_errc::unsupported:
    return "unsupported";
  case collective_errc::unable:
    return "unable";
  }
  return "unknown";
}

worker_failed report_of(const collective_error& e, generation of) {
  const bool own = e.code() == collective_errc::unable;
  const std::string why = (own ? "" : to_string(e.code()) + ": ") + e.what();
  worker_failed out{{}, of, errc::collective_failed, why, {}, {}};
  out.own_trouble = own;
  out.links = e.links();
  return out;
}

} // namespace ballast
