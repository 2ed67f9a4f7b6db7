// Goal: files that are read apart give the set that one reading gives, to the
// bit, whoever read which, and the same messages; what was read once is not
// read again. Method: sets with and without, and a helper in this process.
#include "data/prepared/fragment_task.hpp"
#include "data/prepared/prepared_set.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "tests/data/prepared/some_tables.hpp"
#include "tests/data/source/image_files.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <mutex>
#include <thread>

namespace ballast::data {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int files_count = 7;

/// Rows of one file of several, which differ in what they hold.
std::string file_of(int number, const std::string& kind) {
  const counter_random random(23, uint64_t(number));
  uint64_t at = 0;
  std::string out = kind == "tokens" ? "a,b\n" : "a,b,word,user,y\n";
  for (int row = 0; row < 40 + number; ++row) {
    const std::string number_text =
        kind == "floats" && number == 4
            ? std::to_string(random.unit(at++) - 0.5)
            : std::to_string(random.below(200, at++));
    if (kind == "tokens") {
      out += number_text + "," + std::to_string(random.below(30, at++)) + "\n";
      continue;
    }
    out += number_text + "," + (row == 3 ? "-0.0" : std::to_string(row));
    out += ",w" + std::to_string(random.below(5, at++));
    out += "," + std::to_string(random.below(12, at++)) + ",";
    out += kind == "texts"
               ? std::string(1, char('z' - int(random.below(3, at++)) - number))
           : kind == "regression" ? std::to_string(random.unit(at++))
                                  : std::to_string(random.below(4, at++));
    out += "\n";
  }
  return out;
}

std::vector<std::string> files_with(const std::string& kind) {
  std::vector<std::string> out;
  for (int i = 0; i < files_count; ++i)
    out.push_back(file_of(i, kind));
  return out;
}

job job_over(const temporary_folder& folder, const std::string& kind,
             const std::vector<std::string>& files) {
  for (size_t i = 0; i < files.size(); ++i)
    folder.write(kind + std::to_string(i) + ".csv", files[i]);
  job what = job_of(table_source(source_format::csv,
                                 (folder / (kind + "*.csv")).string(),
                                 kind == "tokens" ? "" : "y"),
                    7);
  what.elastic.workers = 3;
  what.model.kind = model_kind::logistic;
  what.data.test_fraction = 0.2;
  if (kind == "regression")
    what.train.loss = loss_kind::mse;
  if (kind == "tokens") {
    what.train.loss = loss_kind::next_token;
    what.data.test_fraction = 0;
  } else {
    what.balance.by = {"word"};
    what.balance.group = "user";
  }
  return what;
}

/// What is said while a set is prepared with its files apart.
struct heard {
  std::mutex lock;
  std::vector<std::string> lines;
  std::function<void(const std::string&)> ear() {
    return [this](const std::string& line) {
      const std::lock_guard guard(lock);
      lines.push_back(line);
    };
  }
};

prepare_options apart(heard& ear) {
  prepare_options out;
  out.apart.worth_bytes = 0;
  out.apart.note = ear.ear();
  return out;
}

std::string refusal_of(const job& what, const std::filesystem::path& cache,
                       const prepare_options& how) {
  try {
    (void)prepare(what, cache, how);
  } catch (const ballast_error& error) {
    return std::string(error.what()) + " at " + error.what_failed().pointer;
  }
  return "nothing";
}

TEST(files_apart, give_the_set_that_one_reading_gives) {
  temporary_folder folder;
  int caches = 0;
  for (const char* kind :
       {"numbers", "floats", "texts", "regression", "tokens"})
    for (const bool condition : {false, true}) {
      SCOPED_TRACE(std::string(kind) + (condition ? " where" : ""));
      job what = job_over(folder, kind, files_with(kind));
      if (condition)
        what.data.train.where = "a > 60 and b >= 0";
      const auto cache = [&] {
        return folder / ("cache" + std::to_string(caches++));
      };
      const std::string all = description_of(*prepare(what, cache()));
      for (const uint64_t memory : {uint64_t{5000}, UINT64_MAX}) {
        heard ear;
        prepare_options how = apart(ear);
        how.rows_memory = memory;
        const std::filesystem::path here = cache();
        EXPECT_EQ(description_of(*prepare(what, here, how)), all) << memory;
        EXPECT_THAT(ear.lines,
                    Contains(HasSubstr("of 6 files 6 were read here")));
        EXPECT_FALSE(std::filesystem::exists(here / "fragments"))
            << "they are needed no more";
      }
    }
}

TEST(files_apart, of_a_test_set_are_joined_likewise) {
  temporary_folder folder;
  job what = job_over(folder, "texts", files_with("texts"));
  what.data.test = what.data.train;
  const std::string all =
      description_of(*prepare(what, folder / "one after another"));
  heard ear;
  EXPECT_EQ(description_of(*prepare(what, folder / "apart", apart(ear))), all);
  EXPECT_THAT(ear.lines, Contains(HasSubstr("/data/test: of 6 files 6")));
}

TEST(files_apart, may_be_lines_of_json_with_classes_of_their_own) {
  temporary_folder folder;
  for (int i = 0; i < files_count; ++i) {
    std::string text;
    for (int row = 0; row < 30; ++row)
      text += R"({"a": )" + std::to_string(row * (i + 1)) + R"(, "b": )" +
              (i == 5 ? "0.5" : "2") + R"(, "kind": "k)" +
              std::to_string((row + 5 * i) % (3 + i)) + "\"}\n";
    folder.write(std::to_string(i) + ".jsonl", text);
  }
  job what = job_of(
      table_source(source_format::jsonl, (folder / "*.jsonl").string(), "kind"),
      8);
  const std::string all =
      description_of(*prepare(what, folder / "one after another"));
  heard ear;
  EXPECT_EQ(description_of(*prepare(what, folder / "apart", apart(ear))), all);
  EXPECT_THAT(ear.lines, Contains(HasSubstr("of 6 files 6 were read here")));
}

