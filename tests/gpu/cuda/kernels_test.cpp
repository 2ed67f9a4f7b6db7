// Goal: every kernel gives the bits of its reference on the CPU, for lengths
// around all its boundaries and arrays that begin anywhere. Needs a GPU.
#include "gpu/cuda/kernels.hpp"
#include "gpu/kernels/bucket_copy.hpp"
#include "gpu/kernels/label_histogram.hpp"
#include "gpu/optimizer.hpp"
#include "tests/gpu/cuda/device_fixture.hpp"

#include <limits>

namespace ballast::gpu {
namespace {

using ballast::testing::expect_equal_bits;
using ballast::testing::lengths;
using ballast::testing::noise;
using ballast::testing::shifts;

class cuda_kernels : public ballast::testing::device_fixture {};

TEST_F(cuda_kernels, scale_copy_equals_its_reference) {
  for (size_t count : lengths)
    for (size_t from_shift : shifts)
      for (size_t to_shift : shifts) {
        const std::vector<float> from = noise(count + from_shift, 1);
        std::vector<float> expected(count + to_shift + 1, 9);
        device_memory<float> source(from), target(expected);
        scale_copy(from.data() + from_shift, expected.data() + to_shift, count,
                   0.3F);
        launch_scale_copy(source.data() + from_shift, target.data() + to_shift,
                          count, 0.3F, nullptr);
        expect_equal_bits(target.values(), expected, "scale_copy");
      }
}

TEST_F(cuda_kernels, scale_copy_works_in_place) {
  std::vector<float> expected = noise(100001, 1);
  device_memory<float> both(expected);
  scale_copy(expected.data(), expected.data(), expected.size(), -1.7F);
  launch_scale_copy(both.data(), both.data(), expected.size(), -1.7F, nullptr);
  expect_equal_bits(both.values(), expected, "in place");
}

TEST_F(cuda_kernels, write_trailer_equals_its_reference) {
  worker::trailer counts;
  counts.set_samples(129);
  counts.set_loss_sum(4);
  counts.raise_plan_lane(plan_number{6});
  counts.raise_pause_lane();
  const std::vector<float> loss = {0.1F};
  device_memory<float> loss_sum(loss);
  for (bool from_device : {true, false}) {
    std::vector<float> expected(worker::trailer::floats + 2, 9);
    device_memory<float> target(expected);
    write_trailer(counts, from_device ? loss.data() : nullptr,
                  expected.data() + 1);
    launch_write_trailer(counts, from_device ? loss_sum.data() : nullptr,
                         target.data() + 1, nullptr);
    expect_equal_bits(target.values(), expected, "trailer");
  }
}

TEST_F(cuda_kernels, clip_by_norm_equals_its_reference) {
  for (size_t count : lengths)
    for (size_t shift : shifts)
      for (double clip_norm : {0.0, 0.5, 1e9}) {
        const std::vector<float> values = noise(count + shift, 2);
        device_memory<float> gradients(values);
        device_memory<double> pieces(norm_pieces(count));
        device_memory<clipped> out(1);
        launch_clip_by_norm(gradients.data() + shift, count, 1.0 / 96,
                            clip_norm, pieces.data(), out.data(), nullptr);
        const clipped got = out.values()[0];
        const clipped expected = clip_by_norm(
            sum_of_squares(values.data() + shift, count), 1.0 / 96, clip_norm);
        EXPECT_EQ(got.norm, expected.norm) << count << " from " << shift;
        EXPECT_EQ(got.scale, expected.scale) << count << " from " << shift;
        EXPECT_EQ(got.worst, expected.worst) << count << " from " << shift;
      }
}

TEST_F(cuda_kernels, clip_by_norm_of_a_broken_gradient_is_no_number) {
  std::vector<float> values = noise(50000, 2);
  values[40000] = std::numeric_limits<float>::quiet_NaN();
  device_memory<float> gradients(values);
  device_memory<double> pieces(norm_pieces(values.size()));
  device_memory<clipped> out(1);
  launch_clip_by_norm(gradients.data(), values.size(), 1, 1, pieces.data(),
                      out.data(), nullptr);
  EXPECT_TRUE(std::isnan(out.values()[0].norm));
}

/// Three steps of the kernel beside those of gpu/optimizer.cpp. `launch` gets
/// p, g, both states (null where there is none) and the step.
template <class Launch>
void expect_same_steps(const optimizer_spec& spec, Launch launch) {
  for (size_t count : lengths)
    for (size_t shift : shifts) {
      auto reference = make_optimizer(spec, count);
      std::vector<float> p = noise(count, 3);
      device_memory<float> device_p(count + shift);
      device_memory<float> device_g(count + shift);
      std::vector<device_memory<float>> states;
      for (auto& state : reference->state()) {
        states.emplace_back(count + shift);
        if (count > 0)
          check_cuda(cudaMemcpy(states.back().data() + shift,
                                state.values.data(), count * sizeof(float),
                                cudaMemcpyHostToDevice),
                     "state");
      }
      if (count == 0)
        continue;
      const size_t bytes = count * sizeof(float);
      check_cuda(cudaMemcpy(device_p.data() + shift, p.data(), bytes,
                            cudaMemcpyHostToDevice),
                 "parameters");
      for (uint64_t step = 1; step <= 3; ++step) {
        const std::vector<float> g = noise(count, 10 + step);
        check_cuda(cudaMemcpy(device_g.data() + shift, g.data(), bytes,
                              cudaMemcpyHostToDevice),
                   "gradients");
        reference->apply(p, g, 0.25, spec.lr, step);
        auto at = [&](size_t i) {
          return i < states.size() ? states[i].data() + shift : nullptr;
        };
        launch(device_p.data() + shift, device_g.data() + shift, at(0), at(1),
               count, step);
      }
      std::vector<float> got(count);
      check_cuda(cudaMemcpy(got.data(), device_p.data() + shift, bytes,
                            cudaMemcpyDeviceToHost),
                 "parameters");
      expect_equal_bits(got, p, to_string(spec.kind).c_str());
      auto expected = reference->state();
      for (size_t i = 0; i < states.size(); ++i) {
        check_cuda(cudaMemcpy(got.data(), states[i].data() + shift, bytes,
                              cudaMemcpyDeviceToHost),
                   "state");
        expect_equal_bits(got,
                          std::vector<float>(expected[i].values.begin(),
                                             expected[i].values.end()),
                          expected[i].name.c_str());
      }
    }
}

TEST_F(cuda_kernels, sgd_equals_the_optimizer_of_the_cpu) {
  const optimizer_spec spec{
      .kind = optimizer_kind::sgd, .lr = 0.1, .weight_decay = 0.01};
  expect_same_steps(
      spec, [&](float* p, float* g, float*, float*, size_t n, uint64_t) {
        launch_sgd(p, g, n, make_sgd_rule(spec, 0.25, spec.lr), {}, nullptr);
      });
}

TEST_F(cuda_kernels, sgd_with_momentum_equals_the_optimizer_of_the_cpu) {
  const optimizer_spec spec{.kind = optimizer_kind::sgd,
                            .lr = 0.1,
                            .momentum = 0.9,
                            .weight_decay = 0.01};
  expect_same_steps(spec, [&](float* p, float* g, float* velocity, float*,
                              size_t n, uint64_t) {
    launch_momentum_sgd(p, g, velocity, n, make_sgd_rule(spec, 0.25, spec.lr),
                        {}, nullptr);
  });
}

TEST_F(cuda_kernels, adam_and_adamw_equal_the_optimizer_of_the_cpu) {
  for (const optimizer_kind kind :
       {optimizer_kind::adam, optimizer_kind::adamw}) {
    const optimizer_spec spec{.kind = kind, .lr = 0.01, .weight_decay = 0.1};
    expect_same_steps(spec, [&](float* p, float* g, float* m, float* v,
                                size_t n, uint64_t step) {
      launch_adam(p, g, m, v, n, make_adam_rule(spec, 0.25, spec.lr, step), {},
                  nullptr);
    });
  }
}

TEST_F(cuda_kernels, optimizers_take_the_scale_that_clipping_left) {
  const size_t count = 10007;
  const optimizer_spec spec{
      .kind = optimizer_kind::adamw, .lr = 0.01, .weight_decay = 0.1};
  std::vector<float> p = noise(count, 3);
  const std::vector<float> g = noise(count, 4);
  device_memory<float> device_p(p), device_g(g);
  const std::vector<float> zero(count);
  device_memory<float> m(zero), v(zero);
  device_memory<double> pieces(norm_pieces(count));
  device_memory<clipped> scale(1);
  launch_clip_by_norm(device_g.data(), count, 0.125, 1, pieces.data(),
                      scale.data(), nullptr);
  launch_adam(device_p.data(), device_g.data(), m.data(), v.data(), count,
              make_adam_rule(spec, 99, spec.lr, 1),
              {scale.data(), largest_gradient(spec)}, nullptr);
  const clipped expected =
      clip_by_norm(sum_of_squares(g.data(), count), 0.125, 1);
  ASSERT_LT(expected.scale, 0.125); // something was clipped
  make_optimizer(spec, count)->apply(p, g, expected.scale, spec.lr, 1);
  expect_equal_bits(device_p.values(), p, "clipped adamw");
}

TEST_F(cuda_kernels, no_optimizer_applies_a_broken_gradient) {
  const size_t count = 70001;
  const std::vector<float> before = noise(count, 3);
  std::vector<float> broken = noise(count, 4);
  broken[60000] = std::numeric_limits<float>::infinity();
  device_memory<float> g(broken);
  device_memory<double> pieces(norm_pieces(count));
  device_memory<clipped> found(1);
  launch_clip_by_norm(g.data(), count, 0.125, 0, pieces.data(), found.data(),
                      nullptr);
  const update_gate gate{found.data(), 1e30};
  device_memory<float> p(before), m(before), v(before);
  const optimizer_spec spec{.lr = 0.01};
  launch_sgd(p.data(), g.data(), count, make_sgd_rule(spec, 1, 0.01), gate,
             nullptr);
  launch_momentum_sgd(p.data(), g.data(), m.data(), count,
                      make_sgd_rule(spec, 1, 0.01), gate, nullptr);
  launch_adam(p.data(), g.data(), m.data(), v.data(), count,
              make_adam_rule(spec, 1, 0.01, 1), gate, nullptr);
  for (const device_memory<float>* one : {&p, &m, &v})
    expect_equal_bits(one->values(), before, "untouched");
}

TEST_F(cuda_kernels, label_histogram_equals_its_reference) {
  counter_random random(11, 7);
  for (uint32_t classes : {1u, 2u, 10u, 383u, 1000u, 12287u, 12288u, 50000u})
    for (size_t count : lengths)
      for (size_t shift : shifts) {
        std::vector<int32_t> labels(count + shift);
        for (size_t i = 0; i < labels.size(); ++i) // some outside
          labels[i] = int32_t(random.unit(i) * (classes + 2)) - 1;
        std::vector<uint64_t> expected(classes + 1, 5);
        device_memory<int32_t> device_labels(labels);
        device_memory<uint64_t> counts(expected);
        label_histogram(labels.data() + shift, count, classes, expected.data());
        launch_label_histogram(device_labels.data() + shift, count, classes,
                               counts.data(), nullptr);
        expect_equal_bits(counts.values(), expected, "label_histogram");
      }
}

template <class Stored>
void expect_same_rows(float scale, float offset) {
  counter_random random(11, 8);
  const uint32_t rows = 257;
  for (uint32_t features : {1u, 3u, 4u, 16u, 784u, 785u})
    for (size_t count : {0u, 1u, 7u, 1000u})
      for (size_t shift : shifts) {
        std::vector<Stored> values(size_t(rows) * features + shift);
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = Stored(random.unit(i) * 256);
        std::vector<uint32_t> index(count);
        for (size_t i = 0; i < count; ++i) // the last row does not exist
          index[i] = uint32_t(random.unit(i) * (rows + 1));
        std::vector<float> expected(count * features + shift, 9);
        device_memory<Stored> from(values);
        device_memory<uint32_t> device_index(index);
        device_memory<float> to(expected);
        gather_rows(row_block<Stored>{values.data() + shift, rows, features},
                    index.data(), count, scale, offset,
                    expected.data() + shift);
        launch_gather_rows(
            row_block<Stored>{from.data() + shift, rows, features},
            device_index.data(), count, scale, offset, to.data() + shift,
            nullptr);
        expect_equal_bits(to.values(), expected, "gather_rows");
      }
}

TEST_F(cuda_kernels, gather_rows_of_bytes_equals_its_reference) {
  expect_same_rows<uint8_t>(1.0F / 255, -0.3F);
}

TEST_F(cuda_kernels, gather_rows_of_floats_equals_its_reference) {
  expect_same_rows<float>(0.7F, 0.1F);
}

TEST_F(cuda_kernels, runs_through_the_shared_object_as_well) {
  const failure why = try_cuda_device(0);
  EXPECT_FALSE(why) << why.message;
}

} // namespace
} // namespace ballast::gpu
