// Goal: workers together write one model, whose hash is that of any of them
// alone; what is not the same is refused, and whose it is is said. Method: a
// service for each of some workers, with a model of some pieces.
#include "actors/gathered_model.hpp"

#include "actors/blob_pieces.hpp"
#include "actors/served_model.hpp"
#include "data/model/weights_digest.hpp"
#include "data/transfer/chunk_service.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

#include <condition_variable>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <vector>

namespace ballast::actors {
namespace {

using ::testing::Not;
using ::testing::StartsWith;

const std::string model_token = "secret";

/// Happens once.
class model_moment {
public:
  void come() {
    const std::lock_guard lock(mutex_);
    came_ = true;
    changed_.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return came_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
};

struct model_worker {
  explicit model_worker(std::string called, float value = 1)
      : name(std::move(called)), values(20 << 20, value) {
    replica_image of;
    of.file = data::image_of({{"weight", {int64_t(values.size())}, values},
                              {"weight.mean", {1}, mean}},
                             {{"buffers", R"(["weight.mean"])"}});
    model.emplace(std::move(of), step_number{7});
    service = data::chunk_service::start(
        "127.0.0.1", 0, model_token,
        [](data::data_part, chunk_id) { return data::chunk_ptr(); },
        [this](const std::string& what) { return answer(what); });
  }

  std::optional<std::string> answer(const std::string& what) {
    if (image_of_note(what))
      return model->note();
    if (const auto order = read_mark_order(what)) {
      const data::shared_place to = seen(order->to);
      const bool here =
          sees && (order->gone ? data::remove_mark(to, order->mark)
                               : data::leave_mark(to, order->mark));
      return write_answer(here ? std::optional<std::string>("") : std::nullopt,
                          {});
    }
    if (auto order = read_write_order(what)) {
      order->to = seen(order->to);
      if (!sees || !data::sees(order->to))
        return write_answer({}, {});
      return write_answer(written(*order), {});
    }
    if (const auto order = read_hash_order(what)) {
      const auto found = model->hash(*order);
      return found ? std::optional(text_of(*found)) : std::nullopt;
    }
    std::string blob;
    uint64_t at = 0;
    if (!read_piece_name(what, blob, at))
      return std::nullopt;
    ++fetched;
    if (asked)
      asked->come();
    return model->read(at);
  }

  /// As under an overlay: what is there, and what it writes stays here.
  data::shared_place seen(const data::shared_place& there) const {
    if (overlay.empty() || !data::sees(there))
      return there;
    const std::filesystem::path file = overlay / there.file.filename();
    if (!data::sees({file, there.token}))
      for (const std::filesystem::path& name :
           {file.filename(), std::filesystem::path("token")})
        std::filesystem::copy_file(
            there.file.parent_path() / name, overlay / name,
            std::filesystem::copy_options::overwrite_existing);
    return {file, there.token};
  }

  std::string written(const write_order& order) {
    if (order.part.to > order.part.from) {
      if (before)
        before->await();
      ++pieces;
      if (after)
        after->come();
    }
    return model->write(order);
  }

  std::string digest() const {
    return data::digest_of({{"weight", {int64_t(values.size())}, values}}, 2);
  }

  const std::string name;
  std::vector<float> values;
  std::vector<float> mean{5};
  std::optional<served_model> model;
  bool sees = true;
  std::filesystem::path overlay;  // over the folder of the file
  model_moment* before = nullptr; // it writes nothing
  model_moment* after = nullptr;  // it wrote something
  model_moment* asked = nullptr;  // a piece was fetched
  std::atomic<int> pieces{0};
  std::atomic<int> fetched{0};
  std::unique_ptr<data::chunk_service> service; // ends first
};

class gathered_models : public ::testing::Test {
protected:
  void SetUp() override {
    if (data::under_thread_sanitizer)
      GTEST_SKIP() << "gRPC is not built for the thread sanitizer";
  }

  /// Its hash; the file is `content`.
  std::string gather(const std::vector<model_worker*>& from,
                     const std::string& digest) {
    std::vector<image_holder> holders;
    for (const model_worker* one : from)
      holders.push_back({one->name, one->service->address()});
    gathered_model model(holders, model_token);
    std::filesystem::remove(file);
    const data::unfinished_state into(file, model.bytes(), {});
    const std::string out = model.write(into, digest);
    into.end();
    return out;
  }

