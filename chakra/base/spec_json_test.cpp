// JSON gives the same tree whether it is read as JSON or, behind a comment, by the YAML parser.
#include "chakra/base/spec_json.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>

#include "chakra/base/base.h"

namespace chakra {
namespace {

std::string random_blanks(Prng& random) {
  static constexpr const char* kBlanks[] = {"", "", " ", "\n", " \n  "};
  return kBlanks[random.below(5)];
}

std::string random_json(Prng& random, int depth) {
  static constexpr const char* kPlain[] = {"1",     "-0.5",     "1e-7",       "true",      "false",
                                           "null",  "0",        R"("0x10")",  R"("a\tb")", R"("\u00e9")",
                                           R"("")", R"("[,{")", R"("\"\\\/")"};
  const uint64_t kind = depth == 0 ? 2 : random.below(4);
  if (kind >= 2) return kPlain[random.below(std::size(kPlain))];
  std::string out(1, kind == 0 ? '[' : '{');
  for (uint64_t i = 0, n = random.below(4); i < n; ++i) {
    if (i > 0) out += ",";
    out += random_blanks(random);
    if (kind == 1) out += fmt::format("\"key {}\":{}", i, " ");
    out += random_json(random, depth - 1) + random_blanks(random);
  }
  return out + (kind == 0 ? "]" : "}");
}

void expect_equal(const Spec& json, const Spec& yaml) {
  EXPECT_EQ(json.kind, yaml.kind);
  EXPECT_EQ(json.scalar, yaml.scalar);
  EXPECT_EQ(json.was_quoted, yaml.was_quoted);
  EXPECT_EQ(json.line, yaml.line - 1);  // behind the comment
  ASSERT_EQ(json.items.size(), yaml.items.size());
  ASSERT_EQ(json.fields.size(), yaml.fields.size());
  for (size_t i = 0; i < json.items.size(); ++i) expect_equal(json.items[i], yaml.items[i]);
  for (size_t i = 0; i < json.fields.size(); ++i) {
    EXPECT_EQ(json.fields[i].key, yaml.fields[i].key);
    expect_equal(json.fields[i].value, yaml.fields[i].value);
  }
}

TEST(SpecJson, IsWhatTheYamlParserReads) {
  Prng random(11);
  const auto file = std::make_shared<const std::string>("f");
  for (int i = 0; i < 2000; ++i) {
    const std::string text = (i % 2 ? "[" : "{\"a\":") + random_json(random, 4) + (i % 2 ? "]" : "}");
    const auto json = parse_json_spec(text, file);
    ASSERT_TRUE(json && *json) << text;
    const auto yaml = parse_spec("# behind a comment\n" + text, "f");
    ASSERT_TRUE(yaml) << text << yaml.error().message();
    expect_equal(**json, *yaml);
    if (HasFailure()) FAIL() << text;
  }
}

TEST(SpecJson, LeavesAllElseToTheYamlParser) {
  const auto file = std::make_shared<const std::string>("f");
  for (const char* text :
       {"[1, 2", "[1 2]", "{a: 1}", "{\"a\": 1,}", "[1,]", "[01]", "{\"a\": 1, \"a\": 2}", "[1] 2", "[\"\t\"]",
        "[\"\xff\"]", "[nul]", "[\"\\x\"]", "[1}", "{\"a\" 1}", "[\"\\ud83d\"]", "[,]", "]", "[+1]", "[1.]"}) {
    const auto json = parse_json_spec(text, file);
    ASSERT_TRUE(json) << text;
    EXPECT_FALSE(*json) << text;
  }
  EXPECT_FALSE(*parse_json_spec(std::string(101, '[') + std::string(101, ']'), file));
  EXPECT_TRUE(*parse_json_spec(std::string(100, '[') + std::string(100, ']'), file));
  EXPECT_EQ((*parse_json_spec("[\"\\ud83d\\ude00\"]", file))->items[0].scalar, "\xf0\x9f\x98\x80");
}

TEST(SpecJson, TablesAreWhatTheTreeHas) {
  const auto file = std::make_shared<const std::string>("f");
  const std::string text = R"({"name": "measured", "kernels": [
  {"measured": [[1, 2.5], [30, 4e-3],
    [5, 0.125] ], "after": 1},
  {"measured": [], "x": [[1, 2]]}, {"measured": [[1, 2], [3]]}, {"measured": [[1, 02]]}, {"measured": [[1, true]]},
  {"measured" : [[7]]}]})";
  const std::string plain = [&] {  // what is no JSON number is none here
    std::string all = text;
    return all.replace(all.find("02"), 2, "-2");
  }();
  EXPECT_FALSE(*parse_json_tables(text, file, "measured"));
  auto parsed = parse_json_tables(plain, file, "measured");
  ASSERT_TRUE(parsed && *parsed);
  const Spec tree = parse_json_spec(plain, file).value().value();
  const Spec& kernels = *(*parsed)->spec.find("kernels");
  std::vector<std::vector<double>> tables;
  for (size_t k = 0; k < kernels.items.size(); ++k) {
    const Spec &kept = *kernels.items[k].find("measured"), &whole = *tree.find("kernels")->items[k].find("measured");
    EXPECT_EQ(kept.line, whole.line);
    const NumberTable* const table = (*parsed)->table_of(kept);
    if (!table) {
      EXPECT_EQ(kept.items.size(), whole.items.size());
      tables.emplace_back();
      continue;
    }
    tables.push_back(table->cells);
    ASSERT_EQ(table->cells.size(), table->columns * whole.items.size());
    for (size_t i = 0; i < table->cells.size(); ++i)
      EXPECT_EQ(table->cells[i], whole.items[i / table->columns].items[i % table->columns].number().value());
  }
  EXPECT_EQ(tables, (std::vector<std::vector<double>>{{1, 2.5, 30, 4e-3, 5, 0.125}, {}, {}, {1, -2}, {}, {7}}));
  EXPECT_EQ(kernels.items[0].find("after")->line, 3);
  EXPECT_EQ(kernels.items[1].find("x")->items.size(), 1u);
}

TEST(SpecJson, TablesWithTheirChecksumStayText) {
  const auto file = std::make_shared<const std::string>("f");
  const std::string rows = "[\n [1, 2.5],\n [30, 4e-3]]";
  EXPECT_EQ(text_checksum("123456789"), "cbf43926");  // the check value of this CRC
  const auto tables = [&](const std::string& checksum, const std::string& measured) {
    const auto text = std::make_shared<const std::string>(
        "[{\"checksum\": " + checksum + ",\n\"measured\": " + measured + "},\n{\"measured\": [[5]]}]");
    SpecWithTables read = parse_json_tables(*text, file, "measured").value().value();
    read.text = text;  // which unread tables are parts of
    return read;
  };
  const std::string right = '"' + text_checksum(rows) + '"';
  const SpecWithTables later = tables(right, rows);
  ASSERT_EQ(later.tables.size(), 2u);
  EXPECT_EQ(later.tables[0].unread, rows);
  EXPECT_EQ(later.tables[0].columns, 2u);
  EXPECT_TRUE(later.tables[0].cells.empty());
  EXPECT_EQ(later.tables[1].cells, std::vector<double>{5});
  EXPECT_EQ(later.spec.items[0].find("measured")->line, 2);
  EXPECT_EQ(later.spec.items[1].find("measured")->line, 5);
  const std::optional<NumberTable> read = read_rows(later.tables[0].unread);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cells, (std::vector<double>{1, 2.5, 30, 4e-3}));
  for (const auto& [checksum, measured] : std::vector<std::pair<std::string, std::string>>{
           {right, "[\n [1, 2.5],\n [30, 5e-3]]"}, {"\"00000000\"", rows}, {"7", rows}, {right, "[[1, 2.5]]"}}) {
    const SpecWithTables at_once = tables(checksum, measured);
    EXPECT_TRUE(at_once.tables[0].unread.empty()) << measured;
    EXPECT_EQ(at_once.tables[0].cells[1], 2.5);
  }
  EXPECT_TRUE(tables(right, "[]").tables.size() == 1);
  const std::string text = "[[\"]]\"]]";  // the checksum of a text with a quotation mark is not looked at
  EXPECT_EQ(find_rows(text, 0).end, std::string_view::npos);
  EXPECT_EQ(find_rows(text, 3).end, 5u);
  EXPECT_FALSE(read_rows("[[1, 2], [3]]"));
  EXPECT_FALSE(read_rows("[[1, 2]] "));
  EXPECT_FALSE(read_rows("[[1, x]]"));
}