TEST(files_apart, may_be_archives_of_images) {
  temporary_folder folder;
  const image_size size{6, 5};
  for (int shard = 0; shard < 4; ++shard) {
    tar_members members;
    for (int i = 0; i < 5; ++i) {
      const std::string key = std::to_string(i);
      const auto shade = static_cast<unsigned char>(50 * shard + i);
      members.emplace_back(key + ".png",
                           png_of(size, plain_pixels(size, {shade, 7, 9})));
      members.emplace_back(key + ".cls", std::to_string((shard + i) % 3));
    }
    if (shard > 1)
      members.emplace_back("9.txt", "no image");
    write_tar((folder / ("set" + std::to_string(shard) + ".tar")).string(),
              members);
  }
  source_spec spec;
  spec.format = source_format::webdataset;
  spec.uri = (folder / "set*.tar").string();
  spec.size = {4};
  const job what = job_of(spec, 8);
  heard plain;
  prepare_options alone;
  alone.warn = plain.ear();
  const std::string all =
      description_of(*prepare(what, folder / "one after another", alone));
  heard ear;
  heard warned;
  prepare_options how = apart(ear);
  how.warn = warned.ear();
  EXPECT_EQ(description_of(*prepare(what, folder / "apart", how)), all);
  EXPECT_THAT(ear.lines, Contains(HasSubstr("of 4 files 4 were read here")));
  EXPECT_EQ(warned.lines, plain.lines) << "what was skipped";
  EXPECT_EQ(warned.lines.size(), 1u);
}

TEST(files_apart, meet_a_condition_by_the_types_of_those_before) {
  temporary_folder folder;
  const std::vector<std::string> words{"", "rome", "", "7", "rome", "12"};
  for (size_t i = 0; i < words.size(); ++i) {
    std::string text = "a,word,other,y\n";
    for (int row = 0; row < 20; ++row)
      text += std::to_string(row + 100 * int(i)) + "," + words[i] + "," +
              words[5 - i] + "," + std::to_string(row % 2) + "\n";
    folder.write(std::to_string(i) + ".csv", text);
  }
  int caches = 0;
  for (const char* where :
       {"word = 'rome' or word = '7'", "word is null or other is null",
        "word < other or word is null", "length(word) = 2 or a < 20"}) {
    job what = job_of(table_source(source_format::csv,
                                   (folder / "*.csv").string(), "y", {"a"}),
                      7);
    what.data.train.where = where;
    const auto prepared = [&](const prepare_options& how) {
      const auto cache = folder / ("cache" + std::to_string(caches++));
      try {
        return description_of(*prepare(what, cache, how));
      } catch (const ballast_error& error) {
        return std::string(error.what());
      }
    };
    heard ear;
    EXPECT_EQ(prepared(apart(ear)), prepared({})) << where;
  }
}

