// Goal: what a worker saves and takes over is the state of its device, wherever
// that is and however it comes: from the file, or over the network. What is not
// what was saved is named, and nothing is taken for it. Method: a device whose
// memory the host cannot touch, a checkpoint on the disk, and an origin.
#include "actors/state_fetch.hpp"

#include "actors/blob_pieces.hpp"
#include "actors/served_checkpoint.hpp"
#include "actors/state_loading.hpp"
#include "data/model/checkpoint_store.hpp"
#include "data/model/safetensors.hpp"
#include "data/transfer/chunk_service.hpp"
#include "gpu/collective_backends.hpp"
#include "gpu/emulated_model.hpp"
#include "tests/collectives/resident_pages.hpp"
#include "tests/data/model/played_state.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/gpu/guarded_device.hpp"
#include "tests/store/expect_error.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace ballast::actors {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Of some parts of the network, and of many blocks.
constexpr size_t count = 3'000'017;

/// An emulated model, its parameters from `first` on.
void fill(replica& parts, gpu::compute_device& device, float first) {
  parts.device = &device;
  model_spec what;
  what.kind = model_kind::emulated;
  what.parameters = count;
  auto backend = gpu::make_backend("local");
  parts.network = std::make_unique<gpu::emulated_model>(what);
  parts.update =
      device.make_optimizer({.kind = optimizer_kind::adamw}, count, *backend);
  parts.memory.count = count;
  parts.memory.parameters = device.allocate(count, *backend);
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  device.upload(parts.memory.parameters.get(), values.data(), count);
  for (auto& state : parts.update->state()) {
    for (float& x : values)
      x += 1000;
    device.upload(state.values.data(), values.data(), count);
  }
}

