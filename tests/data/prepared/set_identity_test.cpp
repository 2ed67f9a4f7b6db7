// Goal: a message about a source that changed names it. Method: files are
// changed between two looks at them.
#include "data/prepared/set_identity.hpp"
#include "tests/data/source_builders.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

TEST(set_identity, tells_which_source_changed) {
  temporary_folder folder;
  folder.write("1.csv", "x,y\n1,0\n2,1\n");
  const std::string second = folder.write("2.csv", "x,y\n3,0\n4,1\n");
  const std::string test = folder.write("test", "x,y\n5,0\n6,1\n");
  const std::string glob = (folder / "*.csv").string();
  job what = job_of(table_source(source_format::csv, glob, "y"));
  what.data.test = table_source(source_format::csv, test, "y");
  prepare_cache cache(folder / "cache");
  const auto look = [&] { return set_identity(what, cache, {}); };
  const nlohmann::json before = look();
  EXPECT_EQ(changed_source(what, before, look()), "");
  folder.write("test", "x,y\n5,0\n6,0\n");
  EXPECT_EQ(changed_source(what, before, look()), test);
  folder.write("2.csv", "x,y\n3,0\n5,1\n");
  EXPECT_EQ(changed_source(what, before, look()), second);
  folder.write("3.csv", "x,y\n3,0\n4,1\n");
  EXPECT_EQ(changed_source(what, before, look()),
            "the list of files of " + glob);
}

} // namespace
} // namespace ballast::data