TEST(files_apart, are_refused_with_the_same_words) {
  temporary_folder folder;
  const auto with = [](int number, const std::string& row) {
    std::vector<std::string> out = files_with("texts");
    out[size_t(number)] += row;
    return out;
  };
  auto two = with(4, "x,2,w1,1,z\n");
  two[6] += "1,2,w1,1\n";
  auto no_column = files_with("texts");
  no_column[3] = "a,c,word,user,y\n1,2,w,1,z\n";
  int caches = 0;
  for (const auto& files :
       {with(5, "1,NaN?,w1,1,z\n"), two, no_column, with(2, "1,2,7,1,z\n"),
        with(6, "1,2,w1,1,\n"), with(4, "1,2,w1,1,7\n")}) {
    const job what = job_over(folder, "texts", files);
    const std::string number = std::to_string(caches++);
    const std::string said = refusal_of(what, folder / ("a" + number), {});
    EXPECT_NE(said, "nothing");
    heard ear;
    EXPECT_EQ(refusal_of(what, folder / ("b" + number), apart(ear)), said);
  }
}

TEST(files_apart, that_changed_meanwhile_are_no_damaged_ones) {
  temporary_folder folder;
  std::vector<std::string> files = files_with("numbers");
  files[4] += "here,is,no,number,0\n";
  const job what = job_over(folder, "numbers", files);
  prepare_options how;
  how.apart.worth_bytes = 0;
  // Before it is read for the second time, which refuses it.
  how.apart.note = [&](const std::string& line) {
    if (line.find("numbers4.csv is read in its turn") != std::string::npos)
      folder.write("numbers4.csv", files[4] + "1,2\n");
  };
  EXPECT_THAT(refusal_of(what, folder / "cache", how),
              HasSubstr("numbers4.csv: changed while the data were prepared; "
                        "try again when it is complete"));
}

TEST(files_apart, that_were_read_before_are_not_read_again) {
  temporary_folder folder;
  auto files = files_with("numbers");
  const std::string sound = files[6];
  files[6] += "1,2,w1,1,-3\n";
  const job broken = job_over(folder, "numbers", files);
  heard first;
  EXPECT_THAT(refusal_of(broken, folder / "cache", apart(first)),
              HasSubstr("numbers6.csv"));
  files[6] = sound;
  const job mended = job_over(folder, "numbers", files);
  heard second;
  const auto set = prepare(mended, folder / "cache", apart(second));
  EXPECT_EQ(description_of(*set),
            description_of(*prepare(mended, folder / "other")));
  EXPECT_THAT(second.lines,
              Contains(HasSubstr("5 of 6 files were read before")));
  EXPECT_THAT(second.lines, Contains(HasSubstr("of 6 files 1 were read here")));
}

TEST(files_apart, are_read_again_where_a_fragment_is_damaged) {
  temporary_folder folder;
  auto files = files_with("numbers");
  const std::string sound = files[6];
  files[6] += "1,2,w1,1,-3\n";
  heard first;
  (void)refusal_of(job_over(folder, "numbers", files), folder / "cache",
                   apart(first));
  for (const auto& one :
       std::filesystem::directory_iterator(folder / "cache" / "fragments")) {
    std::fstream file(one.path(), std::ios::in | std::ios::out);
    file.seekp(700);
    file.put('\x5a');
  }
  files[6] = sound;
  const job mended = job_over(folder, "numbers", files);
  heard second;
  const auto set = prepare(mended, folder / "cache", apart(second));
  EXPECT_EQ(description_of(*set),
            description_of(*prepare(mended, folder / "other")));
  EXPECT_THAT(second.lines, Contains(HasSubstr("is damaged")));
}

TEST(fragments_in_a_cache, are_listed_and_go_before_sets_do) {
  temporary_folder folder;
  auto files = files_with("numbers");
  files[6] += "1,2,w1,1,-3\n";
  heard ear;
  (void)refusal_of(job_over(folder, "numbers", files), folder / "cache",
                   apart(ear));
  const prepare_cache cache(folder / "cache");
  ASSERT_EQ(cache.entries().size(), 1u);
  EXPECT_EQ(cache.entries()[0].name, "fragments");
  EXPECT_GT(cache.entries()[0].bytes, 1000u);
  EXPECT_FALSE(cache.entries()[0].in_use);
  {
    const auto used = cache.use_fragments();
    EXPECT_TRUE(cache.entries()[0].in_use);
    EXPECT_EQ(cache.clear().size(), 1u);
    cache.evict(0);
    EXPECT_EQ(cache.entries().size(), 1u);
  }
  cache.evict(1'000'000);
  EXPECT_EQ(cache.entries().size(), 1u) << "there is room";
  cache.evict(0);
  EXPECT_TRUE(cache.entries().empty());
}