std::vector<float> all_of(replica& of) {
  std::vector<float> out(count);
  of.device->download(out.data(), of.memory.parameters.get(), count);
  for (auto& state : of.update->state()) {
    std::vector<float> one(count);
    of.device->download(one.data(), state.values.data(), count);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

class state_from_checkpoint : public testing::Test {
protected:
  void SetUp() override {
    if (data::under_thread_sanitizer)
      GTEST_SKIP() << "the service's threads are not compiled for it";
    std::string pattern =
        (fs::temp_directory_path() / "ballast-fetch-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder = pattern;
    fill(saved, saved_on, 1);
    fill(fresh, fresh_on, 500);
    const replica_image image = state_image(saved, "run", step_number{7});
    std::string bytes(image.file.bytes(), '\0');
    image.file.copy(0, bytes);
    ASSERT_GE(bytes.size(), state_bytes(saved));
    const ledger::checkpoint_identity after{
        {epoch_number{1}, step_number{7}}, generation{1}, plan_number{1}, 1};
    const data::checkpoint_store store(folder);
    store.stage(after, "run", data::all_of(bytes));
    state = store.publish(after).file;
    served.serve(state.string());
    origin = data::chunk_service::start(
        "127.0.0.1", 0, "token",
        [](data::data_part, chunk_id) { return data::chunk_ptr(); },
        [this](const std::string& name) {
          if (name.starts_with(checkpoint_part_blob))
            ++parts_sent;
          std::optional<std::string> out = served.blob(name);
          if (name == checkpoint_about_blob && change_about)
            change_about(*out);
          return out;
        });
  }
  void TearDown() override {
    if (origin)
      origin->shutdown(1s);
    fs::remove_all(folder);
  }

  step_number fetch(uint64_t start = 8) {
    return fetch_state(fresh,
                       {origin->address(), "token", step_number{start}, 1, {}});
  }
  /// A machine where another file, or none, has that path.
  void names_file(const std::string& other) {
    change_about = [other](std::string& about) {
      auto told = nlohmann::json::parse(about);
      told["file"] = other;
      about = told.dump();
    };
  }
  void flip(const fs::path& file, int64_t at) {
    std::fstream on(file, std::ios::in | std::ios::out | std::ios::binary);
    on.seekg(at);
    const int was = on.get();
    on.seekp(at);
    on.put(char(was ^ 1));
  }
  void takes_over_nothing_but_says(errc code, const std::string& why,
                                   uint64_t start = 8) {
    EXPECT_FAILURE(fetch(start), code, why);
  }

  gpu::guarded_device saved_on;
  gpu::guarded_device fresh_on;
  replica saved;
  replica fresh;
  fs::path folder;
  fs::path state;
  served_checkpoint served;
  std::function<void(std::string&)> change_about;
  std::atomic<int> parts_sent = 0;
  std::unique_ptr<data::chunk_service> origin;
};

TEST_F(state_from_checkpoint, is_read_from_the_file_where_a_worker_sees_it) {
  EXPECT_EQ(fetch(), step_number{7});
  EXPECT_EQ(all_of(fresh), all_of(saved));
  EXPECT_EQ(parts_sent, 0);
}

TEST_F(state_from_checkpoint, comes_in_parts_where_a_worker_does_not) {
  names_file("/there/is/no/such/file");
  EXPECT_EQ(fetch(), step_number{7});
  EXPECT_EQ(all_of(fresh), all_of(saved));
  EXPECT_EQ(uint64_t(parts_sent),
            state_bytes(saved) / checkpoint_part_bytes + 1);
}

TEST_F(state_from_checkpoint, lies_in_the_memory_of_a_host) {
  replica here;
  fill(here, gpu::cpu_device(), 9);
  for (int way : {0, 1}) {
    if (way == 1)
      names_file("");
    std::fill_n(here.memory.parameters.get(), count, 0.0F);
    EXPECT_EQ(
        fetch_state(here, {origin->address(), "token", step_number{8}, 3, {}}),
        step_number{7});
    EXPECT_EQ(all_of(here), all_of(saved));
  }
}

TEST_F(state_from_checkpoint, of_another_file_at_the_same_path_is_not_taken) {
  const fs::path other = folder / "other.safetensors";
  fs::copy_file(state, other);
  flip(other, 20'000'000);
  names_file(other.string());
  EXPECT_EQ(fetch(), step_number{7});
  EXPECT_EQ(all_of(fresh), all_of(saved));
  EXPECT_GT(parts_sent, 0);
}

TEST_F(state_from_checkpoint, is_refused_by_name_where_it_was_changed) {
  flip(state, 20'000'000);
  takes_over_nothing_but_says(errc::invalid_data,
                              "its state does not match its checksum");
  try {
    fetch();
  } catch (const damaged_state& e) {
    EXPECT_EQ(e.after(), step_number{7});
  }
}

TEST_F(state_from_checkpoint, is_refused_where_it_is_cut_or_gone) {
  fs::resize_file(state, 40'000);
  EXPECT_THROW(fetch(), damaged_state);
  takes_over_nothing_but_says(errc::invalid_data, "has 40000 bytes of");
  fs::remove(state);
  EXPECT_THROW(fetch(), damaged_state);
  takes_over_nothing_but_says(errc::invalid_data, "No such file");
  fs::remove(state.parent_path() / "manifest.json");
  takes_over_nothing_but_says(errc::invalid_data, "no checksum");
}

TEST_F(state_from_checkpoint, is_refused_where_its_header_was_changed) {
  flip(state, 5); // of its length
  EXPECT_THROW(fetch(), damaged_state);
  flip(state, 5);
  flip(state, 8); // its first bracket
  EXPECT_THROW(fetch(), damaged_state);
  takes_over_nothing_but_says(errc::invalid_data, "its header");
}

TEST_F(state_from_checkpoint, of_another_step_or_model_changes_nothing) {
  const auto before = all_of(fresh);
  takes_over_nothing_but_says(errc::invalid_data, "of step 7", 9);
  replica other;
  fill(other, gpu::cpu_device(), 1);
  model_spec smaller;
  smaller.kind = model_kind::emulated;
  smaller.parameters = count - 1;
  other.network = std::make_unique<gpu::emulated_model>(smaller);
  try {
    fetch_state(other, {origin->address(), "token", step_number{8}, 1, {}});
    ADD_FAILURE() << "it fits";
  } catch (const damaged_state&) {
    ADD_FAILURE() << "the file is what it was";
  } catch (const ballast_error& e) {
    EXPECT_NE(std::string(e.what()).find("does not fit the model: 'weight"),
              std::string::npos)
        << e.what();
  }
  EXPECT_EQ(all_of(fresh), before);
}

TEST_F(state_from_checkpoint, is_wanted_no_more) {
  EXPECT_FAILURE(
      (void)fetch_state(fresh, {origin->address(), "token", step_number{8}, 1,
                                [] { return true; }}),
      errc::stopped, "wanted no more");
}

/// An emulated model of its own, built as a worker does.
void build_alone(replica& out, bool others_train, const model_spec& model) {
  job what;
  what.model = model;
  what.train.optimizer.kind = optimizer_kind::adamw;
  auto backend = gpu::make_backend("local");
  build(out, what, {}, 1, others_train, *backend);
}

// The workers of a host share its memory's speed, and every one waits for all.
TEST(replica, waits_with_the_second_gradients_unless_others_wait_for_it) {
  constexpr size_t large = size_t{1} << 20;
  model_spec what;
  what.kind = model_kind::emulated;
  what.parameters = large;
  for (bool others_train : {false, true}) {
    replica made;
    build_alone(made, others_train, what);
    const auto pages = [](const float* of) {
      return collectives::resident_pages(of, large);
    };
    EXPECT_GT(pages(made.memory.parameters.get()), 0u);
    EXPECT_GT(pages(made.memory.gradients[0].get()), 0u);
    EXPECT_EQ(pages(made.memory.gradients[1].get()) > 0, others_train);
    for (const auto& state : made.update->state())
      EXPECT_GT(pages(state.values.data()), 0u);
  }
}

TEST(replica, begins_with_the_parameters_that_the_job_names) {
  model_spec what;
  what.kind = model_kind::emulated;
  what.parameters = 1000;
  for (const char* init : {"default", "zeros"}) {
    what.init = init;
    replica made;
    build_alone(made, false, what);
    EXPECT_TRUE(std::all_of(made.memory.parameters.get(),
                            made.memory.parameters.get() + 1000,
                            [](float x) { return x == 0; }));
  }
}

} // namespace
} // namespace ballast::actors
