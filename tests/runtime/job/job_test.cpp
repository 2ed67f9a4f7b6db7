/// Goal: what a user may write in a job, and what Ballast says to what they may
/// not. Method: tables of a change to a right job and the answer to it.
#include "job_fixture.hpp"

#include "runtime/job/job_field.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

namespace ballast {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;

TEST(job, fills_in_every_default) {
  job_result result = parse(right_job());
  ASSERT_TRUE(result.value) << all_messages(result);
  json full = to_json(*result.value);
  EXPECT_EQ(full["train"]["global_batch"], 256);
  EXPECT_EQ(full["train"]["micro_batch"], nullptr);
  EXPECT_EQ(full["train"]["compression"], "none");
  EXPECT_EQ(full["model"]["hidden"], json({128}));
  EXPECT_EQ(full["data"]["test_fraction"], 0.2);
  EXPECT_EQ(full["data"]["train"]["features"], 16);
  EXPECT_EQ(full["data"]["pipeline"], json::array());
  EXPECT_EQ(full["elastic"]["workers"], 2);
  EXPECT_FALSE(full["model"].contains("channels"));
}

TEST(job, reads_what_it_writes) {
  // One change each, so that every field that can stand somewhere is met.
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"/data/test={\"format\":\"idx\",\"images\":\"a\",\"labels\":\"b\"}"},
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\","
       "\"features\":[\"a\",\"b\"]}",
       "/train/loss=mse", "/model={\"kind\":\"linear\",\"init\":\"zeros\"}"},
      {"/data/pipeline=[{\"op\":\"scale\",\"factor\":0.5}]"},
      {"/data/pipeline=[{\"op\":\"reshape\",\"shape\":[1,4,4]}]"},
      {"/data/placement={\"kind\":\"sizes\",\"shares\":[1,2.5]}"},
      {"/data/placement={\"kind\":\"dirichlet\",\"alpha\":0.1}"},
      {"/data/placement={\"kind\":\"dirichlet\",\"min_rows\":9,"
       "\"balanced\":true}"},
      {"/data/placement={\"kind\":\"lognormal\",\"sigma\":0}"},
      {"/data/placement={\"kind\":\"exponential\"}"},
      {"/data/placement={\"kind\":\"inner_dirichlet\"}"},
      {"/data/placement={\"kind\":\"inner_dirichlet\",\"shares\":[1,3]}"},
      {"/data/placement={\"kind\":\"shards\",\"shards_per_worker\":5}"},
      {"/data/placement={\"kind\":\"classes\",\"classes_per_worker\":3}"},
      {"/data/placement={\"kind\":\"matrix\","
       "\"matrix\":[[1,0,2.5,1],[0,1,0,1]]}"},
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\"}",
       "/data/placement={\"kind\":\"column\",\"column\":\"user\"}"},
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\","
       "\"features\":[\"a\"]}",
       "/data/placement={\"kind\":\"continuous\",\"column\":\"a\","
       "\"strictness\":0.5}"},
      {"/train/loss=mse", "/model/kind=linear", "/data/placement/kind=sorted"},
      {"/train/loss=mse", "/model/kind=linear",
       "/data/placement={\"kind\":\"classes\",\"classes_per_worker\":8}"},
      {"/data/train={\"format\":\"images\",\"uri\":\"a\",\"size\":[3,5]}"},
      {"/data/train={\"format\":\"webdataset\",\"uri\":\"a.tar\",\"size\":7}"},
      {"/model={\"kind\":\"emulated\",\"parameters\":7}"},
      {"/model={\"kind\":\"cnn\",\"channels\":[3],\"batch_norm\":true}"},
      {"/model={\"kind\":\"torchscript\",\"path\":\"m.pt\"}"},
      {"/model={\"kind\":\"resnet18\",\"stem\":\"cifar\"}"},
      {"/model={\"kind\":\"transformer\",\"vocabulary\":9}",
       "/train/loss=next_token"},
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\"}",
       "/model={\"kind\":\"transformer\",\"layers\":1,\"width\":6,"
       "\"heads\":3}",
       "/train/loss=next_token"},
      {"/train/optimizer={\"kind\":\"adamw\",\"beta1\":0.8}"},
      {"/train/schedule={\"kind\":\"step\",\"every_steps\":3}"},
      {"/train/schedule={\"kind\":\"cosine\",\"warmup_steps\":5}"},
      {"/train/clip_norm=1.5", "/train/micro_batch=8", "/seed=77"},
      {"/train/class_weights=[1,2,3,4]"},
      {"/train/class_weights=balanced"},
      {"/train/label_smoothing=0.1"},
      {"/train/loss=huber", "/train/huber_delta=0.5"},
      {"/train/loss=bce", "/data/train/classes=2"},
      {"/evaluate/metrics=[\"roc_auc\",\"confusion_matrix\"]"},
  };
  for (const auto& sets : variants) {
    job_result first = parse_with(sets);
    ASSERT_TRUE(first.value) << all_messages(first);
    json written = to_json(*first.value);
    job_result second = parse(written);
    ASSERT_TRUE(second.value) << all_messages(second);
    EXPECT_EQ(to_json(*second.value), written);
  }
}