TEST(files_apart, do_without_a_disk_that_takes_none_of_them) {
  temporary_folder folder;
  const job what = job_over(folder, "numbers", files_with("numbers"));
  const std::string all = description_of(*prepare(what, folder / "a"));
  ASSERT_STREQ(arm_fault_points("fragment.write=enospc@1-100"), "");
  heard ear;
  const std::string found =
      description_of(*prepare(what, folder / "b", apart(ear)));
  ASSERT_STREQ(arm_fault_points(""), "");
  EXPECT_EQ(found, all);
  EXPECT_THAT(ear.lines, Contains(HasSubstr("is read in its turn")));
}

/// A helper on a thread of this process, which shares its cache.
class near_helper {
public:
  near_helper(std::shared_ptr<fragment_helpers> to, worker_id id,
              std::filesystem::path cache)
      : to_(std::move(to)), id_(id), cache_(std::move(cache)) {
    to_->joined(id_, "w" + to_string(id_),
                [this](const prepare_fragment& what) {
                  const std::lock_guard guard(lock_);
                  threads_.emplace_back([this, what] {
                    fragment_ready answer =
                        carry_out(what, uint64_t{1} << 20, cache_, {});
                    answer.worker = id_;
                    to_->answered(answer);
                  });
                });
  }
  ~near_helper() {
    to_->gone(id_);
    for (std::thread& one : threads_)
      one.join();
  }

private:
  const std::shared_ptr<fragment_helpers> to_;
  const worker_id id_;
  prepare_cache cache_;
  std::mutex lock_;
  std::vector<std::thread> threads_;
};

TEST(files_apart, are_read_by_others_too) {
  temporary_folder folder;
  const job what = job_over(folder, "texts", files_with("texts"));
  const std::string all = description_of(*prepare(what, folder / "alone"));
  heard ear;
  prepare_options how = apart(ear);
  how.apart.helpers = std::make_shared<fragment_helpers>();
  // What is read here takes a while each, so that there is something to do.
  ASSERT_STREQ(arm_fault_points("fragment.read=delay:20@1-100"), "");
  std::string found;
  {
    const near_helper one(how.apart.helpers, worker_id{1}, folder / "cache");
    const near_helper two(how.apart.helpers, worker_id{2}, folder / "cache");
    found = description_of(*prepare(what, folder / "cache", how));
  }
  ASSERT_STREQ(arm_fault_points(""), "");
  EXPECT_EQ(found, all);
  EXPECT_THAT(ear.lines,
              Contains(AnyOf(HasSubstr("by w1"), HasSubstr("by w2"))));
}

TEST(files_apart, may_be_parts_of_a_folder_of_images) {
  temporary_folder folder;
  const image_size size{2, 2};
  for (int i = 0; i < 600; ++i) {
    const auto shade = static_cast<unsigned char>(i % 251);
    const std::string kind = i < 120 ? "ape" : i < 400 ? "bee" : "cat";
    std::filesystem::create_directories(folder / "all" / kind);
    folder.write("all/" + kind + "/" + std::to_string(i) + ".png",
                 png_of(size, plain_pixels(size, {shade, 7, 9})));
  }
  source_spec spec;
  spec.format = source_format::images;
  spec.uri = (folder / "all").string();
  spec.size = {2};
  const job what = job_of(spec, 8);
  const std::string all = description_of(*prepare(what, folder / "alone"));
  heard ear;
  prepare_options how = apart(ear);
  how.apart.helpers = std::make_shared<fragment_helpers>();
  ASSERT_STREQ(arm_fault_points("fragment.read=delay:20@1-100"), "");
  std::string found;
  {
    const near_helper one(how.apart.helpers, worker_id{1}, folder / "cache");
    found = description_of(*prepare(what, folder / "cache", how));
  }
  ASSERT_STREQ(arm_fault_points(""), "");
  EXPECT_EQ(found, all);
  EXPECT_THAT(ear.lines, Contains(HasSubstr("of 3 files ")));
}

