#include "chakra/recording/secrets.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "chakra/recording/public_names.h"

namespace chakra::recording {
namespace {

using Kinds = std::map<std::string, std::vector<std::string>>;
/// Examples by kind, of kinds with any.
Kinds kinds_of(const Secrets& found) {
  Kinds kinds;
  for (size_t k = 0; k < kSecretKinds.size(); ++k)
    if (const auto& of = found.of(static_cast<Secret>(k)); of.count > 0)
      kinds.emplace(kSecretKinds[k].key, of.examples);
  return kinds;
}
Kinds of_text(std::string_view text, std::string_view member = "") {
  Secrets found;
  found.add(member, text);
  return kinds_of(found);
}
Kinds of_json(std::string_view text) {
  Secrets found;
  EXPECT_TRUE(find_secrets_in_json(*ByteSource::from_memory(text), found));
  return kinds_of(found);
}

TEST(PublicNames, AreThoseOfPyTorch) {
  for (const std::string_view name :
       {"aten::mm", "AddmmBackward0", "cudaLaunchKernel", "ProfilerStep#12", "cuda:0", "Optimizer.step#AdamW.step",
        "autograd::engine::evaluate_function: AddmmBackward0", "Memcpy HtoD (Pinned -> Device)", "Memset (Device)",
        "CopyHostToDevice", "label.12", "kernel.3", "kernel.gemm.3", "ncclKernel_AllReduce_RING_LL",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"})
    EXPECT_TRUE(is_public_name(name)) << name;
  for (const std::string_view name :
       {"", "my_model", "aten::mm ", "aten::secret", "ProfilerStep#12a", "ncclDevKernel_AllReduce_Sum_secret",
        "Memset (Secret)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(secret)",
        "autograd::engine::evaluate_function: secret", "cuda:0x", "12", "kernel.moon.3", "label.x"})
    EXPECT_FALSE(is_public_name(name)) << name;
  for (const std::string_view word : {"12", "-1.5e+3", ".5", "5.", "-inf", "NaN", "float"})
    EXPECT_TRUE(is_public_word(word)) << word;
  for (const std::string_view word : {"", "-", ".", "1e", "1x", "0x12"}) EXPECT_FALSE(is_public_word(word)) << word;
}

TEST(Secrets, HaveKinds) {
  const struct {
    std::string_view text, kind, example;
  } rows[] = {
      {"alice@example.com", "e-mail", "alice@example.com"},
      {"mail to <bob.smith+x@cs.uni.edu>, please", "e-mail", "bob.smith+x@cs.uni.edu"},
      {"hf_AbCdEfGhIjKlMnOpQrStUvWx", "token", "hf_AbCdEfGhIjKlMnOpQrStUvWx"},
      {"load password=Q7hunter", "token", "password=Q7hunter"},
      {"API_KEY=moonlight", "token", "moonlight"},
      {"auth_token:moonlight", "token", "auth_token:moonlight"},
      {"ghp_0123456789abcdefABCDEF", "token", "ghp_0123456789abcdefABCDEF"},
      {"AKIAIOSFODNN7EXAMPLE", "token", "AKIAIOSFODNN7EXAMPLE"},
      {"8f14e45fceea167a5a36dedd4bea2543", "token", "8f14e45fceea167a5a36dedd4bea2543"},
      {"GPU 123e4567-e89b-12d3-a456-426614174000", "token", "123e4567-e89b-12d3-a456-426614174000"},
      {"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6g", "token", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6g"},
      {"10.0.13.7", "address", "10.0.13.7"},
      {"tcp 192.168.1.1:29500", "address", "192.168.1.1:29500"},
      {"fe80::1ff:fe23:4567:890a%eth0", "address", "fe80::1ff:fe23:4567:890a%eth0"},
      {"00:1a:2b:3c:4d:5e", "address", "00:1a:2b:3c:4d:5e"},
      {"https://wandb.ai/x", "address", "https://wandb.ai/x"},
      {"gpu17.cluster.internal", "host", "gpu17.cluster.internal"},
      {"WANDB_PROJECT=moon", "environment", "WANDB_PROJECT=moon"},
      {"/data/moon/train.py(12)", "path", "/data/moon/train.py"},
      {"C:\\work\\x.txt", "path", "C:\\work\\x.txt"},
      {"train.py(7): <lambda>", "path", "train.py"},
      {"2026-11-27", "date", "2026-11-27"},
      {"started 2026-11-27T06:00:00Z", "date", "2026-11-27T06:00:00Z"},
      {"MoonModel.layer_7", "name", "MoonModel.layer_7"},
      {"\xc3\xa9", "name", "\xc3\xa9"},
      {"void moon_kernel<float>(int)", "name", "void moon_kernel<float>(int)"},
  };
  for (const auto& row : rows) {
    const Kinds kinds = of_text(row.text);
    const auto found = kinds.find(std::string(row.kind));
    ASSERT_NE(found, kinds.end()) << row.text;
    EXPECT_EQ(found->second[0], row.example) << row.text;
  }
  EXPECT_EQ(of_text("/home/carol/x.py"), (Kinds{{"path", {"/home/carol/x.py"}}, {"user", {"carol"}}}));
  EXPECT_EQ(of_text("dave", "username"), (Kinds{{"user", {"dave"}}}));
  EXPECT_EQ(of_text("n17", "HostName"), (Kinds{{"host", {"n17"}}}));
  EXPECT_EQ(of_text("moonlight", "api_key"), (Kinds{{"token", {"moonlight"}}}));
  EXPECT_EQ(of_text("https://eve:pw@git.corp/x").at("user"), (std::vector<std::string>{"eve:pw"}));
}

TEST(Secrets, AreNotWhatEveryRecordingHas) {
  for (const std::string_view text :
       {"", "aten::mm", "[1, 2, [3]]", "['Tensor', 'Int']", "12.5", "[]", "cuda:0", "(): -"})
    EXPECT_EQ(of_text(text), Kinds()) << text;
}

TEST(Secrets, OfNumbersAreTimes) {
  Secrets found;
  for (const std::string_view time : {"1764223200", "1764223200123", "1764223200123456.789", "1764223200123456789"})
    found.add_number("ts", time);
  EXPECT_EQ(found.of(Secret::date).count, 4);
  for (const std::string_view number : {"12", "-1764223200", "17642232001", "99999999999999999999", ""})
    found.add_number("ts", number);
  found.add_number("bytes", "1764223200");
  EXPECT_EQ(found.of(Secret::date).count, 4);
}

TEST(Secrets, CountAndKeepFewExamples) {
  Secrets found;
  for (int i = 0; i < 20; ++i) found.add("", fmt::format("moon{}", i / 2));
  EXPECT_EQ(found.of(Secret::name).count, 20);
  EXPECT_EQ(found.of(Secret::name).different.size(), 10U);
  EXPECT_EQ(found.of(Secret::name).examples, (std::vector<std::string>{"moon0", "moon1", "moon2", "moon3", "moon4"}));
  EXPECT_EQ(found.texts(), 20);
  found.add("", std::string(1000, 'x') + "y");
  EXPECT_EQ(found.of(Secret::name).count, 21);
}

TEST(Secrets, OfJson) {
  EXPECT_EQ(of_json(R"({"name": "aten::mm", "args": {"Input Dims": [[1, 2]]}, "ts": 12})"), Kinds());
  EXPECT_EQ(of_json(R"({"ts": 1764223200123456.5, "name": "moon", "moon_member": 1})"),
            (Kinds{{"date", {"1764223200123456"}}, {"name", {"moon", "moon_member"}}}));
  EXPECT_EQ(of_json(R"({"attr": [{"name": "hostname", "value": "n17"}]})"),
            (Kinds{{"host", {"n17"}}, {"name", {"hostname"}}}));
  EXPECT_EQ(of_json(R"(["\u002fhome\/carol", "a\"moon\"b\\"])"),
            (Kinds{{"path", {"/home/carol"}}, {"user", {"carol"}}, {"name", {"a\"moon\"b\\"}}}));
  EXPECT_EQ(of_json("{\"a\": \"x\"}\n{\"name\": \"moon\"}\n").at("name").back(), "moon");
}

TEST(Secrets, OfTextsThatAreCutOrWrong) {
  const std::string whole = R"({"name": "moon", "value": "\u002fx/yy", "ts": 1764223200, "user": "carol"})";
  for (size_t size = 0; size <= whole.size(); ++size) {
    const Kinds kinds = of_json(whole.substr(0, size));
    EXPECT_TRUE(size <= 10 || kinds.contains("name")) << size;
    EXPECT_EQ(kinds.contains("date"), size >= whole.find("1764223200") + 10) << size;
  }
  for (const std::string_view text :
       {"\"", "\\", "\"\\", "\"\\u", "\"\\u12", "\"\\uzz\"", "::::", "\"a\":\"b\":\"c\"", "-", "{{{{"})
    (void)of_json(text);
  EXPECT_EQ(of_json('"' + std::string(200'000, 'x') + "moon").at("name").size(), 2U);  // in pieces
}

}  // namespace
}  // namespace chakra::recording
