// Goal: where rows have no ties, the same rows stay as in imbalanced-learn, and
// with its random numbers the same are drawn and made, bit by bit. Method: what
// record_rows.py wrote down.
#include "data/resampling/support_vectors.hpp"
#include "tests/data/resampling/some_rows.hpp"
#include "tests/source_root.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

namespace ballast::data {
namespace {

using nlohmann::json;

class recorded_rows : public testing::Test {
protected:
  recorded_rows() {
    std::ifstream in(source_root() /
                     "tests/data/resampling/recorded_rows.json");
    peer_ = json::parse(in);
    points_.columns = peer_.at("x")[0].size();
    points_.of_row = peer_.at("y").get<std::vector<uint32_t>>();
    points_.classes = 3;
    for (const json& row : peer_.at("x"))
      for (const json& value : row)
        points_.values.push_back(value.get<double>());
  }

  /// "enn kind_sel=mode": a method, and its options.
  resampled_rows ours(const std::string& words,
                      const std::vector<std::string>& more = {}) const {
    std::istringstream in(words);
    std::string method;
    in >> method;
    std::vector<std::string> options = more;
    for (std::string one; in >> one;)
      options.push_back(one);
    return resampled(points_, method, options);
  }

  json peer_;
  some_points points_;
};

TEST_F(recorded_rows, stay_as_in_the_peer) {
  ASSERT_GE(peer_.at("kept").size(), 9u);
  for (const auto& one : peer_.at("kept").items()) {
    std::vector<uint32_t> kept = ours(one.key()).kept;
    std::sort(kept.begin(), kept.end());
    EXPECT_EQ(kept, one.value().get<std::vector<uint32_t>>()) << one.key();
  }
}

TEST_F(recorded_rows, are_drawn_as_by_the_peer) {
  for (const auto& one : peer_.at("drawn").items())
    EXPECT_EQ(ours(one.key(), {"rng=numpy_mt19937"}).kept,
              one.value().get<std::vector<uint32_t>>())
        << one.key();
}

TEST_F(recorded_rows, are_made_as_by_the_peer_bit_by_bit) {
  const resampled_rows got = ours("smote", {"rng=numpy_mt19937"});
  const json& made = peer_.at("made").at("smote");
  ASSERT_EQ(got.made.size(), made.size());
  for (size_t i = 0; i < made.size(); ++i)
    for (size_t c = 0; c < points_.columns; ++c)
      EXPECT_EQ(got.values[i * points_.columns + c], made[i][c].get<double>())
          << i << " " << c;
}

/// Of the peer's classifier, one of each two classes.
TEST_F(recorded_rows, that_hold_the_borders_are_those_of_the_peer) {
  const auto classes = by_class(points_.of_row, 3);
  std::set<uint32_t> found;
  for (size_t a = 0; a < 3; ++a)
    for (size_t b = a + 1; b < 3; ++b) {
      std::vector<uint32_t> rows = classes[a];
      rows.insert(rows.end(), classes[b].begin(), classes[b].end());
      for (const uint32_t row :
           support_vectors(points_.view(), rows, classes[a].size(),
                           {.gamma = usual_gamma(points_.view())}, {}))
        found.insert(row);
    }
  const auto known = peer_.at("support").get<std::set<uint32_t>>();
  EXPECT_EQ(found, known);
}

TEST(recorded_categories, are_made_as_by_the_peer) {
  std::ifstream in(source_root() /
                   "tests/data/resampling/recorded_categories.json");
  const json peer = json::parse(in);
  some_points points{.name = {},
                     .columns = 0,
                     .classes = 3,
                     .values = {},
                     .of_row = peer.at("y").get<std::vector<uint32_t>>()};
  std::vector<uint32_t> codes, expected;
  for (const json& row : peer.at("x"))
    for (const json& one : row)
      codes.push_back(one.get<uint32_t>());
  for (const json& row : peer.at("made").at("smoten"))
    for (const json& one : row)
      expected.push_back(one.get<uint32_t>());
  const auto counts = peer.at("counts").get<std::vector<uint32_t>>();
  labelled_rows rows = labelled(points);
  rows.categories = {codes, counts};
  EXPECT_EQ(
      resample(rows, order_of("smoten", {"rng=numpy_mt19937"}), 7, {}).codes,
      expected);
}

} // namespace
} // namespace ballast::data