TEST(files_apart, that_are_images_have_the_number_of_their_class) {
  temporary_folder folder;
  const image_size size{2, 2};
  for (int i = 0; i < 300; ++i) {
    const std::string kind = i < 280 ? "bee" : "cat";
    for (const char* part : {"all/", "test/"})
      std::filesystem::create_directories(folder / (part + kind));
    folder.write("all/" + kind + "/" + std::to_string(i) + ".png",
                 png_of(size, plain_pixels(size, {5, 7, 9})));
    folder.write("test/" + kind + "/" + std::to_string(i) + ".png",
                 png_of(size, plain_pixels(size, {7, 7, 9})));
  }
  std::filesystem::create_directories(folder / "all/ape");
  folder.write("all/ape/1.png", png_of(size, plain_pixels(size, {1, 2, 3})));
  source_spec spec;
  spec.format = source_format::images;
  spec.uri = (folder / "all").string();
  spec.size = {2};
  job what = job_of(spec, 8);
  what.data.test = spec;
  what.data.test->uri = (folder / "test").string();
  what.data.test_fraction = 0;
  const std::string all = description_of(*prepare(what, folder / "alone"));
  heard ear;
  EXPECT_EQ(description_of(*prepare(what, folder / "apart", apart(ear))), all);
  EXPECT_THAT(ear.lines, Contains(HasSubstr("/data/test: of 2 files 2")));
}

TEST(files_apart, are_asked_for_once_of_who_does_not_have_them) {
  temporary_folder folder;
  const job what = job_over(folder, "texts", files_with("texts"));
  const std::string all = description_of(*prepare(what, folder / "alone"));
  heard ear;
  prepare_options how = apart(ear);
  how.apart.helpers = std::make_shared<fragment_helpers>();
  ASSERT_STREQ(arm_fault_points("fragment.find=eio@1-100"), "");
  std::string found;
  {
    const near_helper one(how.apart.helpers, worker_id{1}, folder / "cache");
    found = description_of(*prepare(what, folder / "cache", how));
  }
  ASSERT_STREQ(arm_fault_points(""), "");
  EXPECT_EQ(found, all);
  EXPECT_THAT(ear.lines, Contains(HasSubstr("of 6 files 6 were read here")));
}

TEST(fragment_orders, are_not_carried_out_for_another_file) {
  temporary_folder folder;
  const job what = job_over(folder, "texts", files_with("texts"));
  prepare_cache cache(folder / "cache");
  fragment_task task;
  task.what = std::make_shared<const job>(what);
  task.pointer = "/data/train";
  task.file = find_files(what.data.train.uri, "/data/train/uri")[2];
  task.identity = identity_of(task.file, "/data/train/uri", cache, {});
  task.choice = {{"a", "b"}, true, {}};
  prepare_fragment order;
  order.key = key_of(task);
  order.job = json_text(to_json(what));
  order.pointer = task.pointer;
  order.file = task.file.name;
  order.identity = task.identity;
  order.choice = task.choice;
  const auto done = carry_out(order, 1 << 20, cache, {});
  EXPECT_EQ(done.outcome, fragment_outcome::ready) << done.why;
  EXPECT_GT(done.bytes, 0u);
  std::string part;
  EXPECT_TRUE(read_part(cache, order.key, 0, part));
  EXPECT_EQ(part.size(), done.bytes);
  EXPECT_FALSE(read_part(cache, order.key, done.bytes, part));
  cache.remove_fragments({order.key});
  EXPECT_FALSE(read_part(cache, order.key, 0, part));

  folder.write("texts2.csv", file_of(5, "texts"));
  const auto changed = carry_out(order, 1 << 20, cache, {});
  EXPECT_EQ(changed.outcome, fragment_outcome::not_here);
  EXPECT_THAT(changed.why, HasSubstr("has another content here"));
  order.file = folder / "texts9.csv";
  EXPECT_THAT(carry_out(order, 1 << 20, cache, {}).why,
              HasSubstr("is not here"));
  order.identity = "another";
  EXPECT_EQ(carry_out(order, 1 << 20, cache, {}).outcome,
            fragment_outcome::not_here);
}

} // namespace
} // namespace ballast::data
