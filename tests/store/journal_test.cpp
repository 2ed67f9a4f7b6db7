/// Goal: what was decided is found again, by the next coordinator and by a
/// reader beside a living one.
#include "store/journal.hpp"

#include "store/journal_copy.hpp"
#include "store/sqlite.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/small_disk.hpp"
#include "tests/store/temp_folder.hpp"

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace ballast::store {
namespace {

journaled_run some_run() {
  return {.name = "fashion-1",
          .seed = 0xffff'ffff'ffff'fffe, // larger than SQLite's integers
          .rows = 10'007,
          .job = {{"version", 1}, {"name", "fashion"}}};
}

journaled_generation some_generation(uint64_t number) {
  return {generation{number},
          {{worker_id{3}, "w3", 1}, {worker_id{1}, "w1", 2}}};
}

ledger::plan some_plan(uint64_t number, uint64_t gen = 1) {
  ledger::plan p;
  p.number = plan_number{number};
  p.generation = generation{gen};
  p.shares = {{worker_id{3}, plan_number{1}, 100, {{chunk_id{0}, 0, 100}}},
              {worker_id{1}, plan_number{number}, 50, {{chunk_id{1}, 0, 50}}}};
  return p;
}

ledger::position at(uint64_t epoch, uint64_t step) {
  return {epoch_number{epoch}, step_number{step}};
}

evaluation_report some_evaluation(uint64_t epoch, double loss) {
  evaluation_report out;
  out.epoch = epoch_number{epoch};
  out.step = step_number{5 * epoch};
  out.loss = loss;
  out.accuracy = 0.75;
  out.rows = 100;
  out.wall_ns = 123'456'789;
  out.values = {{metrics::metric::f1_per_class, {0.5, loss}, "", 0},
                {metrics::metric::roc_auc, {0.25}, "", 1e-3}};
  return out;
}

coordinator::standing_requests some_requests() {
  coordinator::standing_requests out;
  out.balance = {{true, 0.1}, {false, 0.25}};
  out.workers = {4, 6};
  out.leaving = {worker_id{3}, worker_id{7}};
  return out;
}

balance::plan_note some_note() {
  return {"one owns \"much\" more",
          {{worker_id{3}, 100, 0.125}, {worker_id{1}, 50, 0}},
          balance::plan_note::of_balance{balance::balance_cause::size, 1.25, 30,
                                         3000, 20}};
}

void expect_everything(const journal_content& content) {
  ASSERT_TRUE(content.run);
  EXPECT_EQ(content.run->name, "fashion-1");
  EXPECT_EQ(content.run->seed, some_run().seed);
  EXPECT_EQ(content.run->rows, 10'007u);
  EXPECT_EQ(content.run->job, some_run().job);
  ASSERT_EQ(content.generations.size(), 2u);
  EXPECT_EQ(content.generations[0], some_generation(1));
  EXPECT_EQ(content.generations[1], some_generation(2));
  ASSERT_EQ(content.plans.size(), 3u);
  EXPECT_EQ(content.plans[0].body, some_plan(1));
  EXPECT_EQ(content.plans[0].effective, at(1, 1));
  EXPECT_EQ(content.plans[1].body, some_plan(2));
  EXPECT_EQ(content.plans[1].effective, std::nullopt);
  EXPECT_EQ(content.plans[2].body, some_plan(3, 2));
  EXPECT_EQ(content.plans[2].effective, at(2, 57));
  EXPECT_EQ(nlohmann::json(content.plans[0].note), nlohmann::json(some_note()));
  EXPECT_EQ(nlohmann::json(content.plans[1].note),
            nlohmann::json(balance::plan_note{}));
  EXPECT_EQ(content.committed, step_number{60});
  EXPECT_EQ(nlohmann::json(content.asked), nlohmann::json(some_requests()));
}

void record_everything(journal& book) {
  book.record_run(some_run());
  book.record_change(some_generation(1), some_plan(1), at(1, 1), some_note());
  book.record_commit(step_number{40}, epoch_number{1});
  book.record_offer(some_plan(2));
  book.record_change(some_generation(2), some_plan(3, 2));
  book.record_effective(plan_number{3}, at(2, 57));
  book.record_requests({}); // the newest word counts
  book.record_requests(some_requests());
  book.record_commit(step_number{60}, epoch_number{2});
}

/// As a build wrote it that had no such table.
void write_without(const char* table, const temp_folder& folder) {
  {
    journal book = journal::open_for_writing(folder.path());
    record_everything(book);
  }
  const auto file = folder / journal::file_name;
  sqlite::connection db(file, file.string(), SQLITE_OPEN_READWRITE);
  db.run((std::string("DROP TABLE ") + table).c_str());
}

TEST(journal, of_an_earlier_build_knows_of_no_requests) {
  temp_folder folder;
  write_without("asked", folder);
  EXPECT_TRUE(read_journal(folder.path()).asked.leaving.empty());
  EXPECT_FALSE(read_journal(folder.path()).asked.balance);
  journal::open_for_writing(folder.path()).record_requests(some_requests());
  expect_everything(read_journal(folder.path()));
}

TEST(journal, of_an_earlier_build_does_not_say_why_a_plan_was_made) {
  temp_folder folder;
  write_without("plan_note", folder);
  auto plans = read_journal(folder.path()).plans;
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(nlohmann::json(plans[0].note),
            nlohmann::json(balance::plan_note{}));
  journal book = journal::open_for_writing(folder.path());
  book.record_offer(some_plan(4, 2), some_note());
  EXPECT_EQ(nlohmann::json(book.content().plans.at(3).note),
            nlohmann::json(some_note()));
}

TEST(journal, is_empty_but_for_its_term_at_first) {
  temp_folder folder;
  journal book = journal::open_for_writing(folder.path());
  journal_content content = book.content();
  EXPECT_EQ(content.term, term{1});
  EXPECT_FALSE(content.run);
  EXPECT_TRUE(content.generations.empty());
  EXPECT_TRUE(content.plans.empty());
  EXPECT_EQ(content.committed, step_number{0});
}

TEST(journal, gives_everything_back_to_itself_a_live_reader_and_the_next_term) {
  temp_folder folder;
  {
    journal book = journal::open_for_writing(folder.path());
    record_everything(book);
    expect_everything(book.content());
    expect_everything(read_journal(folder.path()));
    EXPECT_EQ(read_journal(folder.path()).term, term{1});
  }
  expect_everything(read_journal(folder.path()));
  journal book = journal::open_for_writing(folder.path());
  EXPECT_EQ(book.term(), term{2});
  expect_everything(book.content());
}

TEST(journal, rises_to_the_term_of_whoever_has_led_another_run) {
  const temp_folder folder;
  {
    journal one = journal::open_for_writing(folder.path());
    one.rise_to(term{5});
    EXPECT_EQ(one.term(), term{5});
    one.rise_to(term{3});
    EXPECT_EQ(one.term(), term{5});
  }
  EXPECT_EQ(journal::open_for_writing(folder.path()).term(), term{6});
}

TEST(journal, has_one_writer_and_names_it) {
  temp_folder folder;
  journal book = journal::open_for_writing(folder.path());
  EXPECT_FAILURE(journal::open_for_writing(folder.path()), errc::run_dir_in_use,
                 "process " + std::to_string(getpid()));
  EXPECT_EQ(read_journal(folder.path()).term, term{1});
}

TEST(journal, keeps_every_record_of_a_coordinator_that_is_killed) {
  temp_folder folder;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    journal book = journal::open_for_writing(folder.path());
    record_everything(book);
    if (write(ready[1], "x", 1) != 1)
      _exit(1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  expect_everything(read_journal(folder.path()));
  journal book = journal::open_for_writing(folder.path());
  EXPECT_EQ(book.term(), term{2});
  expect_everything(book.content());
}

TEST(journal, refuses_what_contradicts_an_earlier_record) {
  temp_folder folder;
  journal book = journal::open_for_writing(folder.path());
  record_everything(book);
  EXPECT_FAILURE(book.record_run(some_run()), errc::internal, "second run");
  EXPECT_FAILURE(book.record_change(some_generation(2), some_plan(4, 2)),
                 errc::internal, "generation 2 after 2");
  EXPECT_FAILURE(book.record_offer(some_plan(2, 2)), errc::internal,
                 "plan 2 after 3");
  EXPECT_FAILURE(book.record_effective(plan_number{9}, at(1, 1)),
                 errc::internal, "plan 9");
  EXPECT_FAILURE(book.record_effective(plan_number{3}, at(2, 58)),
                 errc::internal, "second position for plan 3");
  EXPECT_FAILURE(book.record_commit(step_number{59}, epoch_number{2}),
                 errc::internal, "step 59 after 60");
  // Said twice, but the same.
  book.record_effective(plan_number{3}, at(2, 57));
  book.record_commit(step_number{60}, epoch_number{2});
  expect_everything(book.content());
}

TEST(journal, records_a_change_whole_or_not_at_all) {
  temp_folder folder;
  journal book = journal::open_for_writing(folder.path());
  record_everything(book);
  EXPECT_FAILURE(book.record_change(some_generation(3), some_plan(3)),
                 errc::internal, "plan 3 after 3");
  expect_everything(book.content());
  book.record_change(some_generation(3), some_plan(4, 3), at(3, 61));
  EXPECT_EQ(book.content().generations.size(), 3u);
}

TEST(journal, stays_readable_and_usable_after_a_full_disk) {
  temp_folder folder;
  journal book = journal::open_for_writing(folder.path());
  record_everything(book);
  ledger::plan large = some_plan(4, 2);
  for (uint32_t chunk = 2; chunk < 20'000; ++chunk)
    large.shares[1].intervals.push_back({chunk_id{chunk}, 0, 256});
  {
    small_disk disk(128 * 1024);
    EXPECT_FAILURE(book.record_offer(large), errc::disk_full, "make space");
    expect_everything(read_journal(folder.path()));
  }
  expect_everything(book.content());
  book.record_offer(large);
  EXPECT_EQ(read_journal(folder.path()).plans.back().body, large);
}

TEST(journal, says_why_it_cannot_be_read) {
  temp_folder folder;
  EXPECT_FAILURE(read_journal(folder.path()), errc::run_dir_unusable,
                 "there is no journal");
  EXPECT_FAILURE(journal::open_for_writing(folder / "absent"),
                 errc::run_dir_unusable, "absent");
  write_content(folder / "ledger.sqlite", std::string(4096, 'x'));
  EXPECT_FAILURE(read_journal(folder.path()), errc::run_dir_unusable,
                 "not a database");
  EXPECT_FAILURE(journal::open_for_writing(folder.path()),
                 errc::run_dir_unusable, "not a database");
}

TEST(journal, keeps_the_probe_of_a_run) {
  temp_folder folder;
  {
    journal book = journal::open_for_writing(folder.path());
    EXPECT_EQ(book.content().probe, "");
    book.record_probe("4cb9");
  }
  EXPECT_EQ(read_journal(folder.path()).probe, "4cb9");
}

TEST(journal, keeps_what_a_takeover_must_know_of_what_was_told) {
  temp_folder folder;
  uint64_t began = 0;
  {
    journal book = journal::open_for_writing(folder.path());
    began = book.content().began_ns;
    EXPECT_GT(began, 0u);
    book.record_told({plan_number{2}, generation{1}, false}, 3);
    book.record_told({plan_number{3}, generation{1}, true}, 4);
    book.record_told({plan_number{3}, generation{2}, false}, 5);
    book.record_told({plan_number{3}, generation{2}, false}, 6); // once more
    book.record_evaluation(some_evaluation(2, 0.25), 7);
    book.record_evaluation(some_evaluation(1, std::nan("")), 8);
    book.record_recovery({"worker w2 lost: its process is gone", 75.5}, 9);
    book.record_recovery({"bad \xff byte", 10}, 10);
    book.record_restart(step_number{6}, 11);
    book.record_restart(step_number{6}, 12);
  }
  journal next = journal::open_for_writing(folder.path());
  for (const journal_content& content :
       {next.content(), read_journal(folder.path())}) {
    ASSERT_EQ(content.told.size(), 3u);
    EXPECT_EQ(content.told[1].number, plan_number{3});
    EXPECT_TRUE(content.told[1].dropped);
    EXPECT_EQ(content.told[2].generation, generation{2});
    ASSERT_EQ(content.evaluations.size(), 2u);
    EXPECT_TRUE(std::isnan(content.evaluations[0].loss));
    EXPECT_EQ(content.evaluations[1].epoch, epoch_number{2});
    EXPECT_EQ(content.evaluations[1].step, step_number{10});
    EXPECT_EQ(content.evaluations[1].loss, 0.25);
    EXPECT_EQ(content.evaluations[1].accuracy, 0.75);
    EXPECT_EQ(content.evaluations[1].rows, 100u);
    EXPECT_EQ(content.evaluations[1].wall_ns, 123'456'789u);
    EXPECT_EQ(content.evaluations[1].values, some_evaluation(2, 0.25).values);
    EXPECT_TRUE(std::isnan(content.evaluations[0].values[0].numbers[1]));
    ASSERT_EQ(content.recoveries.size(), 2u);
    EXPECT_EQ(content.recoveries[0].reason,
              "worker w2 lost: its process is gone");
    EXPECT_EQ(content.recoveries[0].ms, 75.5);
    EXPECT_EQ(content.restarts, std::vector{step_number{6}});
    EXPECT_EQ(content.began_ns, began) << "the first life began the run";
  }
}

TEST(journal, forgets_evaluations_of_what_is_undone) {
  temp_folder folder;
  journal book = journal::open_for_writing(folder.path());
  for (uint64_t epoch = 1; epoch <= 3; ++epoch)
    book.record_evaluation(some_evaluation(epoch, 1), epoch);
  book.record_undo(step_number{7}, epoch_number{2});
  const journal_content content = book.content();
  ASSERT_EQ(content.evaluations.size(), 1u);
  EXPECT_EQ(content.evaluations[0].epoch, epoch_number{1});
}

TEST(journal, forgets_what_an_event_was_to_tell_that_was_never_written) {
  temp_folder folder;
  journal book = journal::open_for_writing(folder.path());
  book.record_told({plan_number{2}, generation{1}, false}, 5);
  book.record_told({plan_number{3}, generation{1}, false}, 6);
  book.record_evaluation(some_evaluation(1, 1), 6);
  book.record_recovery({"gone", 10}, 6);
  book.record_restart(step_number{6}, 6);
  book.forget_events_after(5);
  const journal_content content = book.content();
  ASSERT_EQ(content.told.size(), 1u);
  EXPECT_EQ(content.told[0].number, plan_number{2});
  EXPECT_TRUE(content.evaluations.empty());
  EXPECT_TRUE(content.recoveries.empty());
  EXPECT_TRUE(content.restarts.empty());
}

TEST(journal, of_an_earlier_build_knows_nothing_that_was_told) {
  temp_folder folder;
  write_without("told", folder);
  EXPECT_TRUE(read_journal(folder.path()).told.empty());
  journal book = journal::open_for_writing(folder.path());
  book.record_told({plan_number{2}, generation{1}, false}, 5);
  EXPECT_EQ(book.content().told.size(), 1u);
}

TEST(journal, is_found_under_any_path) {
  temp_folder base;
  std::filesystem::path odd = base / "100% #1?mode=ro \xc3\xa4";
  std::filesystem::create_directory(odd);
  {
    journal book = journal::open_for_writing(odd);
    record_everything(book);
  }
  EXPECT_TRUE(std::filesystem::exists(odd / "ledger.sqlite"));
  expect_everything(read_journal(odd));
}

TEST(journal, is_copied_as_of_one_moment_while_it_is_written) {
  temp_folder folder;
  std::filesystem::create_directory(folder / "copy");
  journal open = journal::open_for_writing(folder.path());
  open.record_run(some_run());
  open.record_change(some_generation(1), some_plan(1), at(1, 1));
  open.record_commit(step_number{7}, epoch_number{1});
  copy_journal(folder.path(), folder / "copy" / journal::file_name);
  open.record_commit(step_number{9}, epoch_number{1});
  const journal_content copied = read_journal(folder / "copy", true);
  EXPECT_EQ(copied.committed, step_number{7});
  EXPECT_EQ(copied.run->name, some_run().name);
  ASSERT_EQ(copied.plans.size(), 1U);
  // It is a journal like any other.
  EXPECT_GT(journal::open_for_writing(folder / "copy").term(), open.term());
  EXPECT_EQ(read_journal(folder.path()).committed, step_number{9});
}

} // namespace
} // namespace ballast::store
