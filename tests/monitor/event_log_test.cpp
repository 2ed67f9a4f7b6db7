/// Goal: events have numbers without gap, in the file and in memory, and
/// subscribers wake up.
#include "monitor/logs/event_log.hpp"

#include "tests/store/expect_error.hpp"
#include "tests/store/small_disk.hpp"
#include "tests/store/temp_folder.hpp"

#include <nlohmann/json.hpp>
#include <thread>

namespace ballast::monitor {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds for_ever{60'000};

std::vector<uint64_t> numbers(const std::vector<event>& events) {
  std::vector<uint64_t> out;
  out.reserve(events.size());
  for (const event& one : events)
    out.push_back(one.seq);
  return out;
}

using seqs = std::vector<uint64_t>;

TEST(event_log, writes_number_times_kind_and_fields) {
  store::temp_folder folder;
  event_log log(folder / "events.jsonl");
  EXPECT_EQ(log.append(event_text{"epoch", {{"epoch", 1}, {"loss", 0.5}}}), 1u);
  nlohmann::json sorted = {{"b", 1}, {"a", 2}};
  EXPECT_EQ(log.append(event_text{"done", sorted}), 2u);
  EXPECT_EQ(log.append(event_text{"bare", {}}), 3u);
  std::ifstream in(folder / "events.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  auto first = nlohmann::ordered_json::parse(line);
  std::string keys;
  for (const auto& [key, field] : first.items())
    keys += key + " ";
  EXPECT_EQ(keys, "seq t_ns time kind epoch loss ");
  EXPECT_EQ(first["kind"], "epoch");
  EXPECT_EQ(line, log.after(0).at(0).line);
}

TEST(event_log, refuses_a_field_that_would_hide_its_own) {
  store::temp_folder folder;
  event_log log(folder / "e");
  EXPECT_FAILURE(log.append(event_text{"epoch", {{"seq", 9}}}), errc::internal,
                 "'seq'");
  EXPECT_EQ(log.last(), 0u);
}

TEST(event_log, tells_the_number_of_a_line_before_it_is_written) {
  store::temp_folder folder;
  event_log log(folder / "e");
  log.append(event_text{"a", {}});
  log.append(event_text{"b", {}}, [&](uint64_t seq) {
    EXPECT_EQ(seq, 2u);
    EXPECT_EQ(store::content_of(folder / "e").find("\"b\""), std::string::npos);
  });
  EXPECT_FAILURE(log.append(event_text{"c", {}},
                            [](uint64_t) {
                              throw ballast_error(errc::disk_full, "no space");
                            }),
                 errc::disk_full, "no space");
  EXPECT_EQ(log.last(), 2u);
  EXPECT_EQ(log.append(event_text{"c", {}}), 3u);
}

TEST(event_log, keeps_only_the_newest_in_memory_and_reads_the_others) {
  store::temp_folder folder;
  event_log log(folder / "e", 3);
  EXPECT_EQ(log.first_kept(), 1u);
  for (int i = 0; i < 5; ++i)
    log.append(event_text{"x", {}});
  EXPECT_EQ(log.first_kept(), 3u);
  EXPECT_EQ(numbers(log.after(0)), (seqs{1, 2}));
  EXPECT_EQ(numbers(log.after(2)), (seqs{3, 4, 5}));
  EXPECT_EQ(numbers(log.after(3)), (seqs{4, 5}));
  EXPECT_EQ(numbers(log.after(2, 2)), (seqs{3, 4}));
  EXPECT_EQ(numbers(log.after(5)), seqs{});
  EXPECT_EQ(numbers(log.after(99)), seqs{});
}

TEST(event_log, continues_an_earlier_file) {
  store::temp_folder folder;
  {
    event_log log(folder / "e");
    for (int i = 0; i < 4; ++i)
      log.append(event_text{"x", {}});
  }
  event_log log(folder / "e", 2);
  EXPECT_EQ(log.last(), 4u);
  EXPECT_EQ(numbers(log.after(0)), (seqs{1, 2}));
  EXPECT_EQ(numbers(log.after(2)), (seqs{3, 4}));
  EXPECT_EQ(log.append(event_text{"y", {}}), 5u);
}

TEST(event_log, is_read_whole_from_anywhere_by_those_who_come_late) {
  store::temp_folder folder;
  for (uint64_t lives : {1, 2}) { // the second one finds the file
    event_log log(folder / "e", 10);
    while (log.last() < 1500 * lives)
      log.append(
          event_text{"x", {{"text", std::string(log.last() % 40, 'y')}}});
    for (uint64_t from : {0, 1, 254, 255, 256, 257, 511, 512, 1480, 1499}) {
      uint64_t at = from;
      while (at < log.last())
        for (const event& one : log.after(at, 100)) {
          ASSERT_EQ(one.seq, at + 1);
          ASSERT_EQ(nlohmann::json::parse(one.line)["seq"], one.seq);
          at = one.seq;
        }
    }
  }
}

TEST(event_log, goes_on_with_what_it_has_where_the_file_is_gone) {
  store::temp_folder folder;
  event_log log(folder / "e", 3);
  for (int i = 0; i < 5; ++i)
    log.append(event_text{"x", {}});
  std::filesystem::remove(folder / "e");
  EXPECT_EQ(numbers(log.after(0)), (seqs{3, 4, 5}));
}

TEST(event_log, wakes_a_subscriber_that_waits) {
  store::temp_folder folder;
  event_log log(folder / "e");
  std::stop_source stop;
  std::vector<event> got;
  std::thread reader(
      [&] { got = log.wait_after(0, 10, for_ever, stop.get_token()); });
  log.append(event_text{"x", {}});
  reader.join();
  EXPECT_EQ(numbers(got), seqs{1});
}

TEST(event_log, lets_a_subscriber_go_on_timeout_and_on_stop) {
  store::temp_folder folder;
  event_log log(folder / "e");
  std::stop_source stop;
  EXPECT_TRUE(log.wait_after(0, 10, milliseconds(1), stop.get_token()).empty());
  std::thread reader([&] {
    EXPECT_TRUE(log.wait_after(0, 10, for_ever, stop.get_token()).empty());
  });
  stop.request_stop();
  reader.join();
}

TEST(event_log, loses_and_repeats_nothing_with_many_writers_and_readers) {
  store::temp_folder folder;
  event_log log(folder / "e");
  constexpr uint64_t writers = 4, each = 100;
  std::stop_source stop;
  std::vector<seqs> seen(3);
  std::vector<std::thread> threads;
  threads.reserve(seen.size() + writers);
  for (seqs& mine : seen)
    threads.emplace_back([&] {
      uint64_t at = 0;
      while (at < writers * each)
        for (const event& one :
             log.wait_after(at, 7, for_ever, stop.get_token())) {
          at = one.seq;
          mine.push_back(at);
        }
    });
  for (uint64_t i = 0; i < writers; ++i)
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < each; ++n)
        log.append(event_text{"x", {}});
    });
  for (std::thread& thread : threads)
    thread.join();
  seqs all;
  for (uint64_t seq = 1; seq <= writers * each; ++seq)
    all.push_back(seq);
  for (const seqs& mine : seen)
    EXPECT_EQ(mine, all);
  event_log again(folder / "e");
  EXPECT_EQ(again.last(), writers * each);
}

TEST(event_log, an_event_that_does_not_fit_on_the_disk_did_not_happen) {
  store::temp_folder folder;
  event_log log(folder / "e");
  log.append(event_text{"x", {}});
  {
    store::small_disk disk(120);
    EXPECT_FAILURE(
        log.append(event_text{"x", {{"pad", std::string(200, 'x')}}}),
        errc::disk_full, "/e");
  }
  EXPECT_EQ(log.last(), 1u);
  EXPECT_EQ(log.append(event_text{"y", {}}), 2u);
}

TEST(event_log, survives_text_that_is_no_utf8) {
  store::temp_folder folder;
  event_log log(folder / "e");
  log.append(event_text{"error", {{"reason", "bad \xff byte"}}});
  EXPECT_TRUE(nlohmann::json::accept(log.after(0).at(0).line));
}

} // namespace
} // namespace ballast::monitor
