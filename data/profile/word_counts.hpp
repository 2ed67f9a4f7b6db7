/// How often words occur, in bounded memory, with errors that are known: all of
/// them, or, if there are more than 4,096,
///
/// - the frequent ones, by a summary of Misra and Gries ("Finding repeated
///   elements", 1982) that is put together of parts as in Agarwal, Cormode,
///   Huang, Phillips, Wei, Yi ("Mergeable summaries", PODS 2012): each word of
///   more than 1/4,097 of the rows is there, and no count is further below the
///   true one than error();
/// - those with the smallest hashes, counted exactly: a sample of the words
///   that is the same in every table ("coordinated": Cohen, Kaplan,
///   "Summarizing data using bottom-k sketches", PODC 2007).
///
/// Words are told apart by 64-bit hashes; of a long one the beginning is kept.
/// A value; parts that are put together in their order give the same,
/// whichever threads made them. One owner, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast::data {

struct counted_word {
  uint64_t hash = 0;
  std::string word;   // the first word_counts::bytes_kept bytes of it
  uint64_t bytes = 0; // that it has
  uint64_t rows = 0;
};

/// With what is left out of a long one.
std::string shown_word(const counted_word& one);

class word_counts {
public:
  static constexpr size_t frequent_max = 4096;
  static constexpr size_t sampled_max = 2048;
  static constexpr size_t bytes_kept = 256;

  /// A word of a part that is looked at, where it lies.
  struct seen {
    uint64_t hash = 0;
    std::string_view word;
    uint64_t rows = 0;
  };

  word_counts() = default;
  /// Of words with different hashes.
  explicit word_counts(std::vector<seen> words);
  void merge(const word_counts& later);

  /// All words are there, with their rows.
  bool is_exact() const { return error_ == 0; }
  /// By hash. Each is in so many rows at least, and in error() more at most;
  /// any other is in at most error() rows.
  const std::vector<counted_word>& frequent() const { return frequent_; }
  uint64_t error() const { return error_; }
  /// By hash: every word with a hash up to sampled_to(), and its rows.
  const std::vector<counted_word>& sample() const {
    return is_exact() ? frequent_ : sample_;
  }
  uint64_t sampled_to() const { return sampled_to_; }
  /// frequent(), with the most rows first, and equal ones by their bytes.
  std::vector<const counted_word*> ranked() const;

private:
  void keep_frequent();
  void keep_sampled();

  std::vector<counted_word> frequent_;
  std::vector<counted_word> sample_; // empty if exact
  uint64_t error_ = 0;
  uint64_t sampled_to_ = UINT64_MAX;
};

/// The words of a batch, each once, in the order in which they come.
class words_seen {
public:
  /// `word`: stays where it is.
  void add(uint64_t hash, std::string_view word, uint64_t rows);
  std::vector<word_counts::seen> take() { return std::move(all_); }

private:
  /// Where it is, or would be.
  size_t place_of(uint64_t hash) const;

  static constexpr size_t places_at_first = 1024; // a power of two
  std::vector<word_counts::seen> all_;
  // By hash: 1 + where in all_; 0: free. At most half of them are taken.
  std::vector<uint32_t> places_ = std::vector<uint32_t>(places_at_first);
};

} // namespace ballast::data
