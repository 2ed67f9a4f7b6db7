// Who is let in: strangers, latecomers of another generation, and liars are
// told so or dropped, and hold up nobody.
#include "collectives/join_mesh.hpp"
#include "collectives/listener.hpp"
#include "gpu/collective_backends.hpp"
#include "tests/collectives/harness.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

namespace ballast::collectives {
namespace {

using namespace std::chrono_literals;
using ballast::testing::soon;

collective_options options_of(int rank, int size) {
  collective_options o;
  o.generation = generation{7};
  o.rank = rank;
  o.size = size;
  o.layout_hash = 3;
  o.token = "secret";
  return o;
}

/// A listener with an inbox for rank 0 of 3 ranks, and a raw client.
class listener_test : public ::testing::Test {
protected:
  void SetUp() override { ears_.add(inbox_); }

  unique_fd connect() {
    unique_fd fd = start_connect_tcp("127.0.0.1", ears_.port());
    pollfd p{fd.get(), POLLOUT, 0};
    EXPECT_EQ(::poll(&p, 1, 10000), 1);
    EXPECT_EQ(connect_result(fd.get()), 0);
    return fd;
  }

  template <class Frame>
  static void send(const unique_fd& fd, const Frame& frame) {
    ASSERT_EQ(send_some(fd.get(), &frame, sizeof frame),
              static_cast<ptrdiff_t>(sizeof frame));
  }

  /// False if the other side closed instead.
  template <class Frame>
  static bool receive(const unique_fd& fd, Frame& frame) {
    size_t have = 0;
    while (have < sizeof frame) {
      pollfd p{fd.get(), POLLIN, 0};
      if (::poll(&p, 1, 10000) <= 0) {
        ADD_FAILURE() << "no answer";
        return false;
      }
      ptrdiff_t got =
          receive_some(fd.get(), reinterpret_cast<char*>(&frame) + have,
                       sizeof frame - have);
      if (got < 0) {
        return false;
      }
      have += static_cast<size_t>(got);
    }
    return true;
  }

  verdict answer_to(const hello_frame& hello) {
    unique_fd fd = connect();
    send(fd, hello);
    answer_frame answer{};
    EXPECT_TRUE(receive(fd, answer));
    return answer.result;
  }

  /// A complete handshake of rank `rank`.
  verdict join_as(int rank, const std::string& token, unique_fd& fd) {
    collective_options mine = options_of(rank, 3);
    hello_frame hello = make_hello(mine, 0);
    fd = connect();
    send(fd, hello);
    answer_frame answer{};
    if (!receive(fd, answer) || answer.result != verdict::prove_yourself) {
      return answer.result;
    }
    EXPECT_EQ(same_proof(answer.proof,
                         make_proof("secret", "accepts", hello, answer.nonce)),
              true);
    send(fd, proof_frame{make_proof(token, "connects", hello, answer.nonce)});
    welcome_frame welcome{};
    return receive(fd, welcome) ? welcome.result : verdict{};
  }

  /// Waits until somebody has been let in.
  std::vector<proved_link> arrivals() {
    pollfd p{inbox_->bell(), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 10000), 1);
    return inbox_->take();
  }

  listener ears_{"127.0.0.1"};
  std::shared_ptr<link_inbox> inbox_ =
      std::make_shared<link_inbox>(options_of(0, 3));
};

TEST_F(listener_test, lets_in_a_peer_that_knows_the_token) {
  unique_fd fd;
  EXPECT_EQ(join_as(2, "secret", fd), verdict::welcome);
  auto came = arrivals();
  ASSERT_EQ(came.size(), 1u);
  EXPECT_EQ(came[0].peer, 2);
}

TEST_F(listener_test, refuses_a_peer_that_does_not_know_the_token) {
  unique_fd fd;
  EXPECT_EQ(join_as(1, "guess", fd), verdict::wrong_proof);
  EXPECT_TRUE(inbox_->take().empty());
}

TEST_F(listener_test, says_what_does_not_fit) {
  hello_frame good = make_hello(options_of(1, 3), 0);
  EXPECT_EQ(answer_to(good), verdict::prove_yourself);
  hello_frame old = good;
  old.generation = 6;
  EXPECT_EQ(answer_to(old), verdict::unknown_generation);
  hello_frame other_size = good;
  other_size.size = 4;
  EXPECT_EQ(answer_to(other_size), verdict::wrong_size);
  hello_frame other_layout = good;
  other_layout.layout_hash = 4;
  EXPECT_EQ(answer_to(other_layout), verdict::wrong_layout);
  hello_frame myself = good;
  myself.from = 0;
  EXPECT_EQ(answer_to(myself), verdict::wrong_rank);
  hello_frame beyond = good;
  beyond.from = 3;
  EXPECT_EQ(answer_to(beyond), verdict::wrong_rank);
  hello_frame future = good;
  future.version = 99;
  EXPECT_EQ(answer_to(future), verdict::wrong_version);
}

TEST_F(listener_test, lets_a_rank_in_once) {
  unique_fd first, second;
  EXPECT_EQ(join_as(1, "secret", first), verdict::welcome);
  EXPECT_EQ(arrivals().size(), 1u);
  join_as(1, "secret", second);
  pollfd p{second.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&p, 1, 10000), 1);
  char byte;
  EXPECT_EQ(receive_some(second.get(), &byte, 1), -1) << "not closed";
  EXPECT_TRUE(inbox_->take().empty());
}

