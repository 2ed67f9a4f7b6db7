/// Where a run can go back to: the published checkpoints, and the copies of the
/// training state on their way there. Begun anew with each run; pure.
///
/// After every step whose number `every_steps` divides, and when they are asked
/// to, all ranks copy their parts of the state; rank 0 tells. Once that step is
/// committed the parts are fetched and published; it can never be undone then
/// but by going back behind it. A part goes with its worker: then the copy is
/// given up, and another one made.
///
/// Most copies may go to the memory of the coordinator's host: one of them is
/// kept there, and the disk gets one as seldom as the job says. What somebody
/// asks for goes to the disk.
#pragma once

#include "runtime/coordinator/generation_state.hpp"
#include "runtime/coordinator/outbox.hpp"
#include "runtime/coordinator/run_tally.hpp"
#include "runtime/messages/judge.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ballast::coordinator {

class checkpoints {
public:
  // -- where the run can go back to
  /// Ascending; the first one is the seed, and needs no file.
  const std::vector<restart_point>& points() const { return points_; }
  const restart_point& newest() const { return points_.back(); }
  /// Without those in memory.
  const restart_point& newest_on_disk() const;
  /// Null: none is there.
  const restart_point* in_memory() const;
  /// 0: none yet. Nothing: none is there, and none will be.
  std::optional<step_number> newest_in_memory() const;
  /// Of an earlier life, or the first one, which knows the lineage.
  void restore(std::vector<restart_point> points) {
    points_ = std::move(points);
  }

  /// A worker found that it is not what was saved; its file. Precondition: it
  /// is not the seed.
  std::string drop_newest();

  // -- memory
  /// The answer to whether there is room for states of so many bytes is
  /// awaited, once.
  bool ask_for_memory(uint64_t state_bytes);
  /// Likewise, some minutes after memory was given up: for so many bytes.
  std::optional<uint64_t> ask_for_memory_again(instant now);
  enum class memory_answer { strange, first, again };
  /// `strange`: nobody asked.
  memory_answer memory_answered(bool room, const checkpoint_spec& how,
                                instant now);
  std::chrono::seconds memory_every() const { return memory_every_; }
  /// No copy goes there until it is asked for again.
  void give_up_memory(instant now);
  /// What is there is gone: its files.
  std::vector<std::string> forget_memory();
  /// Precondition: one is on its way.
  bool on_its_way_to_memory() const { return way_.in_memory; }

  // -- copies
  /// After every commit: remembers what a copy of this state would need.
  void committed(const restart_point& here, uint64_t every_steps);
  /// The ranks of that generation have the state after that step; `here`: the
  /// newest committed one.
  void copied(step_number step, generation by, const restart_point& here);
  /// A copy of `here` is to come, of a step that no worker may go behind.
  void remember(const restart_point& here) { copies_[here.step()] = here; }
  /// News of an evaluation, which may come after later steps.
  void evaluated(const evaluation_report& found, const judge& by);
  /// As soon as possible.
  void want() { wanted_ = true; }
  bool wanted() const { return wanted_; }
  void forget_copies();
  const std::optional<ledger::checkpoint_identity>& on_its_way() const {
    return on_its_way_;
  }

  /// Fetches what the ranks have copied, as soon as that is committed.
  struct fetch_request {
    step_number committed{}; // the last step
    bool connected = false;  // all ranks
    uint32_t keep = 2;       // checkpoint.keep, on the disk
    bool requested = false;  // its event is written in any case
    bool to_disk = false;    // somebody wants it there
    bool enough = false;     // and the newest one in memory would do
    instant now{};
  };
  /// True if the copy cannot be used any more: what it needs is not known, or a
  /// part of it is gone.
  bool fetch(outbox& out, const generation_state& members,
             const fetch_request& how);

  // -- what became of one
  enum class written { strange, superseded, failed, published };
  /// `strange`: of an earlier run, or of a history that was undone.
  written take(const ledger::checkpoint_identity& after, std::string file,
               bool failed, uint32_t keep);
  /// One that was asked for could not be fetched: asked for again later.
  void try_again(instant now);
  /// True if that is due.
  bool due_again(instant now);
  /// A user asks for one.
  void asked() {
    failures_ = 0;
    not_saved_.reset();
  }

private:
  enum class memory { off, asked, used, given_up };
  enum class place { nowhere, memory, disk };
  /// What is being written now.
  struct copy_under_way {
    bool in_memory = false;
    instant since{};
  };
  place place_of(const fetch_request& how) const;
  bool save_from_memory(outbox& out, const fetch_request& how);
  void keep_point(restart_point made, uint32_t keep);

  std::vector<restart_point> points_{restart_point{}};
  /// Committed steps of which a worker may hold a copy, or soon will.
  std::map<step_number, restart_point> copies_;
  bool wanted_ = false;
  std::optional<instant> again_;
  uint32_t failures_ = 0; // in a row, of one that was asked for
  /// Fetched and written just now. What comes back may be of a history that
  /// was undone meanwhile, or of an earlier run.
  std::optional<ledger::checkpoint_identity> on_its_way_;
  copy_under_way way_;
  std::optional<step_number> copied_; // not fetched yet
  generation copied_by_{};
  memory memory_ = memory::off;
  uint64_t state_bytes_ = 0;
  std::optional<instant> memory_again_; // given up: asked for again then
  std::chrono::seconds disk_every_{0};
  std::chrono::seconds memory_every_{0};
  std::optional<instant> disk_at_; // the newest that went there was begun
  /// In memory, and could not be brought to the disk.
  std::optional<step_number> not_saved_;
};

} // namespace ballast::coordinator