/// A value that the field allows and that is not its default.
json another_value(const job_field& field) {
  const json_kind type = json_type(field);
  if (type == json_kind::boolean)
    return !default_of(field).get<bool>();
  if (type == json_kind::array)
    return is_table(field) ? json::array({json::array({1})})
           : json_type(field, true) != json_kind::string ? json{json(1)}
           : field.allowed.empty()                       ? json{json("abc")}
                                   : json{json(field.allowed.back())};
  if (type == json_kind::object)
    return {{"abc",
             field.allowed.empty() ? json("abc") : json(field.allowed.back())}};
  if (type == json_kind::string)
    return field.allowed.empty() ? json("abc") : json(field.allowed.back());
  for (const json& number : {json(1), json(0.25), json(12), json(7)}) {
    job scratch;
    if (number != default_of(field) &&
        store_value(field, number, scratch).empty())
      return number;
  }
  return 1; // only /version has no other
}

TEST(job, stores_every_field_in_a_place_of_its_own) {
  job target;
  target.data.test.emplace();
  target.data.pipeline.resize(1);
  std::map<const void*, std::string> places;
  for (const job_field& field : job_fields({true, 1})) {
    json other = another_value(field);
    EXPECT_TRUE(store_value(field, other, target).empty()) << field.pointer;
    EXPECT_EQ(load_value(field, target), other) << field.pointer;
    const void* place = std::visit(
        [](auto p) -> const void* {
          if constexpr (std::is_pointer_v<decltype(p)>)
            return p;
          else if constexpr (std::is_same_v<decltype(p), word_place>)
            return p.address();
          else if constexpr (std::is_same_v<decltype(p), list_or_word>)
            return p.list;
          else if constexpr (std::is_same_v<decltype(p), number_or_word>)
            return p.number;
          else
            return nullptr;
        },
        field.at(target));
    // A field may have variants that go with different selectors.
    EXPECT_EQ(places.emplace(place, field.pointer).first->second, field.pointer)
        << field.pointer << " is stored where " << places[place] << " is";
  }
}

struct refusal {
  std::string set;
  std::string pointer;
  std::string says;
  errc code = errc::invalid_job;
};

