/// A tar archive, gzipped or not, wherever a source file may lie: its members,
/// one after another, by libarchive. One owner, one thread.
///
/// Errors: ballast_error{invalid_data} "shard-0.tar: ...", of a torn archive
/// too, even where it ends between two members.
#pragma once

#include "data/source/file_system.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class tar_file {
public:
  struct member {
    std::string name;
    uint64_t size = 0;
    bool is_file = false; // no folder, link or device
  };

  tar_file(const stored_file& file, std::string pointer,
           store::work_watch stop);
  ~tar_file();
  tar_file(const tar_file&) = delete;
  tar_file& operator=(const tar_file&) = delete;

  /// False at the end.
  bool next(member& out);
  /// The content of the member that came last. Refuses more bytes than that.
  std::vector<unsigned char> read(const member& of, uint64_t bytes_max);

private:
  struct stream;
  std::unique_ptr<stream> stream_;
};

} // namespace ballast::data
