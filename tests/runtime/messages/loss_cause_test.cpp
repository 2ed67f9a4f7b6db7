// Goal: why a worker counts as lost is told in the same words as ever, and only
// what is a worker's own fault counts as that. Method: a table of all causes.
#include "runtime/messages/loss_cause.hpp"

#include <gtest/gtest.h>
#include <set>

namespace ballast {
namespace {

using namespace std::chrono_literals;
using kind = process_end::kind;

struct example {
  loss_cause what;
  bool own_fault;
  const char* sentence;
};

TEST(loss_cause, is_told_in_words_and_is_or_is_not_its_own_fault) {
  const example all[] = {
      {process_end{kind::killed, 11}, true,
       "killed by signal 11 (Segmentation fault)"},
      {process_end{kind::killed, 6, "terminate called"}, true,
       "killed by signal 6 (Aborted): terminate called"},
      {process_end{kind::killed, 9}, false, "killed by signal 9 (Killed)"},
      {process_end{kind::killed, 15}, false,
       "killed by signal 15 (Terminated)"},
      {process_end{kind::exited, 1, "out of memory"}, true,
       "exited with code 1: out of memory"},
      {process_end{kind::exited, 0}, false, "exited with code 0"},
      {process_end{kind::not_started, 0, "cannot start w3"}, false,
       "cannot start w3"},
      // Of a cluster by hand nobody tells how a process ended.
      {losses::connection_closed{}, false, "its connection closed"},
      {losses::process_gone{}, false, "its process is gone"},
      {losses::ended_unseen{}, false,
       "its process ended while there was no coordinator"},
      {losses::silent{650ms}, false, "no heartbeat for 650 ms"},
      {losses::silent{1050ms, true}, false,
       "no heartbeat for 1050 ms and no answer to the fence"},
      {losses::not_returned{}, false,
       "it did not come back to the new coordinator"},
      {losses::joined_anew{}, false,
       "its process has joined as another worker"},
      {losses::evicted{}, false, "evicted on request"},
      {losses::starved{80s, 1'200'000, 7'000'000'000}, false,
       "no byte of its share for 80 s; 1.2 MB of 7.0 GB had arrived"},
      {losses::dismissed{errc::unreachable, "no route"}, false,
       "unreachable: no route"},
      {losses::dismissed{errc::none, "w1 has no GPU"}, false, "w1 has no GPU"},
      // Whatever words it brings along.
      {losses::cut_off{"killed by signal 11 (Segmentation fault)"}, false,
       "killed by signal 11 (Segmentation fault)"},
  };
  std::set<size_t> seen;
  for (const example& one : all) {
    EXPECT_EQ(describe(one.what), one.sentence);
    EXPECT_EQ(own_fault(one.what), one.own_fault) << one.sentence;
    seen.insert(one.what.index());
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<loss_cause>);
}

} // namespace
} // namespace ballast