TEST(job, names_the_field_and_what_is_allowed_there) {
  const refusal table[] = {
      {"/train/epochs=0", "/train/epochs", "from 1 to 1000000, found 0"},
      {"/train/epochs=three", "/train/epochs", "an integer from 1"},
      {"/train/epochs=1.5", "/train/epochs", "found 1.5"},
      {"/train/epochs=-1", "/train/epochs", "found -1"},
      {"/train/epochs=18446744073709551616", "/train/epochs", "from 1 to"},
      {"/train/epochs=true", "/train/epochs", "found true"},
      {"/elastic/workers=0", "/elastic/workers", "from 1 to 1024, found 0"},
      {"/elastic/workers=100", "/elastic/workers", "max_workers (64)"},
      {"/elastic/min_workers=3", "/elastic/min_workers", "workers (2)"},
      {"/train/micro_batch=0", "/train/micro_batch", "null or an integer"},
      {"/train/clip_norm=0", "/train/clip_norm", "above 0"},
      {"/train/optimizer/momentum=1", "/train/optimizer/momentum",
       "from 0 to below 1"},
      {"/train/optimizer/beta1=0.9", "/train/optimizer/beta1",
       "belongs to kind \"adam\", \"adamw\""},
      {"/train/los=mse", "/train/los", "did you mean \"loss\"?"},
      {"/global_batch=3", "/global_batch", "did you mean /train/global_batch"},
      {"/a~1b=3", "/a~1b", "unknown key"},
      {"/train/loss=mes", "/train/loss", "did you mean \"mse\"?"},
      {"/train=3", "/train", "expected an object, found 3"},
      {"/data/pipeline=3", "/data/pipeline", "expected a list, found 3"},
      {"/data/pipeline=[3]", "/data/pipeline/0", "expected an object"},
      {"/data/pipeline=[{\"op\":\"scale\"}]", "/data/pipeline/0/factor",
       "is required: a number"},
      {"/faults=1", "/faults", "expected true or false, found 1"},
      {"/name=../x", "/name", "letters, digits"},
      {"/version=2", "/version", "expected 1, found 2"},
      {"/model/kind=tree", "/model/kind", "one of \"linear\""},
      {"/train/optimizer/kind=adagrad", "/train/optimizer/kind",
       "one of \"sgd\", \"adam\", \"adamw\""},
      {"/model/init=zeros", "/model/init", "belongs to the models"},
      {"/model/init=w.bin", "/model/init", "ends in .safetensors"},
      {"/model/hidden=[]", "/model/hidden", "1 to 64 items"},
      {"/model/hidden=[8,0]", "/model/hidden/1", "found 0"},
      {"/model/channels=[8]", "/model/channels", "belongs to kind \"cnn\""},
      {"/model={\"kind\":\"linear\"}", "/train/loss", "needs \"mse\""},
      {"/train/activation_checkpointing=true",
       "/train/activation_checkpointing", "has no blocks"},
      {"/train/class_weights=[1,1]", "/train/class_weights", "4 classes"},
      {"/train/class_weights=[0,0,0,0]", "/train/class_weights", "all are 0"},
      {"/data/placement={\"kind\":\"sizes\",\"shares\":[1,2,3]}",
       "/data/placement/shares", "3 shares for 2 workers"},
      {"/data/placement={\"kind\":\"sizes\",\"shares\":[1,0]}",
       "/data/placement/shares/1", "above 0"},
      {"/data/placement={\"kind\":\"sizes\"}", "/data/placement/shares",
       "is required"},
      {"/data/placement={\"kind\":\"inner_dirichlet\",\"shares\":[1,2,3]}",
       "/data/placement/shares", "3 shares for 2 workers"},
      {"/data/placement={\"kind\":\"iid\",\"shares\":[1,2]}",
       "/data/placement/shares",
       "belongs to kind \"sizes\", \"inner_dirichlet\""},
      {"/data/placement={\"kind\":\"lognormal\",\"sigma\":-1}",
       "/data/placement/sigma", "from 0 to 10, found -1"},
      {"/data/placement={\"kind\":\"dirichlet\",\"min_rows\":0}",
       "/data/placement/min_rows", "from 1"},
      {"/data/placement={\"kind\":\"iid\",\"balanced\":true}",
       "/data/placement/balanced", "belongs to kind \"dirichlet\""},
      {"/data/placement={\"kind\":\"shards\",\"shards_per_worker\":0}",
       "/data/placement/shards_per_worker", "from 1"},
      {"/data/placement={\"kind\":\"classes\",\"classes_per_worker\":5}",
       "/data/placement/classes_per_worker", "more than the 4 classes"},
      {"/data/placement={\"kind\":\"classes\",\"classes_per_worker\":1}",
       "/data/placement/classes_per_worker", "expected at least 2"},
      {"/data/placement={\"kind\":\"matrix\"}", "/data/placement/matrix",
       "is required: a list of 1 to 65536 items, each a list of"},
      {"/data/placement={\"kind\":\"matrix\",\"matrix\":[[1,1,1,1]]}",
       "/data/placement/matrix", "1 rows for 2 workers"},
      {"/data/placement={\"kind\":\"matrix\",\"matrix\":[[1,1,1],[1,1,1]]}",
       "/data/placement/matrix", "3 columns for 4 classes"},
      {"/data/placement={\"kind\":\"matrix\","
       "\"matrix\":[[1,1,1,1],[1,1,1]]}",
       "/data/placement/matrix/1", "the first row has 4"},
      {"/data/placement={\"kind\":\"matrix\","
       "\"matrix\":[[1,1,1,1],[0,0,0,0]]}",
       "/data/placement/matrix/1", "without rows"},
      {"/data/placement={\"kind\":\"matrix\",\"matrix\":[[1,1,1,-1],[1]]}",
       "/data/placement/matrix/0/3", "found -1"},
      {"/data/placement={\"kind\":\"matrix\",\"matrix\":[1]}",
       "/data/placement/matrix/0", "expected a list"},
      {"/data/placement={\"kind\":\"column\"}", "/data/placement/column",
       "is required"},
      {"/data/placement={\"kind\":\"column\",\"column\":\"user\"}",
       "/data/placement/column", "\"synthetic\" data have no named columns"},
      {"/balance/by=[\"site\"]", "/balance/by",
       "\"synthetic\" data have no named columns"},
      {"/balance/group=patient", "/balance/group",
       "\"synthetic\" data have no named columns"},
      {"/data/test={\"format\":\"synthetic\",\"rows\":5,\"classes\":3}",
       "/data/test/classes", "3 classes, but /data/train has 4"},
      {"/data/train={\"format\":\"csv\",\"label\":\"y\"}", "/data/train/uri",
       "is required"},
      {"/data/train={\"format\":\"csv\",\"uri\":\"ftp://x/y\",\"label\":\"y\"}",
       "/data/train/uri", "file:///folder/name.csv"},
      {"/data/train/format=null", "/data/train/format", "is required"},
      {"/data/train/features=[\"a\"]", "/data/train/features",
       "an integer from 1"},
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\"}",
       "/data/train/label", "is required with the loss \"cross_entropy\""},
      {"/data/pipeline=[{\"op\":\"reshape\"}]", "/data/pipeline/0/shape",
       "is required"},
      {"/model={\"kind\":\"resnet18\",\"stem\":\"vgg\"}", "/model/stem",
       "\"imagenet\", \"cifar\""},
      {"/model={\"kind\":\"transformer\"}", "/train/loss",
       "needs \"next_token\""},
      {"/train/loss=next_token", "/train/loss", "needs the model"},
  };
  for (const refusal& r : table) {
    job_result result = parse_with({r.set});
    EXPECT_FALSE(result.value) << r.set;
    ASSERT_THAT(pointers(result), ElementsAre(r.pointer))
        << r.set << "\n"
        << all_messages(result);
    EXPECT_THAT(result.mistakes[0].message, HasSubstr(r.says));
    EXPECT_THAT(result.mistakes[0].message, HasSubstr(r.pointer));
    EXPECT_EQ(result.mistakes[0].code, r.code);
  }
}

