/// powersgd (Vogels, Karimireddy, Jaggi: "PowerSGD", NeurIPS 2019,
/// arXiv:1905.13727): each matrix as the product of two thin ones, found by one
/// power iteration a step that goes on from the step before.
///
/// P = M Q summed over ranks and orthonormalised; Q = M^T P summed over ranks;
/// the sum of all M is about P Q^T. What rank r leaves is M - P Q_r^T, so that
/// nothing is lost over all ranks.
///
/// A generation begins with a Q made of the job's seed, so that a newcomer has
/// the same one.
#include "gpu/reduction/codec.hpp"
#include "gpu/reduction/matrix_factors.hpp"
#include "runtime/base/random.hpp"

#include <vector>

namespace ballast::gpu {

namespace {

class powersgd_codec final : public codec {
public:
  powersgd_codec(uint64_t seed, const compressed_parts& parts)
      : seed_(seed), parts_(parts), right_(parts.buckets.size()),
        begun_(parts.buckets.size(), false) {}

  void begin_generation() override { begun_.assign(begun_.size(), false); }

  void exchange(size_t bucket, float* values, float* left, size_t,
                const exchange_among& how) override {
    const std::vector<matrix_part>& matrices = parts_.buckets[bucket].matrices;
    std::vector<float>& q = right_[bucket];
    if (!begun_[bucket])
      begin(bucket);
    begun_[bucket] = true;
    p_.resize(size_of(matrices, &matrix_part::rows));
    each(matrices, [&](const matrix_part& m, size_t p_at, size_t q_at) {
      times_right(m, values + m.at, &q[q_at], &p_[p_at]);
    });
    sum(p_, how);
    each(matrices, [&](const matrix_part& m, size_t p_at, size_t q_at) {
      orthonormalise(&p_[p_at], m.rows, m.rank);
      times_left(m, values + m.at, &p_[p_at], &q[q_at]);
      subtract_product(m, values + m.at, &p_[p_at], &q[q_at], left + m.at);
    });
    sum(q, how);
    each(matrices, [&](const matrix_part& m, size_t p_at, size_t q_at) {
      product(m, &p_[p_at], &q[q_at], values + m.at);
      // Only its direction is what the next step goes on from.
      for (size_t k = 0; k < m.rank; ++k)
        if (!normalise(&q[q_at + k * m.columns], m.columns))
          draw(m, k, how.key, &q[q_at + k * m.columns]);
    });
  }

private:
  static size_t size_of(const std::vector<matrix_part>& all,
                        size_t matrix_part::*length) {
    size_t out = 0;
    for (const matrix_part& one : all)
      out += one.rank * one.*length;
    return out;
  }

  template <class Each>
  static void each(const std::vector<matrix_part>& all, Each call) {
    size_t p_at = 0;
    size_t q_at = 0;
    for (const matrix_part& one : all) {
      call(one, p_at, q_at);
      p_at += one.rank * one.rows;
      q_at += one.rank * one.columns;
    }
  }

  static void sum(std::vector<float>& values, const exchange_among& how) {
    how.group.all_reduce(values.data(), values.size(),
                         collectives::element_type::float32, how.until);
  }

  void begin(size_t bucket) {
    const std::vector<matrix_part>& matrices = parts_.buckets[bucket].matrices;
    std::vector<float>& q = right_[bucket];
    q.resize(size_of(matrices, &matrix_part::columns));
    each(matrices, [&](const matrix_part& m, size_t, size_t q_at) {
      for (size_t k = 0; k < m.rank; ++k)
        draw(m, k, 0, &q[q_at + k * m.columns]);
    });
  }

  /// A random direction, the same on every rank.
  void draw(const matrix_part& of, size_t column, uint64_t key,
            float* to) const {
    const counter_random random(mix(seed_, key), mix(of.parameter, column));
    for (size_t j = 0; j < of.columns; ++j)
      to[j] = float(2 * random.unit(j) - 1);
    (void)normalise(to, of.columns);
  }

  const uint64_t seed_;
  const compressed_parts& parts_;
  std::vector<std::vector<float>> right_; // Q of each matrix, by bucket
  std::vector<bool> begun_;               // by bucket
  std::vector<float> p_;
};

} // namespace

std::unique_ptr<codec> make_powersgd_codec(uint64_t seed,
                                           const compressed_parts& parts) {
  return std::make_unique<powersgd_codec>(seed, parts);
}

} // namespace ballast::gpu
