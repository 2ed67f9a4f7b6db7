#include "store/journal.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "store/clock.hpp"
#include "store/journal_reader.hpp"
#include "store/sqlite.hpp"
#include "store/term_lock.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast::store {

namespace {

namespace fs = std::filesystem;

constexpr const char* schema = R"sql(
CREATE TABLE IF NOT EXISTS term (
  number INTEGER PRIMARY KEY,
  pid INTEGER NOT NULL,
  time TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS run (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  name TEXT NOT NULL,
  seed INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  job TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS generation (
  number INTEGER PRIMARY KEY,
  term INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS member (
  generation INTEGER NOT NULL REFERENCES generation(number),
  rank INTEGER NOT NULL,
  worker INTEGER NOT NULL,
  name TEXT NOT NULL,
  incarnation INTEGER NOT NULL,
  PRIMARY KEY (generation, rank));
CREATE TABLE IF NOT EXISTS plan (
  number INTEGER PRIMARY KEY,
  term INTEGER NOT NULL,
  body TEXT NOT NULL,
  epoch INTEGER,
  step INTEGER);
CREATE TABLE IF NOT EXISTS progress (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  step INTEGER NOT NULL,
  epoch INTEGER NOT NULL);
)sql";

/// Added later: a journal of an earlier build may lack these tables.
constexpr const char* later_schema = R"sql(
CREATE TABLE IF NOT EXISTS asked (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plan_note (
  number INTEGER PRIMARY KEY REFERENCES plan(number),
  what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS told (
  number INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  dropped INTEGER NOT NULL,
  event INTEGER NOT NULL,
  PRIMARY KEY (number, generation));
CREATE TABLE IF NOT EXISTS evaluation_after (
  step INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  what TEXT NOT NULL,
  event INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS recovery (
  event INTEGER PRIMARY KEY,
  what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS restart (
  step INTEGER PRIMARY KEY,
  event INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS began (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  t_ns INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS origin (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  identity TEXT NOT NULL,
  build TEXT NOT NULL,
  manifest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS probe (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  digest TEXT NOT NULL);
)sql";

[[noreturn]] void contradiction(const std::string& what) {
  throw ballast_error(errc::internal, "the journal refuses " + what);
}

/// Whether a call waits for the disk.
enum class durable : uint8_t { now, later };

} // namespace

struct journal::state {
  file_lock lock; // released last: everything else is closed before
  ballast::term term{};
  std::unique_ptr<sqlite::connection> db;
  std::unique_ptr<sqlite::statement> commit_statement;
  durable mode = durable::now;
  generation last_generation{};
  plan_number last_plan{};
  step_number committed{};

  /// WAL with synchronous=FULL waits for the disk at every commit, with NORMAL
  /// never; a FULL commit also persists all earlier NORMAL ones.
  void set(durable wanted) {
    if (mode == wanted)
      return;
    db->run(wanted == durable::now ? "PRAGMA synchronous=FULL"
                                   : "PRAGMA synchronous=NORMAL");
    mode = wanted;
  }

  void insert(const journaled_generation& membership) {
    if (membership.number <= last_generation)
      contradiction("generation " + to_string(membership.number) + " after " +
                    to_string(last_generation));
    sqlite::statement(*db, "INSERT INTO generation VALUES (?, ?)")
        .bind(1, value(membership.number))
        .bind(2, value(term))
        .run();
    sqlite::statement member(*db, "INSERT INTO member VALUES (?, ?, ?, ?, ?)");
    uint64_t rank = 0;
    for (const journaled_worker& worker : membership.workers)
      member.bind(1, value(membership.number))
          .bind(2, rank++)
          .bind(3, uint64_t{value(worker.id)})
          .bind(4, worker.name)
          .bind(5, uint64_t{worker.incarnation})
          .run();
  }

  void insert(const ledger::plan& p,
              const std::optional<ledger::position>& effective) {
    if (p.number <= last_plan)
      contradiction("plan " + to_string(p.number) + " after " +
                    to_string(last_plan));
    sqlite::statement row(*db, "INSERT INTO plan VALUES (?, ?, ?, ?, ?)");
    row.bind(1, value(p.number))
        .bind(2, value(term))
        .bind(3, json_text(nlohmann::json(p)));
    if (effective)
      row.bind(4, value(effective->epoch)).bind(5, value(effective->step));
    else
      row.bind_null(4).bind_null(5);
    row.run();
  }

  void insert(plan_number number, const balance::plan_note& note) {
    sqlite::statement(*db, "INSERT INTO plan_note VALUES (?, ?)")
        .bind(1, value(number))
        .bind(2, json_text(nlohmann::json(note)))
        .run();
  }
};

journal::journal(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
journal::journal(journal&&) noexcept = default;
journal& journal::operator=(journal&&) noexcept = default;
journal::~journal() = default;

journal journal::open_for_writing(const fs::path& folder) {
  auto opened = std::make_unique<state>();
  opened->lock = take_term_lock(folder / lock_name);
  fs::path file = folder / file_name;
  opened->db = std::make_unique<sqlite::connection>(
      file, sqlite::uri_of(file, ""),
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite::connection& db = *opened->db;
  db.run("PRAGMA journal_mode=WAL");
  db.run("PRAGMA synchronous=FULL");
  db.run("PRAGMA foreign_keys=ON");
  sqlite::transaction change(db);
  if (one_number(db, "PRAGMA user_version") == 0) {
    db.run(schema);
    db.run(("PRAGMA user_version=" + std::to_string(journal_schema_version))
               .c_str());
  }
  check_version(db, folder);
  db.run(later_schema);
  opened->term =
      ballast::term{one_number(db, "SELECT max(number) FROM term") + 1};
  sqlite::statement(db, "INSERT INTO term VALUES (?, ?, ?)")
      .bind(1, value(opened->term))
      .bind(2, uint64_t(getpid()))
      .bind(3, utc_time(wall_ns()))
      .run();
  sqlite::statement(db, "INSERT OR IGNORE INTO began VALUES (1, ?)")
      .bind(1, uint64_t(monotonic_ns()))
      .run();
  opened->last_generation =
      generation{one_number(db, "SELECT max(number) FROM generation")};
  opened->last_plan =
      plan_number{one_number(db, "SELECT max(number) FROM plan")};
  opened->committed = step_number{one_number(db, "SELECT step FROM progress")};
  change.commit();
  opened->commit_statement = std::make_unique<sqlite::statement>(
      db, "INSERT INTO progress VALUES (1, ?, ?) ON CONFLICT (one)"
          " DO UPDATE SET step = excluded.step, epoch = excluded.epoch");
  return journal(std::move(opened));
}

ballast::term journal::term() const {
  return state_->term;
}

void journal::rise_to(ballast::term least) {
  if (least <= state_->term)
    return;
  state_->set(durable::now);
  sqlite::statement(*state_->db, "INSERT INTO term VALUES (?, ?, ?)")
      .bind(1, value(least))
      .bind(2, uint64_t(getpid()))
      .bind(3, utc_time(wall_ns()))
      .run();
  state_->term = least;
}

void journal::record_run(const journaled_run& run) {
  state_->set(durable::now);
  if (one_number(*state_->db, "SELECT count(*) FROM run") != 0)
    contradiction("a second run in one directory");
  sqlite::transaction change(*state_->db);
  sqlite::statement(*state_->db, "INSERT INTO run VALUES (1, ?, ?, ?, ?)")
      .bind(1, run.name)
      .bind(2, run.seed)
      .bind(3, run.rows)
      .bind(4, json_text(run.job))
      .run();
  sqlite::statement(*state_->db, "INSERT INTO origin VALUES (1, ?, ?, ?)")
      .bind(1, run.identity)
      .bind(2, run.build)
      .bind(3, run.manifest)
      .run();
  change.commit();
}

void journal::record_job(const nlohmann::json& job) {
  state_->set(durable::now);
  sqlite::statement(*state_->db, "UPDATE run SET job = ?")
      .bind(1, json_text(job))
      .run();
}

void journal::record_probe(const std::string& digest) {
  state_->set(durable::now);
  sqlite::statement(*state_->db, "INSERT INTO probe VALUES (1, ?)")
      .bind(1, digest)
      .run();
}

void journal::record_change(const journaled_generation& membership,
                            const ledger::plan& p,
                            std::optional<ledger::position> effective,
                            const balance::plan_note& note) {
  state_->set(durable::now);
  sqlite::transaction change(*state_->db);
  state_->insert(membership);
  state_->insert(p, effective);
  state_->insert(p.number, note);
  change.commit();
  state_->last_generation = membership.number;
  state_->last_plan = p.number;
}

void journal::record_offer(const ledger::plan& p,
                           const balance::plan_note& note) {
  if (p.generation != state_->last_generation)
    contradiction("an offer for generation " + to_string(p.generation) +
                  " in generation " + to_string(state_->last_generation));
  state_->set(durable::now);
  sqlite::transaction change(*state_->db);
  state_->insert(p, std::nullopt);
  state_->insert(p.number, note);
  change.commit();
  state_->last_plan = p.number;
}

void journal::record_effective(plan_number number, ledger::position from) {
  state_->set(durable::now);
  sqlite::transaction change(*state_->db);
  {
    sqlite::statement row(*state_->db,
                          "SELECT epoch, step FROM plan WHERE number = ?");
    row.bind(1, value(number));
    if (!row.step())
      contradiction("a position for plan " + to_string(number) +
                    ", which is not journaled");
    if (!row.is_null(0) && (row.number(0) != value(from.epoch) ||
                            row.number(1) != value(from.step)))
      contradiction("a second position for plan " + to_string(number));
  }
  sqlite::statement(*state_->db,
                    "UPDATE plan SET epoch = ?, step = ? WHERE number = ?")
      .bind(1, value(from.epoch))
      .bind(2, value(from.step))
      .bind(3, value(number))
      .run();
  change.commit();
}

void journal::record_requests(const coordinator::standing_requests& asked) {
  state_->set(durable::now);
  sqlite::statement(*state_->db,
                    "INSERT INTO asked VALUES (1, ?) ON CONFLICT (one)"
                    " DO UPDATE SET what = excluded.what")
      .bind(1, json_text(nlohmann::json(asked)))
      .run();
}

void journal::record_commit(step_number upto, epoch_number epoch) {
  if (upto < state_->committed)
    contradiction("commit of step " + to_string(upto) + " after " +
                  to_string(state_->committed));
  if (upto == state_->committed)
    return;
  state_->set(durable::later);
  state_->commit_statement->bind(1, value(upto)).bind(2, value(epoch)).run();
  state_->committed = upto;
}

void journal::record_told(const journaled_telling& what, uint64_t event) {
  state_->set(durable::later);
  sqlite::statement(*state_->db,
                    "INSERT OR REPLACE INTO told VALUES (?, ?, ?, ?)")
      .bind(1, value(what.number))
      .bind(2, value(what.generation))
      .bind(3, uint64_t{what.dropped})
      .bind(4, event)
      .run();
}

void journal::record_evaluation(const evaluation_report& what, uint64_t event) {
  state_->set(durable::later);
  sqlite::statement(*state_->db, "INSERT OR REPLACE INTO evaluation_after"
                                 " VALUES (?, ?, ?, ?)")
      .bind(1, value(what.step))
      .bind(2, value(what.epoch))
      .bind(3, json_text(nlohmann::json{
                   {"loss", what.loss},
                   {"accuracy", what.accuracy},
                   {"rows", what.rows},
                   {"wall_ns", what.wall_ns},
                   {"values", metrics::journal_json(what.values)}}))
      .bind(4, event)
      .run();
}

void journal::record_recovery(const journaled_recovery& what, uint64_t event) {
  state_->set(durable::later);
  sqlite::statement(*state_->db,
                    "INSERT OR REPLACE INTO recovery VALUES (?, ?)")
      .bind(1, event)
      .bind(2,
            json_text(nlohmann::json{{"reason", what.reason}, {"ms", what.ms}}))
      .run();
}

void journal::record_restart(step_number first, uint64_t event) {
  state_->set(durable::later);
  sqlite::statement(*state_->db, "INSERT OR REPLACE INTO restart VALUES (?, ?)")
      .bind(1, value(first))
      .bind(2, event)
      .run();
}

void journal::forget_events_after(uint64_t last) {
  state_->set(durable::later);
  sqlite::transaction change(*state_->db);
  for (const char* table : {"told", "evaluation_after", "recovery", "restart"})
    sqlite::statement(*state_->db,
                      std::string("DELETE FROM ") + table + " WHERE event > ?")
        .bind(1, last)
        .run();
  change.commit();
}

void journal::record_undo(step_number to, epoch_number epoch) {
  state_->set(durable::now);
  sqlite::transaction change(*state_->db);
  state_->commit_statement->bind(1, value(to)).bind(2, value(epoch)).run();
  // What was evaluated after `to` itself is so once more, which costs little.
  sqlite::statement(*state_->db, "DELETE FROM evaluation_after WHERE step >= ?")
      .bind(1, value(to))
      .run();
  change.commit();
  state_->committed = to;
}

journal_content journal::content() const {
  return read_all(*state_->db);
}

} // namespace ballast::store
