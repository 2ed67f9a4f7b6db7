// Shared memory and what generations leave behind: nothing.
#include "collectives/death_watch.hpp"
#include "collectives/futex.hpp"
#include "collectives/shared_memory.hpp"
#include "collectives/zeroed_memory.hpp"
#include "tests/collectives/harness.hpp"
#include "tests/collectives/resident_pages.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <system_error>

namespace ballast::collectives {
namespace {

using ballast::testing::complaints;
using ballast::testing::in;
using ballast::testing::rank_group;
using ballast::testing::sanitized;
using ballast::testing::soon;
using namespace std::chrono_literals;

unique_fd duplicate(const shared_memory& memory) {
  return unique_fd(::dup(memory.fd()));
}

TEST(shared_memory, a_peer_sees_what_the_owner_writes_and_cannot_write) {
  auto mine = shared_memory::create(10000);
  auto theirs = shared_memory::map(duplicate(*mine), 0, false);
  EXPECT_GE(mine->bytes(), 10000u);
  EXPECT_EQ(theirs->bytes(), mine->bytes());
  std::strcpy(mine->data() + 5000, "a gradient");
  EXPECT_STREQ(theirs->data() + 5000, "a gradient");
  // The kernel, asked to write there, meets what a program would die of.
  unique_fd zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::read(zeros.get(), theirs->data(), 1), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(::read(zeros.get(), mine->data(), 1), 1);
}

TEST(shared_memory, cannot_be_made_smaller_by_a_peer) {
  auto mine = shared_memory::create(10000);
  EXPECT_NE(::ftruncate(mine->fd(), 0), 0);
}

TEST(shared_memory, a_mapping_beyond_the_end_is_refused) {
  auto mine = shared_memory::create(4096);
  EXPECT_THROW(shared_memory::map(duplicate(*mine), 1 << 20, false),
               std::system_error);
}

TEST(shared_memory, holds_only_ranges_that_lie_inside) {
  auto m = shared_memory::create(4096);
  EXPECT_TRUE(m->holds(m->data(), m->bytes()));
  EXPECT_TRUE(m->holds(m->data() + m->bytes(), 0));
  EXPECT_FALSE(m->holds(m->data() + 1, m->bytes()));
  EXPECT_FALSE(m->holds(m->data() - 1, 1));
  EXPECT_FALSE(m->holds(m->data() + 8, SIZE_MAX));
}

TEST(arena_book, maps_a_peers_arena_once_and_lets_it_go) {
  arena_book owner, reader;
  auto arena = owner.allocate(1000);
  auto shared = owner.own();
  ASSERT_EQ(shared.size(), 1u);
  auto first = reader.peer(duplicate(*shared[0]));
  auto second = reader.peer(duplicate(*shared[0]));
  EXPECT_EQ(first, second);
  reader.keep_only({first});
  std::weak_ptr<shared_memory> watched = first;
  first.reset();
  second.reset();
  EXPECT_FALSE(watched.expired()) << "the next generation needs it";
  reader.keep_only({});
  reader.keep_only({}); // waits for what the last one unmaps
  EXPECT_TRUE(watched.expired());
}

TEST(arena_book, an_arena_that_was_freed_is_not_shared) {
  arena_book book;
  auto first = book.allocate(100);
  {
    auto second = book.allocate(100);
    EXPECT_EQ(book.own().size(), 2u);
  }
  EXPECT_EQ(book.own().size(), 1u);
}

size_t blocks_of(const shared_memory& memory) {
  struct stat about {};
  EXPECT_EQ(::fstat(memory.fd(), &about), 0);
  return size_t(about.st_blocks);
}

// Three workers of a large model would else make twice what they train, before
// the first step.
TEST(arena_book, mapping_what_a_peer_has_not_written_makes_no_pages_of_it) {
  constexpr size_t floats = size_t{1} << 20;
  arena_book owner, reader;
  auto arena = owner.allocate(floats);
  auto shared = owner.own();
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_EQ(blocks_of(*shared[0]), 0u);
  auto mapped = reader.peer(duplicate(*shared[0]));
  EXPECT_EQ(blocks_of(*shared[0]), 0u);
  std::fill_n(arena.get(), floats, 3.0F);
  EXPECT_GE(blocks_of(*shared[0]) * 512, floats * sizeof(float));
  const float* theirs = reinterpret_cast<const float*>(mapped->data());
  EXPECT_EQ(theirs[0], 3);
  EXPECT_EQ(theirs[floats - 1], 3);
}

TEST(zeroed_floats, are_zero_and_aligned_and_can_be_written_at_every_size) {
  for (size_t count : {size_t{0}, size_t{1}, size_t{17}, size_t{1} << 18,
                       (size_t{1} << 19) + 3, (size_t{3} << 19) + 1}) {
    const std::shared_ptr<float[]> made = zeroed_floats(count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(made.get()) % 64, 0u) << count;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(made[i], 0) << count;
    }
    std::fill_n(made.get(), count, 1.0F);
  }
  EXPECT_THROW((void)zeroed_floats(SIZE_MAX / 4), std::bad_alloc);
}

TEST(zeroed_floats, take_no_memory_before_they_are_written) {
  constexpr size_t floats = size_t{1} << 20;
  const std::shared_ptr<float[]> made = zeroed_floats(floats);
  EXPECT_EQ(resident_pages(made.get(), floats), 0u);
  made[floats / 2] = 1;
  EXPECT_GT(resident_pages(made.get(), floats), 0u);
}

// A process dies with marks kept; a sleeper on such a word is woken.
TEST(death_watch, marks_the_words_of_a_killed_process) {
  void* memory = ::mmap(nullptr, 2 * sizeof(death_mark), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* marks = new (memory) death_mark[2]();
  pid_t child = ::fork();
  if (child == 0) {
    death_watch watch;
    watch.keep(marks[0]);
    watch.keep(marks[1]);
    watch.forget(marks[1]);
    ::raise(SIGKILL);
  }
  auto until = in(30s);
  while (!marks[0].died() && std::chrono::steady_clock::now() < until) {
    uint32_t seen = marks[0].word.load();
    if ((seen & FUTEX_OWNER_DIED) == 0) {
      futex_watch watches[] = {{&marks[0].word, seen}};
      // Before the mark is kept nobody would wake us.
      futex_wait_any(watches, seen == 0 ? in(1ms) : until);
    }
  }
  EXPECT_TRUE(marks[0].died());
  EXPECT_FALSE(marks[1].died());
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  ::munmap(memory, 2 * sizeof(death_mark));
}

TEST(death_watch, an_orderly_end_marks_nothing) {
  death_mark kept{}, forgotten{};
  {
    death_watch watch;
    ASSERT_TRUE(watch.works());
    watch.keep(kept);
    watch.keep(forgotten);
    watch.forget(kept);
    watch.forget(forgotten);
  }
  EXPECT_FALSE(kept.died());
  EXPECT_FALSE(forgotten.died());
}

// -- 1,000 generations --------------------------------------------------------

size_t open_descriptors() {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

size_t lines_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  size_t count = 0;
  while (std::getline(file, line)) {
    ++count;
  }
  return count;
}

size_t threads() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == "Threads:") {
      size_t count = 0;
      file >> count;
      return count;
    }
  }
  return 0;
}

