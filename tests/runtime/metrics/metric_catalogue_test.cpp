#include "runtime/metrics/layout.hpp"
#include "runtime/metrics/metric_catalogue.hpp"
#include "tests/source_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace ballast::metrics {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(metric_catalogue, has_an_entry_for_every_word) {
  ASSERT_EQ(metric_catalogue().size(), words_of<metric>.size());
  for (const metric_entry& one : metric_catalogue()) {
    SCOPED_TRACE(to_string(one.what));
    EXPECT_EQ(about(one.what).what, one.what);
    EXPECT_FALSE(one.meaning.empty() || one.merged.empty() ||
                 one.source.empty());
  }
}

TEST(metric_catalogue, computes_what_fits_where_a_job_names_none) {
  for (task what : {task::classes, task::number, task::tokens})
    for (metric one : usual_metrics(what)) {
      EXPECT_EQ(about(one).fits, what) << to_string(one);
      EXPECT_FALSE(about(one).two_classes) << to_string(one);
    }
}

TEST(metric_catalogue, knows_what_is_for_two_classes_alone) {
  EXPECT_THAT(metrics_that_fit(task::classes), Contains("f1"));
  EXPECT_THAT(metrics_that_fit(task::classes, 2), Contains("f1"));
  EXPECT_THAT(metrics_that_fit(task::classes, 3), Not(Contains("f1")));
  EXPECT_EQ(misfit(metric::f1, 2), "");
  EXPECT_THAT(misfit(metric::f1, 10), HasSubstr("has 10 classes"));
  EXPECT_THAT(misfit(metric::confusion_matrix, 65), HasSubstr("at most 64"));
  EXPECT_THAT(misfit(metric::f1_per_class, 1025), HasSubstr("at most 1024"));
  EXPECT_EQ(misfit(metric::f1_macro, 65536), "");
}

TEST(metrics_reference, is_the_committed_document) {
  std::ifstream file(source_root() / "docs/metrics-of-models.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), metrics_reference())
      << "run: ballast docs metrics-of-models > docs/metrics-of-models.md";
}

} // namespace
} // namespace ballast::metrics
