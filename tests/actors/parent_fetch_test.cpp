// Goal: a worker reads the parameters that its run begins with from the file
// that the coordinator names, where it sees that very file, and else has the
// same bytes from the coordinator. Method: an origin with a file.
#include "actors/parent_fetch.hpp"

#include "actors/served_parent.hpp"
#include "data/model/weights_file.hpp"
#include "data/transfer/chunk_service.hpp"
#include "tests/data/write_safetensors.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <numeric>

namespace ballast::actors {
namespace {

namespace fs = std::filesystem;

/// Of more than two parts.
constexpr size_t count = 5'000'003;

class parent_fetch : public ::testing::Test {
protected:
  parent_fetch() : values_(count) {
    std::iota(values_.begin(), values_.end(), 1.0F);
    write(file_, values_);
    served_ = {file_.string(), 17};
    origin_ = data::chunk_service::start(
        "127.0.0.1", 0, "token",
        [](data::data_part, chunk_id) -> data::chunk_ptr { return nullptr; },
        [this](const std::string& name) -> std::optional<std::string> {
          auto out = blob_of(served_, name);
          if (!named_.empty() && name == parent_about_blob) {
            auto about = nlohmann::json::parse(*out);
            about["file"] = named_.string();
            return about.dump();
          }
          return out;
        });
  }
  ~parent_fetch() override { origin_->shutdown(std::chrono::seconds(1)); }

  static void write(const fs::path& to, const std::vector<float>& values) {
    data::write_safetensors(to.string(),
                            {{"weight", {int64_t(values.size())}, values}});
  }
  inherited_weights fetched() {
    return fetch_parent({origin_->address(), "token", {}});
  }
  void expect_its_bytes(const inherited_weights& found) {
    const data::weights_file file(found.file);
    std::vector<float> out(count);
    file.read({{file.find("weight"), out}}, 2);
    EXPECT_EQ(out, values_);
    EXPECT_EQ(found.optimizer_steps, 17U);
  }

  store::temp_folder folder_;
  fs::path file_ = folder_ / "parent.safetensors";
  std::vector<float> values_;
  parent_weights served_;
  fs::path named_; // what the origin says in place of its file
  std::unique_ptr<data::chunk_service> origin_;
};

TEST_F(parent_fetch, reads_the_file_where_this_machine_sees_it) {
  const inherited_weights found = fetched();
  EXPECT_EQ(found.file, file_.string());
  expect_its_bytes(found);
}

TEST_F(parent_fetch, has_the_same_bytes_in_memory_where_it_does_not) {
  named_ = "/on/another/machine/parent.safetensors";
  const inherited_weights found = fetched();
  EXPECT_TRUE(found.copy);
  expect_its_bytes(found);
}

TEST_F(parent_fetch, takes_no_other_file_at_the_same_path) {
  named_ = folder_ / "another.safetensors";
  write(named_, std::vector<float>(7));
  expect_its_bytes(fetched());
}

TEST_F(parent_fetch, says_which_file_is_gone) {
  fs::remove(file_);
  EXPECT_FAILURE((void)fetched(), errc::invalid_data, "parent.safetensors");
}

TEST_F(parent_fetch, is_given_up_where_nobody_wants_it) {
  named_ = "/on/another/machine/parent.safetensors";
  try {
    (void)fetch_parent({origin_->address(), "token", [] { return true; }});
    ADD_FAILURE() << "it was fetched";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::stopped);
  }
}

} // namespace
} // namespace ballast::actors
