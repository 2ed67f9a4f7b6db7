// Goal: a GPU that holds its worker up is named with the cause, and one that
// does not is not. Method: readings made by hand, and a libnvidia-ml of the
// test for the reader.
#include "gpu/nvml.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

namespace ballast::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

gpu_reading healthy() {
  gpu_reading out;
  out.temperature_celsius = 60;
  out.clock_reasons = clock_power_cap;
  out.memory_errors = 3; // of the time before
  return out;
}

TEST(gpu_trouble, is_none_of_a_gpu_that_nobody_can_ask) {
  EXPECT_THAT(describe(gpu_trouble({}, {})), IsEmpty());
  EXPECT_THAT(describe(gpu_trouble(healthy(), {})), IsEmpty());
}

TEST(gpu_trouble, is_no_power_cap_and_no_error_of_the_past) {
  EXPECT_THAT(describe(gpu_trouble(healthy(), healthy())), IsEmpty());
}

TEST(gpu_trouble, names_heat_and_how_hot) {
  gpu_reading now = healthy();
  now.temperature_celsius = 91;
  for (uint64_t bit : {clock_thermal_software, clock_thermal_hardware}) {
    now.clock_reasons = bit | clock_power_cap;
    EXPECT_EQ(describe(gpu_trouble(healthy(), now)),
              "slowed down by heat (91 degrees)");
  }
}

TEST(gpu_trouble, names_the_power_supply_and_the_hardware) {
  gpu_reading now = healthy();
  now.clock_reasons = clock_power_brake | clock_hardware_slowdown;
  EXPECT_THAT(describe(gpu_trouble(healthy(), now)), HasSubstr("power supply"));
  now.clock_reasons = clock_hardware_slowdown;
  EXPECT_THAT(describe(gpu_trouble(healthy(), now)), HasSubstr("hardware"));
}

TEST(gpu_trouble, counts_the_new_memory_errors) {
  gpu_reading now = healthy();
  now.memory_errors = 4;
  EXPECT_THAT(describe(gpu_trouble(healthy(), now)),
              HasSubstr("1 memory error that"));
  now.memory_errors = 9;
  now.xid = 48;
  EXPECT_THAT(describe(gpu_trouble(healthy(), now)),
              AllOf(HasSubstr("6 memory errors"), HasSubstr("Xid 48")));
}

std::string fake_library() {
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&fake_library), &here);
  const std::string file = here.dli_fname;
  const size_t slash = file.rfind('/');
  return (slash == std::string::npos ? "./" : file.substr(0, slash + 1)) +
         "libfake_nvml.so";
}

TEST(nvml_reader, reads_what_the_gpu_says_and_leaves_out_what_it_does_not) {
  std::string why;
  auto reader = nvml_reader::open("0000:17:00.0", why, fake_library());
  ASSERT_TRUE(reader) << why;
  const gpu_reading first = reader->read();
  EXPECT_EQ(first.utilization_ratio, 0.93);
  EXPECT_EQ(first.memory_used_bytes, 600u);
  EXPECT_EQ(first.memory_bytes, 1000u);
  EXPECT_FALSE(first.power_watts);
  EXPECT_EQ(first.temperature_celsius, 41);
  EXPECT_EQ(first.sent_bytes_per_second, 5u * 1024);
  EXPECT_EQ(first.received_bytes_per_second, 9u * 1024);
  EXPECT_EQ(first.memory_errors, 7u);
  EXPECT_THAT(describe(gpu_trouble(first, first)), IsEmpty());

  void* library = dlopen(fake_library().c_str(), RTLD_NOW);
  auto* set = reinterpret_cast<void (*)(
      unsigned, unsigned long long, unsigned long long, unsigned long long)>(
      dlsym(library, "fake_nvml_set"));
  ASSERT_TRUE(set);
  set(95, clock_thermal_hardware, 8, 79);
  (void)reader->read();
  const gpu_reading now = reader->read(); // an Xid is told once, and stays
  EXPECT_EQ(describe(gpu_trouble(first, now)),
            "the driver reported the error Xid 79; 1 memory error that could "
            "not be corrected; slowed down by heat (95 degrees)");
}

TEST(nvml_reader, says_why_it_cannot_be_had) {
  std::string why;
  EXPECT_FALSE(nvml_reader::open("0000:17:00.0", why, "libno_such_thing.so"));
  EXPECT_THAT(why, HasSubstr("libno_such_thing.so"));
  EXPECT_FALSE(nvml_reader::open("0000:99:00.0", why, fake_library()));
  EXPECT_THAT(why, HasSubstr("knows no GPU 0000:99:00.0"));
}

} // namespace
} // namespace ballast::gpu
