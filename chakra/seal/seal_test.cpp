#include "chakra/seal/seal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "chakra/base/testing/testing.h"

namespace chakra::seal {
namespace {

using testing::tag_of;

Key key_in(const std::string& path) {
  Findings findings;
  auto key = Key::read(path, findings);
  EXPECT_TRUE(key) << (key ? "" : key.error().message());
  EXPECT_TRUE(findings.empty());
  return *key;
}

TEST(Key, IsMadeOnceAndForItsOwnerOnly) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("key");
  ASSERT_TRUE(Key::make().save(path));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const std::string before = testing::must_read(path);
  EXPECT_EQ(before.size(), Key::kHead.size() + 1 + 2 * Key::kBytes + 1);
  EXPECT_EQ(tag_of(Key::make().save(path)), "seal.key.exists");
  EXPECT_EQ(testing::must_read(path), before);
  EXPECT_EQ(tag_of(Key::make().save(folder.path("none/key"))), "base.file.create");
}

TEST(Key, SaysThatOthersCanReadIt) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(Key::make().save(folder.path("key")));
  ASSERT_EQ(::chmod(folder.path("key").c_str(), 0644), 0);
  Findings findings;
  ASSERT_TRUE(Key::read(folder.path("key"), findings));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].tag, "seal.key.readable");
}

TEST(Key, RefusesOtherFiles) {
  const testing::TemporaryFolder folder;
  const std::string digits(64, 'a');
  ASSERT_EQ(::chmod(folder.write("good", "chakra-key-1\n" + digits + "\n").c_str(), 0600), 0);
  (void)key_in(folder.path("good"));
  for (const std::string& text :
       {std::string(), std::string("chakra-key-1"), "chakra-key-1\n" + digits, "chakra-key-2\n" + digits + "\n",
        "chakra-key-1\n" + digits.substr(1) + "\n", "chakra-key-1\n" + digits + "a\n",
        "chakra-key-1\n" + digits + "aa\n", "chakra-key-1\n" + digits + "\n\n", "chakra-key-1\n" + digits + "g\n",
        "chakra-key-1\n" + digits + "\n" + std::string(10000, 'a')}) {
    Findings findings;
    EXPECT_EQ(tag_of(Key::read(folder.write("bad", text), findings)), "seal.key.form") << text;
  }
  Findings findings;
  EXPECT_EQ(tag_of(Key::read(folder.path("absent"), findings)), "base.file.open");
  EXPECT_FALSE(Key::read(folder.path(), findings));
}

TEST(Tokens, DependOnKeyKindAndText) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(Key::make().save(folder.path("a")));
  ASSERT_TRUE(Key::make().save(folder.path("b")));
  const Key a = key_in(folder.path("a")), b = key_in(folder.path("b"));
  const std::string token = a.token("label", "my_layer");
  EXPECT_EQ(token.size(), 20U);
  EXPECT_EQ(token.find_first_not_of("0123456789"), std::string::npos);
  EXPECT_EQ(token, a.token("label", "my_layer"));
  EXPECT_NE(token, b.token("label", "my_layer"));
  EXPECT_NE(token, a.token("group", "my_layer"));
  EXPECT_NE(token, a.token("label", "my_layer2"));
  EXPECT_NE(a.token("a", "bc"), a.token("ab", "c"));
}

TEST(Tokens, AreThoseOfTheDefinition) {  // computed by hashlib.blake2b of Python; a change would break the names of
                                         // jobs that were shared before
  const testing::TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.write("key", "chakra-key-1\n" + std::string(64, '0') + "\n").c_str(), 0600), 0);
  EXPECT_EQ(key_in(folder.path("key")).token("label", "my_layer"), "15105697711805570616");
}

TEST(Sealed, OpensWithItsKeyOnly) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(Key::make().save(folder.path("a")));
  ASSERT_TRUE(Key::make().save(folder.path("b")));
  const Key a = key_in(folder.path("a")), b = key_in(folder.path("b"));
  for (const std::string& plain : {std::string(), std::string("secret name"), std::string(100000, 'x')}) {
    const std::string sealed = a.seal(plain);
    EXPECT_EQ(*a.open(sealed, "f"), plain);
    EXPECT_NE(sealed, a.seal(plain));  // a nonce for each
    if (!plain.empty()) EXPECT_EQ(sealed.find(plain), std::string::npos);
    EXPECT_EQ(tag_of(b.open(sealed, "f")), "seal.key.wrong");
    EXPECT_EQ(tag_of(a.open(sealed.substr(0, sealed.size() - 1), "f")),
              sealed.size() > 57 ? "seal.key.wrong" : "seal.form");
    for (const size_t at : {size_t{16}, size_t{41}, sealed.size() - 1}) {
      std::string changed = sealed;
      changed[at] = static_cast<char>(changed[at] ^ 1);
      EXPECT_EQ(tag_of(a.open(changed, "f")), "seal.key.wrong") << at;
    }
  }
  EXPECT_EQ(tag_of(a.open("", "f")), "seal.form");
  EXPECT_EQ(tag_of(a.open("chakra-sealed-1\nshort", "f")), "seal.form");
}

TEST(Digests, AreThoseOfOtherPrograms) {  // hashlib.blake2b(..., digest_size=32)
  EXPECT_EQ(digest_of(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(digest_of("abc"), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  std::string large;
  for (int i = 0; i < 200'000; ++i) large += static_cast<char>(i % 251);
  const testing::TemporaryFolder folder;
  for (const std::string& text : {std::string(), std::string("abc"), large})
    EXPECT_EQ(*digest_of_file(folder.write("file", text)), digest_of(text));
  EXPECT_EQ(digest_of(large), "04bb8ecaae05b9024a76314d4e774b4bda8ad4c662e5dc008764fc6c37284653");
  EXPECT_EQ(tag_of(digest_of_file(folder.path("none"))), "base.file.open");
}

TEST(Marks, Differ) { EXPECT_NE(random_mark(), random_mark()); }

}  // namespace
}  // namespace chakra::seal
