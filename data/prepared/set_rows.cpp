#include "data/prepared/set_rows.hpp"

#include "data/prepared/row_order.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

/// Chunks of both parts in a row.
struct chunk_place {
  data_part part{};
  chunk_id id{};
  uint64_t rows = 0;
  uint64_t first = 0; // place of its first row
};

/// The chunks of a source, in the order in which they lie.
class source_chunks {
public:
  source_chunks(std::shared_ptr<const set_source> set, bool train, bool test)
      : set_(std::move(set)) {
    if (train)
      add(data_part::train);
    if (test)
      add(data_part::test);
  }

  uint64_t rows() const { return rows_; }
  const set_source& set() const { return *set_; }
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
  /// The number of each row in its source, by place.
  std::vector<uint64_t> source_rows() const {
    std::vector<uint64_t> out;
    out.reserve(rows_);
    for (const chunk_place& one : chunks_)
      for (const ledger::id_run& run :
           set_->chunks(one.part)[value(one.id)].source_rows)
        for (uint64_t i = 0; i < run.count; ++i)
          out.push_back(run.first + i);
    return out;
  }
  /// The number of each row among those of the job's source, by place, where
  /// the samples tell it: all rows of a part are a table of their own, or the
  /// set says which of them went to the test set. Nothing: they do not.
  std::optional<std::vector<uint64_t>> numbers(bool divided) const {
    std::optional<std::vector<uint64_t>> tested;
    if (divided) {
      tested = or_damaged([&] { return read_tested(set_->folder()); });
      if (!tested)
        return std::nullopt;
    }
    row_numbers train = row_numbers::all(set_->about().train_rows);
    row_numbers test = row_numbers::all(set_->about().test_rows);
    if (divided) {
      if (tested->size() != set_->about().test_rows ||
          (!tested->empty() && tested->back() >= rows_))
        throw damaged_set(set_->folder().string() + ": has other test rows");
      train = row_numbers::without(rows_, *tested);
      test = row_numbers::some(*tested);
    }
    std::vector<uint64_t> out;
    out.reserve(rows_);
    for (const chunk_place& one : chunks_) {
      const row_numbers& of = one.part == data_part::train ? train : test;
      for (const ledger::id_run& run :
           set_->chunks(one.part)[value(one.id)].samples)
        for (uint64_t i = 0; i < run.count; ++i)
          out.push_back(run.first + i < of.size() ? of[run.first + i] : rows_);
    }
    return out;
  }
  /// Not verified.
  void look_at(uint64_t first, uint64_t count, column_room to) const {
    const chunk_place& one = chunks_[chunk_at(first)];
    const chunk_file& file = set_->files().of(one.part);
    or_damaged([&] {
      file.read_rows(file.first_row(one.id) + first - one.first, count, to);
    });
  }

private:
  void add(data_part part) {
    for (const ledger::chunk_info& one : set_->chunks(part)) {
      chunks_.push_back({part, one.id, one.rows, rows_});
      rows_ += one.rows;
    }
  }

  std::shared_ptr<const set_source> set_;
  std::vector<chunk_place> chunks_;
  uint64_t rows_ = 0;
};

/// Rows that stay in the set.
class set_rows final : public stored_rows {
public:
  /// `places`: by row; empty: the same.
  set_rows(source_chunks from, std::vector<uint32_t> places)
      : from_(std::move(from)), places_(std::move(places)),
        each_(row_bytes(from_.row())) {}

  ledger::stored_type stored() const override { return from_.row().stored; }
  uint64_t place_of(uint64_t row) const override {
    return places_.empty() ? row : places_[row];
  }
  void read(uint64_t first, uint64_t count, unsigned char* out) const override {
    std::vector<unsigned char> rest; // of a chunk: what is beside the features
    for (size_t i = from_.chunk_at(first); count > 0; ++i) {
      const chunk_place& one = from_.chunks()[i];
      const uint64_t begin = first - one.first;
      const uint64_t here = std::min(count, one.rows - begin);
      if (here == one.rows) {
        rest.resize(here * (sizeof(uint64_t) + sizeof(int32_t)));
        read_chunk(one, {out, rest.data() + here * sizeof(uint64_t),
                         reinterpret_cast<uint64_t*>(rest.data())});
      } else {
        const auto* rows =
            static_cast<const unsigned char*>(part_of(i)->features);
        std::memcpy(out, rows + begin * each_, here * each_);
      }
      out += here * each_;
      first += here;
      count -= here;
    }
  }

private:
  void read_chunk(const chunk_place& one, const column_room& to) const {
    or_damaged([&] { from_.set().files().read_into(one.part, one.id, to); });
  }
  /// Reads that follow each other share a chunk.
  chunk_ptr part_of(size_t i) const {
    {
      const std::lock_guard lock(mutex_);
      if (last_ != nullptr && last_number_ == i)
        return last_;
    }
    const chunk_place& one = from_.chunks()[i];
    chunk_ptr out =
        or_damaged([&] { return from_.set().files().read(one.part, one.id); });
    const std::lock_guard lock(mutex_);
    last_ = out;
    last_number_ = i;
    return out;
  }

