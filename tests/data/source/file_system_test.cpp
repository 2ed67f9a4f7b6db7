// Goal: a URI finds its files wherever they lie, and says in one line why not.
// Method: local folders; a real moto server for S3, which is killed while it is
// read from; a played one that answers with the errors that moto does not have.
#include "data/source/asked_range.hpp"
#include "data/source/file_system.hpp"
#include "data/source/found_files.hpp"
#include "data/source/ipc_stream.hpp"
#include "data/source/jsonl_stream.hpp"
#include "data/source/read_ahead_file.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/source/moto_server.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/util/future.h>

#include <chrono>
#include <cstdlib>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>

namespace ballast::data {
namespace {

using strings = std::vector<std::string>;

strings names_of(const std::vector<stored_file>& files) {
  strings out;
  for (const stored_file& one : files)
    out.push_back(one.name);
  return out;
}

std::string content_of(const stored_file& file) {
  const auto opened = open_file(file, "/p");
  return opened->ReadAt(0, int64_t(file.size)).ValueOrDie()->ToString();
}

TEST(glob, matches_as_the_shell_does) {
  const struct {
    const char* name;
    const char* pattern;
    bool matches;
  } table[] = {
      {"a.csv", "*.csv", true},
      {"a.csv", "?.csv", true},
      {"ab.csv", "?.csv", false},
      {"a.csv", "[ab].csv", true},
      {"c.csv", "[ab].csv", false},
      {"c.csv", "[!ab].csv", true},
      {"b.csv", "[a-c].csv", true},
      {"d.csv", "[a-c].csv", false},
      {"].csv", "[]].csv", true},
      {"[.csv", "[.csv", true},
      {"", "*", true},
      {"", "?", false},
      {"abcabc", "a*bc", true},
      {"abcab", "a*bc", false},
      {".hidden", "*", false},
      {".hidden", ".*", true},
      {"a.csv.gz", "*.csv", false},
      {"a-b", "[a-]-b", true},
      {"part-00017.parquet", "part-*17.par*", true},
  };
  for (const auto& row : table)
    EXPECT_EQ(matches_glob(row.name, row.pattern), row.matches)
        << row.name << " " << row.pattern;
  // Many stars take no longer than few.
  std::string stars;
  for (int i = 0; i < 200; ++i)
    stars += "*a";
  EXPECT_FALSE(matches_glob(std::string(5000, 'a') + "b", stars));
}

class local_files : public testing::Test {
protected:
  temporary_folder folder_;
};

TEST_F(local_files, are_found_by_path_uri_and_pattern) {
  const std::string b = folder_.write("b 1.csv", "22");
  const std::string a = folder_.write("a.csv", "1");
  folder_.write("c.txt", "");
  const std::string base = folder_.path().string();
  EXPECT_EQ(names_of(find_files(a, "/p")), strings{a});
  EXPECT_EQ(names_of(find_files(base + "/*.csv", "/p")), (strings{a, b}));
  EXPECT_EQ(names_of(find_files("file://" + base + "/b%201.csv", "/p")),
            strings{b});
  const stored_file found = find_files(b, "/p").front();
  EXPECT_EQ(found.size, 2U);
  EXPECT_GT(found.mtime_ns, 0);
  EXPECT_EQ(found.version, "");
  EXPECT_EQ(content_of(found), "22");
}

TEST_F(local_files, that_cannot_be_used_are_named) {
  const std::string base = folder_.path().string();
  EXPECT_THAT(refusal_of([&] { find_files(base + "/no.csv", "/p"); }),
              has_all({base + "/no.csv", "no such file"}));
  EXPECT_THAT(refusal_of([&] { find_files(base + "/*.csv", "/p"); }),
              has_all({base, "no file matches"}));
  EXPECT_THAT(refusal_of([&] { find_files(base, "/p"); }),
              has_all({base, "is a folder"}));
}

TEST(remote_files, of_unknown_stores_are_refused) {
  EXPECT_THAT(refusal_of([] { find_files("ftp://host/a.csv", "/p"); },
                         errc::not_in_build),
              has_all({"ftp://host/a.csv", "not in this build"}));
}

TEST(remote_files, are_refused_with_credentials_that_are_not_repeated) {
  for (const std::string uri :
       {"s3://AKIAKEY:sEcReT@bucket/a.csv", "s3://AKIAKEY:sE/cReT@bucket/a.csv",
        "s3://sEcReT@bucket/a.csv", "s3://bucket/a.csv?access_key=sEcReT",
        "s3://bucket/a.csv?region=x&secret_key=sEcReT",
        "abfs://box@account/a.csv?sig=sEcReT",
        "hdfs://me:sEcReT@host:9000/a.csv"}) {
    const std::string said = refusal_of([&] { find_files(uri, "/p"); });
    EXPECT_THAT(said, has_all({"environment"}));
    EXPECT_THAT(said, testing::Not(testing::HasSubstr("sEcReT")));
    EXPECT_THAT(said, testing::Not(testing::HasSubstr("cReT")));
  }
}

TEST(remote_files, need_a_bucket_and_a_key) {
  EXPECT_THAT(refusal_of([] { find_files("s3:///a.csv", "/p"); }),
              has_all({"names no bucket; expected s3://BUCKET/KEY"}));
  EXPECT_THAT(refusal_of([] { find_files("s3://bucket", "/p"); }),
              has_all({"names no file"}));
  EXPECT_THAT(refusal_of([] { find_files("s3://bucket/a/", "/p"); }),
              has_all({"names no file"}));
  EXPECT_THAT(refusal_of([] { find_files("s3://b*/a.csv", "/p"); }),
              has_all({"behind the bucket"}));
}

/// Credentials that moto takes, and none of the machine's.
void use_test_credentials() {
  setenv("AWS_ACCESS_KEY_ID", "testing", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "testing", 1);
  setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
  setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
}

class s3_files : public testing::Test {
protected:
  void SetUp() override {
    if (under_thread_sanitizer)
      GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
    use_test_credentials();
    server_ = std::make_unique<moto_server>();
    if (!server_->missing().empty())
      GTEST_SKIP() << server_->missing();
    ASSERT_EQ(server_->request("PUT", "/bucket"), 200);
  }

