// Goal: nothing of the host touches the memory of a device, and nothing is read
// before it is computed. Method: the same training on the CPU and on a device
// whose memory kills whoever follows its addresses, and which does what it is
// told as late as it may; the weights must be equal bit by bit.
#include "gpu/collective_backends.hpp"
#include "gpu/staged_collective.hpp"
#include "tests/gpu/executor_cluster.hpp"
#include "tests/gpu/guarded_device.hpp"

#include <cmath>
#include <numeric>

namespace ballast::gpu {
namespace {

constexpr auto patience = std::chrono::seconds(60); // a deadlock, not slowness

/// Loss of a row (w_0 - a)^2 / 2, with a of the row's id and features; every
/// parameter has a gradient of its own. Computes where the device is.
class device_model final : public model {
public:
  explicit device_model(compute_device& device)
      : device_(device), guarded_(dynamic_cast<guarded_device*>(&device)) {
    for (size_t i = 0; i < 5; ++i)
      parameters_.push_back({"p" + std::to_string(i), {13}, 13 * i, 13});
  }

  const std::vector<parameter_info>& parameters() const override {
    return parameters_;
  }
  size_t parameter_count() const override { return 65; }
  void initialize(std::span<float> values) override {
    for (size_t j = 0; j < values.size(); ++j)
      values[j] = float(j) / 64;
  }
  void bind(std::span<float> parameters, std::span<float> gradients) override {
    values_ = there(parameters.data());
    gradients_ = there(gradients.data());
  }

  double accumulate(const batch_view& batch, uint64_t,
                    const std::function<void(size_t)>& ready) override {
    double loss = 0;
    for (size_t i = parameters_.size(); i-- > 0;) {
      const parameter_info& p = parameters_[i];
      on_device([this, p, batch] {
        for (uint32_t r = 0; r < batch.rows; ++r)
          for (size_t j = p.offset; j < p.offset + p.count; ++j)
            gradients_[j] += values_[j] - float(j % 7 + 1) * target(batch, r);
      });
      if (ready)
        ready(i);
    }
    on_device([this, batch, &loss] { loss = loss_of(batch); });
    device_.finish(); // as reading a value of a device does
    for (uint32_t r = 0; r < batch.rows; ++r)
      pending_ += target_on_host(batch, r);
    rows_ += batch.rows;
    return loss;
  }
  evaluation_sums evaluate(const batch_view& batch) override {
    double loss = 0;
    on_device([this, batch, &loss] { loss = loss_of(batch); });
    device_.finish();
    return {.loss = loss, .correct = 0, .rows = double(batch.rows)};
  }

  size_t statistics_count() const override { return 1; }
  void take_statistics(std::span<float> out) override {
    out[0] += pending_;
    pending_ = 0;
  }
  void apply_statistics(std::span<const float> sums, double rows) override {
    running_ += sums[0] / float(rows);
  }
  std::vector<buffer> buffers() override {
    return {{"running", {1}, {&running_, 1}}};
  }

private:
  template <class T>
  T* there(T* at) const {
    return guarded_ ? guarded_->real(at) : at;
  }
  void on_device(std::function<void()> what) {
    if (guarded_)
      guarded_->enqueue(std::move(what));
    else
      what();
  }
  float target(const batch_view& batch, uint32_t row) const {
    const float* features =
        guarded_ ? guarded_->real(const_cast<float*>(batch.there.features))
                 : batch.features;
    const int64_t* labels =
        guarded_ ? guarded_->real(const_cast<int64_t*>(batch.there.labels))
                 : batch.labels;
    return float(emulated_target(sample_id{batch.sample_ids[row]})) +
           features[row] / 256 + float(labels[row]);
  }
  float target_on_host(const batch_view& batch, uint32_t row) const {
    return batch.features[row] / 256;
  }
  double loss_of(const batch_view& batch) const {
    double sum = 0;
    for (uint32_t r = 0; r < batch.rows; ++r) {
      const double off = double(values_[0] - target(batch, r));
      sum += off * off / 2;
    }
    return sum;
  }

