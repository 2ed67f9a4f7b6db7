// Where the bytes of rows are while a simulated cluster trains on a set that is
// larger than its memory: a step brings what it lacks from the origin, which is
// the coordinator's process; what is used later makes room; copies get lost.
// None of it may change which rows a step consumes, which check_journal() sees.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

namespace {

std::set<chunk_id> chunks_of(const worker::step_order& what) {
  std::set<chunk_id> out;
  for (const ledger::row_ref& row : what.rows)
    out.insert(row.chunk);
  return out;
}

} // namespace

void cluster::hold_share(node_state& who, const ledger::plan& of) {
  for (const ledger::share& part : of.shares)
    if (part.worker == who.id)
      for (const ledger::interval& one : part.intervals)
        if (!options_.on_demand || random_.one_in(3)) // else it is not here yet
          who.chunks.insert(one.chunk);
}

/// The rows of the step that is drawn are in memory, now or later; then it is
/// computed.
void cluster::gather(node_state& who) {
  const std::set<chunk_id> used = chunks_of(*who.drawn);
  const auto lacked = std::find_if(used.begin(), used.end(), [&](chunk_id id) {
    return !who.chunks.contains(id);
  });
  if (lacked == used.end())
    return at_node(who, some(500, 20'000),
                   [this, life = who.life](node_state& me) {
                     if (me.life == life)
                       contribute(me);
                   });
  // Of order global a step is of all rows, whoever holds them.
  if (!options_.on_demand && options_.leaves == 0)
    fail(who.name + " draws from chunk " + to_string(*lacked) +
         ", which it does not hold");
  ++outcome_.row_waits;
  // Some links are slow, and all of them at times.
  const bool slow = (who.process + options_.seed) % 3 == 0 || random_.one_in(9);
  const instant takes = slow ? some(5000, 120'000) : some(50, 8000);
  at_node(who, takes, [this, life = who.life, id = *lacked](node_state& me) {
    if (me.life != life)
      return;
    const bool away =
        !core_ || now_ < stands_until_ || now_ < me.down_cut_until;
    if (!away && !options_.on_demand) {
      me.chunks.merge(chunks_of(*me.drawn));
    } else if (!away) { // else it asks again
      me.chunks.insert(id);
      // And some of what the batch does not use may get lost at any time.
      const size_t room = 1 + options_.seed % 4;
      const std::set<chunk_id> used = chunks_of(*me.drawn);
      std::erase_if(me.chunks, [&](chunk_id one) {
        return !used.contains(one) &&
               (me.chunks.size() > room || random_.one_in(20));
      });
    }
    gather(me);
  });
}

} // namespace ballast::simulation