// Strangers that say nothing, too little or nonsense hold up nobody.
TEST_F(listener_test, strangers_hold_up_nobody) {
  std::vector<unique_fd> strangers;
  for (int i = 0; i < 300; ++i) { // more than there are places
    strangers.push_back(connect());
    if (i % 3 == 1) {
      send(strangers.back(), 'x');
    } else if (i % 3 == 2) {
      std::array<char, 400> nonsense;
      nonsense.fill('?');
      (void)send_some(strangers.back().get(), nonsense.data(), nonsense.size());
    }
  }
  unique_fd fd;
  EXPECT_EQ(join_as(1, "secret", fd), verdict::welcome);
  EXPECT_EQ(arrivals().size(), 1u);
}

TEST_F(listener_test, a_shut_door_lets_nobody_in) {
  inbox_->shut();
  unique_fd fd;
  join_as(1, "secret", fd);
  pollfd p{fd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&p, 1, 10000), 1);
  char byte;
  EXPECT_EQ(receive_some(fd.get(), &byte, 1), -1);
  EXPECT_TRUE(inbox_->take().empty());
}

// A whole process may have several generations open at once.
TEST_F(listener_test, every_generation_has_its_own_door) {
  collective_options next = options_of(0, 2);
  next.generation = generation{8};
  auto other = std::make_shared<link_inbox>(next);
  ears_.add(other);
  collective_options peer = options_of(1, 2);
  peer.generation = generation{8};
  hello_frame hello = make_hello(peer, 0);
  EXPECT_EQ(answer_to(hello), verdict::prove_yourself);
  ears_.remove(other);
  EXPECT_EQ(answer_to(hello), verdict::unknown_generation);
}

// The other side of the handshake: an impostor that listens.
TEST_F(listener_test, a_rank_does_not_trust_an_impostor) {
  collective_options lying = options_of(0, 2);
  lying.token = "another run";
  listener impostor("127.0.0.1");
  auto trap = std::make_shared<link_inbox>(lying);
  impostor.add(trap);
  auto own_inbox = std::make_shared<link_inbox>(options_of(1, 2));
  std::vector<peer_address> peers(2);
  peers[0].host = "127.0.0.1";
  peers[0].port = impostor.port();
  stop_switch stop;
  try {
    join_mesh(peers, own_inbox, stop, 1000, soon());
    ADD_FAILURE() << "joined";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::mismatch);
    EXPECT_NE(std::string(e.what()).find("token"), std::string::npos)
        << e.what();
  }
}

TEST_F(listener_test, a_port_where_nobody_listens_is_a_lost_peer) {
  uint16_t port = 0;
  { unique_fd closed = listen_tcp("127.0.0.1", port); }
  auto own_inbox = std::make_shared<link_inbox>(options_of(1, 2));
  std::vector<peer_address> peers(2);
  peers[0].host = "127.0.0.1";
  peers[0].port = port;
  stop_switch stop;
  try {
    join_mesh(peers, own_inbox, stop, 1000, soon());
    ADD_FAILURE() << "joined";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::peer_lost);
    EXPECT_EQ(e.peer(), 0);
  }
}

// As on a busy machine: the others were aborted and gone before this rank was
// scheduled.
TEST_F(listener_test, a_peer_that_has_left_the_generation_is_lost) {
  ears_.remove(inbox_);
  auto own_inbox = std::make_shared<link_inbox>(options_of(1, 2));
  std::vector<peer_address> peers(2);
  peers[0].host = "127.0.0.1";
  peers[0].port = ears_.port();
  stop_switch stop;
  try {
    join_mesh(peers, own_inbox, stop, 1000, soon());
    ADD_FAILURE() << "joined";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::peer_lost) << e.what();
    EXPECT_EQ(e.peer(), 0);
  }
}

TEST(ring_opening, tells_the_address_at_which_nobody_listens) {
  ring_config another_host;
  another_host.host_id = "another host";
  auto gone = make_ring_backend("ring", another_host);
  const std::string address = gone->prepare(options_of(0, 2))->address();
  gone.reset();
  auto here = gpu::make_backend("ring");
  auto opening = here->prepare(options_of(1, 2));
  try {
    opening->connect({address, opening->address()}, soon());
    ADD_FAILURE() << "joined";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.peer(), 0);
    ASSERT_EQ(e.links().size(), 1u);
    EXPECT_EQ(e.links()[0].rank, 0);
    EXPECT_TRUE(e.links()[0].address.starts_with("127.0.0.1:"))
        << e.links()[0].address;
  }
}

} // namespace
} // namespace ballast::collectives
