#include "collectives/stream_fill.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace ballast::collectives {

namespace {

constexpr uint32_t op_fill = 6; // beside those of stream_algorithms

stream_label label_of(int index, int stripes, slice part) {
  return {op_fill,
          static_cast<uint32_t>(stripes) << 16 | static_cast<uint32_t>(index),
          part.end - part.begin};
}

/// A part of the bytes on its way to its place.
class arriving_part final : public byte_sink {
public:
  arriving_part(char* data, slice part)
      : data_(data), at_(part.begin), end_(part.end) {}
  bool done() const override { return at_ == end_; }
  std::span<char> room() override { return {data_ + at_, end_ - at_}; }
  void arrived(size_t bytes) override { at_ += bytes; }
  size_t coming() const override { return end_ - at_; }

  size_t at() const { return at_; }
  size_t end() const { return end_; }

private:
  char* data_;
  size_t at_;
  size_t end_;
};

/// Sends all bytes on in their order, each as soon as it is here.
class forwarding_source final : public byte_source {
public:
  /// `parts` ascending; together they are all of `bytes`.
  forwarding_source(const char* data, size_t bytes,
                    const std::vector<arriving_part>& parts)
      : data_(data), bytes_(bytes), parts_(parts) {}
  bool done() const override { return sent_ == bytes_; }
  std::span<const char> ready() override {
    while (next_ + 1 < parts_.size() && sent_ == parts_[next_].end()) {
      ++next_;
    }
    return {data_ + sent_, parts_[next_].at() - sent_};
  }
  void taken(size_t bytes) override { sent_ += bytes; }

private:
  const char* data_;
  size_t bytes_;
  const std::vector<arriving_part>& parts_;
  size_t next_ = 0;
  size_t sent_ = 0;
};

/// Position in the list; nothing where it is not there.
std::optional<size_t> place_of(int rank, const std::vector<int>& ranks) {
  const auto at = std::ranges::find(ranks, rank);
  if (at == ranks.end()) {
    return std::nullopt;
  }
  return static_cast<size_t>(at - ranks.begin());
}

void give(stream_mesh& mesh, std::span<const int> to, char* data, slice part,
          const stream_label& label, deadline until) {
  std::vector<buffer_source> sources(
      to.size(), buffer_source(data + part.begin, part.end - part.begin));
  std::vector<stream_mesh::sending> out;
  for (size_t i = 0; i < to.size(); ++i) {
    out.push_back({label, &sources[i], to[i]});
  }
  mesh.transfer(out, {}, until);
}

} // namespace

void fill_over_streams(stream_mesh& mesh, const fill_route& route, char* data,
                       size_t bytes, deadline until) {
  const int stripes = route.stripes(bytes);
  const auto entries = static_cast<size_t>(route.entries(bytes));
  const std::span<const int> takers = route.takers;
  if (const auto giver = place_of(mesh.rank(), route.givers)) {
    const slice part = stripe_of(bytes, static_cast<int>(*giver), stripes);
    if (*giver < static_cast<size_t>(stripes)) {
      give(mesh, takers.first(entries), data, part,
           label_of(static_cast<int>(*giver), stripes, part), until);
    }
    return;
  }
  const auto taker = place_of(mesh.rank(), route.takers);
  if (!taker) {
    return;
  }
  const slice all{0, bytes};
  const stream_label of_all = label_of(stripes, stripes, all);
  std::vector<arriving_part> parts;
  std::vector<stream_mesh::receiving> in;
  parts.reserve(static_cast<size_t>(stripes)); // `in` points there
  if (*taker < entries) {
    for (int i = 0; i < stripes; ++i) {
      const slice part = stripe_of(bytes, i, stripes);
      in.push_back({label_of(i, stripes, part), &parts.emplace_back(data, part),
                    route.givers[static_cast<size_t>(i)]});
    }
  } else {
    in.push_back(
        {of_all, &parts.emplace_back(data, all), takers[*taker - entries]});
  }
  forwarding_source onward(data, bytes, parts);
  std::vector<stream_mesh::sending> out;
  if (*taker + entries < takers.size()) {
    out.push_back({of_all, &onward, takers[*taker + entries]});
  }
  mesh.transfer(out, in, until);
}

} // namespace ballast::collectives
