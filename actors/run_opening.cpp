#include "actors/run_opening.hpp"

#include "actors/past_run_reader.hpp"
#include "actors/resume_check.hpp"
#include "actors/run_parent.hpp"
#include "data/copies/copy_place.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/text_digest.hpp"
#include "runtime/ledger/lineage.hpp"

#include <fstream>
#include <iterator>
#include <utility>

namespace ballast::actors {

namespace {

/// As far as the job alone shows it.
failure asks_too_much(const job& what, const coordinator_shell_config& config) {
  return config.only_machine ? machine_problem(what, *config.only_machine)
                             : failure{};
}

/// Before anything begins: a place that cannot be written to is a mistake in
/// the job.
failure cannot_copy(const job& what) {
  const std::string& uri = what.checkpoint.copy_to;
  if (uri.empty())
    return {};
  const char* pointer = "/checkpoint/copy_to";
  const auto refuse = [pointer](errc code, const std::string& why) -> failure {
    return {code,
            std::string(pointer) + ": " + why +
                "; nothing was begun. Mend that, or leave copy_to out",
            pointer};
  };
  try {
    const data::copy_place place(uri);
    if (const auto other = place.owner())
      return refuse(errc::invalid_job,
                    place.name() + " holds the copies of run " + other->run +
                        ", and has room for one run: name another folder");
    place.check_writable();
    return {};
  } catch (const ballast_error& e) {
    return refuse(e.what_failed().code == errc::not_in_build
                      ? errc::not_in_build
                      : errc::invalid_job,
                  e.what());
  }
}

/// `name`: under which it began, whatever its folder is called now.
void open_copies(run_record& record, const job& what, const std::string& name) {
  record.checkpoints().copies().open(
      {what.checkpoint.copy_to,
       {name, digest_text(ledger::run_identity(record.token(), name)),
        value(record.term())},
       what.checkpoint.keep});
}

/// Before anything is told of it.
void rise_to(term least, run_record& run,
             const coordinator_shell_config& config) {
  if (least > run.term())
    run.announce(*config.addresses, least);
}

/// Keeps what the run begins with, and says so.
void begin_from(run_record& record, const run_parent& parent) {
  keep_parent(parent, store::run_directory::open(record.folder()));
  record.notices().events()->append(
      coordinator::events::branched{parent.run, parent.step, parent.sha256});
}

opening_result begin_again(const coordinator_shell_config& config,
                           const std::string& folder, std::optional<job> what,
                           term least) {
  if (!what) {
    std::ifstream file(folder + "/job.json");
    std::string text(std::istreambuf_iterator<char>(file), {});
    job_result parsed = parse_job(text, {}, "/");
    if (!parsed.value)
      return failure{errc::run_dir_unusable,
                     folder +
                         "/job.json cannot be read; give the job: "
                         "ballast run JOB.json --resume --run-dir " +
                         folder,
                     {}};
    what = *parsed.value;
  }
  // It may have been killed before it had a copy.
  std::optional<run_parent> parent = kept_parent(folder);
  if (failure changed = parent_changed(folder))
    return changed;
  if (!parent)
    parent = find_parent(*what);
  auto record = run_record::begin_again(*what, folder, config.core.token,
                                        *config.addresses);
  if (parent)
    begin_from(*record, *parent);
  rise_to(least, *record, config);
  record->notices().tell_by(config.on_notice);
  open_copies(*record, *what, record->name());
  return opened_run{std::move(record), *what, std::nullopt,
                    "the run in " + folder +
                        " was killed before its first step: it begins from the "
                        "beginning"};
}

opening_result open_left_run(const coordinator_shell_config& config,
                             const resume_run& order, term least) {
  const std::string& folder = order.folder;
  const std::optional<job>& wanted = order.what;
  // Not when a coordinator replaces one that died: that run has begun here.
  if (wanted && order.again)
    if (failure refused = asks_too_much(*wanted, config))
      return refused;
  std::optional<store::journal_content> found = look_for_run(folder);
  if (!found)
    return begin_again(config, folder, wanted, least);
  if (auto why = other_build(*found->run, config.core.build_id); !why.empty())
    return failure{errc::other_build, folder + ": " + why, {}};
  if (wanted)
    if (auto why = cannot_go_on(begun_as(*found->run), *wanted); !why.empty())
      return failure{errc::invalid_job, folder + ": " + why, {}};
  if (failure lost = parent_missing(begun_as(*found->run), folder))
    return lost;
  // Workers of a coordinator that died have it already.
  if (wanted && order.again)
    if (failure changed = parent_changed(folder))
      return changed;
  opened_run out;
  out.record = std::make_shared<run_record>(std::filesystem::path(folder),
                                            *config.addresses);
  rise_to(least, *out.record, config);
  out.record->notices().tell_by(config.on_notice);
  // A coordinator that replaces one that died finds workers that train.
  if (wanted && order.again)
    out.record->checkpoints().fetch_missing(
        wanted->checkpoint.copy_to, found->run->identity, found->committed);
  coordinator::past_run past = out.record->past();
  // Before anything is undone.
  if (failure unread = out.record->checkpoints().out_of_reach()) {
    if (order.again) {
      unread.message += "; mend that, or remove the folder to go on from the "
                        "disk";
      return unread;
    }
    out.record->notices().warn(unread.message);
  }
  if (wanted)
    past.what = as_begun(past.begun, *wanted);
  open_copies(*out.record, past.what, past.name);
  past.alive = order.alive;
  // While the workers are started and make room for it.
  if (past.alive && past.alive->empty() && !past.checkpoints.empty())
    out.record->checkpoints().expect_load_of(past.checkpoints.back().file);
  past.asked_again = order.again;
  out.what = past.what;
  out.past = std::move(past);
  return out;
}

/// What the disk answers becomes a refusal.
template <class Open>
opening_result refusing(Open open) {
  try {
    return open();
  } catch (const ballast_error& e) {
    return e.what_failed();
  } catch (const std::exception& e) { // of std::filesystem, for example
    return failure{errc::run_dir_unusable, printable(e.what()), {}};
  }
}

} // namespace

opening_result open_new_run(const coordinator_shell_config& config,
                            const submit_job& order, term least) {
  return refusing([&]() -> opening_result {
    if (failure refused = asks_too_much(order.what, config))
      return refused;
    if (failure refused = cannot_copy(order.what))
      return refused;
    const std::optional<run_parent> parent = find_parent(order.what);
    auto record = std::make_shared<run_record>(
        order.what, order.folder, config.runs_folder, config.core.token,
        *config.addresses);
    try {
      if (parent)
        begin_from(*record, *parent);
    } catch (...) {
      record->discard();
      throw;
    }
    rise_to(least, *record, config);
    record->notices().tell_by(config.on_notice);
    open_copies(*record, order.what, record->name());
    return opened_run{std::move(record), order.what, std::nullopt};
  });
}

opening_result open_past_run(const coordinator_shell_config& config,
                             const resume_run& order, term least) {
  return refusing([&] { return open_left_run(config, order, least); });
}

} // namespace ballast::actors
