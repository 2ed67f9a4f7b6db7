#include "store/journal_copy.hpp"

#include "store/journal.hpp"
#include "store/sqlite.hpp"

namespace ballast::store {

void copy_journal(const std::filesystem::path& folder,
                  const std::filesystem::path& to) {
  const std::filesystem::path file = folder / journal::file_name;
  sqlite::connection db(file, sqlite::uri_of(file, "?mode=ro"),
                        SQLITE_OPEN_READONLY);
  sqlite::statement copy(db, "VACUUM INTO ?");
  copy.bind(1, std::string_view(to.native()));
  (void)copy.step();
}

} // namespace ballast::store
