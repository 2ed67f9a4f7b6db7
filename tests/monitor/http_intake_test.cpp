/// Goal: the end of every request is found, however it is cut into pieces, and
/// what is too large is refused. Method: tables, byte by byte.
#include "monitor/http/http_intake.hpp"

#include <gmock/gmock.h>
#include <string>

namespace ballast::monitor {
namespace {

using state = http_intake::state;

const intake_limits small{.line_bytes_max = 40,
                          .header_bytes_max = 100,
                          .headers_max = 3,
                          .body_bytes_max = 10};

state all_of(http_intake& intake, const std::string& text) {
  state last = intake.now();
  for (char byte : text)
    last = intake.take({&byte, 1});
  return last;
}

TEST(http_intake, finds_the_end_of_a_request) {
  const std::string get = "GET /x?y=1 HTTP/1.1\r\nHost: a\r\n";
  const std::string post = "POST / HTTP/1.1\r\n";
  for (const std::string& text :
       {get + "\r\n", std::string("GET / HTTP/1.0\n\n"),
        post + "content-LENGTH: 3\r\n\r\nabc",
        post + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3;x\r\nc\r\n"
               "\r\n0\r\nT: 1\r\n\r\n"}) {
    http_intake bytewise(small);
    EXPECT_EQ(all_of(bytewise, text.substr(0, text.size() - 1)) == state::whole,
              false);
    EXPECT_EQ(all_of(bytewise, text.substr(text.size() - 1)), state::whole);
    http_intake at_once(small);
    EXPECT_EQ(at_once.take(text + "GET"), state::whole) << text;
  }
  http_intake intake(small);
  intake.take(get + "\r\n");
  EXPECT_EQ(intake.target(), "/x?y=1");
}

TEST(http_intake, refuses_what_is_too_large) {
  const std::string post = "POST / HTTP/1.1\r\n";
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  struct {
    std::string text;
    int status;
  } table[] = {
      {std::string(41, 'x'), 431},
      {"GET / HTTP/1.1\r\nA: " + std::string(40, 'x'), 431},
      {post + "A: " + std::string(30, 'x') + "\r\nB: " + std::string(30, 'x') +
           "\r\nC: " + std::string(30, 'x'),
       431},
      {post + "A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\n", 431},
      {post + "Content-Length: 11\r\n\r\n", 413},
      {post + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {post + "Content-Length: -1\r\n\r\n", 400},
      {chunked + "b\r\n", 413},
      {chunked + "6\r\nabcdef\r\n5\r\n", 413},
      {chunked + "x\r\n", 400},
      {chunked + "2\r\nabcdef", 400},
      {chunked + "ffffffffffffffff\r\n", 413},
      {chunked + std::string(300, '1'), 400},
  };
  for (const auto& row : table) {
    http_intake intake(small);
    EXPECT_EQ(all_of(intake, row.text), state::refused) << row.text;
    EXPECT_EQ(intake.status(), row.status) << row.text;
    EXPECT_NE(intake.why(), "");
  }
}

TEST(http_intake, tells_once_that_the_client_waits_to_go_on) {
  http_intake intake({});
  intake.take("POST / HTTP/1.1\r\nExpect: 100-Continue\r\n"
              "Content-Length: 2\r\n");
  EXPECT_FALSE(intake.take_expectation());
  intake.take("\r\n");
  EXPECT_TRUE(intake.take_expectation());
  EXPECT_FALSE(intake.take_expectation());
  EXPECT_EQ(intake.take("{}"), state::whole);
}

} // namespace
} // namespace ballast::monitor
