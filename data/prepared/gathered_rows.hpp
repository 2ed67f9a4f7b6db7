/// Brings the features of rows into the order of the chunks that they go to, in
/// little memory, wherever they lie. Rows in memory are copied from there.
/// Others come in groups of chunks that fit into the limit, each in one of two
/// ways, whichever reads and writes less:
///
///   ranges   for each group, what lies between the first and the last of its
///            rows is read from front to back; best where chunks keep the order
///            of the source, or the groups are few
///   buckets  all rows are read once, and those of a group are put together in
///            a file without a name; best where the chunks of a group have rows
///            from everywhere
///
/// A row costs 20 bytes in memory while its group is loaded, and in buckets 4
/// all the time. One owner loads; any thread gathers what is loaded.
/// Errors: of the rows, and disk_full and others of the buckets.
#pragma once

#include "data/prepared/chunk_writer.hpp"
#include "data/source/row_file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ballast::data {

class gathered_rows {
public:
  using chunk_list = std::vector<std::span<const uint64_t>>;

  /// All must outlive this. `row`: as in the manifest. A group has a multiple
  /// of `in_batch` chunks, but for the last.
  gathered_rows(const part_rows& part, const ledger::row_shape& row,
                const chunk_list& chunks, size_t in_batch,
                const write_options& how);

  /// Loads the next group of chunks; returns the first chunk behind it.
  size_t load();
  /// The features of samples of the loaded group, of which `before` come before
  /// them.
  void gather(std::span<const uint64_t> samples, uint64_t before,
              unsigned char* out) const;
  /// How many samples come before the loaded group.
  uint64_t first_sample() const { return first_; }

private:
  struct group {
    size_t begin = 0; // chunks
    size_t end = 0;
    uint64_t rows = 0;
    uint64_t least = UINT64_MAX; // places
    uint64_t most = 0;
    uint64_t bucket = 0; // where its rows begin in the file of buckets
  };
  void make_groups(uint64_t rows_max, size_t in_batch);
  void add(size_t chunk, group& to) const;
  bool takes_all_between(const group& of) const;
  bool buckets_are_cheaper() const;
  void fill_buckets();
  /// The places of the group's rows, with their positions in it, ascending.
  std::vector<std::pair<uint64_t, uint32_t>> places_of(const group& of) const;
  void read_all(uint64_t first, uint64_t count);
  void read_ranges(const std::vector<std::pair<uint64_t, uint32_t>>& places);
  uint64_t place_of(uint64_t sample) const;

  const part_rows& part_;
  const chunk_list& chunks_;
  const write_options& how_;
  const size_t row_bytes_;   // as written
  ledger::stored_type from_; // as they lie
  ledger::stored_type to_;
  size_t stored_bytes_ = 0; // of a row as it lies
  std::vector<group> groups_;
  std::optional<nameless_file> buckets_;
  // The loaded group.
  size_t loaded_ = 0; // groups
  uint64_t first_ = 0;
  uint64_t least_ = 0; // if ranks_ is empty: the place of the first row
  std::vector<uint32_t> ranks_; // of each row in rows_, by position
  growing_bytes rows_;
};

} // namespace ballast::data
