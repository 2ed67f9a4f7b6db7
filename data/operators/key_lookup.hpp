/// Which rows of a stream have a key that did not come before. Three things go
/// on side by side: the owner reads batches and does what follows, other
/// threads make the keys of their rows, and one looks them up in the order of
/// the rows. Includes Arrow; for source files of data/ only.
///
/// The result does not depend on the threads. One owner, one thread, on which
/// the functions it is given are called. Errors: those of these.
#pragma once

#include "data/base/ordered_work.hpp"
#include "data/operators/equal_keys.hpp"
#include "data/operators/key_table.hpp"
#include "data/operators/row_batches.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace ballast::data {

/// A batch, and of its rows, in order, those whose key is new, and those whose
/// key is not in the table and found no room there.
struct looked_up_batch {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::shared_ptr<const equal_keys> keys;
  row_indices fresh;
  row_indices refused;
};

class key_lookup {
public:
  /// Null at the end.
  using batches = std::function<std::shared_ptr<arrow::RecordBatch>()>;
  /// Called once, when there are rows, and told whether keys are words. The
  /// table is this object's alone until next() has given nothing.
  using table_for = std::function<key_table&(bool words)>;

  /// `columns`: of a key. `threads`: that make keys; 0: as many as help.
  key_lookup(batches from, std::vector<int> columns, table_for table,
             size_t threads = 0);

  /// Nothing at the end.
  std::optional<looked_up_batch> next();

private:
  looked_up_batch keyed(std::shared_ptr<arrow::RecordBatch> rows) const;
  static looked_up_batch looked_up(looked_up_batch rows, key_table& in);
  void fill();

  const batches from_;
  const std::vector<int> columns_;
  const table_for table_for_;
  const size_t threads_;
  key_table* table_ = nullptr;
  bool ended_ = false;
  // Both once there is a second batch: one alone is not worth a thread.
  std::optional<ordered_work<looked_up_batch>> keys_;
  std::optional<ordered_work<looked_up_batch>> lookups_;
};

} // namespace ballast::data
