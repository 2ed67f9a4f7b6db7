#include "monitor/journal.hpp"

#include "monitor/clock.hpp"
#include "monitor/sqlite.hpp"
#include "monitor/term_lock.hpp"
#include "runtime/errors.hpp"
#include "runtime/json_text.hpp"

#include <map>
#include <system_error>
#include <unistd.h>

namespace ballast {

namespace {

namespace fs = std::filesystem;

constexpr int schema_version = 1;

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

/// Later than the others: a journal of an earlier build may lack them.
constexpr const char* later_schema = R"sql(
CREATE TABLE IF NOT EXISTS asked (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS plan_note (
  number INTEGER PRIMARY KEY REFERENCES plan(number),
  what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS origin (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  identity TEXT NOT NULL,
  build TEXT NOT NULL,
  manifest TEXT NOT NULL);
)sql";

[[noreturn]] void contradiction(const std::string& what) {
  throw ballast_error(errc::internal, "the journal refuses " + what);
}

/// Which calls wait for the disk.
enum class durable : uint8_t { now, later };

uint64_t one_number(sqlite::connection& on, const char* sql) {
  sqlite::statement query(on, sql);
  return query.step() ? query.number(0) : 0;
}

void read_generations(sqlite::connection& on, journal_content& out) {
  sqlite::statement query(on, "SELECT g.number, m.worker, m.name, m.incarnation"
                              " FROM generation g LEFT JOIN member m"
                              " ON m.generation = g.number"
                              " ORDER BY g.number, m.rank");
  while (query.step()) {
    generation number{query.number(0)};
    if (out.generations.empty() || out.generations.back().number != number)
      out.generations.push_back({number, {}});
    if (!query.is_null(1))
      out.generations.back().workers.push_back({worker_id(query.number(1)),
                                                query.text(2),
                                                uint32_t(query.number(3))});
  }
}

bool has_table(sqlite::connection& on, const char* name) {
  sqlite::statement query(on, "SELECT count(*) FROM sqlite_master"
                              " WHERE type = 'table' AND name = ?");
  query.bind(1, name);
  return query.step() && query.number(0) > 0;
}

std::map<plan_number, plan_note> read_notes(sqlite::connection& on) {
  std::map<plan_number, plan_note> out;
  if (!has_table(on, "plan_note"))
    return out;
  sqlite::statement query(on, "SELECT number, what FROM plan_note");
  while (query.step())
    out[plan_number{query.number(0)}] =
        nlohmann::json::parse(query.text(1)).get<plan_note>();
  return out;
}

void read_plans(sqlite::connection& on, journal_content& out) {
  sqlite::statement query(on,
                          "SELECT body, epoch, step FROM plan ORDER BY number");
  std::map<plan_number, plan_note> notes = read_notes(on);
  while (query.step()) {
    journaled_plan one;
    one.body = nlohmann::json::parse(query.text(0)).get<plan>();
    if (auto found = notes.find(one.body.number); found != notes.end())
      one.note = std::move(found->second);
    if (!query.is_null(1))
      one.effective =
          position{epoch_number{query.number(1)}, step_number{query.number(2)}};
    out.plans.push_back(std::move(one));
  }
}

void read_requests(sqlite::connection& on, journal_content& out) {
  if (!has_table(on, "asked"))
    return;
  sqlite::statement query(on, "SELECT what FROM asked");
  if (query.step())
    out.asked = nlohmann::json::parse(query.text(0)).get<standing_requests>();
}

void read_origin(sqlite::connection& on, journaled_run& out) {
  if (!has_table(on, "origin"))
    return;
  sqlite::statement query(on, "SELECT identity, build, manifest FROM origin");
  if (!query.step())
    return;
  out.identity = query.text(0);
  out.build = query.text(1);
  out.manifest = query.text(2);
}

void check_pages(sqlite::connection& on, const fs::path& file) {
  sqlite::statement query(on, "PRAGMA quick_check(1)");
  std::string found = query.step() ? query.text(0) : "nothing";
  if (found != "ok")
    throw ballast_error(errc::run_dir_unusable, "the journal " + file.string() +
                                                    " is damaged: " + found);
}

journal_content read_all(sqlite::connection& on) {
  journal_content out;
  on.run("BEGIN"); // one snapshot for all tables
  try {
    out.term = ballast::term{one_number(on, "SELECT max(number) FROM term")};
    {
      sqlite::statement query(on, "SELECT name, seed, rows, job FROM run");
      if (query.step())
        out.run = journaled_run{query.text(0),
                                query.number(1),
                                query.number(2),
                                nlohmann::json::parse(query.text(3)),
                                {},
                                {},
                                {}};
    }
    if (out.run)
      read_origin(on, *out.run);
    read_generations(on, out);
    read_plans(on, out);
    read_requests(on, out);
    sqlite::statement query(on, "SELECT step, epoch FROM progress");
    if (query.step()) {
      out.committed = step_number{query.number(0)};
      out.committed_epoch = epoch_number{query.number(1)};
    }
  } catch (...) {
    sqlite3_exec(on.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  on.run("COMMIT");
  return out;
}

void check_version(sqlite::connection& on, const fs::path& folder) {
  uint64_t version = one_number(on, "PRAGMA user_version");
  if (version != schema_version)
    throw ballast_error(errc::run_dir_unusable,
                        "the journal in " + folder.string() + " has format " +
                            std::to_string(version) + ", this build reads " +
                            std::to_string(schema_version));
}

} // namespace

struct journal::state {
  unique_fd lock; // given back last: before that all of this is closed
  ballast::term term{};
  std::unique_ptr<sqlite::connection> db;
  std::unique_ptr<sqlite::statement> commit_statement;
  durable mode = durable::now;
  generation last_generation{};
  plan_number last_plan{};
  step_number committed{};

  /// WAL with synchronous=FULL waits for the disk at every commit, with NORMAL
  /// never; a FULL one takes all earlier NORMAL ones along.
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

  void insert(const plan& p, const std::optional<position>& effective) {
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

  void insert(plan_number number, const plan_note& note) {
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
    db.run(("PRAGMA user_version=" + std::to_string(schema_version)).c_str());
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

void journal::record_generation(const journaled_generation& membership) {
  state_->set(durable::now);
  sqlite::transaction change(*state_->db);
  state_->insert(membership);
  change.commit();
  state_->last_generation = membership.number;
}

void journal::record_plan(const plan& p, std::optional<position> effective) {
  state_->set(durable::now);
  sqlite::transaction change(*state_->db);
  state_->insert(p, effective);
  change.commit();
  state_->last_plan = p.number;
}

void journal::record_change(const journaled_generation& membership,
                            const plan& p, std::optional<position> effective,
                            const plan_note& note) {
  state_->set(durable::now);
  sqlite::transaction change(*state_->db);
  state_->insert(membership);
  state_->insert(p, effective);
  state_->insert(p.number, note);
  change.commit();
  state_->last_generation = membership.number;
  state_->last_plan = p.number;
}

void journal::record_offer(const plan& p, const plan_note& note) {
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

void journal::record_effective(plan_number number, position from) {
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

void journal::record_requests(const standing_requests& asked) {
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

void journal::record_undo(step_number to, epoch_number epoch) {
  state_->set(durable::now);
  state_->commit_statement->bind(1, value(to)).bind(2, value(epoch)).run();
  state_->committed = to;
}

journal_content journal::content() const {
  return read_all(*state_->db);
}

namespace {

/// What changes where somebody writes: the log beside the file, then the file.
struct journal_stamp {
  uintmax_t log_bytes = 0;
  uintmax_t bytes = 0;
  fs::file_time_type written;
  bool operator==(const journal_stamp&) const = default;
};

journal_stamp stamp_of(const fs::path& file) {
  std::error_code none;
  journal_stamp out;
  out.log_bytes = fs::file_size(file.string() + "-wal", none);
  if (none)
    out.log_bytes = 0;
  out.bytes = fs::file_size(file, none);
  out.written = fs::last_write_time(file, none);
  return out;
}

journal_content read_by(const fs::path& file, const char* how,
                        bool thoroughly) {
  sqlite::connection db(file, sqlite::uri_of(file, how), SQLITE_OPEN_READONLY);
  check_version(db, file.parent_path());
  if (thoroughly)
    check_pages(db, file);
  try {
    return read_all(db);
  } catch (const nlohmann::json::exception& error) {
    throw ballast_error(errc::run_dir_unusable,
                        "the journal " + file.string() +
                            " is damaged: " + error.what());
  }
}

} // namespace

journal_content read_journal(const fs::path& folder, bool thoroughly) {
  fs::path file = folder / journal::file_name;
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw ballast_error(errc::run_dir_unusable,
                        "there is no journal " + file.string());
  if (fs::is_directory(file, ignored))
    throw ballast_error(errc::run_dir_unusable,
                        "the journal " + file.string() + " is a folder");
  // Readers of a log write beside it. Where there is none the file alone is the
  // journal, and is read without leaving anything behind; unless somebody began
  // to write meanwhile.
  if (journal_stamp before = stamp_of(file); before.log_bytes == 0)
    try {
      journal_content out = read_by(file, "?immutable=1", thoroughly);
      if (stamp_of(file) == before)
        return out;
    } catch (const ballast_error&) {
      if (stamp_of(file) == before)
        throw;
    }
  return read_by(file, "", thoroughly);
}

} // namespace ballast