  void expect_the_model_of(const model_worker& one, const std::string& hash) {
    const data::tensor_file found = data::read_safetensors(file.string());
    const data::tensor_view* weight = found.find("weight");
    ASSERT_NE(weight, nullptr);
    EXPECT_TRUE(std::equal(weight->values.begin(), weight->values.end(),
                           one.values.begin(), one.values.end()));
    EXPECT_EQ(found.find("weight.mean")->values[0], 5);
    EXPECT_EQ(hash, data::weights_sha256({*weight}));
  }

  store::temp_folder folder;
  const std::filesystem::path file = folder / "model.safetensors";
};

TEST_F(gathered_models, of_several_workers_are_those_of_each_alone) {
  model_worker a("a"), b("b"), c("c");
  const std::string alone = gather({&a}, "");
  expect_the_model_of(a, alone);
  model_moment others_wrote;
  // Of three pieces the first worker begins two at most.
  a.before = &others_wrote;
  b.after = &others_wrote;
  c.after = &others_wrote;
  EXPECT_EQ(gather({&a, &b, &c}, a.digest()), alone);
  expect_the_model_of(a, alone);
  EXPECT_GT(b.pieces + c.pieces, 0);
  EXPECT_EQ(a.fetched + b.fetched + c.fetched, 0);
}

TEST_F(gathered_models, of_a_worker_that_has_others_are_refused_and_named) {
  model_worker a("a"), b("b", 2);
  model_moment wrong_is_written;
  a.before = &wrong_is_written;
  b.after = &wrong_is_written;
  EXPECT_FAILURE(gather({&a, &b}, a.digest()), errc::digest_mismatch,
                 "did not come from worker b: bytes ");
}

TEST_F(gathered_models, that_changed_behind_the_end_are_refused) {
  model_worker a("a"), b("b", 2);
  EXPECT_FAILURE(gather({&a}, b.digest()), errc::digest_mismatch,
                 "from worker a: its parameters are not those that the "
                 "workers ended with");
  EXPECT_EQ(gather({&a}, a.digest()), gather({&a}, ""));
}

TEST_F(gathered_models, are_fetched_from_who_does_not_see_the_file) {
  model_worker a("a"), b("b");
  a.sees = b.sees = false;
  expect_the_model_of(a, gather({&a}, ""));
  expect_the_model_of(a, gather({&a, &b}, a.digest()));
  b.sees = true;
  model_moment b_wrote;
  b.after = &b_wrote;
  expect_the_model_of(a, gather({&a, &b}, a.digest()));
  EXPECT_GT(a.fetched, 0);
  EXPECT_EQ(a.pieces, 0);
}

TEST_F(gathered_models, are_fetched_from_who_writes_into_a_copy_of_the_file) {
  model_worker a("a"), b("b");
  const store::temp_folder copy;
  b.overlay = copy.path();
  expect_the_model_of(b, gather({&b}, ""));
  EXPECT_EQ(b.pieces, 0);
  for (const auto& left : std::filesystem::directory_iterator(b.overlay))
    EXPECT_THAT(left.path().filename().string(), Not(StartsWith("mark-")));
  model_moment b_is_asked;
  a.before = &b_is_asked;
  b.asked = &b_is_asked;
  expect_the_model_of(a, gather({&a, &b}, a.digest()));
  EXPECT_EQ(b.pieces, 0);
}

TEST_F(gathered_models, of_a_worker_that_is_gone_are_missed_by_its_name) {
  model_worker a("a"), b("b");
  b.service->shutdown(std::chrono::milliseconds(0));
  EXPECT_FAILURE(gather({&a, &b}, a.digest()), errc::unreachable,
                 "the final model did not come from worker b");
}

TEST_F(gathered_models, have_the_hash_of_a_whole_pass_however_it_is_asked) {
  model_worker a("a");
  const uint64_t bytes = read_note(a.model->note()).file_bytes;
  ASSERT_TRUE(a.model->hash({{0, 100}, false}));
  EXPECT_FALSE(a.model->hash({{200, 300}, false})) << "a gap";
  ASSERT_TRUE(a.model->hash({{0, 50}, true})) << "begins again";
  const auto all = a.model->hash({{50, bytes}, true});
  ASSERT_TRUE(all);
  EXPECT_EQ(
      all->whole.sha256,
      data::weights_sha256({{"weight", {int64_t(a.values.size())}, a.values}}));
  EXPECT_EQ(all->whole.digest, a.digest());
  EXPECT_FALSE(a.model->hash({{bytes, bytes}, true})) << "it is over";
}

} // namespace
} // namespace ballast::actors
