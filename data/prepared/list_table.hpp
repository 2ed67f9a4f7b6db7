/// A table of one record batch whose columns are numbers, or lists of numbers:
/// how the tables of a set are written and read. Errors name the table.
#pragma once

#include "data/base/arrow_support.hpp"

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

inline void check_table(const arrow::Status& status) {
  check_arrow(status, errc::internal, "a table of chunks");
}

/// Lists of numbers, one list for each chunk.
template <class Number>
class lists_builder {
public:
  using builder = typename arrow::CTypeTraits<Number>::BuilderType;

  void expect(uint64_t numbers) {
    check_table(numbers_->Reserve(int64_t(numbers)));
  }
  void begin() { check_table(lists_->Append()); }
  void none() { check_table(lists_->AppendNull()); }
  void add(Number one) { check_table(numbers_->Append(one)); }
  std::shared_ptr<arrow::Array> finish() {
    std::shared_ptr<arrow::Array> out;
    check_table(lists_->Finish(&out));
    return out;
  }

private:
  std::shared_ptr<builder> numbers_ = std::make_shared<builder>();
  std::shared_ptr<arrow::LargeListBuilder> lists_ =
      std::make_shared<arrow::LargeListBuilder>(arrow::default_memory_pool(),
                                                numbers_);
};

template <class Number>
class column_builder {
public:
  void add(Number one) { check_table(builder_.Append(one)); }
  std::shared_ptr<arrow::Array> finish() {
    std::shared_ptr<arrow::Array> out;
    check_table(builder_.Finish(&out));
    return out;
  }

private:
  typename arrow::CTypeTraits<Number>::BuilderType builder_;
};

using list_columns =
    std::vector<std::pair<const char*, std::shared_ptr<arrow::Array>>>;

/// Closes `to`. `what`, `failed`: where that cannot be.
void write_list_table(const list_columns& columns,
                      std::shared_ptr<const arrow::KeyValueMetadata> about,
                      const std::shared_ptr<arrow::io::OutputStream>& to,
                      errc failed, const std::string& what);

/// The one batch of a table, and its columns by name and type.
class list_table_reader {
public:
  list_table_reader(const std::string& bytes, std::string name);

  [[noreturn]] void refuse(const std::string& why) const;
  size_t rows() const { return size_t(batch_->num_rows()); }
  bool has(const char* name) const {
    return batch_->GetColumnByName(name) != nullptr;
  }
  /// "": there is none.
  std::string metadata(const char* key) const;
  template <class Number>
  const Number* column(const char* name) const {
    return typed<typename arrow::CTypeTraits<Number>::ArrayType>(
               batch_->GetColumnByName(name), name)
        .raw_values();
  }
  const arrow::LargeListArray& lists(const char* name) const {
    return typed<arrow::LargeListArray>(batch_->GetColumnByName(name), name);
  }
  template <class Number>
  const Number* numbers(const arrow::LargeListArray& of,
                        const char* name) const {
    return typed<typename arrow::CTypeTraits<Number>::ArrayType>(of.values(),
                                                                 name)
        .raw_values();
  }

private:
  template <class Array>
  const Array& typed(const std::shared_ptr<arrow::Array>& what,
                     const char* name) const {
    const auto* out = dynamic_cast<const Array*>(what.get());
    if (out == nullptr)
      refuse(std::string("column '") + name + "' is missing, or of another " +
             "type");
    return *out;
  }

  std::string name_;
  std::shared_ptr<arrow::RecordBatch> batch_;
};

/// [begin, end) of the list of `row`, which is the same of both.
std::pair<int64_t, int64_t> same_list(const list_table_reader& in,
                                      const arrow::LargeListArray& a,
                                      const arrow::LargeListArray& b,
                                      size_t row);

} // namespace ballast::data
