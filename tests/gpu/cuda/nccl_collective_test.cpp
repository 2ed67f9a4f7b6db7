// Goal: communicators of one rank come and go as often as generations do, and
// nothing of them stays. (What several ranks do together: the conformance suite
// in tests/gpu, with a GPU for each.) Needs a GPU and NCCL.
#include "gpu/cuda_library.hpp"
#include "tests/gpu/cuda/device_fixture.hpp"

#include <cstdlib>
#include <filesystem>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;
namespace {

using namespace std::chrono_literals;

collectives::deadline soon() {
  return std::chrono::steady_clock::now() + 20s;
}

class nccl_of_one_rank : public ballast::testing::device_fixture {
protected:
  void SetUp() override {
    device_fixture::SetUp();
    if (IsSkipped())
      return;
    const nccl_report nccl = probe_nccl();
    if (nccl.running_version == 0)
      GTEST_SKIP() << "NCCL: " << nccl.why_not;
    backend_ = open_nccl_backend(0);
  }

  std::unique_ptr<collectives::collective_opening> prepare() {
    collectives::collective_options options;
    options.generation = generation{++generations_};
    options.token = "a token of the tests";
    return backend_->prepare(options);
  }
  std::unique_ptr<collectives::collective> open() {
    auto opening = prepare();
    return opening->connect({opening->address()}, soon());
  }

  /// As the end of the process would.
  void wait_until_all_is_freed() {
    backend_.reset();
    backend_ = open_nccl_backend(0);
  }

  std::unique_ptr<collectives::collective_backend> backend_;
  uint64_t generations_ = 0;
};

TEST_F(nccl_of_one_rank, reduces_on_the_device_and_on_the_host) {
  auto alone = open();
  std::vector<float> values = ballast::testing::noise(3000001, 1);
  const std::vector<float> before = values;
  device_memory<float> there(values);
  alone->all_reduce(there.data(), there.size(),
                    collectives::element_type::float32, soon());
  ballast::testing::expect_equal_bits(there.values(), before, "device");
  alone->all_reduce(values.data(), values.size(),
                    collectives::element_type::float32, soon());
  ballast::testing::expect_equal_bits(values, before, "host");
  alone->broadcast(values.data(), 1000, 0, soon());
  alone->barrier(soon());
  alone->close(soon());
  EXPECT_EQ(alone->state(), collectives::collective_state::closed);
}

TEST_F(nccl_of_one_rank, fails_every_operation_after_an_abort) {
  auto alone = open();
  alone->abort("enough");
  for (int i = 0; i < 2; ++i)
    try {
      alone->barrier(soon());
      ADD_FAILURE() << "an aborted collective went on";
    } catch (const collective_error& e) {
      EXPECT_EQ(e.code(), collective_errc::aborted) << e.what();
      EXPECT_NE(std::string(e.what()).find("enough"), std::string::npos);
    }
  open()->barrier(soon()); // the next generation does not know
}

TEST_F(nccl_of_one_rank, refuses_two_ranks_on_one_gpu_by_name) {
  collectives::collective_options options;
  options.generation = generation{1};
  options.size = 2;
  auto first = backend_->prepare(options);
  options.rank = 1;
  auto second = backend_->prepare(options);
  try {
    second->connect({first->address(), second->address()}, soon());
    FAIL() << "two ranks joined on one GPU";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::mismatch);
    EXPECT_NE(std::string(e.what()).find("share the GPU"), std::string::npos);
  }
}

size_t entries_of(const char* folder) {
  using iterator = std::filesystem::directory_iterator;
  return size_t(std::distance(iterator(folder), iterator()));
}

size_t free_device_bytes() {
  size_t free = 0;
  size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

// Every other generation is aborted. The first few may fill caches.
TEST_F(nccl_of_one_rank, leaves_nothing_behind_in_many_generations) {
  const char* wanted = std::getenv("BALLAST_GENERATIONS");
  const int generations = wanted ? std::atoi(wanted) : 50;
  size_t descriptors = 0;
  size_t threads = 0;
  size_t bytes = 0;
  for (int i = 0; i < generations + 10; ++i) {
    if (i == 10) {
      wait_until_all_is_freed();
      descriptors = entries_of("/proc/self/fd");
      threads = entries_of("/proc/self/task");
      bytes = free_device_bytes();
    }
    auto alone = open();
    alone->barrier(soon());
    if (i % 2 == 0)
      alone->close(soon());
    else
      alone->abort("the next one, please");
  }
  wait_until_all_is_freed();
  EXPECT_LE(entries_of("/proc/self/fd"), descriptors + 4);
  EXPECT_LE(entries_of("/proc/self/task"), threads + 4);
  EXPECT_GE(free_device_bytes() + (size_t{16} << 20), bytes);
}

} // namespace
} // namespace ballast::gpu
