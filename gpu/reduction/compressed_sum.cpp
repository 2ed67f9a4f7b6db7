#include "gpu/reduction/compressed_sum.hpp"

#include "gpu/reduction/feedback.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <utility>

namespace ballast::gpu {

namespace {

/// Numbers below 256, so that sums of them and of their squares are exact in
/// float32 over 256 ranks; of more, most.
constexpr size_t digest_pieces = 4;

void append_digest(uint32_t digest, std::vector<float>& to) {
  for (size_t i = 0; i < digest_pieces; ++i) {
    const auto piece = float(digest >> 8 * i & 255U);
    to.push_back(piece);
    to.push_back(piece * piece);
  }
}

/// Only equal numbers have a mean whose square is the mean of their squares:
/// every rank finds the same.
bool all_equal(const float* sums, size_t ranks) {
  const auto n = double(ranks);
  for (size_t i = 0; i < digest_pieces; ++i) {
    const auto sum = double(sums[2 * i]);
    const auto squares = double(sums[2 * i + 1]);
    if (sum * sum != n * squares)
      return false;
  }
  return true;
}

constexpr size_t ranks_checked_max = 256;

} // namespace

compressed_sum::compressed_sum(parts with)
    : with_(std::move(with)),
      parts_(lay_out_compressed(*with_.parameters, with_.layout, *with_.how)) {}

void compressed_sum::begin(const step_work& of) {
  began_ = computed_ = clock::now();
  residuals& unsent = *with_.unsent;
  const bool alone = of.group->size() == 1;
  if (!codec_)
    codec_ = make_codec(*with_.how, of.seed, parts_);
  if (generation_ != of.generation) {
    generation_ = of.generation;
    codec_->begin_generation();
    trial_.begin_generation();
  }
  step_ = of.at.step;
  key_ = mix(of.seed, value(step_));
  whole_ = of.nothing_left_out;
  compressed_ = !alone && !whole_ &&
                (with_.how->compression != compression_kind::automatic ||
                 trial_.compresses());
  digest_ = 0;
  if (compressed_)
    unsent.keep(with_.parameters->empty() ? 0
                                          : with_.parameters->back().offset +
                                                with_.parameters->back().count);
  unsent.begin(of.at.step);
  factor_ = unsent.kept() ? unsent.factor(double(of.samples)) : 0.0F;
}

void compressed_sum::sum(size_t bucket, float* gradients,
                         collectives::collective& group,
                         collectives::deadline until) {
  if (!compressed_)
    return as_they_are(bucket, gradients, group, until);
  if (parts_.buckets[bucket].count > 0)
    compress(bucket, gradients, group, until);
  if (bucket + 1 < parts_.buckets.size())
    return;
  // Others apply the step only after this rank has taken part in what follows.
  with_.unsent->complete();
  sum_plain(gradients, group, until);
}

/// What steps before have left is sent with them, and then nothing is left.
void compressed_sum::as_they_are(size_t bucket, float* gradients,
                                 collectives::collective& group,
                                 collectives::deadline until) {
  const gpu::bucket& all = with_.layout.buckets[bucket];
  if (factor_ > 0) {
    // Of this bucket: a matrix that is compressed with one may lie in several.
    // What is never compressed has nothing unsent.
    add_unsent({all.offset, all.count}, gradients);
    if (bucket + 1 == parts_.buckets.size())
      with_.unsent->complete_without_any();
  }
  if (group.size() > 1)
    group.all_reduce(gradients + all.offset, all.count,
                     collectives::element_type::float32, until);
}

void compressed_sum::add_unsent(arena_range to, float* gradients) {
  float* at = here(to, gradients);
  add_feedback(at, with_.unsent->values() + to.offset, factor_, at, to.count);
  back(to, gradients);
}

void compressed_sum::compress(size_t bucket, float* gradients,
                              collectives::collective& group,
                              collectives::deadline until) {
  const compressed_parts::of_bucket& what = parts_.buckets[bucket];
  residuals& unsent = *with_.unsent;
  const bool whole = what.ranges.size() == 1;
  float* values = nullptr;
  float* left = nullptr;
  if (whole) {
    values = here(what.ranges[0], gradients);
    left = unsent.pending() + what.ranges[0].offset;
  } else {
    packed_.resize(what.count);
    left_.resize(what.count);
    values = packed_.data();
    left = left_.data();
  }
  size_t at = 0;
  for (const arena_range& one : what.ranges) {
    const float* from = whole ? values : here(one, gradients);
    if (factor_ > 0)
      add_feedback(from, unsent.values() + one.offset, factor_, values + at,
                   one.count);
    else if (!whole)
      std::copy_n(from, one.count, values + at);
    at += one.count;
  }
  codec_->exchange(bucket, values, left, what.count,
                   {group, until, mix(key_, bucket), step_});
  digest_ = digest_ * 31 + digest_of_bits(values, what.count);
  at = 0;
  for (const arena_range& one : what.ranges) {
    if (!whole) {
      std::copy_n(values + at, one.count,
                  with_.device->is_host() ? gradients + one.offset
                                          : on_host_.data() + one.offset);
      std::copy_n(left + at, one.count, unsent.pending() + one.offset);
    }
    back(one, gradients);
    at += one.count;
  }
}

void compressed_sum::sum_plain(float* gradients, collectives::collective& group,
                               collectives::deadline until) {
  plain_.resize(parts_.plain_count);
  size_t at = 0;
  for (const arena_range& one : parts_.plain) {
    std::copy_n(here(one, gradients), one.count, plain_.data() + at);
    at += one.count;
  }
  append_digest(digest_, plain_);
  group.all_reduce(plain_.data(), plain_.size(),
                   collectives::element_type::float32, until);
  if (size_t(group.size()) <= ranks_checked_max &&
      !all_equal(plain_.data() + parts_.plain_count, size_t(group.size())))
    throw ballast_error(
        errc::other_bits,
        "the sums of compressed gradients (/train/compression) are not the "
        "same on all workers; nothing of the step was applied. Test their "
        "memory and cores, or set train.compression to \"none\"");
  at = 0;
  for (const arena_range& one : parts_.plain) {
    float* to = with_.device->is_host() ? gradients + one.offset
                                        : on_host_.data() + one.offset;
    std::copy_n(plain_.data() + at, one.count, to);
    back(one, gradients);
    at += one.count;
  }
}

void compressed_sum::finished(collectives::collective& group,
                              collectives::deadline until) {
  if (with_.how->compression != compression_kind::automatic || whole_)
    return;
  const clock::time_point now = clock::now();
  const std::chrono::duration<double> all = now - began_;
  const std::chrono::duration<double> waited = now - computed_;
  trial_.took(all.count(), waited.count(), group, until);
}

/// The values where host code may change them.
float* compressed_sum::here(arena_range of, float* gradients) {
  if (with_.device->is_host())
    return gradients + of.offset;
  if (on_host_.empty())
    on_host_.resize(with_.parameters->back().offset +
                    with_.parameters->back().count);
  with_.device->download(on_host_.data() + of.offset, gradients + of.offset,
                         of.count);
  return on_host_.data() + of.offset;
}

void compressed_sum::back(arena_range of, float* gradients) {
  if (!with_.device->is_host())
    with_.device->upload(gradients + of.offset, on_host_.data() + of.offset,
                         of.count);
}

} // namespace ballast::gpu
