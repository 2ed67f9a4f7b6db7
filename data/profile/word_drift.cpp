#include "data/profile/word_drift.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

constexpr double least_share = 1e-4;
constexpr size_t new_words_told = 5;
/// A count that is so many times its error is one of a frequent word.
constexpr double known_well = 8;

const counted_word* find(const std::vector<counted_word>& in, uint64_t hash) {
  const auto at = std::lower_bound(
      in.begin(), in.end(), hash,
      [](const counted_word& one, uint64_t h) { return one.hash < h; });
  return at != in.end() && at->hash == hash ? &*at : nullptr;
}

/// What both tables have of a word, or of nothing.
struct pair_of_words {
  const counted_word* before = nullptr;
  const counted_word* after = nullptr;

  uint64_t hash() const { return before ? before->hash : after->hash; }
};

/// By hash.
std::vector<pair_of_words> pairs(const std::vector<counted_word>& a,
                                 const std::vector<counted_word>& b) {
  std::vector<pair_of_words> out;
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    const bool first = y == b.end() || (x != a.end() && x->hash <= y->hash);
    const bool second = x == a.end() || (y != b.end() && y->hash <= x->hash);
    out.push_back({first ? &*x++ : nullptr, second ? &*y++ : nullptr});
  }
  return out;
}

struct new_word {
  const counted_word* word = nullptr;
  double rows = 0;
};

void tell(std::vector<new_word> found, word_drift& out) {
  std::sort(
      found.begin(), found.end(), [](const new_word& a, const new_word& b) {
        return a.rows != b.rows ? a.rows > b.rows : a.word->word < b.word->word;
      });
  for (const new_word& one : found)
    if (out.new_words.size() < new_words_told)
      out.new_words.push_back(shown_word(*one.word));
}

class comparison {
public:
  comparison(const column_profile& a, const column_profile& b)
      : a_(a), b_(b), of_a_(double(a.rows)), of_b_(double(b.rows)) {
    out_.stability = stability_of(missing_share(a), missing_share(b));
    difference_ = std::abs(missing_share(a) - missing_share(b));
  }

  word_drift exact() {
    for (const pair_of_words& one :
         pairs(words(a_).frequent(), words(b_).frequent()))
      add_frequent(one, rows_of(one.before), rows_of(one.after));
    return finish();
  }
  word_drift estimate() {
    out_.estimated = true;
    const double enough =
        known_well * std::max(share(double(words(a_).error()), of_a_),
                              share(double(words(b_).error()), of_b_));
    std::vector<uint64_t> frequent;
    for (const pair_of_words& one :
         pairs(words(a_).frequent(), words(b_).frequent())) {
      if (share(rows_of(one.before), of_a_) < enough &&
          share(rows_of(one.after), of_b_) < enough)
        continue;
      frequent.push_back(one.hash());
      add_frequent(one, rows_in(a_, one.hash()), rows_in(b_, one.hash()));
    }
    add_rest(frequent);
    return finish();
  }

private:
  static const word_counts& words(const column_profile& of) {
    return of.words.counts;
  }
  static double rows_of(const counted_word* one) {
    return one != nullptr ? double(one->rows) : 0;
  }
  /// Of a frequent word the most that it can be: the error is what was taken
  /// off it, unless it came late.
  static double rows_in(const column_profile& of, uint64_t hash) {
    if (hash <= words(of).sampled_to())
      return rows_of(find(words(of).sample(), hash));
    const counted_word* found = find(words(of).frequent(), hash);
    return found ? double(found->rows + words(of).error()) : 0;
  }

  void add(double before, double after) {
    difference_ += std::abs(before - after);
    out_.stability += stability_of(before, after);
  }
  void add_frequent(const pair_of_words& one, double before, double after) {
    add(share(before, of_a_), share(after, of_b_));
    frequent_a_ += share(before, of_a_);
    frequent_b_ += share(after, of_b_);
    if (before == 0 && one.after != nullptr) {
      fresh_.push_back({one.after, after});
      new_rows_ += after;
    }
  }

  /// What is neither missing nor frequent, as the sample of it is.
  void add_rest(const std::vector<uint64_t>& frequent) {
    std::vector<pair_of_words> rest =
        pairs(words(a_).sample(), words(b_).sample());
    const uint64_t to =
        std::min(words(a_).sampled_to(), words(b_).sampled_to());
    std::erase_if(rest, [&](const pair_of_words& one) {
      return one.hash() > to ||
             std::binary_search(frequent.begin(), frequent.end(), one.hash());
    });
    double sum_a = 0;
    double sum_b = 0;
    for (const pair_of_words& one : rest) {
      sum_a += rows_of(one.before);
      sum_b += rows_of(one.after);
    }
    const double share_a = std::max(0.0, 1 - missing_share(a_) - frequent_a_);
    const double share_b = std::max(0.0, 1 - missing_share(b_) - frequent_b_);
    struct bin {
      double before = 0;
      double after = 0;
    } fallen, risen, others;
    for (const pair_of_words& one : rest) {
      const double before = share(rows_of(one.before), sum_a) * share_a;
      const double after = share(rows_of(one.after), sum_b) * share_b;
      difference_ += std::abs(before - after);
      bin& to_bin = after >= 2 * before   ? risen
                    : before >= 2 * after ? fallen
                                          : others;
      to_bin.before += before;
      to_bin.after += after;
      if (one.before == nullptr) {
        fresh_.push_back({one.after, rows_of(one.after)});
        new_rows_ += after * of_b_;
      }
    }
    // Of a table whose rest has no word in the sample, that is as of others.
    if (sum_a == 0) {
      difference_ += share_a;
      fallen.before += share_a;
    }
    if (sum_b == 0) {
      difference_ += share_b;
      risen.after += share_b;
    }
    for (const bin& one : {fallen, risen, others})
      out_.stability += stability_of(one.before, one.after);
  }

  word_drift finish() {
    out_.distance = std::clamp(difference_ / 2, 0.0, 1.0);
    out_.new_word_rows = uint64_t(std::llround(new_rows_));
    tell(std::move(fresh_), out_);
    return std::move(out_);
  }

  const column_profile& a_;
  const column_profile& b_;
  const double of_a_;
  const double of_b_;
  word_drift out_;
  double difference_ = 0;
  double frequent_a_ = 0;
  double frequent_b_ = 0;
  double new_rows_ = 0;
  std::vector<new_word> fresh_;
};

} // namespace

double share(double part, double of) {
  return of == 0 ? 0 : part / of;
}

double stability_of(double before, double after) {
  before = std::max(before, least_share);
  after = std::max(after, least_share);
  return (after - before) * std::log(after / before);
}

double missing_share(const column_profile& of) {
  return share(double(of.missing), double(of.rows));
}

word_drift word_drift_between(const column_profile& before,
                              const column_profile& after) {
  comparison of(before, after);
  return before.words.counts.is_exact() && after.words.counts.is_exact()
             ? of.exact()
             : of.estimate();
}

} // namespace ballast::data
