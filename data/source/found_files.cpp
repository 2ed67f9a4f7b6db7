#include "data/source/found_files.hpp"

#include "data/source/fragment_supply.hpp"

namespace ballast::data {

std::vector<stored_file> found_files::of(const std::string& uri,
                                         const std::string& pointer,
                                         const store::work_watch& stop) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(uri); found != known_.end())
      return found->second;
  }
  std::vector<stored_file> out = find_files(uri, pointer, stop);
  if (out.at(0).system != nullptr) {
    const std::lock_guard lock(mutex_);
    known_[uri] = out;
  }
  return out;
}

std::vector<stored_file> found_files::parts(const source_spec& spec,
                                            const std::string& pointer,
                                            const store::work_watch& stop) {
  const std::lock_guard lock(mutex_);
  const auto found = parts_.find(spec.uri);
  if (found != parts_.end())
    return found->second;
  return parts_[spec.uri] = parts_of_images(spec, pointer, stop);
}

bool found_files::any_remote() const {
  const std::lock_guard lock(mutex_);
  return !known_.empty();
}

std::vector<stored_file> find_files(found_files* known, const std::string& uri,
                                    const std::string& pointer,
                                    const store::work_watch& stop) {
  return known != nullptr ? known->of(uri, pointer, stop)
                          : find_files(uri, pointer, stop);
}

} // namespace ballast::data
