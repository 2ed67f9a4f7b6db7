/// Finds rows that are much alike. A row is the set of its shingles: of a text
/// every run of so many characters or words, of another cell its value, each
/// with its column. Two rows are as similar as the shingles that both have are
/// of those that one has (Jaccard).
///
/// Only rows are compared whose MinHash signatures agree in a band (Broder: "On
/// the resemblance and containment of documents", 1997; Leskovec, Rajaraman,
/// Ullman: "Mining of massive datasets", chapter 3): so a similar pair may be
/// missed, with a probability that shrinks with the number of bands. What is
/// found is compared exactly, by 64-bit hashes of the shingles.
#pragma once

#include "data/operators/large_pages.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

struct near_terms {
  double similarity = 0.8; // from which on two rows are near
  uint64_t shingle = 5;    // units
  bool words = false;      // the units; else characters
  uint64_t permutations = 128;
  uint64_t bands = 0; // 0: as bands_for()
};

/// So many bands, and as many rows in each, that a pair of this similarity is
/// found with a probability of 0.99 or more, if the permutations allow that.
uint64_t bands_for(double similarity, uint64_t permutations);

/// The cells of a row, one after another, as its shingles are made of them.
class row_text {
public:
  void add_text(std::string_view text) { add(kind::text, text); }
  void add_value(std::string_view value) { add(kind::value, value); }
  void add_missing() { add(kind::missing, {}); }
  const std::string& bytes() const { return bytes_; }

  enum class kind : char { text, value, missing };

private:
  void add(kind what, std::string_view cell);

  std::string bytes_;
};

/// Hashes, sorted, each once; never none.
std::vector<uint64_t> shingles_of(std::string_view row,
                                  const near_terms& terms);
/// Of two such sets.
double jaccard(std::span<const uint64_t> a, std::span<const uint64_t> b);

/// Immutable; any thread.
class min_hash {
public:
  explicit min_hash(const near_terms& terms);

  size_t bands() const { return bands_; }
  /// A key for each band: equal ones where all of its minima are.
  void keys_of(std::span<const uint64_t> shingles,
               std::span<uint64_t> keys) const;

private:
  const size_t bands_;
  const size_t rows_; // of a band
  std::vector<uint32_t> factors_, terms_;
};

/// The rows that stay. One owner, one thread.
class near_index {
public:
  explicit near_index(const near_terms& terms);

  struct match {
    uint32_t kept = 0; // the place of the first that is near, from 0
    double similarity = 0;
  };
  /// A row with these keys comes soon: a table larger than any cache is asked
  /// for the memory ahead.
  void expect(std::span<const uint64_t> keys) const;
  /// Nothing: no row that stays is near, so this one stays.
  std::optional<match> add(std::string_view row,
                           std::span<const uint64_t> shingles,
                           std::span<const uint64_t> keys);
  /// Stays, whatever is near.
  void keep(std::string_view row, std::span<const uint64_t> keys);
  size_t rows() const { return ends_.size(); }
  /// In memory.
  uint64_t bytes() const;

private:
  /// Of a band of a row that stays.
  struct entry {
    uint64_t key = 0;
    uint32_t kept = UINT32_MAX; // nobody
  };

  std::string_view text_of(uint32_t kept) const;
  void candidates(std::span<const uint64_t> keys);
  void insert(const entry& one);
  void grow();

  const near_terms terms_;
  large_vector<char> texts_;
  std::vector<uint64_t> ends_;
  large_vector<entry> table_; // open addressing, by key; a power of two
  size_t entries_ = 0;
  std::vector<uint32_t> found_; // scratch
};

} // namespace ballast::data
