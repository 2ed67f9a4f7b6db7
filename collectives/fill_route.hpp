/// The way of bytes from the ranks that hold them to those that lack them;
/// every rank computes the same. Pure.
///
/// Within a host they go through its memory. To another host they come in
/// stripes, one from each host that holds them, all at the same time. With
/// more hosts that lack them than stripes the rest gets all from one of the
/// first ones: so no byte leaves a host more often than it would in a chain
/// through all of them.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/host_map.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace ballast::collectives {

struct fill_route {
  /// One rank of each host that holds the bytes, ascending: it sends them.
  std::vector<int> givers;
  /// One rank of each host that lacks them, ascending.
  std::vector<int> takers;
  /// The rank of this host from which others here copy; -1: none does.
  int near_root = -1;
  bool held_here = false; // by a rank of this host

  /// As many as givers, but none is shorter than is worth a stream.
  int stripes(size_t bytes) const;
  /// Takers that get stripes; taker i sends all to taker i + entries.
  int entries(size_t bytes) const;
};

/// `have` as of collective::fill_lacking. Throws mismatch where it is not of
/// these ranks, or nobody holds what some lack.
fill_route route_of(const host_map& hosts, std::span<const bytes_here> have);

/// Stripe `index` of `stripes`, as bytes; begins at a page.
slice stripe_of(size_t bytes, int index, int stripes);

} // namespace ballast::collectives
