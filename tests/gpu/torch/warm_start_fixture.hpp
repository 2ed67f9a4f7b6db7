/// A folder with files to start a model from, and what a model says of a job
/// that does not fit.
#pragma once

#include "data/model/safetensors.hpp"
#include "model_fixture.hpp"
#include "runtime/base/errors.hpp"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ballast::gpu {

inline std::string pointer_of_refusal(const job& j,
                                      const ledger::row_shape& row) {
  try {
    model_setup(j, row);
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::invalid_job) << e.what();
    EXPECT_FALSE(e.what_failed().message.empty());
    return e.what_failed().pointer;
  }
  return "accepted";
}

class warm_start : public testing::Test {
protected:
  warm_start() {
    std::string pattern = testing::TempDir() + "ballast-warm-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "start").string();
    job_.model.init = path_ + ".safetensors";
    job_.model.path = path_ + ".pt";
  }
  ~warm_start() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::string path_;
  job job_ = job_of(model_kind::linear);
  std::vector<float> weight_{1, 2, 3, 4, 5, 6};
  std::vector<float> bias_{7, 8};
};

} // namespace ballast::gpu
