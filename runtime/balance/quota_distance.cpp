#include "runtime/balance/quota_distance.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::balance {
namespace {

// Enough to decide between otherwise equal pieces ...
constexpr double weight_in_tolerance = 0.2;
// ... and to outweigh the labels of a piece.
constexpr double weight_beyond_tolerance = 2;
constexpr double weight_of_more_max = 16;

} // namespace

bool movable_piece::has(uint32_t label) const {
  return std::any_of(labels.begin(), labels.end(),
                     [&](const label_rows& l) { return l.label == label; });
}

movable_piece part_of(const movable_piece& piece, uint32_t begin,
                      uint32_t end) {
  movable_piece out = piece;
  out.what.begin = begin;
  out.what.end = end;
  const double part = double(end - begin) / double(rows(piece.what));
  for (label_rows& some : out.labels)
    some.rows *= part;
  return out;
}

quota_distance::quota_distance(const label_counts& target,
                               double size_tolerance)
    : size_tolerance_(size_tolerance), surplus_(target.rows.size()) {
  for (size_t w = 0; w < target.workers; ++w) {
    sizes_.push_back(int64_t(target.of_worker(w)));
    excess_.push_back(-sizes_.back());
    for (size_t c = 0; c < target.classes; ++c)
      surplus_[c * target.workers + w] = -double(target.at(w, c));
  }
  int64_t largest =
      sizes_.empty() ? 0 : *std::max_element(sizes_.begin(), sizes_.end());
  for (int64_t size : sizes_)
    weight_of_more_.push_back(
        size == 0
            ? weight_of_more_max
            : std::min(weight_of_more_max, double(largest) / double(size)));
}

void quota_distance::add(const movable_piece& piece, uint32_t rank) {
  excess_[rank] += rows(piece.what);
  for (const label_rows& part : piece.labels)
    surplus_[part.label * workers() + rank] += part.rows;
}

void quota_distance::remove(const movable_piece& piece, uint32_t rank) {
  excess_[rank] -= rows(piece.what);
  for (const label_rows& part : piece.labels)
    surplus_[part.label * workers() + rank] -= part.rows;
}

double quota_distance::total() const {
  double out = 0;
  for (double rows : surplus_)
    out += std::abs(rows) / 2;
  for (uint32_t w = 0; w < workers(); ++w)
    out += size_error(w, excess_[w]);
  return out;
}

double quota_distance::error(uint32_t rank) const {
  double out = 0;
  for (size_t at = rank; at < surplus_.size(); at += workers())
    out += std::abs(surplus_[at]) / 2;
  return out + size_error(rank, excess_[rank]);
}

bool quota_distance::size_in_tolerance(uint32_t rank) const {
  return std::abs(double(excess_[rank])) <=
         size_tolerance_ * double(sizes_[rank]);
}

double quota_distance::size_error(uint32_t rank, int64_t excess) const {
  if (!sizes_count_)
    return 0;
  double error = std::abs(double(excess));
  double beyond = std::max(0.0, error - size_tolerance_ * double(sizes_[rank]));
  double weight = excess > 0 ? weight_of_more_[rank] : 1;
  return weight *
         (weight_in_tolerance * error + weight_beyond_tolerance * beyond) / 2;
}

double quota_distance::label_change(const movable_piece& piece, uint32_t rank,
                                    double sign) const {
  double gain = 0;
  for (const label_rows& part : piece.labels) {
    double now = surplus_[part.label * workers() + rank];
    gain += std::abs(now) - std::abs(now + sign * part.rows);
  }
  return gain / 2;
}

double quota_distance::gain_of_leaving(const movable_piece& piece,
                                       uint32_t rank) const {
  return label_change(piece, rank, -1) + size_error(rank, excess_[rank]) -
         size_error(rank, excess_[rank] - rows(piece.what));
}

double quota_distance::gain_of_coming(const movable_piece& piece,
                                      uint32_t rank) const {
  return label_change(piece, rank, 1) + size_error(rank, excess_[rank]) -
         size_error(rank, excess_[rank] + rows(piece.what));
}

void quota_distance::gains_of_coming(const movable_piece& piece,
                                     std::vector<double>& out) const {
  if (!sizes_count_)
    std::fill(out.begin(), out.end(), 0);
  else
    for (uint32_t w = 0; w < workers(); ++w)
      out[w] = 2 * (size_error(w, excess_[w]) -
                    size_error(w, excess_[w] + rows(piece.what)));
  for (const label_rows& part : piece.labels) {
    const double* now = &surplus_[part.label * workers()];
    for (size_t w = 0; w < workers(); ++w)
      out[w] += std::abs(now[w]) - std::abs(now[w] + part.rows);
  }
  for (double& gain : out)
    gain /= 2;
}

double quota_distance::gain(const movable_piece& piece, uint32_t from,
                            uint32_t to) const {
  return gain_of_leaving(piece, from) + gain_of_coming(piece, to);
}

double quota_distance::label_gain(const movable_piece& piece, uint32_t from,
                                  uint32_t to) const {
  return label_change(piece, from, -1) + label_change(piece, to, 1);
}

} // namespace ballast::balance
