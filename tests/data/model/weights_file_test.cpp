// Tensors of a file are read to where they belong, whatever their type, size
// and the number of threads; what is no such file is refused with its name.
#include "data/model/number_type.hpp"
#include "data/model/weights_file.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/write_safetensors.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

class weights_of_a_file : public testing::Test {
protected:
  weights_of_a_file() {
    std::string pattern = testing::TempDir() + "ballast-weights-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "model.safetensors").string();
  }
  ~weights_of_a_file() override { fs::remove_all(folder_); }

  void write_raw(const std::string& header, const std::string& values) const {
    const uint64_t length = header.size();
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header << values;
  }
  std::string refusal() const {
    try {
      const weights_file file(path_);
      for (const tensor_place& one : file.tensors()) {
        std::vector<float> to((one.end - one.begin) / one.type->bytes);
        file.read({{&one, to}}, 2);
      }
      return "read";
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().code, errc::invalid_data);
      EXPECT_NE(std::string(e.what()).find(path_), std::string::npos);
      return e.what();
    }
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(weights_of_a_file, go_to_where_they_belong_by_any_number_of_threads) {
  std::vector<float> large(2'500'001), small(7); // several pieces, and one
  std::iota(large.begin(), large.end(), 1.0F);
  std::iota(small.begin(), small.end(), -3.0F);
  write_safetensors(path_, {{"a", {2'500'001}, large}, {"b", {7}, small}});
  const weights_file file(path_);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.find("b")->shape, std::vector<int64_t>{7});
  for (size_t threads : {1, 2, 5}) {
    std::vector<float> a(large.size()), b(small.size());
    file.read({{file.find("b"), b}, {file.find("a"), a}}, threads);
    EXPECT_TRUE(a == large);
    EXPECT_EQ(b, small);
  }
  EXPECT_TRUE(file.equals(*file.find("a"), large));
  large.back() += 1;
  EXPECT_FALSE(file.equals(*file.find("a"), large));
  EXPECT_FALSE(file.equals(*file.find("a"), small));
}

TEST_F(weights_of_a_file, of_other_types_become_float32) {
  using namespace std::string_literals;
  write_raw(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
            R"("n":{"dtype":"I64","shape":[],"data_offsets":[4,12]}})",
            "\x80\x3f\x49\xc0"s + "\x05\0\0\0\0\0\0\0"s);
  const weights_file file(path_);
  std::vector<float> a(2), n(1);
  file.read({{file.find("a"), a}, {file.find("n"), n}}, 2);
  EXPECT_EQ(a, (std::vector<float>{1, -3.140625F}));
  EXPECT_EQ(n, std::vector<float>{5});
  EXPECT_TRUE(file.find("n")->type->integer);
  EXPECT_TRUE(file.equals(*file.find("a"), a));
}

TEST_F(weights_of_a_file, are_refused_where_the_file_is_none) {
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
  write_raw("{}", "");
  EXPECT_EQ(refusal(), "read");
  write_raw("{}", "abcd");
  EXPECT_NE(refusal().find("take 0 bytes, the file has 4"), std::string::npos);
  const std::vector<float> values(10);
  write_safetensors(path_, {{"a", {10}, values}});
  const auto whole = fs::file_size(path_);
  for (uintmax_t length :
       {uintmax_t{0}, uintmax_t{7}, uintmax_t{8}, uintmax_t{40}, whole - 1}) {
    write_safetensors(path_, {{"a", {10}, values}});
    fs::resize_file(path_, length);
    EXPECT_NE(refusal(), "read") << length;
  }
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_NE(refusal().find("is a folder"), std::string::npos);
}

TEST_F(weights_of_a_file, are_refused_beyond_float32) {
  const double huge = 1e300;
  write_raw(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})",
            {reinterpret_cast<const char*>(&huge), sizeof huge});
  EXPECT_NE(refusal().find("'a' has a number of F64"), std::string::npos);
}

TEST_F(weights_of_a_file, that_becomes_shorter_meanwhile_are_refused) {
  const std::vector<float> values(3'000'000);
  write_safetensors(path_, {{"a", {3'000'000}, values}});
  const weights_file file(path_);
  fs::resize_file(path_, fs::file_size(path_) - 4);
  std::vector<float> to(values.size());
  EXPECT_THROW(file.read({{file.find("a"), to}}, 3), ballast_error);
}

} // namespace
} // namespace ballast::data
