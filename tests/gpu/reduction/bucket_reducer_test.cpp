// Goal: buckets leave as soon as they are final, in the same order everywhere,
// and every element is reduced once. Method: a collective that writes down what
// it is asked to reduce, and on which thread.
#include "gpu/reduction/bucket_reducer.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <semaphore>
#include <stdexcept>

namespace ballast::gpu {
namespace {

std::vector<parameter_info> pieces(std::vector<size_t> counts) {
  std::vector<parameter_info> out;
  size_t offset = 0;
  for (size_t count : counts) {
    out.push_back({"p" + std::to_string(out.size()), {}, offset, count});
    offset += count;
  }
  return out;
}

class noting_collective final : public collectives::collective {
public:
  struct call {
    float* data;
    size_t count;
    std::thread::id thread;
  };
  int rank() const override { return 0; }
  int size() const override { return ranks; }
  collectives::collective_state state() const override {
    return collectives::collective_state::ready;
  }
  void all_reduce(void* data, size_t count, collectives::element_type,
                  collectives::deadline) override {
    if (fail)
      throw collectives::collective_error(
          collectives::collective_errc::peer_lost, "played");
    calls.push_back(
        {static_cast<float*>(data), count, std::this_thread::get_id()});
    reduced.release();
  }
  void broadcast(void*, size_t, int, collectives::deadline) override {}
  void barrier(collectives::deadline) override {}
  void abort(const std::string&) noexcept override {}
  void close(collectives::deadline) override {}
  uint64_t bytes_sent() const override { return 0; }
  int ranks = 2;
  std::vector<call> calls;
  std::counting_semaphore<> reduced{0};
  bool fail = false;
};

TEST(bucket_layout, begins_and_ends_with_small_buckets) {
  const size_t small = 4096, large = 65536; // bytes
  for (size_t total : {200'000u, 262'144u, 999'983u}) {
    bucket_layout layout = make_bucket_layout(pieces({total}), small, large);
    EXPECT_EQ(layout.buckets.front().count, small / sizeof(float));
    EXPECT_LT(layout.buckets.back().count, 2 * small / sizeof(float));
    for (const bucket& part : layout.buckets)
      EXPECT_LE(part.count, large / sizeof(float));
  }
}

TEST(bucket_layout, covers_the_arena_once_from_its_end_to_its_start) {
  for (size_t total : {1, 7, 4096, 300'001}) {
    bucket_layout layout =
        make_bucket_layout(pieces({total}), 4096, size_t{1} << 30);
    size_t end = total;
    for (const bucket& part : layout.buckets) {
      EXPECT_EQ(part.offset + part.count, end);
      end = part.offset;
    }
    EXPECT_EQ(end, 0u);
  }
}

TEST(bucket_layout, keeps_a_small_model_in_one_bucket_and_cuts_a_large_one) {
  EXPECT_EQ(make_bucket_layout(pieces({100'000})).buckets.size(), 1u);
  // 25 MB: the first of 1 MiB, the others of a sixteenth.
  size_t count = make_bucket_layout(pieces({6'250'000})).buckets.size();
  EXPECT_GE(count, 16u);
  EXPECT_LE(count, 18u);
}

TEST(bucket_layout, a_bucket_waits_for_no_gradient_of_the_next_layer) {
  // Layers of 4 MB with a bias each, as a wide mlp has them.
  const std::vector<parameter_info> layers = pieces(
      {1'048'576, 1024, 1'048'576, 1024, 1'048'576, 1024, 1'048'576, 1024});
  const bucket_layout layout = make_bucket_layout(layers);
  size_t begins = 0;
  for (const parameter_info& one : layers)
    begins += std::count_if(
        layout.buckets.begin(), layout.buckets.end(),
        [&](const bucket& part) { return part.offset == one.offset; });
  EXPECT_EQ(begins, 4u) << "each weight begins a bucket";
  for (size_t weight = 2; weight < layers.size(); weight += 2)
    EXPECT_LT(layout.last[weight], layout.first[weight - 2])
        << "no bucket holds parts of two weights";
}

TEST(bucket_layout, differs_in_its_hash_when_it_differs) {
  EXPECT_NE(layout_hash(make_bucket_layout(pieces({100}))),
            layout_hash(make_bucket_layout(pieces({101}))));
}

TEST(bucket_reducer, sends_a_bucket_before_the_gradient_ends) {
  // Two buckets of 16 floats; parameter 1 alone fills the first one.
  bucket_reducer buckets(make_bucket_layout(pieces({16, 16}), 64, 64));
  std::vector<float> gradients(32);
  noting_collective group;
  buckets.begin(gradients.data(), group, {});
  buckets.parameter_ready(1);
  group.reduced.acquire(); // on the communication thread, before finish()
  buckets.parameter_ready(0);
  buckets.finish();
  ASSERT_EQ(group.calls.size(), 2u);
  EXPECT_EQ(group.calls[0].data, gradients.data() + 16);
  EXPECT_NE(group.calls[0].thread, std::this_thread::get_id());
  EXPECT_EQ(group.calls[1].data, gradients.data());
  EXPECT_EQ(group.calls[1].thread, std::this_thread::get_id());
}

TEST(bucket_reducer, keeps_the_order_when_parameters_are_ready_out_of_order) {
  bucket_reducer buckets(make_bucket_layout(pieces({16, 16, 16}), 64, 64));
  std::vector<float> gradients(48);
  noting_collective group;
  for (int step = 0; step < 50; ++step) {
    group.calls.clear();
    buckets.begin(gradients.data(), group, {});
    for (size_t i : {0, 1, 2})
      buckets.parameter_ready(i);
    buckets.finish();
    ASSERT_EQ(group.calls.size(), 3u);
    for (size_t b = 0; b < 3; ++b)
      EXPECT_EQ(group.calls[b].data, gradients.data() + 16 * (2 - b));
  }
}

TEST(bucket_reducer, reduces_everything_where_nothing_was_computed) {
  bucket_reducer buckets(make_bucket_layout(pieces({16, 16}), 64, 64));
  std::vector<float> gradients(32);
  noting_collective group;
  buckets.begin(gradients.data(), group, {});
  buckets.finish(); // a worker with 0 samples
  EXPECT_EQ(group.calls.size(), 2u);
}

TEST(bucket_reducer, asks_for_nothing_where_there_is_nobody_else) {
  bucket_reducer buckets(make_bucket_layout(pieces({16, 16}), 64, 64));
  std::vector<float> gradients(32);
  noting_collective group;
  group.ranks = 1;
  buckets.begin(gradients.data(), group, {});
  buckets.parameter_ready(1);
  buckets.parameter_ready(0);
  buckets.finish();
  EXPECT_TRUE(group.calls.empty());
}

TEST(bucket_reducer, throws_in_finish_what_the_thread_met) {
  bucket_reducer buckets(make_bucket_layout(pieces({16, 16}), 64, 64));
  std::vector<float> gradients(32);
  noting_collective group;
  group.fail = true;
  buckets.begin(gradients.data(), group, {});
  buckets.parameter_ready(1);
  buckets.parameter_ready(0);
  EXPECT_THROW(buckets.finish(), collectives::collective_error);
  buckets.drop();
}

} // namespace
} // namespace ballast::gpu
