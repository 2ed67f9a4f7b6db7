/// What a run shows of itself at one moment: the page, `ballast status`,
/// workers.json, the gauges and the progress line are all written from it. Made
/// at most once a tick, and only if somebody looks. Plain data.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/instant.hpp"
#include "runtime/coordinator/checkpoint_cost.hpp"
#include "runtime/coordinator/collective_choice.hpp"
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/coordinator/straggler.hpp"
#include "runtime/coordinator/time_account.hpp"
#include "runtime/messages/judgement.hpp"
#include "runtime/messages/messages.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::coordinator {

enum class worker_standing : uint8_t {
  joining,
  training,
  draining,
  dismissed,
  left,
  lost,
};
std::string to_string(worker_standing what);

struct worker_status {
  using seconds = std::chrono::duration<double>;
  /// Its share of the plan in force.
  struct part {
    uint64_t rows_owned = 0;
    double skew_tv = 0;
    double batch = 0; // samples of a full global batch
    std::optional<double> copy_bytes_per_s = {};
  };
  /// Of its device.
  struct trouble {
    stragglers::finding what;
    seconds since{};
  };
  std::string name;
  uint32_t incarnation = 0;
  uint32_t pid = 0;
  std::string host;
  std::string device;
  std::string metrics; // address
  uint64_t start_ticks = 0;
  std::string boot_id;
  worker_standing state = worker_standing::joining;
  std::optional<size_t> rank = {};
  std::optional<seconds> heartbeat_age = {}; // none: it left, or said nothing
  std::optional<worker_phase> phase = {};    // while it is connected
  std::optional<trouble> ill = {};
  double samples_per_s = 0; // of a member
  std::optional<spent_time> spent = {};
  std::optional<part> share = {}; // of a member, once it is placed
};

struct run_status {
  struct balancing {
    bool enabled = false;
    double skew_tv = 0;
    balance::balance_code code{};
    std::string why;
    std::string would_change;
    double makespan_ratio = 1;
    uint64_t plans = 0;
    uint64_t moved_rows = 0;
    uint64_t moved_by_skew = 0;
    uint64_t moved_by_coverage = 0;
    uint64_t moved_bytes = 0;
    uint64_t bound_rows = 0;
    size_t moves_in_flight = 0; // chunks that are copied now
  };
  struct membership {
    size_t world = 0;
    ballast::generation generation{};
    plan_number plan{};
    collective_choice collective;
  };
  struct requested {
    bool paused = false;
    bool stop = false;
  };
  struct evaluation {
    double loss = 0;
    std::optional<double> accuracy = {}; // of classes
    shared_list<metrics::metric_value> values = {};
  };
  struct numbers {
    std::string name;
    uint64_t epochs = 0;
    epoch_number epoch{};
    step_number step{};
    uint64_t steps_total = 0;
    uint64_t samples = 0;
    double loss = 0; // meant only where there are samples
    uint64_t samples_per_s = 0;
    double skew_tv_max = 0;
    std::vector<balance::shard_move> moves; // from and to by rank
    balancing balance;
    checkpoint_figures checkpoint;
    uint64_t survived = 0; // failures after which workers went on
    std::optional<membership> members = {};
    std::optional<uint32_t> waiting_for_workers = {};
    std::optional<std::string> cannot_open = {};
    std::optional<memory_need> lacks = {};
    std::string bound; // by what, in words; empty: not known yet
    std::string waits; // why nothing goes on; empty: it does
    std::optional<requested> requests = {};
    std::optional<evaluation> test = {};
    struct best {
      std::string metric;
      best_so_far what;
    };
    std::optional<best> best_test = {}; // by keep.best or stop
  };
  /// Of the data, once their rows are being written: a part of 1, and when
  /// training begins.
  struct preparation {
    double done = 0;
    std::optional<double> left_s = {};
  };
  /// Of checkpoints, in the place of the job's copy_to.
  struct copies {
    std::string to;
    step_number step{};  // the newest one there; 0: none yet
    std::string trouble; // why the newest attempt failed; empty: it did not
  };
  /// Of a run that is over.
  struct ending {
    int exit_code = 0;
    std::string reason = {};
    std::optional<std::string> error = {};
  };

  run_phase state = run_phase::idle; // as it is shown
  ballast::term term{};
  instant now{};
  std::vector<worker_status> workers; // by their ids
  std::optional<numbers> run = {};
  std::optional<preparation> preparing = {};
  std::optional<copies> copied = {}; // where the job wants them
  std::optional<ending> ended = {};
  std::string disk_trouble = {}; // what is waited for; empty: nothing
};

} // namespace ballast::coordinator
