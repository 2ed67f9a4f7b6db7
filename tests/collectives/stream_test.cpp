// The engine under the collectives: in which order it receives and sends.
#include "collectives/stream_mesh.hpp"
#include "tests/collectives/harness.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace ballast::collectives {
namespace {

using ballast::testing::soon;
using namespace std::chrono_literals;

constexpr size_t bytes = size_t{64} << 10; // fits into the buffers of a socket
constexpr stream_label label{1, 0, bytes};

/// Two meshes of one process that know only each other.
struct linked_pair {
  std::unique_ptr<stream_mesh> first, second;

  linked_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) {
      throw std::system_error(errno, std::generic_category(), "socketpair");
    }
    first = mesh_of(0, ends[0]);
    second = mesh_of(1, ends[1]);
  }

  static std::unique_ptr<stream_mesh> mesh_of(int rank, int fd) {
    std::vector<stream_mesh::link> links(2);
    links[static_cast<size_t>(1 - rank)].fd = unique_fd(fd);
    return std::make_unique<stream_mesh>(
        rank, std::move(links), std::make_shared<stop_switch>(), 0, 10s);
  }
};

/// Takes a page at a time.
class page_sink final : public byte_sink {
public:
  bool done() const override { return got == bytes; }
  std::span<char> room() override {
    return std::span<char>(page_).first(std::min(page_.size(), bytes - got));
  }
  void arrived(size_t n) override { got += n; }
  size_t coming() const override { return bytes - got; }

  size_t got = 0;

private:
  std::array<char, 4096> page_{};
};

/// Notes how much had been received when its first byte left.
class noting_source final : public byte_source {
public:
  explicit noting_source(const page_sink& sink) : sink_(sink) {}
  bool done() const override { return sent_ == bytes; }
  std::span<const char> ready() override {
    return std::span<const char>(data_).subspan(sent_);
  }
  void taken(size_t n) override {
    received_before = sent_ == 0 ? sink_.got : received_before;
    sent_ += n;
  }

  size_t received_before = 0;

private:
  const page_sink& sink_;
  std::vector<char> data_ = std::vector<char>(bytes);
  size_t sent_ = 0;
};

/// Of all that comes, which has come before: how much the first mesh receives
/// before it sends its first byte.
size_t received_before_sending() {
  linked_pair pair;
  std::vector<char> data(bytes);
  buffer_source there(data.data(), bytes);
  pair.second->transfer(label, &there, 0, nullptr, -1, soon());

  page_sink sink;
  noting_source source(sink);
  pair.first->transfer(label, &source, 1, &sink, 1, soon());

  buffer_sink back(data.data(), bytes);
  pair.second->transfer(label, nullptr, -1, &back, 0, soon());
  EXPECT_TRUE(sink.done() && back.done());
  return source.received_before;
}

// Goal: what waits in the kernel does not wait longer for what is to be sent.
TEST(stream_mesh, takes_what_has_come_before_it_sends) {
  EXPECT_GE(received_before_sending(), size_t{8} * 4096);
}

// Goal: the other end is not kept waiting for ever by this one's diligence.
TEST(stream_mesh, sends_before_it_has_received_everything) {
  EXPECT_LT(received_before_sending(), bytes);
}

} // namespace
} // namespace ballast::collectives
