/// Image files on their way into a table: decoded by as many threads as the
/// machine has cores, kept in the order in which they are given, in memory or
/// beyond source_request::room in a file. The same rows for any number of
/// threads. One owner, one thread; labels are the caller's.
///
/// Errors: row_error at the source's pointer, "PLACE: what is wrong", from the
/// add() or finish() that waits for that image; or, where the source's request
/// says so, its row is left out.
#pragma once

#include "data/base/ordered_work.hpp"
#include "data/source/fragment_file.hpp"
#include "data/source/image_scale.hpp"
#include "data/source/row_file.hpp"
#include "data/source/source_error.hpp"
#include "data/source/source_table.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class image_rows {
public:
  /// The bytes of a file; called once, by any thread.
  using reading = std::function<std::vector<unsigned char>()>;

  /// All three live longer than this. `threads`: only tests say how many.
  image_rows(source_table& table, const source_spec& spec,
             const source_request& request, size_t threads = work_threads());

  /// `bytes`: about how many there are, which limits how many are under way.
  /// `place`: how a message names the image.
  void add(reading read, uint64_t bytes, std::string place);
  /// All rows of a file that was read apart; labels not, as above.
  void add(const fragment_file& from);
  /// A row that is left out, and has no label in the table.
  void leave_out(const std::string& place, const row_error& why);
  /// Rows so far, with those that are left out.
  uint64_t count() const { return count_; }
  /// Moves all rows into the table, which has a label for each add().
  void finish();

private:
  struct image {
    uint64_t bytes = 0;
    uint64_t number = 0; // of the row in the source
    size_t label = 0;    // of the label in the table
    std::string place;
  };
  void take();
  void tell(const image& what, const std::string& why);
  void forget_labels();
  void put(const unsigned char* row);
  void store();

  source_table& table_;
  const source_request& request_;
  image_size size_;
  size_t row_bytes_ = 0;
  uint64_t count_ = 0;
  size_t labels_ = 0;                // that the table has, or will have
  std::vector<size_t> labels_gone_;  // of rows that are left out, in order
  std::vector<uint64_t> taken_rows_; // where rows may be left out: the others
  std::shared_ptr<row_file> file_;   // if memory does not hold them
  std::deque<image> images_;         // that are under way
  uint64_t bytes_under_way_ = 0;
  ordered_work<std::vector<unsigned char>> work_;
};

} // namespace ballast::data
