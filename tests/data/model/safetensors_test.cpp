// What is written is read back, by us and by the reference reader; broken
// files are refused with a reason.
#include "data/model/number_type.hpp"
#include "data/model/safetensors.hpp"
#include "data/model/sha256.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/write_safetensors.hpp"
#include "tests/source_root.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

class safetensors : public testing::Test {
protected:
  safetensors() {
    std::string pattern = testing::TempDir() + "ballast-safetensors-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "model.safetensors").string();
  }
  ~safetensors() override { fs::remove_all(folder_); }

  void write_raw(const std::string& header, size_t data_bytes,
                 uint64_t claimed) const {
    std::ofstream out(path_, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&claimed), 8);
    out << header << std::string(data_bytes, '\0');
  }
  std::string refusal() const {
    try {
      read_safetensors(path_);
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().code, errc::invalid_data);
      EXPECT_NE(std::string(e.what()).find(path_), std::string::npos);
      return e.what();
    }
    return "read";
  }
  std::string refusal_of(const std::string& header, size_t data_bytes) const {
    write_raw(header, data_bytes, header.size());
    return refusal();
  }

  fs::path folder_;
  std::string path_;
  std::vector<float> weight_{1.5F, -2, 3, 4, 5, 6};
  std::vector<float> bias_{0.25F};
  std::vector<tensor_view> tensors_{{"fc.weight", {2, 3}, weight_},
                                    {"fc.bias", {1}, bias_},
                                    {"empty", {0, 4}, {}}};
};

TEST_F(safetensors, reads_back_what_was_written) {
  write_safetensors(path_, tensors_, {{"step", "7"}});
  tensor_file file = read_safetensors(path_);
  EXPECT_EQ(file.metadata.at("step"), "7");
  ASSERT_EQ(file.tensors.size(), 3);
  for (const tensor_view& expected : tensors_) {
    const tensor_view* got = file.find(expected.name);
    ASSERT_NE(got, nullptr) << expected.name;
    EXPECT_EQ(got->shape, expected.shape);
    EXPECT_TRUE(std::ranges::equal(got->values, expected.values));
  }
  EXPECT_EQ(file.find("fc.scale"), nullptr);
}

