#include "data/prepared/set_rows.hpp"

#include "data/base/ordered_work.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>

namespace ballast::data {

namespace {

/// Chunks in a row that one thread reads at once.
constexpr uint64_t piece_bytes = 1 << 20;

/// Chunks of both parts in a row.
struct chunk_place {
  data_part part{};
  chunk_id id{};
  uint32_t rows = 0;
  uint64_t first = 0; // place of its first row
};

template <class Work>
auto or_damaged(Work work) {
  try {
    return work();
  } catch (const ballast_error& error) {
    if (error.what_failed().code != errc::invalid_data)
      throw;
    throw damaged_set(error.what());
  }
}

/// The chunks of a source, in the order in which they lie.
class source_chunks {
public:
  source_chunks(std::shared_ptr<const prepared_set> set, bool train, bool test)
      : set_(std::move(set)) {
    if (train)
      add(data_part::train, set_->about().train);
    if (test)
      add(data_part::test, set_->about().test);
  }

  uint64_t rows() const { return rows_; }
  const ledger::row_shape& row() const { return set_->about().row; }
  const std::vector<chunk_place>& chunks() const { return chunks_; }
  /// The one that holds a place.
  size_t chunk_at(uint64_t place) const {
    return size_t(std::upper_bound(chunks_.begin(), chunks_.end(), place,
                                   [](uint64_t at, const chunk_place& one) {
                                     return at < one.first;
                                   }) -
                  chunks_.begin()) -
           1;
  }
  /// damaged_set.
  chunk_ptr read(const chunk_place& one) const {
    return or_damaged([&] {
      chunk_ptr out = set_->read(one.part, one.id);
      if (out->rows != one.rows)
        throw ballast_error(errc::invalid_data,
                            set_->folder().string() + ": chunk " +
                                to_string(one.id) + " has other rows");
      return out;
    });
  }

private:
  void add(data_part part, const std::vector<ledger::chunk_info>& chunks) {
    for (const ledger::chunk_info& one : chunks) {
      chunks_.push_back({part, one.id, one.rows, rows_});
      rows_ += one.rows;
    }
  }

  std::shared_ptr<const prepared_set> set_;
  std::vector<chunk_place> chunks_;
  uint64_t rows_ = 0;
};

/// Rows that stay in the set.
class set_rows final : public stored_rows {
public:
  set_rows(source_chunks from, std::vector<uint32_t> places)
      : from_(std::move(from)), places_(std::move(places)) {}

  ledger::stored_type stored() const override { return from_.row().stored; }
  uint64_t place_of(uint64_t row) const override { return places_[row]; }
  void read(uint64_t first, uint64_t count, unsigned char* out) const override {
    const size_t each = row_bytes(from_.row());
    for (size_t i = from_.chunk_at(first); count > 0; ++i) {
      const chunk_place& one = from_.chunks()[i];
      const chunk_ptr rows = chunk_number(i);
      const uint64_t begin = first - one.first;
      const uint64_t here = std::min(count, one.rows - begin);
      std::memcpy(
          out, static_cast<const unsigned char*>(rows->features) + begin * each,
          here * each);
      out += here * each;
      first += here;
      count -= here;
    }
  }

private:
  /// Reads that follow each other share a chunk.
  chunk_ptr chunk_number(size_t i) const {
    {
      const std::lock_guard lock(mutex_);
      if (last_ != nullptr && last_number_ == i)
        return last_;
    }
    chunk_ptr out = from_.read(from_.chunks()[i]);
    const std::lock_guard lock(mutex_);
    last_ = out;
    last_number_ = i;
    return out;
  }

