/// The files of remote URIs as they were found once. To find them costs round
/// trips to a store, and a preparation needs them again and again: for the
/// identity of the set, the list of its sources and the reading. A worker that
/// reads some of a folder of images after the other knows that folder likewise.
/// Shared; any thread.
#pragma once

#include "data/source/file_system.hpp"
#include "runtime/job/job.hpp"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ballast::data {

class found_files {
public:
  /// As find_files() gives them. Files of this machine are looked for each
  /// time, those of a store once.
  std::vector<stored_file> of(const std::string& uri,
                              const std::string& pointer,
                              const store::work_watch& stop);
  /// As parts_of_images() gives them; listed once.
  std::vector<stored_file> parts(const source_spec& spec,
                                 const std::string& pointer,
                                 const store::work_watch& stop);
  /// Whether any files lie in a store.
  bool any_remote() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<stored_file>> known_; // remote, by URI
  std::map<std::string, std::vector<stored_file>> parts_; // by URI
};

/// Of those that are known, if somebody keeps them.
std::vector<stored_file> find_files(found_files* known, const std::string& uri,
                                    const std::string& pointer,
                                    const store::work_watch& stop);

} // namespace ballast::data
