// Goal: whatever CUDA lacks on a machine, one line says it. Method: reports
// made by hand, since the machine of the test has only one kind of trouble; and
// the real one, which must answer everywhere.
#include "gpu/collective_backends.hpp"
#include "gpu/cuda_library.hpp"
#include "gpu/nccl_environment.hpp"

#include <gmock/gmock.h>
#include <map>

namespace ballast::gpu {

using collectives::collective_errc;
using collectives::collective_error;
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

cuda_device device(int index, int major, int minor) {
  return {.index = index, .name = "Test GPU", .major = major, .minor = minor};
}

cuda_report usable(std::vector<cuda_device> devices) {
  return {.state = cuda_state::usable,
          .runtime_version = 13000,
          .driver_version = 13010,
          .devices = std::move(devices)};
}

TEST(cuda_report, has_one_line_for_every_way_to_have_no_gpu) {
  const std::map<cuda_state, std::string> says = {
      {cuda_state::not_built, "no CUDA part"},
      {cuda_state::library_missing, "missing (here)"},
      {cuda_state::library_broken, "cannot be used (here)"},
      {cuda_state::no_driver, "no NVIDIA driver"},
      {cuda_state::driver_too_old, "knows CUDA 12.4 at most"},
      {cuda_state::no_device, "finds no GPU (here)"},
      {cuda_state::failed, "refuses (here)"}};
  for (const auto& [state, words] : says) {
    cuda_report report{.state = state,
                       .detail = "here",
                       .runtime_version = 13000,
                       .driver_version = 12040};
    EXPECT_THAT(why_no_gpu(report), HasSubstr(words));
    EXPECT_THAT(why_no_gpu(report), Not(HasSubstr("\n")));
    EXPECT_FALSE(how_to_get_gpu(report).empty()) << words;
    const failure why = why_not_device(report, 0);
    EXPECT_EQ(why.code, errc::device_failed);
    EXPECT_THAT(why.message, HasSubstr(words));
  }
}

TEST(cuda_report, names_both_versions_of_a_driver_that_is_too_old) {
  cuda_report report{.state = cuda_state::driver_too_old,
                     .runtime_version = 13000,
                     .driver_version = 12090};
  EXPECT_THAT(why_no_gpu(report), AllOf(HasSubstr("12.9"), HasSubstr("13.0")));
}

TEST(cuda_report, takes_a_machine_with_one_usable_device) {
  const cuda_report report = usable({device(0, 7, 5), device(1, 9, 0)});
  EXPECT_THAT(why_no_gpu(report), IsEmpty());
  EXPECT_FALSE(why_not_device(report, 1));
  EXPECT_THAT(why_not_device(report, 0).message,
              AllOf(HasSubstr("cuda:0"), HasSubstr("7.5"), HasSubstr("8.0")));
}

TEST(cuda_report, refuses_an_index_that_is_out_of_range) {
  EXPECT_THAT(why_not_device(usable({device(0, 9, 0)}), 1).message,
              AllOf(HasSubstr("no cuda:1"), HasSubstr("1 GPU,")));
  EXPECT_THAT(
      why_not_device(usable({device(0, 9, 0), device(1, 9, 0)}), 7).message,
      HasSubstr("2 GPUs"));
  EXPECT_TRUE(why_not_device(usable({}), 0));
}

TEST(cuda_report, refuses_a_device_that_is_closed_to_programs) {
  cuda_device closed = device(0, 9, 0);
  closed.prohibited = true;
  EXPECT_THAT(why_not_device(usable({closed}), 0).message,
              HasSubstr("nvidia-smi --compute-mode=0"));
  EXPECT_THAT(why_no_gpu(usable({closed})), HasSubstr("closed"));
}

TEST(cuda_report, reads_the_index_of_a_device_and_nothing_else) {
  EXPECT_EQ(cuda_index("cuda:0"), 0);
  EXPECT_EQ(cuda_index("cuda:12"), 12);
  for (const char* wrong :
       {"", "cuda", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda: 1",
        "cuda:99999", "gpu:0", "CUDA:0", "cuda:99999999999999"})
    EXPECT_EQ(cuda_index(wrong), std::nullopt) << wrong;
}

TEST(cuda_report, prints_versions_as_people_write_them) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12040), "12.4");
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(23000), "2.30.0");
}