  compute_device& device_;
  guarded_device* guarded_;
  std::vector<parameter_info> parameters_;
  float* values_ = nullptr;
  float* gradients_ = nullptr;
  float pending_ = 0;
  float running_ = 0;
  uint64_t rows_ = 0;
};

/// Which ranks compute on the guarded device.
using devices = std::function<bool(size_t rank)>;
bool nowhere(size_t) {
  return false;
}
bool everywhere(size_t) {
  return true;
}
bool at_odd_ranks(size_t rank) {
  return rank % 2 == 1;
}

cluster_setup setup_of(const devices& guarded,
                       const std::string& backend = "local") {
  cluster_setup out;
  out.backend = backend;
  out.test_chunks = 5;
  out.device = [guarded](size_t rank) -> std::shared_ptr<compute_device> {
    if (guarded(rank))
      return std::make_shared<guarded_device>();
    return {&cpu_device(), [](auto*) {}};
  };
  out.network = [](const job&, compute_device& device) {
    return std::make_unique<device_model>(device);
  };
  return out;
}

job device_job(const optimizer_spec& update) {
  job out = emulated_job(3, 25);
  out.train.optimizer = update;
  out.train.clip_norm = 3;
  out.train.micro_batch = 4;
  return out;
}

struct result {
  std::vector<std::vector<float>> parameters; // by rank
  std::vector<float> states;                  // of rank 0
  double loss = 0;
  std::string digest;
};

result train(cluster& c, const generation_start& how = {}) {
  c.start(how);
  c.join();
  result out;
  for (auto& one : c.workers_) {
    EXPECT_TRUE(one->finished) << (one->failed ? one->failed->message : "");
    if (!one->finished)
      return out;
    out.parameters.push_back(one->parameters());
    EXPECT_EQ(one->finished->weights_digest,
              c.workers_[0]->finished->weights_digest);
  }
  out.digest = c.workers_[0]->finished->weights_digest;
  out.loss = c.workers_[0]->evaluated->loss;
  for (const auto& state : c.workers_[0]->update->state()) {
    std::vector<float> values(state.values.size());
    c.workers_[0]->device->download(values.data(), state.values.data(),
                                    values.size());
    out.states.insert(out.states.end(), values.begin(), values.end());
  }
  return out;
}

void expect_equal(const result& got, const result& expected) {
  EXPECT_EQ(got.digest, expected.digest);
  EXPECT_EQ(got.parameters, expected.parameters);
  EXPECT_EQ(got.states, expected.states);
  EXPECT_EQ(got.loss, expected.loss);
  for (float x : got.parameters[0])
    EXPECT_TRUE(std::isfinite(x));
}

TEST(guarded_device, kills_host_code_that_follows_its_addresses) {
  guarded_device device;
  auto arena = device.allocate(100);
  EXPECT_EQ(device.real(arena.get())[99], 0);
  EXPECT_EQ(device.place_in_arena(arena.get() + 7), 7u);
  EXPECT_FALSE(device.place_in_arena(&device));
  // Starts the program anew: a fork of one with threads may hang.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(arena[3] = 1, "");
  EXPECT_DEATH((void)*const_cast<volatile float*>(arena.get()), "");
}

TEST(guarded_device, does_nothing_before_somebody_waits_for_it) {
  guarded_device device;
  auto arena = device.allocate(100);
  device.real(arena.get())[0] = 5;
  device.clear(arena.get(), 1);
  device.mark(3);
  device.enqueue([&] { device.real(arena.get())[1] = 6; });
  EXPECT_EQ(device.real(arena.get())[0], 5);
  device.await(3);
  EXPECT_EQ(device.real(arena.get())[0], 0);
  EXPECT_EQ(device.real(arena.get())[1], 0);
  device.finish();
  EXPECT_EQ(device.real(arena.get())[1], 6);
}

TEST(compute_device, gives_the_weights_of_the_cpu_bit_by_bit) {
  const optimizer_spec specs[] = {
      {.kind = optimizer_kind::sgd, .lr = 0.05},
      {.kind = optimizer_kind::sgd,
       .lr = 0.05,
       .momentum = 0.9,
       .weight_decay = 0.01},
      {.kind = optimizer_kind::adamw, .lr = 0.01, .weight_decay = 0.1}};
  for (const optimizer_spec& spec : specs)
    for (const char* backend : {"local", "ring-shm", "ring-tcp"})
      for (size_t world : {1, 2, 3}) {
        SCOPED_TRACE(to_string(spec.kind) + " over " + backend + " of " +
                     std::to_string(world));
        cluster on_cpu(world, 11, device_job(spec), setup_of(nowhere, backend));
        cluster there(world, 11, device_job(spec),
                      setup_of(everywhere, backend));
        expect_equal(train(there), train(on_cpu));
        there.expect_each_once(3);
      }
}

// What a checkpoint copies is the state after its step, and no sooner one.
TEST(compute_device, is_copied_after_the_step_and_not_before) {
  job what = device_job({.kind = optimizer_kind::adamw, .lr = 0.01});
  what.checkpoint.every_steps = 1;
  what.checkpoint.every_s = 0;
  cluster_setup of_cpu = setup_of(nowhere);
  cluster_setup of_device = setup_of(everywhere);
  of_cpu.copies = of_device.copies = true;
  cluster on_cpu(2, 11, what, of_cpu);
  cluster there(2, 11, what, of_device);
  expect_equal(train(there), train(on_cpu));
  EXPECT_EQ(there.workers_[0]->copies.size(), on_cpu.traced_.size() - 1);
  EXPECT_EQ(there.workers_[0]->copies, on_cpu.workers_[0]->copies);
  EXPECT_EQ(there.workers_[1]->copies, on_cpu.workers_[0]->copies)
      << "all ranks, after the same steps";
}

TEST(compute_device, is_copied_no_more_often_than_the_job_says) {
  job what = device_job({.kind = optimizer_kind::adamw, .lr = 0.01});
  what.checkpoint.every_steps = 1;
  what.checkpoint.every_s = 86400;
  cluster_setup setup = setup_of(nowhere);
  setup.copies = true;
  cluster c(2, 11, what, setup);
  train(c);
  EXPECT_EQ(c.workers_[0]->copies.size(), 1u);
}

TEST(compute_device, trains_together_with_workers_on_the_cpu) {
  const optimizer_spec spec{.kind = optimizer_kind::adamw, .lr = 0.01};
  for (const char* backend : {"local", "ring-shm", "ring-tcp"}) {
    SCOPED_TRACE(backend);
    cluster on_cpu(4, 11, device_job(spec), setup_of(nowhere, backend));
    cluster mixed(4, 11, device_job(spec), setup_of(at_odd_ranks, backend));
    expect_equal(train(mixed), train(on_cpu));
  }
}

// A newcomer is sent parameters, the optimizer's state and buffers: from a
// device to a device, to a CPU, and from a CPU.
TEST(compute_device, sends_the_state_to_who_lacks_it) {
  const optimizer_spec spec{.kind = optimizer_kind::adamw, .lr = 0.01};
  for (const char* backend : {"local", "ring-shm", "ring-tcp"})
    for (const devices& guarded : {devices(everywhere), devices(at_odd_ranks)})
      for (uint32_t source : {0u, 1u}) {
        SCOPED_TRACE(std::string(backend) + " from " + std::to_string(source));
        cluster on_cpu(3, 11, device_job(spec), setup_of(nowhere, backend));
        cluster c(3, 11, device_job(spec), setup_of(guarded, backend));
        generation_start how;
        how.source = source;
        for (uint32_t rank = 0; rank < 3; ++rank) {
          if (rank == source)
            continue;
          how.stale.push_back(rank);
          auto& lacking = *c.workers_[rank];
          const std::vector<float> wrong(lacking.memory.count, 77);
          lacking.device->upload(lacking.memory.parameters.get(), wrong.data(),
                                 wrong.size());
          for (auto& state : lacking.update->state())
            lacking.device->upload(state.values.data(), wrong.data(),
                                   wrong.size());
        }
        expect_equal(train(c, how), train(on_cpu));
      }
}

// -- too little room ----------------------------------------------------------

/// Has room for so many rows; a pass over more adds to the gradients before it
/// fails.
class tight_model final : public model {
public:
  tight_model(compute_device& device, uint32_t room)
      : inner_(device), room_(room) {}
  const std::vector<parameter_info>& parameters() const override {
    return inner_.parameters();
  }
  size_t parameter_count() const override { return inner_.parameter_count(); }
  void initialize(std::span<float> values) override {
    inner_.initialize(values);
  }
  void bind(std::span<float> parameters, std::span<float> gradients) override {
    inner_.bind(parameters, gradients);
  }
  double accumulate(const batch_view& batch, uint64_t seed,
                    const std::function<void(size_t)>& ready) override {
    const double loss = inner_.accumulate(batch, seed, ready);
    passes.push_back(batch.rows);
    if (batch.rows > room_)
      throw out_of_memory("played");
    return loss;
  }
  evaluation_sums evaluate(const batch_view& batch) override {
    return inner_.evaluate(batch);
  }
  size_t statistics_count() const override { return 1; }
  void take_statistics(std::span<float> out) override {
    inner_.take_statistics(out);
  }
  void apply_statistics(std::span<const float> sums, double rows) override {
    inner_.apply_statistics(sums, rows);
  }
  std::vector<buffer> buffers() override { return inner_.buffers(); }

