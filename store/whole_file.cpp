#include "store/whole_file.hpp"

#include "store/refuse_file.hpp"

namespace ballast::store {

void write_whole(const std::filesystem::path& place, std::string_view content,
                 outlives durability) {
  try {
    atomic_file out(place, {.durability = durability});
    out.append(content);
    out.publish();
  } catch (const file_failure& problem) {
    refuse_file(place, problem.action(), problem.number());
  }
}

} // namespace ballast::store
