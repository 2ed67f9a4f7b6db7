// Goal: a worker knows what it may use, also in a container. Method: files as
// the kernel writes them, below a folder of the test.
#include "data/store/host_memory.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/some_chunks.hpp"

#include <gtest/gtest.h>

namespace ballast::data {
namespace {

constexpr uint64_t mib = 1 << 20;

class host_memory : public ::testing::Test {
protected:
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    root_.write(path, text);
  }
  uint64_t available() { return available_memory_bytes(root_.path()); }
  uint64_t total() { return total_memory_bytes(root_.path()); }
  temporary_folder root_;
};

TEST_F(host_memory, is_what_the_kernel_calls_available) {
  put("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   2048 kB\n");
  EXPECT_EQ(available(), 2 * mib);
}

TEST_F(host_memory, is_what_the_environment_says_if_that_is_an_amount) {
  setenv("BALLAST_MEMORY_MB", "3", 1);
  EXPECT_EQ(available(), 3 * mib);
  for (const char* wrong : {"0", "-1", "20x", "abc"}) {
    setenv("BALLAST_MEMORY_MB", wrong, 1);
    EXPECT_THROW(available(), ballast_error) << wrong;
  }
  unsetenv("BALLAST_MEMORY_MB");
}

TEST_F(host_memory, is_asked_for_before_rows_take_it) {
  put("proc/meminfo", "MemTotal: 900000 kB\nMemAvailable: 102400 kB\n");
  check_memory_for(8'000'000, 8, "/data/train", root_.path());
  check_memory_for(1'000'000, 16, "/data/train", root_.path() / "nowhere");
  try {
    check_memory_for(20'000'000, 8, "/data/train", root_.path());
    ADD_FAILURE() << "160 MB fit into 100";
  } catch (const ballast_error& e) {
    EXPECT_NE(std::string(e.what()).find("another 152 MB"), std::string::npos)
        << e.what();
  }
}

TEST_F(host_memory, is_less_in_a_limited_container) {
  put("proc/meminfo", "MemAvailable: 4194304 kB\n");
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/memory.max", "1073741824\n");
  put("sys/fs/cgroup/memory.current", "536870912\n");
  put("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 104857600\n");
  EXPECT_EQ(available(), 612 * mib);
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(available(), 4096 * mib);
}

TEST_F(host_memory, obeys_the_limits_of_the_groups_above) {
  put("proc/meminfo", "MemAvailable: 4194304 kB\n");
  put("proc/self/cgroup", "0::/job/step\n");
  put("sys/fs/cgroup/job/memory.max", "104857600\n");
  put("sys/fs/cgroup/job/memory.current", "0\n");
  put("sys/fs/cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(available(), 100 * mib);
}

TEST_F(host_memory, knows_cgroups_of_version_1) {
  put("proc/meminfo", "MemAvailable: 4194304 kB\n");
  put("proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n");
  put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "209715200\n");
  put("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "104857600\n");
  EXPECT_EQ(available(), 100 * mib);
}

TEST_F(host_memory, in_all_is_that_of_the_machine_or_of_the_least_group) {
  put("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 2048 kB\n");
  EXPECT_EQ(total(), 8192 * mib);
  put("proc/self/cgroup", "0::/job/step\n");
  put("sys/fs/cgroup/job/memory.max", "1073741824\n");
  put("sys/fs/cgroup/job/memory.current", "1073741824\n");
  put("sys/fs/cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(total(), 1024 * mib);
  EXPECT_EQ(available(), 0u);
}

} // namespace
} // namespace ballast::data