// The search looks at parts of 128 bytes: brackets may lie on their border, and the text may end anywhere.
TEST(SpecJson, TheEndOfRowsIsFoundAnywhere) {
  for (size_t before = 0; before < 300; ++before) {
    const std::string rows = "\n" + std::string(before, before % 2 ? '\n' : ' ') + "]]";
    for (const size_t behind : {0, 1, 200}) {
      const RowsText found = find_rows(rows + std::string(behind, '\n'), 1);
      EXPECT_EQ(found.end, rows.size());
      EXPECT_EQ(found.lines, static_cast<int64_t>(before % 2 ? before : 0));
      EXPECT_EQ(find_rows(rows.substr(0, rows.size() - 1) + " " + std::string(behind, ']').substr(0, 1), 0).end,
                std::string_view::npos);
    }
  }
}

TEST(SpecJson, NumbersOfTablesAreTheNearest) {
  Prng random(3);
  const auto file = std::make_shared<const std::string>("f");
  std::string text = "{\"measured\": [";
  for (int i = 0; i < 20'000; ++i) {
    std::string number = std::to_string(random.next() >> random.below(64));
    number.insert(number.size() - random.below(number.size()), random.chance(0.8) ? "." : "");
    if (number.back() == '.') number += '5';
    text += (i ? ",[" : "[") + number + "]";
  }
  text += "]}";
  const auto parsed = parse_json_tables(text, file, "measured");
  ASSERT_TRUE(parsed && *parsed);
  const Spec tree = parse_json_spec(text, file).value().value();
  const std::vector<Spec>& rows = tree.find("measured")->items;
  ASSERT_EQ((*parsed)->tables.size(), 1);
  ASSERT_EQ((*parsed)->tables[0].cells.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    ASSERT_EQ((*parsed)->tables[0].cells[i], std::strtod(rows[i].items[0].scalar.c_str(), nullptr))
        << rows[i].items[0].scalar;
}

TEST(SpecJson, BoundsWhatAFileMayCost) {
  const auto file = std::make_shared<const std::string>("f");
  std::string many = "[1";
  for (int i = 0; i < 1 << 20; ++i) many += ",1";
  many += "]";
  EXPECT_EQ(parse_json_spec(many, file).error().tag, "base.spec.large");
  EXPECT_EQ(parse_spec("a: " + many, "f").error().tag, "base.spec.large");
  EXPECT_EQ(parse_spec(std::string(1 << 20, '['), "f").error().tag, "base.spec.syntax");
  std::string documents;
  for (int i = 0; i < 80'000; ++i) documents += R"({"a": [0, 1]})";
  EXPECT_EQ(parse_spec(documents, "f").error().tag, "base.spec.syntax");
  std::string aliases = "a: &a " + std::string(1 << 16, 'x') + "\nb: [*a";
  for (int i = 0; i < 1 << 12; ++i) aliases += ",*a";
  EXPECT_EQ(parse_spec(aliases + "]\n", "f").error().tag, "base.spec.syntax");
}

}  // namespace
}  // namespace chakra