  const source_chunks from_;
  const std::vector<uint32_t> places_;
  const size_t each_;
  mutable std::mutex mutex_; // guards the following
  mutable chunk_ptr last_;
  mutable size_t last_number_ = 0;
};

/// Of numbers of rows in the source, by place, those in the table, whose order
/// is that of the source.
std::vector<uint64_t> ranks_of(std::vector<uint64_t> rows) {
  if (rows.empty() ||
      *std::max_element(rows.begin(), rows.end()) == rows.size() - 1)
    return rows;
  std::vector<uint64_t> sorted = rows;
  std::sort(sorted.begin(), sorted.end());
  for (uint64_t& row : rows)
    row = uint64_t(std::lower_bound(sorted.begin(), sorted.end(), row) -
                   sorted.begin());
  return rows;
}

void check_each_once(const std::vector<uint64_t>& rows) {
  std::vector<bool> seen(rows.size());
  for (uint64_t row : rows) {
    if (row >= seen.size() || seen[row])
      throw damaged_set("row " + std::to_string(row) +
                        " of a set is missing, or occurs twice");
    seen[row] = true;
  }
}

/// The numbers in the source by row; empty: they are the same.
std::vector<uint64_t> taken_rows(const std::vector<uint64_t>& rows,
                                 const std::vector<uint64_t>& source_rows) {
  if (rows == source_rows)
    return {};
  std::vector<uint64_t> out(rows.size());
  for (size_t place = 0; place < rows.size(); ++place)
    out[rows[place]] = source_rows[place];
  return out;
}

/// The labels or targets by row. Whoever makes chunks of these rows reads all
/// of them, and finds damage then.
void read_labels(const source_chunks& from, const std::vector<uint64_t>& rows,
                 source_table& to, const store::work_watch& stop) {
  const bool classes = from.row().classes > 0;
  if (classes)
    to.labels.resize(from.rows());
  else
    to.targets.resize(from.rows());
  constexpr uint64_t step = 256 << 10;
  std::vector<int32_t> some(step); // a float is as long
  for (size_t at = 0; at < from.chunks().size();) {
    check_stop(stop);
    const chunk_place& first = from.chunks()[at];
    uint64_t count = 0;
    for (; at < from.chunks().size() && count < step &&
           from.chunks()[at].part == first.part;
         ++at)
      count += from.chunks()[at].rows;
    some.resize(std::max<size_t>(some.size(), count));
    from.look_at(first.first, count, {.labels = some.data()});
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t row = rows[first.first + i];
      if (classes && uint32_t(some[i]) >= from.row().classes)
        throw damaged_set("label " + std::to_string(some[i]) + " of row " +
                          std::to_string(row) + " is no class");
      if (classes)
        to.labels[row] = some[i];
      else
        std::memcpy(&to.targets[row], &some[i], sizeof(float));
    }
  }
}

source_table table_of(const std::shared_ptr<const set_source>& set, bool train,
                      bool test, const write_options& how) {
  const ledger::manifest& about = set->about();
  source_table out;
  source_chunks from(set, train, test);
  out.row = about.row;
  out.row.target_bins = 0;
  out.label = about.label;
  out.class_names = about.class_names;
  out.left_out = about.left_out;
  out.rows = from.rows();
  const std::vector<uint64_t> source_rows = from.source_rows();
  if (source_rows.size() != out.rows || out.rows > UINT32_MAX)
    throw damaged_set(set->path(data_part::train).string() +
                      ": has no source rows");
  const std::optional<std::vector<uint64_t>> numbers =
      from.numbers(train && test);
  const std::vector<uint64_t> rows = numbers ? *numbers : ranks_of(source_rows);
  if (rows.size() != out.rows)
    throw damaged_set(set->path(data_part::train).string() +
                      ": has other samples than rows");
  check_each_once(rows);
  out.taken_rows = taken_rows(rows, source_rows);
  read_labels(from, rows, out, how.stop);
  std::vector<uint32_t> places;
  if (!std::is_sorted(rows.begin(), rows.end())) {
    places.resize(rows.size());
    for (uint64_t place = 0; place < rows.size(); ++place)
      places[rows[place]] = uint32_t(place);
  }
  out.elsewhere =
      std::make_shared<set_rows>(std::move(from), std::move(places));
  return out;
}

} // namespace

set_source::set_source(std::shared_ptr<const prepared_set> set, samples wanted)
    : set_(std::move(set)), about_(set_->about()) {
  or_damaged([&] {
    if (wanted == samples::needed)
      read_samples(set_->folder(), about_);
    files_.emplace(set_->folder(), about_);
  });
}

tables_of_set::tables_of_set(const std::shared_ptr<const set_source>& set,
                             bool test_apart, const write_options& how)
    : train(table_of(set, true, !test_apart, how)) {
  if (test_apart)
    test = table_of(set, false, true, how);
}

} // namespace ballast::data