TEST(job, refuses_a_test_set_without_the_columns_that_balance_goes_by) {
  const job_result result = parse_with(
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\"}",
       "/data/test={\"format\":\"synthetic\",\"rows\":5,\"classes\":4}",
       "/balance/by=[\"site\"]"});
  EXPECT_THAT(all_messages(result),
              HasSubstr("\"synthetic\" data have no named columns; expected "
                        "a format that has, such as \"csv\" or \"parquet\" "
                        "for the test set, too"));
}

TEST(job, reads_standard_input_once_and_leaves_its_name_alone) {
  const job_result one = parse_with(
      {"/data/train={\"format\":\"csv\",\"uri\":\"-\",\"label\":\"y\"}"});
  ASSERT_TRUE(one.value) << all_messages(one);
  EXPECT_EQ(one.value->data.train.uri, "-");
  const job_result twice = parse_with(
      {"/data/train={\"format\":\"csv\",\"uri\":\"-\",\"label\":\"y\"}",
       "/data/test={\"format\":\"csv\",\"uri\":\"-\",\"label\":\"y\"}"});
  EXPECT_THAT(all_messages(twice),
              HasSubstr("/data/test/uri: standard input can be read once"));
  const job_result images = parse_with(
      {"/data/train={\"format\":\"images\",\"uri\":\"-\",\"size\":8}"});
  EXPECT_THAT(all_messages(images), HasSubstr("standard input has no files"));
}

TEST(job, takes_one_side_for_both_of_an_image) {
  const auto size_of = [](const std::string& size) {
    return parse_with(
        {"/data/train={\"format\":\"images\",\"uri\":\"a\",\"size\":" + size +
         "}"});
  };
  const job_result one = size_of("64");
  ASSERT_TRUE(one.value) << all_messages(one);
  EXPECT_THAT(one.value->data.train.size, ElementsAre(64u));
  const job_result two = size_of("[32, 48]");
  ASSERT_TRUE(two.value) << all_messages(two);
  EXPECT_THAT(two.value->data.train.size, ElementsAre(32u, 48u));
  for (const char* wrong : {"0", "1025", "[]", "[1, 2, 3]", "\"64\"", "null"})
    EXPECT_THAT(all_messages(size_of(wrong)), HasSubstr("/data/train/size"))
        << wrong;
}