TEST_F(safetensors, leaves_nothing_but_the_file_and_replaces_an_old_one) {
  write_safetensors(path_, tensors_);
  write_safetensors(path_, {{"only", {1}, bias_}});
  EXPECT_EQ(read_safetensors(path_).tensors.size(), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(safetensors, is_readable_by_the_reference_implementation) {
  // `dev setup` puts the wheel there; numpy is the one of the system.
  const fs::path modules = source_root() / ".deps/python";
  const std::string python = "PYTHONPATH='" +
                             modules.lexically_normal().string() +
                             "' /usr/bin/python3 ";
  if (std::system(
          (python + "-c 'import safetensors.numpy' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "/usr/bin/python3 has no safetensors and numpy here";
  write_safetensors(path_, tensors_, {{"format", "pt"}});
  std::string script =
      "from safetensors import safe_open\n"
      "with safe_open(\"" +
      path_ +
      "\", \"np\") as f:\n"
      "  print(sorted(f.keys()), f.metadata())\n"
      "  print(f.get_tensor(\"fc.weight\").tolist())\n"
      "  print(f.get_tensor(\"fc.bias\"), f.get_tensor(\"empty\").shape)\n";
  FILE* out = popen((python + "-c '" + script + "' 2>&1").c_str(), "r");
  ASSERT_NE(out, nullptr);
  std::string text;
  for (char line[512]; fgets(line, sizeof line, out);)
    text += line;
  EXPECT_EQ(pclose(out), 0);
  EXPECT_EQ(text, "['empty', 'fc.bias', 'fc.weight'] {'format': 'pt'}\n"
                  "[[1.5, -2.0, 3.0], [4.0, 5.0, 6.0]]\n"
                  "[0.25] (0, 4)\n");
}

TEST_F(safetensors, refuses_files_that_are_cut_off) {
  write_safetensors(path_, tensors_);
  const auto whole = fs::file_size(path_);
  for (uintmax_t length :
       {uintmax_t{0}, uintmax_t{7}, uintmax_t{8}, uintmax_t{40}, whole - 1}) {
    fs::resize_file(path_, length);
    EXPECT_NE(refusal(), "read") << length;
    write_safetensors(path_, tensors_);
  }
  fs::resize_file(path_, whole + 4);
  EXPECT_NE(refusal(), "read");
  fs::remove(path_);
  EXPECT_NE(refusal().find("No such file"), std::string::npos);
}

TEST_F(safetensors, refuses_headers_that_lie) {
  write_raw("{}", 0, uint64_t{1} << 62);
  EXPECT_NE(refusal().find("header claims"), std::string::npos);
  auto tensor = [](const std::string& rest) {
    return "{\"w\":{" + rest + "}}";
  };
  const std::string f32 = "\"dtype\":\"F32\",";
  EXPECT_EQ(refusal_of(tensor(f32 + R"("shape":[2],"data_offsets":[0,8])"), 8),
            "read");
  EXPECT_NE(refusal_of("[1]", 0), "read");
  EXPECT_NE(refusal_of("{", 0), "read");
  EXPECT_NE(refusal_of(tensor(f32 + R"("shape":[3],"data_offsets":[0,8])"), 8),
            "read");
  EXPECT_NE(
      refusal_of(tensor(f32 + R"("shape":[2],"data_offsets":[4,12])"), 12),
      "read");
  EXPECT_NE(refusal_of(tensor(f32 + R"("shape":[2],"data_offsets":[0,8])"), 12),
            "read");
  EXPECT_NE(refusal_of(tensor(f32 + R"("shape":[-2],"data_offsets":[0,8])"), 8),
            "read");
  EXPECT_NE(
      refusal_of(
          tensor(f32 +
                 R"("shape":[4294967296,4294967296],"data_offsets":[0,0])"),
          0),
      "read");
  EXPECT_NE(refusal_of(tensor(f32 + R"("shape":[2])"), 8), "read");
  EXPECT_NE(
      refusal_of(tensor(R"("dtype":"C64","shape":[1],"data_offsets":[0,8])"), 8)
          .find("C64"),
      std::string::npos);
}

TEST(number_type, every_type_of_other_programs_becomes_float32) {
  auto read = [](const char* type, std::string_view bytes) {
    const number_type* found = find_number_type(type);
    EXPECT_NE(found, nullptr) << type;
    std::vector<float> out(bytes.size() / found->bytes);
    EXPECT_TRUE(found->to_float32(bytes.data(), out)) << type;
    return out;
  };
  using values = std::vector<float>;
  using namespace std::string_view_literals;
  // 1, -2, the smallest subnormal, the largest number, infinity
  EXPECT_EQ(read("F16", "\x00\x3c\x00\xc0\x01\x00\xff\x7b\x00\x7c"sv),
            (values{1, -2, 0x1p-24F, 65504, INFINITY}));
  EXPECT_EQ(read("BF16", "\x80\x3f\x49\xc0"sv), (values{1, -3.140625F}));
  EXPECT_EQ(read("F64", "\0\0\0\0\0\0\x04\xc0"sv), values{-2.5F});
  EXPECT_EQ(read("I64", "\xff\xff\xff\xff\xff\xff\xff\xff"sv), values{-1});
  EXPECT_EQ(read("BOOL", "\x01\0"sv), (values{1, 0}));
  EXPECT_EQ(find_number_type("F8_E4M3"), nullptr);
  // 1e300 is a number, and float32 has none of that size.
  std::vector<float> one(1);
  const double huge = 1e300;
  EXPECT_FALSE(find_number_type("F64")->to_float32(
      reinterpret_cast<const char*>(&huge), one));
}

TEST_F(safetensors, reads_tensors_of_mixed_types) {
  const std::string header =
      R"({"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
      R"("n":{"dtype":"I64","shape":[],"data_offsets":[6,14]}})";
  write_raw(header, 14, header.size());
  tensor_file file = read_safetensors(path_);
  ASSERT_NE(file.find("a"), nullptr);
  EXPECT_EQ(file.find("a")->values.size(), 3u);
  EXPECT_EQ(file.find("n")->values.size(), 1u);
  EXPECT_EQ(file.integers, std::set<std::string>{"n"});
}

TEST_F(safetensors, refuses_to_write_tensors_that_do_not_fit) {
  EXPECT_THROW(write_safetensors(path_, {{"w", {3}, bias_}}), ballast_error);
  EXPECT_THROW(write_safetensors(path_, {{"w", {1}, bias_}, {"w", {1}, bias_}}),
               ballast_error);
  EXPECT_TRUE(fs::is_empty(folder_));
}

std::string hash(const std::string& text) {
  sha256 h;
  // In two parts, so that a cut inside a block is met too.
  auto bytes = std::as_bytes(std::span(text));
  h.update(bytes.first(bytes.size() / 3));
  h.update(bytes.subspan(bytes.size() / 3));
  return h.hex_digest();
}

TEST(sha256, agrees_with_the_published_vectors) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb924"
                      "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223"
                         "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039"
            "a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67"
            "f1809a48a497200e046d39ccc7112cd0");
}

TEST(weights_sha256, does_not_depend_on_the_order_of_the_list) {
  std::vector<float> a{1, 2}, b{3};
  tensor_view x{"a", {2}, a}, y{"b", {1}, b};
  EXPECT_EQ(weights_sha256({x, y}), weights_sha256({y, x}));
  std::vector<float> joined{1, 2, 3};
  EXPECT_EQ(weights_sha256({x, y}), weights_sha256({{"all", {3}, joined}}));
  EXPECT_NE(weights_sha256({{"a", {1}, b}, {"b", {2}, a}}),
            weights_sha256({x, y}));
}

} // namespace
} // namespace ballast::data
