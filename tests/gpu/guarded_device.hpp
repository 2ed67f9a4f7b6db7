/// A device without hardware whose memory the host cannot touch: host code that
/// follows an address of its arenas dies at once (guarded_memory.hpp), only the
/// device's own operations reach the values.
///
/// What is enqueued is done as late as the interface allows: at `await`,
/// `finish`, and nowhere else. A missing one shows as wrong values.
#pragma once

#include "gpu/device.hpp"
#include "tests/gpu/guarded_memory.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace ballast::gpu {

class guarded_device final : public compute_device {
public:
  explicit guarded_device(std::string name = "guarded", std::string bus = {})
      : name_(std::move(name)), bus_(std::move(bus)) {}

  std::string name() const override { return name_; }
  std::string bus() const override { return bus_; }
  model_place place() const override {
    return {.elsewhere = true,
            .cuda = -1,
            .reach = [memory = memory_](const void* at) {
              return memory->reach(at);
            }};
  }

  std::shared_ptr<float[]> allocate(size_t floats,
                                    collectives::collective_backend&) override {
    return allocate(floats);
  }
  std::shared_ptr<float[]> allocate(size_t floats) {
    largest = std::max(largest.load(), floats);
    return memory_->take(std::max<size_t>(floats, 16) * sizeof(float));
  }
  std::optional<size_t> place_in_arena(const void* at) const override {
    const std::optional<size_t> bytes = memory_->place_of(at);
    return bytes ? std::optional(*bytes / sizeof(float)) : std::nullopt;
  }

  void clear(float* to, size_t count) override {
    enqueue([this, to, count] { std::fill_n(real(to), count, 0.0F); });
  }
  void upload(float* to, const float* from, size_t count) override {
    std::copy_n(from, count, real(to));
    ++uploads;
  }
  void download(float* to, const float* from, size_t count) override {
    std::copy_n(real(from), count, to);
    ++downloads;
  }
  std::shared_ptr<float[]> pin(std::shared_ptr<float[]> memory,
                               size_t) override {
    return memory;
  }

  std::unique_ptr<optimizer>
  make_optimizer(const optimizer_spec& spec, size_t count,
                 collectives::collective_backend&) override {
    return std::make_unique<update>(*this, spec, count);
  }

  batch_view bring(size_t slot, const batch_view& rows,
                   uint32_t features) override {
    batch_view out = rows;
    slot_& mine = slots_[slot];
    auto copy = [&](auto* from, size_t count, std::shared_ptr<float[]>& to) {
      using value =
          std::remove_const_t<std::remove_reference_t<decltype(*from)>>;
      to = memory_->take(std::max<size_t>(count * sizeof(value), 64));
      std::copy_n(from, count, reinterpret_cast<value*>(real(to.get())));
      return reinterpret_cast<const value*>(to.get());
    };
    out.there.features =
        copy(rows.features, size_t(rows.rows) * features, mine.features);
    if (rows.labels)
      out.there.labels = copy(rows.labels, rows.rows, mine.labels);
    if (rows.targets)
      out.there.targets = copy(rows.targets, rows.rows, mine.targets);
    return out;
  }

  void mark(size_t bucket) override {
    std::lock_guard lock(mutex_);
    marks_[bucket] = enqueued_;
  }
  void await(size_t bucket) override {
    uint64_t until = 0;
    {
      std::lock_guard lock(mutex_);
      until = marks_.at(bucket);
    }
    do_until(until);
  }
  void finish() override { do_until(UINT64_MAX); }

  // -- what code of the device does -------------------------------------------

  void enqueue(std::function<void()> what) {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(what));
    ++enqueued_;
  }
  template <class T>
  T* real(T* at) const {
    return static_cast<T*>(memory_->reach(at));
  }

  std::atomic<size_t> largest{0}; // arena, in floats
  std::atomic<size_t> uploads{0};
  std::atomic<size_t> downloads{0};

private:
  struct slot_ {
    std::shared_ptr<float[]> features, labels, targets;
  };

  void do_until(uint64_t number) {
    std::lock_guard one_at_a_time(working_);
    while (true) {
      std::function<void()> next;
      {
        std::lock_guard lock(mutex_);
        if (done_ >= number || queue_.empty())
          return;
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      next();
      std::lock_guard lock(mutex_);
      ++done_;
    }
  }

  /// The CPU's rules, over state that lies on the device.
  class update final : public optimizer {
  public:
    update(guarded_device& of, const optimizer_spec& spec, size_t count)
        : of_(of), rules_(gpu::make_optimizer(spec, count)), count_(count) {
      for (const state_vector& one : rules_->state())
        states_.push_back({one.name, of.allocate(count)});
    }
    void apply(std::span<float> p, std::span<const float> g, double scale,
               double lr, uint64_t step) override {
      apply_clipped(p, g, scale, {}, lr, step);
    }
    bool apply_clipped(std::span<float> p, std::span<const float> g,
                       double inverse_samples, std::optional<double> clip_norm,
                       double lr, uint64_t step) override {
      bool done = false;
      of_.enqueue([=, this, &done] {
        rules_->arrange(groups());
        auto rules = rules_->state();
        for (size_t i = 0; i < states_.size(); ++i)
          std::copy_n(of_.real(states_[i].second.get()), count_,
                      rules[i].values.data());
        done = rules_->apply_clipped({of_.real(p.data()), p.size()},
                                     {of_.real(g.data()), g.size()},
                                     inverse_samples, clip_norm, lr, step);
        for (size_t i = 0; i < states_.size(); ++i)
          std::copy_n(rules[i].values.data(), count_,
                      of_.real(states_[i].second.get()));
      });
      return of_.finish(), done;
    }
    std::vector<state_vector> state() override {
      std::vector<state_vector> out;
      for (auto& [name, values] : states_)
        out.push_back({name, {values.get(), count_}});
      return out;
    }

  private:
    guarded_device& of_;
    std::unique_ptr<optimizer> rules_;
    std::vector<std::pair<std::string, std::shared_ptr<float[]>>> states_;
    size_t count_;
  };

  std::string name_;
  std::string bus_;
  std::shared_ptr<guarded_memory> memory_ = std::make_shared<guarded_memory>();
  slot_ slots_[slots];
  std::mutex working_;
  std::mutex mutex_; // guards what follows
  std::deque<std::function<void()>> queue_;
  std::map<size_t, uint64_t> marks_;
  uint64_t enqueued_ = 0;
  uint64_t done_ = 0;
};

} // namespace ballast::gpu
