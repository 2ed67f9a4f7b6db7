#include "collectives/fill_route.hpp"

#include <algorithm>
#include <string>

namespace ballast::collectives {

namespace {

constexpr size_t stripe_bytes_min = size_t{128} << 10;
constexpr size_t page_bytes = 4096;

} // namespace

int fill_route::stripes(size_t bytes) const {
  return static_cast<int>(
      std::clamp<size_t>(bytes / stripe_bytes_min, 1, givers.size()));
}

int fill_route::entries(size_t bytes) const {
  return std::min(static_cast<int>(takers.size()), stripes(bytes));
}

fill_route route_of(const host_map& hosts, std::span<const bytes_here> have) {
  if (have.size() != hosts.host_of.size()) {
    throw collective_error(collective_errc::mismatch,
                           std::to_string(have.size()) +
                               " ranks are said to hold bytes or to lack them, "
                               "in a collective of " +
                               std::to_string(hosts.host_of.size()));
  }
  if (!std::ranges::count(have, bytes_here::all)) {
    throw collective_error(collective_errc::mismatch,
                           "no rank holds the bytes that others lack");
  }
  const size_t count = hosts.leaders.size();
  std::vector<int> holder(count, -1); // the first of each host
  std::vector<int> lacking(count, -1);
  for (size_t r = 0; r < have.size(); ++r) {
    const auto host = static_cast<size_t>(hosts.host_of[r]);
    if (have[r] == bytes_here::all && holder[host] < 0) {
      holder[host] = static_cast<int>(r);
    } else if (have[r] == bytes_here::none && lacking[host] < 0) {
      lacking[host] = static_cast<int>(r);
    }
  }
  fill_route out;
  for (size_t host = 0; host < count; ++host) {
    if (holder[host] >= 0) {
      out.givers.push_back(holder[host]);
    } else if (lacking[host] >= 0) {
      out.takers.push_back(lacking[host]);
    }
  }
  std::ranges::sort(out.givers);
  std::ranges::sort(out.takers);
  const auto here = static_cast<size_t>(
      hosts.host_of[static_cast<size_t>(hosts.local.front())]);
  out.held_here = holder[here] >= 0;
  const int root = out.held_here ? holder[here] : lacking[here];
  for (int r : hosts.local) {
    if (r != root && have[static_cast<size_t>(r)] == bytes_here::none) {
      out.near_root = root;
    }
  }
  return out;
}

slice stripe_of(size_t bytes, int index, int stripes) {
  const slice pages =
      slice_of((bytes + page_bytes - 1) / page_bytes, index, stripes);
  return {std::min(bytes, pages.begin * page_bytes),
          std::min(bytes, pages.end * page_bytes)};
}

} // namespace ballast::collectives