  std::vector<uint32_t> passes;

private:
  device_model inner_;
  uint32_t room_;
};

cluster_setup tight_setup(uint32_t room) {
  cluster_setup out = setup_of(everywhere);
  out.network = [room](const job&, compute_device& device) {
    return std::make_unique<tight_model>(device, room);
  };
  return out;
}

// Weights of unlike micro-batches agree but for rounding: the sum of a pass is
// rounded row by row.
TEST(compute_device, trains_on_in_smaller_passes_where_memory_runs_out) {
  job what = device_job({.kind = optimizer_kind::sgd, .lr = 0.05});
  what.train.micro_batch.reset();
  what.train.clip_norm.reset(); // or what was added twice would not show
  cluster roomy(2, 11, what, setup_of(everywhere));
  cluster tight(2, 11, what, tight_setup(4));
  const result expected = train(roomy);
  const result got = train(tight);
  ASSERT_EQ(got.parameters.size(), 2u);
  for (size_t j = 0; j < expected.parameters[0].size(); ++j)
    EXPECT_NEAR(got.parameters[0][j], expected.parameters[0][j], 1e-4);
  tight.expect_each_once(3);
  float running = tight.workers_[0]->network->buffers()[0].values[0];
  float wanted = roomy.workers_[0]->network->buffers()[0].values[0];
  EXPECT_NEAR(running, wanted, 1e-4 * wanted) << "statistics of dropped passes";
  for (auto& one : tight.workers_) {
    auto& passes = dynamic_cast<tight_model&>(*one->network).passes;
    EXPECT_LE(std::ranges::count_if(passes, [](auto n) { return n > 4; }), 3)
        << "tries again what did not fit";
    ASSERT_FALSE(one->shrunk.empty()) << "says nothing of it";
    EXPECT_LE(one->shrunk.back(), 4U);
  }
}

TEST(compute_device, names_the_rows_where_not_even_one_fits) {
  cluster c(1, 4, device_job({.kind = optimizer_kind::sgd, .lr = 0.05}),
            tight_setup(0));
  c.start();
  c.join();
  ASSERT_TRUE(c.workers_[0]->failed);
  EXPECT_EQ(c.workers_[0]->failed->code, errc::device_failed);
  EXPECT_NE(c.workers_[0]->failed->message.find("micro-batch of 1 row "),
            std::string::npos)
      << c.workers_[0]->failed->message;
}

TEST(staged_collective, copies_nothing_where_one_rank_sums_nothing) {
  guarded_device device;
  auto group = make_backend("ring");
  const std::shared_ptr<float[]> arena = device.allocate(20);
  std::vector<float> values(20);
  std::iota(values.begin(), values.end(), 1.0F);
  device.upload(arena.get(), values.data(), 20);
  auto mirror = group->allocate_arena(20);
  auto opening = group->prepare({.generation = generation{1}, .token = "t"});
  const collectives::deadline soon =
      std::chrono::steady_clock::now() + patience;
  auto staged = make_staged_collective(
      opening->connect({opening->address()}, soon), device, mirror, 20);
  const size_t before = device.uploads + device.downloads;
  staged->all_reduce(arena.get(), 20, collectives::element_type::float32, soon);
  EXPECT_EQ(device.uploads + device.downloads, before);
  std::vector<float> after(20);
  device.download(after.data(), arena.get(), 20);
  EXPECT_EQ(after, values);
}

TEST(compute_device, of_the_cpu_copies_nothing) {
  std::vector<float> values(10);
  host_rooms room;
  EXPECT_EQ(on_host(cpu_device(), values.data(), 10, room).data(),
            values.data());
  EXPECT_TRUE(room.empty());
  batch_view rows{.features = values.data(), .rows = 1};
  EXPECT_EQ(cpu_device().bring(0, rows, 10).features, values.data());
  EXPECT_EQ(cpu_device().bring(0, rows, 10).there.features, nullptr);
}

} // namespace
} // namespace ballast::gpu