/// Bytes that the program has asked for and not given back.
size_t allocated() {
  struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

/// More generations for a long run; fewer where each takes its time.
int generations_wanted(const std::string& backend) {
  const char* text = std::getenv("BALLAST_GENERATIONS");
  if (text != nullptr) {
    return std::atoi(text);
  }
  return (backend == "gloo" ? 100 : 1000) / (sanitized ? 5 : 1);
}

class generations : public ::testing::TestWithParam<std::string> {};

// Goal: what a process holds does not grow with the generations it has seen,
// whether they end in order, by an abort, or before anybody joined.
TEST_P(generations, a_thousand_of_them_leave_nothing_behind) {
  std::signal(SIGPIPE, SIG_IGN);
  const int size = GetParam() == "ring-two-hosts" ? 3 : 2;
  rank_group ranks(GetParam(), size);
  const bool abortable = ranks.can().abortable;
  std::vector<std::shared_ptr<float[]>> arenas;
  for (int r = 0; r < size; ++r) {
    arenas.push_back(ranks.backend(r).allocate_arena(1000));
  }
  auto one = [&](int k) {
    if (k % 10 == 9) {
      ranks.prepare(); // the control plane changed its mind
      return;
    }
    auto out = ranks.run([&](collective& c) {
      float* x = arenas[c.rank()].get();
      x[0] = 1;
      c.all_reduce(x, 1, element_type::float32, soon());
      ASSERT_EQ(x[0], static_cast<float>(size));
      if (k % 10 == 4 && abortable) {
        try {
          c.barrier(soon());
        } catch (const collective_error& e) { // another one was quicker
          ASSERT_NE(e.code(), collective_errc::timeout);
        }
        c.abort("enough");
      } else {
        c.close(soon());
      }
    });
    ASSERT_EQ(complaints(out), "") << "generation " << k;
  };
  for (int k = 0; k < 40; ++k) {
    one(k);
  }
  const size_t bytes = allocated();
  const size_t fds = open_descriptors(), alive = threads(),
               maps = lines_of("/proc/self/maps");
  const int wanted = generations_wanted(GetParam());
  for (int k = 0; k < wanted; ++k) {
    one(k);
  }
  // The listener closes its end of a finished handshake when it comes to it.
  const auto until = soon();
  while ((open_descriptors() > fds || threads() > alive) &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_LE(open_descriptors(), fds);
  EXPECT_LE(threads(), alive);
  // Thirty bytes a generation and rank would show. (A sanitizer has an
  // allocator of its own, and looks for leaks itself.)
  if (!sanitized) {
    EXPECT_LT(allocated(), bytes + 30 * static_cast<size_t>(wanted * size));
  }
  // The allocator and the sanitizers map what they like; a leak maps 1,000s.
  EXPECT_LT(lines_of("/proc/self/maps"), maps + 200);
}

INSTANTIATE_TEST_SUITE_P(all, generations,
                         ::testing::Values("ring-shm", "ring-tcp",
                                           "ring-two-hosts", "local", "gloo"),
                         ballast::testing::suite_test_name);

} // namespace
} // namespace ballast::collectives