  std::string uri(const std::string& path) const { return server_->uri(path); }
  void put(const std::string& path, const std::string& content) const {
    ASSERT_EQ(server_->request("PUT", "/bucket/" + path, content), 200);
  }

  std::unique_ptr<moto_server> server_;
};

TEST_F(s3_files, are_found_by_key_and_pattern) {
  put("day=1/b.csv", "22");
  put("day=1/a.csv", "1");
  put("day=2/a%20b.csv", "333");
  put("day=2/deeper/a.csv", "4444");
  put("day=2/a.txt", "");
  put("what%3F%5Bx%5D.csv", "5");
  EXPECT_EQ(names_of(find_files(uri("bucket/day=1/a.csv"), "/p")),
            strings{"s3://bucket/day=1/a.csv"});
  EXPECT_EQ(names_of(find_files(uri("bucket/day=*/*.csv"), "/p")),
            (strings{"s3://bucket/day=1/a.csv", "s3://bucket/day=1/b.csv",
                     "s3://bucket/day=2/a b.csv"}));
  EXPECT_EQ(names_of(find_files(uri("bucket/day=[2-9]/deeper/?.csv"), "/p")),
            strings{"s3://bucket/day=2/deeper/a.csv"});
  EXPECT_EQ(names_of(find_files(uri("bucket/day=2/a%20b.csv"), "/p")),
            strings{"s3://bucket/day=2/a b.csv"});
  EXPECT_EQ(names_of(find_files(uri("bucket/what?[x].csv"), "/p")),
            strings{"s3://bucket/what?[x].csv"});
  const stored_file found =
      find_files(uri("bucket/day=2/a%20b.csv"), "/p").front();
  EXPECT_EQ(found.size, 3U);
  EXPECT_GT(found.mtime_ns, 0);
  EXPECT_EQ(content_of(found), "333");
}

TEST_F(s3_files, change_their_version_with_their_content) {
  put("a.csv", "1");
  put("b.csv", "2");
  const stored_file a = find_files(uri("bucket/a.csv"), "/p").front();
  const stored_file b = find_files(uri("bucket/b.csv"), "/p").front();
  EXPECT_THAT(a.version, has_all({"etag \"", "size 1"}));
  EXPECT_NE(a.version.substr(0, 20), b.version.substr(0, 20));
  EXPECT_EQ(find_files(uri("bucket/a.csv"), "/p").front().version, a.version);
  put("a.csv", "3");
  EXPECT_NE(find_files(uri("bucket/a.csv"), "/p").front().version, a.version);
  EXPECT_THAT(refusal_of([&] { open_file(a, "/p"); }),
              has_all({"s3://bucket/a.csv", "has changed"}));
}

TEST_F(s3_files, that_are_missing_are_named) {
  put("folder/a.csv", "1");
  EXPECT_THAT(refusal_of([&] { find_files(uri("bucket/no.csv"), "/p"); }),
              has_all({"s3://bucket/no.csv: there is no such file"}));
  EXPECT_THAT(refusal_of([&] { find_files(uri("bucket/*.csv"), "/p"); }),
              has_all({"s3://bucket/*.csv: no file matches"}));
  EXPECT_THAT(refusal_of([&] { find_files(uri("bucket/folder"), "/p"); }),
              has_all({"s3://bucket/folder: is a folder",
                       "s3://bucket/folder/*.parquet"}));
  EXPECT_THAT(refusal_of([&] { find_files(uri("other/a.csv"), "/p"); }),
              has_all({"s3://other/a.csv: there is no such bucket"}));
  EXPECT_THAT(refusal_of([&] { find_files(uri("other/*.csv"), "/p"); }),
              has_all({"s3://other/*.csv: there is no such bucket"}));
  const stored_file gone = find_files(uri("bucket/folder/a.csv"), "/p").front();
  ASSERT_EQ(server_->request("DELETE", "/bucket/folder/a.csv"), 204);
  EXPECT_THAT(refusal_of([&] { open_file(gone, "/p"); }),
              has_all({"s3://bucket/folder/a.csv: there is no such file"}));
}

TEST_F(s3_files, are_fetched_before_they_are_opened) {
  put("a.csv", "1");
  put("b.csv", "22");
  std::vector<stored_file> files = find_files(uri("bucket/*.csv"), "/p");
  open_soon(files, "/p");
  EXPECT_EQ(content_of(files[0]), "1");
  EXPECT_EQ(content_of(files[0]), "1") << "and once more";
  EXPECT_EQ(content_of(files[1]), "22");
  put("b.csv", "33");
  EXPECT_THAT(refusal_of([&] { open_file(files[1], "/p"); }),
              has_all({"s3://bucket/b.csv", "has changed"}));
}

TEST_F(s3_files, are_read_as_streams) {
  std::string text;
  for (int i = 0; i < 400'000; ++i)
    text += "{\"a\": " + std::to_string(i) + "}\n";
  put("a.jsonl", text);
  const stored_file file = find_files(uri("bucket/a.jsonl"), "/p").front();
  const auto stream = open_jsonl_stream({open_file(file, "/p"), file.name});
  const strings rows = rows_of(*stream);
  ASSERT_EQ(rows.size(), 400'000U);
  EXPECT_EQ(rows[399'999], "399999");
}

TEST_F(s3_files, end_in_one_error_where_the_server_dies_while_they_are_read) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i)
    text += "{\"a\": " + std::to_string(i) + "}\n";
  put("a.jsonl", text);
  const stored_file file = find_files(uri("bucket/a.jsonl"), "/p").front();
  const auto stream =
      open_jsonl_stream({open_file(file, "/p"), file.name, "/data/train"});
  ASSERT_NE(stream->next(), nullptr);
  server_->kill();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(refusal_of(
                  [&] {
                    while (stream->next() != nullptr) {
                    }
                  },
                  errc::unreachable),
              has_all({"s3://bucket/a.jsonl: the store does not answer",
                       "endpoint_override"}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  refusal_of([&] { find_files(uri("bucket/a.jsonl"), "/p"); },
             errc::unreachable);
}

/// Answers every request with the next of these answers, the last one for ever.
class played_store {
public:
  explicit played_store(strings answers) : answers_(std::move(answers)) {
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address = reinterpret_cast<sockaddr*>(&at);
    socklen_t size = sizeof at;
    if (bind(socket_, address, size) != 0 || listen(socket_, 100) != 0 ||
        getsockname(socket_, address, &size) != 0)
      throw std::runtime_error("no socket");
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~played_store() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }
  std::string uri(const std::string& path) const {
    return "s3://" + path +
           "?endpoint_override=127.0.0.1:" + std::to_string(port_) +
           "&scheme=http&region=us-east-1";
  }
  int requests() const { return requests_; }

private:
  void serve() {
    for (;;) {
      const int one = accept(socket_, nullptr, nullptr);
      if (one < 0)
        return;
      char request[8192];
      if (recv(one, request, sizeof request, 0) > 0) {
        const std::string& answer =
            answers_[std::min(size_t(requests_), answers_.size() - 1)];
        ++requests_;
        send(one, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      close(one);
    }
  }

  const strings answers_;
  int socket_ = -1;
  int port_ = 0;
  std::atomic<int> requests_{0};
  std::thread thread_;
};

std::string answer(const std::string& status) {
  return "HTTP/1.1 " + status +
         "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

class played_s3 : public testing::Test {
protected:
  void SetUp() override {
    if (under_thread_sanitizer)
      GTEST_SKIP() << "Arrow is not built for the thread sanitizer";
    use_test_credentials();
  }
};

TEST_F(played_s3, denies_access) {
  const played_store store({answer("403 Forbidden")});
  EXPECT_THAT(
      refusal_of([&] { find_files(store.uri("bucket/a.csv"), "/p"); }),
      has_all({"s3://bucket/a.csv: access is denied", "AWS_ACCESS_KEY_ID"}));
  EXPECT_EQ(store.requests(), 1);
}

TEST_F(played_s3, is_asked_again_where_it_is_busy) {
  const std::string busy = answer("503 Slow Down");
  const std::string there =
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"abc\"\r\nLast-Modified: "
      "Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: close\r\n\r\n";
  const played_store store({busy, busy, there});
  const stored_file found = find_files(store.uri("bucket/a.csv"), "/p").front();
  EXPECT_EQ(found.size, 5U);
  EXPECT_THAT(found.version, testing::HasSubstr("etag \"abc\""));
}

TEST_F(played_s3, is_asked_once_for_the_files_of_a_preparation) {
  const played_store store(
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"abc\"\r\n"
       "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
       "Connection: close\r\n\r\n"});
  found_files found;
  EXPECT_FALSE(found.any_remote());
  const std::string uri = store.uri("bucket/a.csv");
  const stored_file first = found.of(uri, "/p", {}).front();
  const int requests = store.requests();
  EXPECT_EQ(found.of(uri, "/p", {}).front().version, first.version);
  EXPECT_EQ(store.requests(), requests);
  EXPECT_TRUE(found.any_remote());
}

TEST_F(played_s3, is_given_up_after_some_seconds) {
  const played_store store({answer("500 Internal Server Error")});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(refusal_of([&] { find_files(store.uri("bucket/a.csv"), "/p"); },
                         errc::unreachable),
              has_all({"s3://bucket/a.csv: the store does not answer"}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_GT(store.requests(), 3);
}

failure as_failure(const arrow::Status& status) {
  return {errc::unreachable, "away: " + status.message(), "/p"};
}

TEST(read_ahead, returns_the_same_bytes_as_the_file) {
  std::string content;
  for (uint32_t i = 0; content.size() < (20U << 20);
       i = i * 1664525 + 1013904223)
    content.append(reinterpret_cast<const char*>(&i), 4);
  const auto below = std::make_shared<played_file>(content);
  const auto file = read_ahead(below, int64_t(content.size()), as_failure);
  const auto expect = [&](size_t at, size_t bytes) {
    const auto got =
        file->ReadAt(int64_t(at), int64_t(bytes)).ValueOrDie()->ToString();
    EXPECT_TRUE(got == content.substr(std::min(at, content.size()), bytes))
        << at << " " << bytes;
  };
  for (size_t at = 0; at < content.size(); at += 999'999)
    expect(at, 999'999);
  // As a reader of a footer, of a large column, and one that jumps.
  expect(content.size() - 8, 8);
  expect(0, 6 << 20);
  expect(content.size(), 10);
  expect(content.size() - 3, 10);
  uint32_t random = 1;
  for (int i = 0; i < 200; ++i) {
    random = random * 1664525 + 1013904223;
    expect(random % content.size(), 1 + random % 300'000);
  }
}

TEST(read_ahead, asks_in_large_pieces) {
  const std::string content(40 << 20, 'x');
  const auto below = std::make_shared<played_file>(content);
  const auto file = read_ahead(below, int64_t(content.size()), as_failure);
  int64_t got = 0;
  while (const int64_t bytes = file->Read(10'000).ValueOrDie()->size())
    got += bytes;
  EXPECT_EQ(got, 40 << 20);
  EXPECT_EQ(below->bytes_read, 40 << 20);
  EXPECT_EQ(below->largest_read, asked_range::piece_bytes);
  EXPECT_LT(below->reads, 50);
}

TEST(read_ahead, fetches_a_small_file_once_and_as_a_whole) {
  std::string content(5 << 20, 'x');
  content[(2 << 20) - 1] = 'y';
  const auto below = std::make_shared<played_file>(content);
  const auto file =
      read_ahead(below, int64_t(content.size()), as_failure, fetching::whole);
  for (const auto& [at, bytes] : {std::pair<int64_t, int64_t>{0, 5 << 20},
                                  {(2 << 20) - 1, 2},
                                  {(5 << 20) - 8, 100},
                                  {5 << 20, 8}}) {
    const std::string expected = content.substr(size_t(at), size_t(bytes));
    EXPECT_TRUE(file->ReadAt(at, bytes).ValueOrDie()->ToString() == expected);
    EXPECT_TRUE(file->ReadAsync(at, bytes).result().ValueOrDie()->ToString() ==
                expected);
  }
  EXPECT_EQ(below->bytes_read, 5 << 20);
  EXPECT_EQ(below->reads, 5); // pieces
}

TEST(read_ahead, finds_a_footer_with_one_request) {
  const std::string content(20 << 20, 'x');
  const auto below = std::make_shared<played_file>(content);
  const auto file = read_ahead(below, int64_t(content.size()), as_failure);
  const int64_t end = int64_t(content.size());
  EXPECT_TRUE(file->ReadAt(end - 8, 8).ok());
  EXPECT_TRUE(file->ReadAt(end - 4000, 3992).ok());
  EXPECT_EQ(below->reads, 1);
  EXPECT_EQ(below->bytes_read, 64 << 10);
}

TEST(read_ahead, asks_for_what_is_needed_next_and_not_again) {
  const std::string content(20 << 20, 'x');
  const auto below = std::make_shared<played_file>(content);
  const auto file = read_ahead(below, int64_t(content.size()), as_failure);
  EXPECT_TRUE(file->WillNeed({{1 << 20, 5 << 20}, {10 << 20, 100}}).ok());
  for (const auto& [at, bytes] : {std::pair{1 << 20, 5 << 20}, // all pieces
                                  {2 << 20, 3 << 20}})
    EXPECT_EQ(file->ReadAsync(at, bytes).result().ValueOrDie()->size(), bytes);
  EXPECT_EQ(file->ReadAt(10 << 20, 50).ValueOrDie()->size(), 50);
  EXPECT_EQ(below->bytes_read, (5 << 20) + 100);
}

TEST(read_ahead, names_the_file_that_fails) {
  const std::string content(4 << 20, 'x');
  const auto below = std::make_shared<played_file>(content);
  below->fails_after = 1 << 20;
  const auto file = read_ahead(below, int64_t(content.size()), as_failure);
  EXPECT_TRUE(file->ReadAt(0, 1000).ok());
  const arrow::Status failed = file->ReadAt(3 << 20, 1 << 20).status();
  ASSERT_NE(failed.detail(), nullptr);
  EXPECT_EQ(failed.detail()->ToString(), "away: the disk is broken");
  EXPECT_EQ(file->ReadAsync(3 << 20, 1 << 20).status().detail()->ToString(),
            "away: the disk is broken");
}

} // namespace
} // namespace ballast::data