TEST(job, refuses_images_where_labels_are_no_classes) {
  const std::string images =
      "/data/train={\"format\":\"images\",\"uri\":\"a\",\"size\":8}";
  EXPECT_THAT(all_messages(parse_with(
                  {images, "/train/loss=mse", "/model/kind=linear"})),
              HasSubstr("folders of images are classes, the loss \"mse\""));
  EXPECT_THAT(all_messages(parse_with({images, "/train/loss=next_token",
                                       "/model={\"kind\":\"transformer\"}"})),
              HasSubstr("\"images\" data have labels, rows for the loss"));
  EXPECT_THAT(all_messages(parse_with({images, "/balance/by=[\"site\"]"})),
              HasSubstr("\"images\" data have no named columns"));
}

TEST(job, refuses_what_does_not_go_with_tokens) {
  const refusal table[] = {
      {"/model/heads=3", "/model/heads", "do not divide the width 128"},
      {"/model/vocabulary=3", "/model/vocabulary", "less than the 4 tokens"},
      {"/data/pipeline=[{\"op\":\"scale\",\"factor\":2}]", "/data/pipeline",
       "as they are"},
      {"/data/train={\"format\":\"idx\",\"images\":\"a\",\"labels\":\"b\"}",
       "/data/train/format", "\"csv\", \"parquet\" or \"synthetic\""},
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\"}",
       "/data/train/label", "leave it out"},
      {"/data/test={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\"}",
       "/data/test/label", "leave it out"},
      {"/train/class_weights=[1,1,1,1]", "/train/class_weights",
       "belongs to the loss"},
      {"/model={\"kind\":\"cnn\"}", "/train/loss", "does not predict tokens"},
      {"/model={\"kind\":\"linear\"}", "/train/loss", "needs \"mse\""},
  };
  for (const refusal& r : table) {
    const job_result result = parse_with(
        {"/model={\"kind\":\"transformer\"}", "/train/loss=next_token", r.set});
    EXPECT_THAT(pointers(result), ElementsAre(r.pointer))
        << r.set << "\n"
        << all_messages(result);
    EXPECT_THAT(all_messages(result), HasSubstr(r.says));
  }
  EXPECT_TRUE(
      parse_with({"/model={\"kind\":\"emulated\"}", "/train/loss=next_token"})
          .value)
      << "any data can feed it";
}

TEST(job, names_the_columns_that_a_placement_may_go_by) {
  const job_result result = parse_with(
      {"/data/train={\"format\":\"csv\",\"uri\":\"a.csv\",\"label\":\"y\","
       "\"features\":[\"a\",\"b\"]}",
       "/data/placement={\"kind\":\"continuous\",\"column\":\"user\","
       "\"strictness\":2}"});
  ASSERT_THAT(pointers(result), ElementsAre("/data/placement/strictness",
                                            "/data/placement/column"));
  EXPECT_THAT(result.mistakes[0].message, HasSubstr("from 0 to 1, found 2"));
  EXPECT_THAT(result.mistakes[1].message,
              HasSubstr("\"user\" is not loaded; expected the label or one of "
                        "the features: \"y\", \"a\", \"b\""));
}

TEST(job, refuses_what_a_later_build_brings_as_such) {
  const refusal table[] = {
      {"/train/strategy=local_sgd", "/train/strategy", "\"allreduce\""},
      {"/data/pipeline=[{\"op\":\"rotate\"}]", "/data/pipeline/0/op",
       "\"rotate\""},
      {"/data/pipeline=[{\"op\":\"flip\"}]", "/data/pipeline/0/op",
       "\"scale\""},
  };
  for (const refusal& r : table) {
    job_result result = parse_with({r.set});
    ASSERT_THAT(pointers(result), ElementsAre(r.pointer))
        << r.set << "\n"
        << all_messages(result);
    EXPECT_EQ(result.mistakes[0].code, errc::not_in_build);
    EXPECT_THAT(result.mistakes[0].message, HasSubstr("not in this build"));
    EXPECT_THAT(result.mistakes[0].message, HasSubstr(r.says));
    EXPECT_EQ(describe(result.mistakes[0].code).exit_code, 2);
  }
}

} // namespace
} // namespace ballast
