/// Chunks that are other ranges of rows than those of an earlier set, where the
/// rows and their order are the same: another number of workers, or of rows of
/// a chunk. Both sets then have one file of rows, under two names, so that
/// nothing is copied and each may go without the other.
#pragma once

#include "data/prepared/chunk_writer.hpp"
#include "data/prepared/set_rows.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

/// The order in which a set has these rows in its file: sets whose rows and
/// divisions into training and test set are the same share the file if it is
/// the same, too.
std::string order_of(const part_rows& part,
                     const std::vector<std::span<const uint64_t>>& chunks);

/// Names the file of `from`, whose order is this, as `path`, too, verifies all
/// of it, and describes the chunks of the new set, the same for any number of
/// threads. Nothing, and no file: this disk has no files of two names, or the
/// set is of an earlier build. Throws damaged_set, ballast_error{stopped}.
std::optional<std::vector<ledger::chunk_info>>
share_rows(const set_source& from, data_part which,
           const std::filesystem::path& path, const ledger::row_shape& row,
           const part_rows& part,
           const std::vector<std::span<const uint64_t>>& chunks,
           const write_options& how);

} // namespace ballast::data