  const source_chunks from_;
  const std::vector<uint32_t> places_; // by row
  mutable std::mutex mutex_;           // guards the following
  mutable chunk_ptr last_;
  mutable size_t last_number_ = 0;
};

/// The number of each row in its source, by place.
std::vector<uint64_t> source_rows_of(const ledger::manifest& about, bool train,
                                     bool test) {
  std::vector<uint64_t> out;
  for (const auto& [wanted, part] :
       {std::pair(train, &about.train), {test, &about.test}})
    for (const ledger::chunk_info& one : *part)
      for (const ledger::id_run& run : one.source_rows)
        for (uint64_t i = 0; wanted && i < run.count; ++i)
          out.push_back(run.first + i);
  return out;
}

/// Turns numbers of rows in the source into those of the table, by place.
/// Returns the numbers in the source by row; empty: they are the same.
std::vector<uint64_t> number_rows(std::vector<uint64_t>& rows) {
  std::vector<uint64_t> out;
  if (!rows.empty() &&
      *std::max_element(rows.begin(), rows.end()) != rows.size() - 1) {
    out = rows;
    std::sort(out.begin(), out.end());
    for (uint64_t& row : rows)
      row =
          uint64_t(std::lower_bound(out.begin(), out.end(), row) - out.begin());
  }
  std::vector<bool> seen(rows.size());
  for (uint64_t row : rows) {
    if (seen[row])
      throw damaged_set("row " + std::to_string(row) + " occurs twice");
    seen[row] = true;
  }
  return out;
}

/// Fills a table from the chunks of its source.
class table_filler {
public:
  /// `rows`: the row of each place.
  table_filler(const source_chunks& from, const std::vector<uint64_t>& rows,
               source_table& to, bool features)
      : from_(from), rows_(rows), to_(to), features_(features),
        each_(row_bytes(from.row())) {
    if (features_)
      to_.features.resize(from.rows() * each_);
    if (from.row().classes > 0)
      to_.labels.resize(from.rows());
    else
      to_.targets.resize(from.rows());
  }

  void fill(const store::work_watch& stop) {
    ordered_work<bool> readers(work_threads(), "bl-rows");
    const std::span<const chunk_place> all = from_.chunks();
    for (size_t next = 0; next < all.size() || readers.under_way() > 0;) {
      check_stop(stop);
      while (next < all.size() && readers.under_way() < readers.wanted()) {
        const size_t begin = next;
        for (uint64_t bytes = 0; next < all.size() && bytes < piece_bytes;
             ++next)
          bytes += all[next].rows * (each_ + sizeof(int32_t));
        readers.give([this, some = all.subspan(begin, next - begin)] {
          for (const chunk_place& one : some)
            put(one);
          return true;
        });
      }
      readers.take();
    }
  }

private:
  /// Each row is in one chunk only, so threads do not meet.
  void put(const chunk_place& one) {
    const chunk_ptr chunk = from_.read(one);
    const auto* values = static_cast<const unsigned char*>(chunk->features);
    for (uint32_t i = 0; i < one.rows; ++i) {
      const uint64_t row = rows_[one.first + i];
      if (features_)
        std::memcpy(to_.features.data() + row * each_, values + i * each_,
                    each_);
      if (chunk->labels != nullptr)
        to_.labels[row] = chunk->labels[i];
      else
        to_.targets[row] = chunk->targets[i];
    }
  }

  const source_chunks& from_;
  const std::vector<uint64_t>& rows_;
  source_table& to_;
  const bool features_;
  const size_t each_;
};

source_table table_of(const std::shared_ptr<const prepared_set>& set,
                      const ledger::manifest& about, bool train, bool test,
                      const write_options& how) {
  source_table out;
  source_chunks from(set, train, test);
  out.row = about.row;
  out.row.target_bins = 0;
  out.label = about.label;
  out.class_names = about.class_names;
  out.left_out = about.left_out;
  out.rows = from.rows();
  std::vector<uint64_t> rows = source_rows_of(about, train, test);
  if (rows.size() != out.rows || out.rows > UINT32_MAX)
    throw damaged_set(set->folder().string() + ": has no source rows");
  out.taken_rows = number_rows(rows);
  const bool fits = out.rows * row_bytes(out.row) <= how.memory;
  table_filler(from, rows, out, fits).fill(how.stop);
  if (fits)
    return out;
  std::vector<uint32_t> places(rows.size());
  for (uint64_t place = 0; place < rows.size(); ++place)
    places[rows[place]] = uint32_t(place);
  out.elsewhere =
      std::make_shared<set_rows>(std::move(from), std::move(places));
  return out;
}

} // namespace

tables_of_set::tables_of_set(std::shared_ptr<const prepared_set> set,
                             bool test_apart, const write_options& how) {
  ledger::manifest about = set->about();
  or_damaged([&] { read_samples(set->folder(), about); });
  train = table_of(set, about, true, !test_apart, how);
  if (test_apart)
    test = table_of(set, about, false, true, how);
}

} // namespace ballast::data
