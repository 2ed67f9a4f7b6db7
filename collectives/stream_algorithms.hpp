/// Collective operations over a mesh of byte streams, for some of its ranks.
///
/// With n members, S bytes, latency a and time per byte b (docs/collectives.md
/// derives these):
///   ring        2 (n-1) a + 2 (n-1)/n S b   each byte crosses each link twice
///   doubling    ceil(log2 n) (a + S b)      fewest steps, more bytes
///   tree        ceil(log2 n) (a + S b)      broadcast of small data
///   chain       (n-1) a + S b               broadcast of large data
/// Streams are not cut into segments: bytes that have arrived and been added
/// may be forwarded at once, so that all links are busy all the time.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/stream_mesh.hpp"

#include <cstdint>
#include <vector>

namespace ballast::collectives {

enum class reduce_way : uint8_t { ring, doubling };

/// Some ranks of a mesh, by ascending rank; this one is members[me].
struct member_list {
  std::vector<int> ranks;
  int me = 0;
  int count() const { return static_cast<int>(ranks.size()); }
  /// Rank of the member `offset` places after this one, around the ring.
  int around(int offset) const {
    return ranks[static_cast<size_t>((me + offset % count() + count()) %
                                     count())];
  }
};

class stream_algorithms {
public:
  stream_algorithms(stream_mesh& mesh, member_list members);

  const member_list& members() const { return members_; }

  void all_reduce(void* data, size_t count, element_type type, reduce_way way,
                  deadline until);
  /// Member i ends with slice i of the sum.
  void reduce_scatter(void* data, size_t count, element_type type,
                      deadline until);
  void all_gather(void* data, size_t count, element_type type, deadline until);
  /// `root` is a position in the member list.
  void broadcast(void* data, size_t bytes, int root, deadline until);
  void barrier(deadline until);

private:
  enum class pass : uint32_t { reduce = 1, scatter, gather };

  void ring_pass(pass which, char* data, size_t count, element_type type,
                 deadline until);
  void doubling(char* data, size_t count, element_type type, deadline until);
  void tree_broadcast(char* data, size_t bytes, int root, deadline until);
  void chain_broadcast(char* data, size_t bytes, int root, deadline until);

  stream_mesh& mesh_;
  member_list members_;
  std::vector<char> scratch_;
};

} // namespace ballast::collectives
