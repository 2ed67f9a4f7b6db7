#include "store/journal_reader.hpp"

#include "runtime/base/errors.hpp"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

namespace ballast::store {

uint64_t one_number(sqlite::connection& on, const char* sql) {
  sqlite::statement query(on, sql);
  return query.step() ? query.number(0) : 0;
}

namespace {

namespace fs = std::filesystem;

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

std::map<plan_number, balance::plan_note> read_notes(sqlite::connection& on) {
  std::map<plan_number, balance::plan_note> out;
  if (!has_table(on, "plan_note"))
    return out;
  sqlite::statement query(on, "SELECT number, what FROM plan_note");
  while (query.step())
    out[plan_number{query.number(0)}] =
        nlohmann::json::parse(query.text(1)).get<balance::plan_note>();
  return out;
}

void read_plans(sqlite::connection& on, journal_content& out) {
  sqlite::statement query(on,
                          "SELECT body, epoch, step FROM plan ORDER BY number");
  std::map<plan_number, balance::plan_note> notes = read_notes(on);
  while (query.step()) {
    journaled_plan one;
    one.body = nlohmann::json::parse(query.text(0)).get<ledger::plan>();
    if (auto found = notes.find(one.body.number); found != notes.end())
      one.note = std::move(found->second);
    if (!query.is_null(1))
      one.effective = ledger::position{epoch_number{query.number(1)},
                                       step_number{query.number(2)}};
    out.plans.push_back(std::move(one));
  }
}

void read_requests(sqlite::connection& on, journal_content& out) {
  if (!has_table(on, "asked"))
    return;
  sqlite::statement query(on, "SELECT what FROM asked");
  if (query.step())
    out.asked = nlohmann::json::parse(query.text(0))
                    .get<coordinator::standing_requests>();
}

std::string read_probe(sqlite::connection& on) {
  if (!has_table(on, "probe"))
    return {};
  sqlite::statement query(on, "SELECT digest FROM probe");
  return query.step() ? query.text(0) : std::string();
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

/// A number that JSON has no word for, as the loss of a run that diverged.
double number_or_nan(const nlohmann::json& in, const char* key) {
  return in.at(key).is_null() ? std::numeric_limits<double>::quiet_NaN()
                              : in.at(key).get<double>();
}

void read_told(sqlite::connection& on, journal_content& out) {
  {
    sqlite::statement query(on, "SELECT number, generation, dropped FROM told");
    while (query.step())
      out.told.push_back({plan_number{query.number(0)},
                          generation{query.number(1)}, query.number(2) != 0});
  }
  if (has_table(on, "evaluation_after")) { // of earlier builds there are none
    sqlite::statement query(
        on, "SELECT step, epoch, what FROM evaluation_after ORDER BY step");
    while (query.step()) {
      const auto what = nlohmann::json::parse(query.text(2));
      evaluation_report& one = out.evaluations.emplace_back();
      one.step = step_number{query.number(0)};
      one.epoch = epoch_number{query.number(1)};
      one.loss = number_or_nan(what, "loss");
      one.accuracy = number_or_nan(what, "accuracy");
      one.rows = what.at("rows").get<uint64_t>();
      one.wall_ns = what.at("wall_ns").get<uint64_t>();
      one.values = metrics::values_of_journal(what.at("values"));
    }
  }
  {
    sqlite::statement query(on, "SELECT what FROM recovery ORDER BY event");
    while (query.step()) {
      const auto what = nlohmann::json::parse(query.text(0));
      out.recoveries.push_back(
          {what.at("reason").get<std::string>(), what.at("ms").get<double>()});
    }
  }
  {
    sqlite::statement query(on, "SELECT step FROM restart ORDER BY step");
    while (query.step())
      out.restarts.push_back(step_number{query.number(0)});
  }
  out.began_ns = one_number(on, "SELECT t_ns FROM began");
}

void check_pages(sqlite::connection& on, const fs::path& file) {
  sqlite::statement query(on, "PRAGMA quick_check(1)");
  std::string found = query.step() ? query.text(0) : "nothing";
  if (found != "ok")
    throw ballast_error(errc::run_dir_unusable, "the journal " + file.string() +
                                                    " is damaged: " + found);
}

} // namespace

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
    out.probe = read_probe(on);
    read_generations(on, out);
    read_plans(on, out);
    read_requests(on, out);
    if (has_table(on, "told")) // all of them came together
      read_told(on, out);
    out.committed = step_number{one_number(on, "SELECT step FROM progress")};
  } catch (...) {
    sqlite3_exec(on.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  on.run("COMMIT");
  return out;
}

void check_version(sqlite::connection& on,
                   const std::filesystem::path& folder) {
  uint64_t version = one_number(on, "PRAGMA user_version");
  if (version != journal_schema_version)
    throw ballast_error(errc::run_dir_unusable,
                        "the journal in " + folder.string() + " has format " +
                            std::to_string(version) + ", this build reads " +
                            std::to_string(journal_schema_version));
}

namespace {

/// Changes whenever a process writes: the state of the log beside the file,
/// then of the file.
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
  // Readers of a write-ahead log create files beside it. Without a log the main
  // file is the whole journal and is read without leaving anything behind,
  // unless a writer starts meanwhile.
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

} // namespace ballast::store
