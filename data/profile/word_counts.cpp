#include "data/profile/word_counts.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace ballast::data {

namespace {

bool has_lower_hash(const counted_word& a, const counted_word& b) {
  return a.hash < b.hash;
}

/// The beginning of it, without a part of a character at its end.
std::string beginning(std::string_view word) {
  constexpr unsigned kind_of_byte = 0xC0;
  constexpr unsigned continues = 0x80;
  constexpr size_t continuing_max = 3; // in UTF-8
  if (word.size() <= word_counts::bytes_kept)
    return std::string(word);
  size_t end = word_counts::bytes_kept;
  while (end + continuing_max > word_counts::bytes_kept &&
         (uint8_t(word[end]) & kind_of_byte) == continues)
    --end;
  return std::string(word.substr(0, end));
}

std::vector<counted_word> kept(std::vector<word_counts::seen>::iterator begin,
                               std::vector<word_counts::seen>::iterator end) {
  std::vector<counted_word> out;
  out.reserve(size_t(end - begin));
  for (; begin != end; ++begin)
    out.push_back(
        {begin->hash, beginning(begin->word), begin->word.size(), begin->rows});
  std::sort(out.begin(), out.end(), has_lower_hash);
  return out;
}

/// The number that is to be taken off all counts so that no more than `most`
/// of them are above 0: at least `most` + 1 of them lose so much.
template <class Words>
uint64_t excess(const Words& words, size_t most) {
  if (words.size() <= most)
    return 0;
  std::vector<uint64_t> rows;
  rows.reserve(words.size());
  for (const auto& one : words)
    rows.push_back(one.rows);
  const auto at = rows.begin() + std::ptrdiff_t(most);
  std::nth_element(rows.begin(), at, rows.end(), std::greater<>());
  return *at;
}

/// By hash; those of both with the sum of their rows.
std::vector<counted_word> united(std::vector<counted_word> a,
                                 const std::vector<counted_word>& b) {
  std::vector<counted_word> out;
  out.reserve(a.size() + b.size());
  auto at = a.begin();
  for (const counted_word& one : b) {
    while (at != a.end() && at->hash < one.hash)
      out.push_back(std::move(*at++));
    if (at == a.end() || at->hash != one.hash) {
      out.push_back(one);
      continue;
    }
    at->rows += one.rows;
    out.push_back(std::move(*at++));
  }
  std::move(at, a.end(), std::back_inserter(out));
  return out;
}

} // namespace

std::string shown_word(const counted_word& one) {
  return one.word.size() < one.bytes ? one.word + "..." : one.word;
}

word_counts::word_counts(std::vector<seen> words) {
  error_ = excess(words, frequent_max);
  if (error_ > 0) {
    const auto end = words.begin() + std::ptrdiff_t(sampled_max);
    std::nth_element(
        words.begin(), end, words.end(),
        [](const seen& a, const seen& b) { return a.hash < b.hash; });
    sampled_to_ = end->hash - 1;
    sample_ = kept(words.begin(), end);
    const auto still =
        std::partition(words.begin(), words.end(),
                       [this](const seen& one) { return one.rows > error_; });
    words.erase(still, words.end());
    for (seen& one : words)
      one.rows -= error_;
  }
  frequent_ = kept(words.begin(), words.end());
}

void word_counts::keep_frequent() {
  const uint64_t off = excess(frequent_, frequent_max);
  if (off == 0)
    return;
  error_ += off;
  std::erase_if(frequent_,
                [off](const counted_word& one) { return one.rows <= off; });
  for (counted_word& one : frequent_)
    one.rows -= off;
}

void word_counts::keep_sampled() {
  if (sample_.size() > sampled_max)
    sampled_to_ = std::min(sampled_to_, sample_[sampled_max].hash - 1);
  std::erase_if(sample_, [this](const counted_word& one) {
    return one.hash > sampled_to_;
  });
}

void word_counts::merge(const word_counts& later) {
  const bool was_exact = is_exact();
  std::vector<counted_word> all =
      was_exact && later.is_exact()
          ? std::vector<counted_word>() // maybe not needed
          : united(sample(), later.sample());
  frequent_ = united(std::move(frequent_), later.frequent_);
  if (was_exact && later.is_exact() && frequent_.size() > frequent_max)
    all = frequent_;
  error_ += later.error_;
  sampled_to_ = std::min(sampled_to_, later.sampled_to_);
  keep_frequent();
  if (is_exact())
    return;
  sample_ = std::move(all);
  keep_sampled();
}

std::vector<const counted_word*> word_counts::ranked() const {
  std::vector<const counted_word*> out;
  out.reserve(frequent_.size());
  for (const counted_word& one : frequent_)
    out.push_back(&one);
  std::sort(out.begin(), out.end(),
            [](const counted_word* a, const counted_word* b) {
              return a->rows != b->rows ? a->rows > b->rows : a->word < b->word;
            });
  return out;
}

size_t words_seen::place_of(uint64_t hash) const {
  const size_t last = places_.size() - 1;
  size_t at = hash & last;
  while (places_[at] != 0 && all_[places_[at] - 1].hash != hash)
    at = (at + 1) & last;
  return at;
}

void words_seen::add(uint64_t hash, std::string_view word, uint64_t rows) {
  size_t at = place_of(hash);
  if (places_[at] != 0) {
    all_[places_[at] - 1].rows += rows;
    return;
  }
  if (2 * all_.size() >= places_.size()) {
    places_.assign(2 * places_.size(), 0);
    for (size_t i = 0; i < all_.size(); ++i)
      places_[place_of(all_[i].hash)] = uint32_t(i + 1);
    at = place_of(hash);
  }
  all_.push_back({hash, word, rows});
  places_[at] = uint32_t(all_.size());
}

} // namespace ballast::data