TEST(nccl_report, complains_about_no_old_or_another_nccl) {
  EXPECT_THAT(nccl_trouble({22809, 22809, "libnccl.so.2", ""}), IsEmpty());
  EXPECT_THAT(nccl_trouble({22809, 22812, "libnccl.so.2", ""}),
              AllOf(HasSubstr("2.28.12"), HasSubstr("2.28.9")));
  EXPECT_THAT(nccl_trouble({22809, 22703, "libnccl.so.2", ""}),
              HasSubstr("too old"));
  EXPECT_THAT(nccl_trouble({22809, 0, "", "no such file"}),
              HasSubstr("no such file"));
}

std::vector<environment_problem>
problems_with(const std::map<std::string, const char*>& environment) {
  return nccl_environment_problems([&](const char* name) -> const char* {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second;
  });
}

TEST(nccl_environment, names_each_variable_that_breaks_elasticity) {
  for (const char* variable :
       {"NCCL_COMM_ID", "NCCL_COMM_BLOCKING", "NCCL_BLOCKING_WAIT",
        "TORCH_NCCL_BLOCKING_WAIT", "NCCL_ASYNC_ERROR_HANDLING",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_HOSTID"}) {
    auto found = problems_with({{variable, "1"}});
    ASSERT_EQ(found.size(), 1u) << variable;
    EXPECT_EQ(found[0].variable, variable);
    EXPECT_EQ(found[0].value, "1");
    EXPECT_FALSE(found[0].why.empty());
  }
}

TEST(nccl_environment, has_nothing_against_the_rest) {
  EXPECT_THAT(problems_with({}), IsEmpty());
  EXPECT_THAT(problems_with({{"NCCL_DEBUG", "INFO"},
                             {"NCCL_SOCKET_IFNAME", "eth0"},
                             {"NCCL_COMM_ID", ""},
                             {"NCCL_COMM_BLOCKING", "0"},
                             {"NCCL_BLOCKING_WAIT", "0"}}),
              IsEmpty());
}

TEST(cuda_library, answers_on_every_machine) {
  const cuda_report report = probe_cuda();
  EXPECT_NE(report.state, cuda_state::library_missing) << report.detail;
  EXPECT_NE(report.state, cuda_state::library_broken) << report.detail;
  EXPECT_EQ(report.state == cuda_state::usable, !report.devices.empty());
  if (report.state == cuda_state::not_built) {
    EXPECT_EQ(probe_nccl().compiled_version, 0);
  } else {
    EXPECT_GE(report.runtime_version, 13000);
    EXPECT_GE(probe_nccl().compiled_version, 22807);
  }
}

TEST(cuda_library, refuses_nccl_with_the_reason_where_there_is_no_gpu) {
  const std::string reason = why_no_gpu(probe_cuda());
  if (reason.empty())
    GTEST_SKIP() << "this machine has a GPU";
  try {
    make_backend("nccl", 0);
    FAIL() << "made a backend without a GPU";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::unsupported);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("'nccl'"), HasSubstr(reason)));
  }
}

TEST(cuda_library, refuses_nccl_for_a_worker_on_the_cpu) {
  try {
    make_backend("nccl");
    FAIL() << "made a backend without a GPU";
  } catch (const collective_error& e) {
    EXPECT_EQ(e.code(), collective_errc::unsupported);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("--device cuda:N"),
                                HasSubstr("train.collective")));
  }
}

TEST(cuda_library, makes_no_device_where_there_is_none) {
  try {
    open_cuda_device(1023);
    FAIL() << "opened a GPU that nobody has";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::device_failed);
    EXPECT_THAT(e.what(), Not(HasSubstr("\n")));
  }
}

TEST(nccl_environment, is_refused_where_a_dead_worker_would_hold_the_others) {
  auto refusal = [](std::map<std::string, const char*> set) {
    return nccl_environment_refusal([&](const char* name) -> const char* {
      auto found = set.find(name);
      return found == set.end() ? nullptr : found->second;
    });
  };
  EXPECT_THAT(refusal({{"NCCL_COMM_ID", "10.0.0.1:5"}}),
              AllOf(HasSubstr("NCCL_COMM_ID=10.0.0.1:5"),
                    HasSubstr("start without it"), Not(HasSubstr("\n"))));
  EXPECT_THAT(refusal({{"NCCL_BLOCKING_WAIT", "1"}}),
              HasSubstr("NCCL_BLOCKING_WAIT=1"));
  EXPECT_THAT(refusal({{"NCCL_HOSTID", "a"}, {"NCCL_DEBUG", "WARN"}}),
              IsEmpty()); // slower, no more
}

TEST(cuda_library, tries_no_device_that_is_not_there) {
  EXPECT_EQ(try_cuda_device(1023).code, errc::device_failed);
}

} // namespace
} // namespace ballast::gpu
