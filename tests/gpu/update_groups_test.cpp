/// Goal: parameters that a job freezes keep their bits, whatever the optimizer
/// and whatever their gradients; others learn at the rate of their pattern, as
/// if each had an optimizer of its own. Method: groups of an emulated model's
/// pieces; optimizers side by side; the buckets that are left.
#include "gpu/bucket_layout.hpp"
#include "gpu/emulated_model.hpp"
#include "gpu/inherited_state.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::gpu {
namespace {

using testing::HasSubstr;

constexpr size_t count = 1037;

std::vector<float> noise(uint64_t stream, size_t of = count) {
  counter_random random(7, stream);
  std::vector<float> out(of);
  for (size_t i = 0; i < of; ++i)
    out[i] = float(2 * random.unit(i) - 1);
  return out;
}

std::vector<optimizer_spec> all_kinds() {
  return {{.kind = optimizer_kind::sgd, .lr = 0.1, .weight_decay = 0.1},
          {.kind = optimizer_kind::sgd,
           .lr = 0.1,
           .momentum = 0.9,
           .weight_decay = 0.1},
          {.kind = optimizer_kind::adam, .lr = 0.01, .weight_decay = 0.1},
          {.kind = optimizer_kind::adamw, .lr = 0.01, .weight_decay = 0.1}};
}

const update_groups some_still{
    {{100, 50, 1}, {150, 300, 2.5}, {700, 337, 1}}, {{0, 100}, {450, 250}}, 0};

TEST(update_groups, leaves_what_is_frozen_with_its_state_as_it_is) {
  for (const optimizer_spec& spec : all_kinds()) {
    auto tested = make_optimizer(spec, count);
    tested->arrange(some_still);
    const std::vector<float> before = noise(0);
    std::vector<float> p = before;
    for (uint64_t step = 1; step <= 5; ++step)
      tested->apply(p, noise(step), 0.25, spec.lr, step);
    size_t same = 0;
    for (const update_range& one : some_still.still)
      for (size_t i = one.first; i < one.first + one.count; ++i) {
        ASSERT_EQ(p[i], before[i]) << i;
        for (const auto& state : tested->state())
          ASSERT_EQ(state.values[i], 0) << state.name << i;
      }
    for (const update_range& one : some_still.changed)
      for (size_t i = one.first; i < one.first + one.count; ++i)
        same += p[i] == before[i];
    EXPECT_LT(same, 3U);
  }
}

TEST(update_groups, updates_each_range_as_an_optimizer_of_its_own_would) {
  for (const optimizer_spec& spec : all_kinds()) {
    auto tested = make_optimizer(spec, count);
    tested->arrange(some_still);
    std::vector<float> p = noise(0), expected = p;
    std::vector<std::unique_ptr<optimizer>> own;
    for (const update_range& one : some_still.changed)
      own.push_back(make_optimizer(spec, one.count));
    for (uint64_t step = 1; step <= 5; ++step) {
      const std::vector<float> g = noise(step);
      tested->apply(p, g, 0.25, spec.lr, step);
      for (size_t i = 0; i < own.size(); ++i) {
        const update_range& one = some_still.changed[i];
        own[i]->apply(std::span(expected).subspan(one.first, one.count),
                      std::span(g).subspan(one.first, one.count), 0.25,
                      spec.lr * one.lr_factor, step);
      }
    }
    EXPECT_EQ(p, expected) << to_string(spec.kind);
  }
}

TEST(update_groups, of_nothing_special_are_no_groups) {
  job what;
  what.model.kind = model_kind::emulated;
  what.model.parameters = 10;
  const update_groups found = arrange_updates(what, emulated_model(what.model));
  EXPECT_TRUE(found.changed.empty());
  EXPECT_TRUE(found.still.empty());
}

TEST(update_groups, counts_the_updates_before_the_run_for_adams_bias) {
  for (const optimizer_kind kind :
       {optimizer_kind::adam, optimizer_kind::adamw}) {
    const optimizer_spec spec{.kind = kind, .lr = 0.01};
    auto whole = make_optimizer(spec, count);
    auto first = make_optimizer(spec, count);
    auto second = make_optimizer(spec, count);
    std::vector<float> p = noise(0), q = p;
    for (uint64_t step = 1; step <= 6; ++step) {
      whole->apply(p, noise(step), 0.5, spec.lr, step);
      if (step <= 3)
        first->apply(q, noise(step), 0.5, spec.lr, step);
    }
    for (size_t i = 0; i < 2; ++i)
      std::ranges::copy(first->state()[i].values,
                        second->state()[i].values.begin());
    second->arrange({{}, {}, 3});
    for (uint64_t step = 1; step <= 3; ++step)
      second->apply(q, noise(step + 3), 0.5, spec.lr, step);
    EXPECT_EQ(p, q);
  }
}

/// Three whole pieces and one short one.
struct pieces {
  pieces() {
    what.model.kind = model_kind::emulated;
    what.model.parameters = 3 * emulated_model::piece_max + 5;
    made.emplace(what.model);
  }
  failure refused() {
    try {
      (void)arrange_updates(what, *made);
    } catch (const ballast_error& e) {
      return e.what_failed();
    }
    return {};
  }
  job what;
  std::optional<emulated_model> made;
};

TEST(update_groups, come_from_patterns_of_names) {
  constexpr size_t piece = emulated_model::piece_max;
  pieces of;
  of.what.init.freeze = {"*0001"};
  of.what.train.optimizer.lr_of = {{"weight.*", "0.5"}, {"weight.0003", "8"}};
  const update_groups found = arrange_updates(of.what, *of.made);
  ASSERT_EQ(found.still.size(), 1U);
  EXPECT_EQ(found.still[0].first, piece);
  EXPECT_EQ(found.still[0].count, piece);
  ASSERT_EQ(found.changed.size(), 3U);
  EXPECT_EQ(found.changed[0].lr_factor, 0.5);
  EXPECT_EQ(found.changed[1].first, 2 * piece);
  EXPECT_EQ(found.changed[1].lr_factor, 0.5);
  EXPECT_EQ(found.changed[2].count, 5U);
  EXPECT_EQ(found.changed[2].lr_factor, 8);
}

TEST(update_groups, refuse_a_pattern_that_fits_nothing_with_the_names) {
  pieces of;
  of.what.init.freeze = {"*0001", "fc1.*"};
  EXPECT_EQ(of.refused().pointer, "/init/freeze/1");
  EXPECT_THAT(of.refused().message,
              HasSubstr("\"fc1.*\" fits no parameter; there are "
                        "'weight.0000', 'weight.0001'"));
  of.what.init.freeze = {};
  of.what.train.optimizer.lr_of = {{"fc1.*", "2"}};
  EXPECT_EQ(of.refused().pointer, "/train/optimizer/lr_of/fc1.*");
}

TEST(update_groups, refuse_to_freeze_everything) {
  pieces of;
  of.what.init.freeze = {"weight*"};
  EXPECT_EQ(of.refused().pointer, "/init/freeze");
}

TEST(bucket_layout, leaves_out_what_is_frozen_and_nothing_else) {
  const std::vector<parameter_info> parameters = lay_out(
      {{"a", {1000}}, {"b", {50}}, {"c", {3000}}, {"d", {70}}, {"e", {900}}});
  const auto all = make_bucket_layout(parameters, 4 * 256, 4 * 1024);
  const std::vector<update_range> still{{0, 1000}, {1050, 3000}};
  const auto left = leave_out(all, parameters, still);
  std::vector<int> in(5020, 0);
  size_t behind = SIZE_MAX; // they follow each other from the end on
  for (const bucket& one : left.buckets) {
    EXPECT_GT(one.count, 0U);
    EXPECT_LE(one.offset + one.count, behind);
    behind = one.offset;
    for (size_t i = one.offset; i < one.offset + one.count; ++i)
      ++in[i];
  }
  for (size_t i = 0; i < in.size(); ++i) {
    const bool frozen = i < 1000 || (i >= 1050 && i < 4050);
    ASSERT_EQ(in[i], frozen ? 0 : 1) << i;
  }
  for (size_t i : {0, 2})
    EXPECT_GT(left.first[i], left.last[i]) << i;
  for (size_t i : {1, 3, 4})
    EXPECT_LE(left.first[i], left.last[i]) << i;
  EXPECT_NE(layout_hash(all), layout_hash(left));
}

} // namespace
} // namespace ballast::gpu
