#include "chakra/base/base.h"
#include "chakra/base/join.h"
#include "chakra/base/row_map.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "chakra/base/testing/testing.h"

namespace chakra {
namespace {

using testing::tag_of;
using testing::TemporaryFolder;

std::string random_text(Prng& random, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + random.below(4));  // packs well
  return text;
}

/// The bytes of a file as they are on disk.
std::string must_read_raw(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The same bytes plain, as gzip and as zstd, by the system's own tools.
std::string pack(const TemporaryFolder& folder, const std::string& name, const std::string& tool) {
  const std::string packed = folder.path(name + "." + tool);
  EXPECT_EQ(std::system((tool + " -c '" + folder.path(name) + "' > '" + packed + "'").c_str()), 0);
  return packed;
}

TEST(Error, MessageHasPlaceSentenceAndTag) {
  const Error error{Code::bad_input, "io.et.truncated", "it ends too early", {"rank3.et", 81234, -1}};
  EXPECT_EQ(error.message(), "rank3.et @81234: it ends too early [io.et.truncated]");
  EXPECT_EQ((Error{Code::usage, "a.b", "no", {"net.yml", -1, 7}}).message(), "net.yml:7: no [a.b]");
}

TEST(ByteSource, ReadsPackedFilesInPiecesOfAnySize) {
  TemporaryFolder folder;
  Prng random(1);
  const std::string text = random_text(random, 300'000);
  std::vector<std::string> paths{folder.write("plain", text)};
  paths.push_back(pack(folder, "plain", "gzip"));
  if (std::system("zstd --version >/dev/null 2>&1") == 0) paths.push_back(pack(folder, "plain", "zstd"));
  for (const std::string& path : paths)
    for (const size_t piece : {size_t{1000}, size_t{77'777}, size_t{1} << 20}) {
      auto source = ByteSource::open(path);
      ASSERT_TRUE(source) << source.error().message();
      std::string read;
      std::vector<char> buffer(piece);
      for (;;) {
        auto got = source->read(buffer);
        ASSERT_TRUE(got) << got.error().message();
        read.append(buffer.data(), *got);
        if (*got < piece) break;
      }
      EXPECT_EQ(read, text) << path << " in pieces of " << piece;
      EXPECT_EQ(source->offset(), static_cast<int64_t>(text.size()));
    }
}

TEST(ByteSource, SeveralGzipMembersAreOneFile) {
  TemporaryFolder folder;
  folder.write("a", "first ");
  folder.write("b", "second");
  const std::string both = testing::must_read(folder.path("a")) + testing::must_read(folder.path("b"));
  ASSERT_EQ(std::system(("cat '" + folder.path("a") + "' | gzip > '" + folder.path("ab.gz") + "'; gzip -c '" +
                         folder.path("b") + "' >> '" + folder.path("ab.gz") + "'")
                            .c_str()),
            0);
  EXPECT_EQ(testing::must_read(folder.path("ab.gz")), both);
}

TEST(ByteSource, EveryCutOfAPackedFileIsAnError) {
  TemporaryFolder folder;
  Prng random(2);
  folder.write("plain", random_text(random, 5000));
  for (const std::string tool : {"gzip", "zstd"}) {
    if (std::system((tool + " --version >/dev/null 2>&1").c_str()) != 0) continue;
    std::ifstream file(pack(folder, "plain", tool), std::ios::binary);
    const std::string packed((std::istreambuf_iterator<char>(file)), {});
    for (size_t size = 4; size < packed.size(); size += 1 + packed.size() / 200) {
      folder.write("cut", packed.substr(0, size));
      EXPECT_EQ(tag_of(read_file(folder.path("cut"))), tool == "gzip" ? "base.gzip.truncated" : "base.zstd.truncated")
          << size;
    }
    std::string damaged = packed;
    damaged[packed.size() - 5] = static_cast<char>(damaged[packed.size() - 5] ^ 1);  // in the checksum or the data
    folder.write("damaged", damaged);
    EXPECT_FALSE(read_file(folder.path("damaged"))) << tool;
  }
}

TEST(ByteSource, ReadsTheOnlyFileOfAnArchive) {
  TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{511}, size_t{512}, size_t{513}, size_t{100'000}}) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 23);
    folder.write("file", text);
    const std::string in_folder = "cd '" + folder.path() + "' && ";
    for (const std::string packing :
         {"tar cf a.tar file", "tar czf a.tar file", "mkdir -p d && cp file d && tar czf a.tar d"}) {
      ASSERT_EQ(std::system((in_folder + packing).c_str()), 0);
      EXPECT_EQ(::chakra::testing::must_read(folder.path("a.tar")), text) << packing << ", " << size << " bytes";
    }
    ASSERT_EQ(std::system((in_folder + "cp file other && tar cf a.tar file other && tar cf whole.tar file").c_str()),
              0);
    EXPECT_EQ(tag_of(read_file(folder.path("a.tar"))), "base.tar.several");
    const std::string whole = must_read_raw(folder.path("whole.tar"));
    for (size_t cut = 512; cut < 512 + size; cut += 97) {
      folder.write("cut.tar", whole.substr(0, cut));
      EXPECT_EQ(tag_of(read_file(folder.path("cut.tar"))), "base.tar.truncated") << cut;
    }
  }
}

TEST(ByteSource, StopsUnpackingAtAThousandTimesThePackedBytes) {
  TemporaryFolder folder;
  constexpr size_t kSize = size_t{16} << 20;
  for (const std::string& path : {folder.path("zeros.zst"), folder.path("zeros.gz")}) {
    auto file = PackedFile::create(path);
    ASSERT_TRUE(file && file->write(std::string(kSize, '\0')) && file->commit());
  }
  const auto all = [](const std::string& path) -> Result<size_t> {
    CHAKRA_ASSIGN(const std::string text, read_file(path));
    return text.size();
  };
  const auto limited = all(folder.path("zeros.zst"));
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().tag, "base.unpack.limit");
  EXPECT_EQ(limited.error().place.byte,
            static_cast<int64_t>(file_size(folder.path("zeros.zst")) * kMostUnpackedTimes + 1));
  EXPECT_EQ(tag_of(all(folder.path("zeros.gz"))), "base.unpack.limit");  // 1,030 times
  set_most_unpacked(kSize);
  EXPECT_EQ(all(folder.path("zeros.zst")), kSize);
  EXPECT_EQ(all(folder.path("zeros.gz")), kSize);
  set_most_unpacked(kSize - 1);
  EXPECT_EQ(tag_of(all(folder.path("zeros.zst"))), "base.unpack.limit");
  EXPECT_EQ(tag_of(all(folder.path("zeros.gz"))), "base.unpack.limit");
  set_most_unpacked(0);
}

TEST(ByteSource, RefusesDevicesAndReadsPipes) {
  TemporaryFolder folder;
  EXPECT_EQ(tag_of(ByteSource::open("/dev/zero")), "base.file.device");
  EXPECT_EQ(read_file("/dev/null"), "");
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  for (const uint64_t limit : {0, 2'000'000, 1'999'999}) {
    std::thread writer([&] { std::ofstream(folder.path("pipe")) << std::string(2'000'000, 'x'); });
    set_most_unpacked(limit);
    const auto read = read_file(folder.path("pipe"));
    set_most_unpacked(0);
    writer.join();
    if (limit == 1'999'999) EXPECT_EQ(tag_of(read), "base.unpack.limit");
    else EXPECT_EQ(read, std::string(2'000'000, 'x'));
  }
}

TEST(ByteSource, NoSuchFile) {
  EXPECT_EQ(tag_of(ByteSource::open("/nowhere/at all")), "base.file.open");
  EXPECT_EQ(tag_of(ByteSource::open("/")), "base.file.open");
}

TEST(AtomicFile, AppearsWholeOrNotAtAll) {
  TemporaryFolder folder;
  folder.write("old", "before");
  {
    auto file = AtomicFile::create(folder.path("old"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("after"));
    EXPECT_EQ(testing::must_read(folder.path("old")), "before");
  }  // abandoned
  EXPECT_EQ(testing::must_read(folder.path("old")), "before");
  EXPECT_EQ(list_folder(folder.path())->size(), 1u);
  ASSERT_TRUE(write_file(folder.path("old"), "after"));
  EXPECT_EQ(testing::must_read(folder.path("old")), "after");
  EXPECT_EQ(list_folder(folder.path())->size(), 1u);
}

TEST(AtomicFile, LinksAndDevicesStayWhatTheyAre) {
  TemporaryFolder folder;
  folder.write("target", "x");
  std::filesystem::create_symlink("target", folder.path("link"));
  ASSERT_TRUE(write_file(folder.path("link"), "y"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(testing::must_read(folder.path("target")), "y");
  ASSERT_TRUE(write_file("/dev/null", "nothing"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(tag_of(AtomicFile::create(folder.path("target/file"))), "base.file.create");
}

TEST(AtomicFile, FoldersOnTheWayAreMadeForAFileThatAppears) {
  TemporaryFolder folder;
  {
    auto file = AtomicFile::create(folder.path("new/inner/file"));
    ASSERT_TRUE(file) << file.error().message();
    ASSERT_TRUE(file->write("x"));
    EXPECT_TRUE(is_directory(folder.path("new/inner")));
  }
  EXPECT_FALSE(is_directory(folder.path("new")));
  ASSERT_TRUE(write_file(folder.path("new/inner/file"), "x"));
  EXPECT_EQ(testing::must_read(folder.path("new/inner/file")), "x");
}

TEST(AtomicFile, ModeIsKeptAndALinkToNothingIsWrittenThrough) {
  namespace fs = std::filesystem;
  TemporaryFolder folder;
  folder.write("secret", "x");
  fs::permissions(folder.path("secret"), fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write_file(folder.path("secret"), "y"));
  EXPECT_EQ(fs::status(folder.path("secret")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("later", folder.path("link"));
  ASSERT_TRUE(write_file(folder.path("link"), "z"));
  EXPECT_TRUE(fs::is_symlink(folder.path("link")));
  EXPECT_EQ(testing::must_read(folder.path("later")), "z");
  fs::create_symlink("two", folder.path("one"));
  fs::create_symlink("one", folder.path("two"));
  EXPECT_EQ(tag_of(AtomicFile::create(folder.path("one"))), "base.file.create");
}

TEST(Strings, PoolGivesEqualTextEqualIds) {
  StringPool pool;
  Prng random(3);
  std::vector<std::pair<std::string, StringId>> known;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random_text(random, random.below(6));
    known.emplace_back(text, pool.intern(text));
  }
  for (const auto& [text, id] : known) {
    EXPECT_EQ(pool[id], text);
    EXPECT_EQ(pool.intern(text), id);
    EXPECT_EQ(pool.find(text), id);
  }
  EXPECT_EQ(pool.find("never seen"), 0u);
  EXPECT_EQ(pool[0], "");
}

TEST(Strings, JsonStringsAreValidWhateverIsInThem) {
  const auto json = [](std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  };
  EXPECT_EQ(json("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(json("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(json("bad\xff end\xc3"), "\"bad\\ufffd end\\ufffd\"");
  EXPECT_EQ(json("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"");  // a surrogate
}

TEST(Strings, Utf8IsTheTextOfAJsonString) {
  Prng random(8);
  constexpr std::string_view kParts[] = {
      "a", std::string_view("\0", 1), "\x1b", "\x7f", "\xff", "\xc3", "\xbc", "\xed\xa0\x80", "\u202e", "\"\\"};
  for (int i = 0; i < 1000; ++i) {
    std::string text, valid, json, of_valid;
    for (uint64_t n = random.below(9); n > 0; --n) text += kParts[random.below(std::size(kParts))];
    append_utf8(valid, text);
    for (size_t at = 0; at < valid.size(); at += utf8_length(valid, at)) ASSERT_GT(utf8_length(valid, at), 0U);
    append_json_string(json, text);
    append_json_string(of_valid, valid);
    size_t place = 0;
    for (; (place = json.find("\\ufffd", place)) != std::string::npos; place += 3)
      json.replace(place, 6, "\xef\xbf\xbd");
    EXPECT_EQ(json, of_valid);
  }
}

TEST(Strings, ListsBecomeText) {
  EXPECT_EQ(join(std::vector<int64_t>{}, ", "), "");
  EXPECT_EQ(join(std::vector<int64_t>{-1, 20}, ", "), "-1, 20");
  EXPECT_EQ(join(std::vector<double>{0.1, 2}, " x "), "0.1 x 2");
  EXPECT_EQ(join(std::vector<std::string>{"", "a", ""}, ","), ",a,");
  EXPECT_EQ(join(std::array<std::string_view, 2>{"a", "b"}, ""), "ab");
  const char* const words[] = {"one", "two"};
  EXPECT_EQ(join(words, " "), "one two");
}

TEST(Strings, Integers) {
  int64_t value = 0;
  EXPECT_TRUE(parse_integer("-42", value) && value == -42);
  EXPECT_TRUE(parse_integer("0x1f", value) && value == 31);
  for (const char* wrong : {"", "-", "1.0", "1 ", "0x", "9223372036854775808", "abc"})
    EXPECT_FALSE(parse_integer(wrong, value)) << wrong;
}

TEST(Strings, DecimalNumbers) {
  int64_t whole = 0;
  uint64_t natural = 0;
  double real = 0;
  EXPECT_TRUE(parse_decimal("-42", whole) && whole == -42);
  EXPECT_TRUE(parse_decimal("0", natural) && natural == 0);
  EXPECT_TRUE(parse_decimal("18446744073709551615", natural) && natural == UINT64_MAX);
  EXPECT_TRUE(parse_decimal("0.5", real) && real == 0.5);
  EXPECT_TRUE(parse_decimal("-2e-3", real) && real == -2e-3);
  for (const char* wrong :
       {"", "-", "0x10", "010", "-010", "00", "1_000", "+1", " 1", "1 ", "9223372036854775808", "1.0"})
    EXPECT_FALSE(parse_decimal(wrong, whole)) << wrong;
  for (const char* wrong : {"", "0x1p3", "010.5", "1_0.5", "inf", "nan", "1.5x", "1e999"})
    EXPECT_FALSE(parse_decimal(wrong, real)) << wrong;
}

TEST(Strings, ShortDecimalNumbersAreTheNearest) {
  Prng random(15);
  for (int round = 0; round < 100'000; ++round) {
    std::string text = std::to_string(random.below(uint64_t{1} << random.below(50)));
    if (const size_t point = random.below(text.size() + 1); point > 0 && point < text.size()) text.insert(point, ".");
    if (text.size() > 1 && text[0] == '0' && text[1] != '.') continue;
    double read = 0;
    ASSERT_TRUE(parse_decimal(text, read)) << text;
    ASSERT_EQ(read, std::strtod(text.c_str(), nullptr)) << text;
  }
  for (const char* wrong : {".5", "5.", "1.2.3", "."}) {
    double read = 0;
    double expected = 0;
    const std::string_view text = wrong;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
    EXPECT_EQ(parse_decimal(text, read), error == std::errc() && end == text.data() + text.size()) << wrong;
  }
}

TEST(Quantity, ShowsUnits) {
  EXPECT_EQ(show_time(1'234), "1.234 ns");
  EXPECT_EQ(show_time(12 * kPsPerUs), "12.00 us");
  EXPECT_EQ(show_time(0), "0 s");
  EXPECT_EQ(show_time(999), "999 ps");
  EXPECT_EQ(show_bytes(1536), "1.5 KiB");
  EXPECT_EQ(show_rate(50e9), "50.0 GB/s");
  EXPECT_EQ(show_count(-1234567), "-1,234,567");
  EXPECT_EQ(show_count(123), "123");
  EXPECT_EQ(exact_ns(1'500), "1.5");
  EXPECT_EQ(exact_ns(-500), "-0.5");
}

TEST(Quantity, TimesDoNotOverflow) {
  EXPECT_EQ(add_saturated(kLongestPs, kLongestPs), kLongestPs);
  EXPECT_EQ(add_saturated(-kLongestPs, INT64_MIN), -kLongestPs);
  EXPECT_EQ(picoseconds(1e-9), 1'000);
  EXPECT_EQ(picoseconds(1e300), kLongestPs);
  EXPECT_EQ(picoseconds(0.0 / 0.0), kLongestPs);
}

TEST(Quantity, PicosecondsRoundAsLlround) {
  for (const double ps : {0.0, 0.5, -0.5, 1.5, 2.5, 0.49999999999999994, 4503599627370495.5, 9007199254740993.0})
    EXPECT_EQ(picoseconds(ps / kPsPerSecond), std::llround(ps / kPsPerSecond * kPsPerSecond)) << ps;
  Prng random(7);
  for (int i = 0; i < 100'000; ++i) {
    const double mantissa = static_cast<double>(random.between(-(int64_t{1} << 53), int64_t{1} << 53));
    const double seconds = std::ldexp(mantissa, static_cast<int>(random.between(-110, -35)));  // below a ps to days
    ASSERT_EQ(picoseconds(seconds), std::llround(seconds * kPsPerSecond)) << seconds;
  }
}

TEST(Spec, YamlAndJsonAlike) {
  for (const char* text : {"a: [1, 2.5]\nb: {c: yes}\n", "{\"a\": [1, 2.5],\n\t\"b\": {\"c\": \"yes\"}}"}) {
    auto spec = parse_spec(text, "file");
    ASSERT_TRUE(spec) << spec.error().message();
    EXPECT_EQ(*spec->find("a")->items[0].integer(), 1);
    EXPECT_EQ(*spec->find("a")->items[1].number(), 2.5);
    EXPECT_EQ(*spec->find("b")->find("c")->string(), "yes");
    EXPECT_EQ(spec->find("d"), nullptr);
    EXPECT_EQ(tag_of(spec->find("a")->number()), "base.spec.type");
  }
}

TEST(Spec, ErrorsSayTheLine) {
  auto twice = parse_spec("a: 1\nb: 2\na: 3\n", "net.yml");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().tag, "base.spec.duplicate_key");
  EXPECT_EQ(twice.error().place.line, 3);
  auto wrong = parse_spec("a: [1, 2\nb: 3\n", "net.yml");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().tag, "base.spec.syntax");
  auto value = parse_spec("a: 1\nb: x\n", "net.yml");
  auto number = value->find("b")->number();
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().message(), "net.yml:2: expected a decimal number, got 'x' [base.spec.type]");
}

TEST(Spec, YamlInBlocksWithAnchors) {
  const auto spec = parse_spec(
      "%YAML 1.2\n--- # one document\nlink: &fast {bandwidth: 100, name: '0'}\nlinks:\n  - *fast\n  - &fast 7\n  - "
      "*fast\n"
      "nothing:\nnone: ~\ntext: \"a\\tb\"\nlines: |\n  one\n  two\n...\n",
      "net.yml");
  ASSERT_TRUE(spec) << spec.error().message();
  const std::vector<Spec>& links = spec->find("links")->items;
  ASSERT_EQ(links.size(), 3);
  EXPECT_EQ(*links[0].find("bandwidth")->integer(), 100);
  EXPECT_EQ(links[0].line, 5);
  EXPECT_TRUE(links[0].find("name")->was_quoted);
  EXPECT_EQ(*links[2].integer(), 7);  // the name stands for the last that has it
  EXPECT_EQ(spec->find("nothing")->kind, Spec::Kind::null);
  EXPECT_EQ(spec->find("none")->kind, Spec::Kind::null);
  EXPECT_EQ(*spec->find("text")->string(), "a\tb");
  EXPECT_EQ(*spec->find("lines")->string(), "one\ntwo\n");
  EXPECT_EQ(parse_spec("", "net.yml")->kind, Spec::Kind::null);
  EXPECT_EQ(parse_spec("# none\n", "net.yml")->place().file, "net.yml");
  EXPECT_EQ(*parse_spec("'<<': 1\n", "net.yml")->find("<<")->integer(), 1);
}

TEST(Spec, WrongYamlIsRefusedWithItsLine) {
  for (const auto& [text, line] : std::vector<std::pair<const char*, int64_t>>{
           {"a: 1\n---\nb: 2\n", 2},         // a second document
           {"a: 1\nb: *unknown\n", 2},       // an alias for nothing
           {"a: &a\n  - *a\n", 2},           // an alias for itself
           {"a: &a 1\nb: &a\n  - *a\n", 3},  // likewise: the new name hides the old one
           {"a: 1\n? [1, 2]\n: 3\n", 2},     // a list as key
           {"a: 1\nb: \"x\n", 3},
           {"a: 1\n# \xe9\n", 2},                // not UTF-8
           {"a: &a {b: 1}\nc:\n  <<: *a\n", 3},  // a merge key
           {"a: 1\n b: 2\n", 2}}) {
    const auto spec = parse_spec(text, "net.yml");
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().tag, "base.spec.syntax") << text;
    EXPECT_EQ(spec.error().place.line, line) << text;
  }
}

TEST(Spec, NestingIsNoStackOverflow) {
  EXPECT_FALSE(parse_spec(std::string(100'000, '['), "deep"));
  EXPECT_FALSE(parse_spec(std::string(100'000, '{'), "deep"));
}

TEST(RowMap, FindsRowsWhereverTheNumbersLie) {
  Prng random(5);
  for (int round = 0; round < 500; ++round) {
    const uint64_t range = uint64_t{1} << random.below(64), from = random.chance(0.5) ? 0 - range : random.next();
    std::vector<std::optional<uint64_t>> numbers(random.below(50));
    for (auto& number : numbers)
      if (random.chance(0.9)) number = from + random.below(range);
    RowMap rows(numbers, [](const auto& number) { return number; });
    std::map<uint64_t, uint32_t> wanted;
    for (uint32_t i = 0; i < numbers.size(); ++i)
      if (numbers[i]) rows[*numbers[i]] = wanted[*numbers[i]] = i;
    for (const auto& [number, row] : wanted)
      for (const uint64_t near : {number - 1, number, number + 1})
        ASSERT_EQ(rows.find(near), wanted.contains(near) ? wanted[near] : RowMap::kNoRow);
    ASSERT_EQ(RowMap().find(from), RowMap::kNoRow);
  }
}

TEST(TextHash, TellsTextsApartByEveryByte) {
  // Of all texts of one length that differ in one byte, hardly two may have the same 32 bits.
  for (size_t size = 1; size < 70; ++size) {
    std::set<uint32_t> low, high;
    size_t texts = 0;
    for (size_t at = 0; at < size; ++at)
      for (int byte = 1; byte < 256; byte += 7, ++texts) {
        std::string text(size, '\0');
        text[at] = static_cast<char>(byte);
        const uint64_t hash = TextHash()(text);
        low.insert(static_cast<uint32_t>(hash));
        high.insert(static_cast<uint32_t>(hash >> 32));
      }
    EXPECT_GE(low.size() + 2, texts) << size;
    EXPECT_GE(high.size() + 2, texts) << size;
  }
}

}  // namespace
}  // namespace chakra
