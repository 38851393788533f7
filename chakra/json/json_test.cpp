// Documents are cut at the borders of elements, whatever the window; nothing that is cut or no JSON passes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "chakra/base/testing/testing.h"
#include "chakra/json/json.h"

namespace chakra::json {
namespace {

using chakra::testing::tag_of;

// ---- JsonStream ------------------------------------------------------------------------------------------

/// Random JSON values with all that makes cutting hard: escapes, brackets in strings, blanks.
class RandomJson {
 public:
  explicit RandomJson(Prng& random) : r_(random) {}
  std::string blanks() {
    static const char* const kBlanks[] = {"", "", " ", "\n", "\t ", "\r\n    "};
    return kBlanks[r_.below(6)];
  }
  std::string string() {
    static const char* const kPieces[] = {
        "a", "\\\"", "\\\\", "{", "}", "[", "]", ",", ":", "\\n", "\\u00fc", "\xc3\xbc", "long text without escapes"};
    std::string out = "\"";
    for (uint64_t n = r_.below(8); n > 0; --n) out += kPieces[r_.below(13)];
    return out + "\"";
  }
  std::string value(int depth) {
    switch (r_.below(depth > 3 ? 4 : 6)) {
      case 0: return string();
      case 1: return fmt::format("{}", r_.between(-1000, 1000));
      case 2: return fmt::format("{}.{}e-{}", r_.below(10), r_.below(1000), r_.below(9));
      case 3: return r_.chance(0.5) ? "true" : "null";
      case 4: return object(depth + 1);
      default: {
        std::string out = "[";
        for (uint64_t n = r_.below(5); n > 0; --n) out += blanks() + value(depth + 1) + blanks() + (n > 1 ? "," : "");
        return out + "]";
      }
    }
  }
  std::string object(int depth) {
    std::string out = "{";
    for (uint64_t n = r_.below(5); n > 0; --n)
      out += blanks() + string() + blanks() + ":" + blanks() + value(depth + 1) + blanks() + (n > 1 ? "," : "");
    return out + "}";
  }

 private:
  Prng& r_;
};

struct Document {
  std::string text;
  std::vector<std::string> elements;
  std::vector<std::string> members;  // key and value
};

Document random_document(Prng& random) {
  RandomJson json(random);
  Document d;
  const bool bare = random.chance(0.2);
  const auto member = [&](int i) {
    const std::string value = json.value(0);
    d.members.push_back(fmt::format("k{} {}", i, value));
    return json.blanks() + fmt::format("\"k{}\"", i) + json.blanks() + ":" + json.blanks() + value + json.blanks();
  };
  std::string array = "[" + json.blanks();
  for (uint64_t n = random.below(30); n > 0; --n) {
    d.elements.push_back(json.object(0));
    array += d.elements.back() + json.blanks() + (n > 1 ? "," + json.blanks() : "");
  }
  array += "]";
  if (bare) {
    d.text = json.blanks() + array + json.blanks();
  } else {
    d.text = json.blanks() + "{";
    for (int i = 0; i < 3; ++i) d.text += member(i) + ",";
    d.text += json.blanks() + "\"bulk\"" + json.blanks() + ":" + json.blanks() + array + json.blanks();
    for (int i = 3; i < 5; ++i) d.text += "," + member(i);
    d.text += "}" + json.blanks();
  }
  return d;
}

Result<Document> read_document(const std::string& text, size_t window) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(text));
  JsonStream stream(std::move(source), {"bulk"}, window);
  Document d;
  for (;;) {
    CHAKRA_ASSIGN(const JsonStream::Part part, stream.next());
    if (part == JsonStream::Part::finished) return d;
    if (part == JsonStream::Part::member) {
      d.members.push_back(std::string(stream.key()) + " " + std::string(std::string_view(stream.value())));
      continue;
    }
    for (size_t i = 0; i < stream.elements(); ++i) {
      d.elements.emplace_back(std::string_view(stream.element(i)));
      EXPECT_EQ(text.substr(static_cast<size_t>(stream.element_place(i).byte), d.elements.back().size()),
                d.elements.back());
    }
    EXPECT_EQ(std::string_view(stream.window()).front(), '[');
    EXPECT_EQ(std::string_view(stream.window()).back(), ']');
  }
}

TEST(JsonStream, CutsAtElementsWhateverTheWindow) {
  Prng random(1);
  for (int round = 0; round < 300; ++round) {
    const Document wanted = random_document(random);
    for (const size_t window : {size_t{1}, size_t{63}, size_t{200}, size_t{1} << 16}) {
      auto read = read_document(wanted.text, window);
      ASSERT_TRUE(read) << read.error().message() << "\n" << wanted.text;
      ASSERT_EQ(read->elements, wanted.elements);
      ASSERT_EQ(read->members, wanted.members);
    }
  }
}

TEST(JsonStream, EveryPrefixIsAnError) {
  Prng random(2);
  for (int round = 0; round < 30; ++round) {
    const Document document = random_document(random);
    const size_t last = document.text.find_last_of("]}");
    for (size_t size = 0; size <= last; ++size)
      for (const size_t window : {size_t{64}, size_t{1} << 16}) {
        const std::string prefix = document.text.substr(0, size);
        const bool blank = prefix.find_first_not_of(" \t\r\n") == std::string::npos;
        const std::string tag = tag_of(read_document(prefix, window));
        ASSERT_EQ(tag, blank ? "pytorch.json.empty" : "pytorch.json.truncated") << prefix;
      }
  }
}

TEST(JsonStream, RefusesWhatIsNoJson) {
  const auto tag = [](const std::string& text) { return tag_of(read_document(text, 1 << 16)); };
  EXPECT_EQ(tag("hello"), "pytorch.json.syntax");
  EXPECT_EQ(tag("{\"bulk\": [{} {}]}"), "");  // what is between elements of a window, simdjson finds
  EXPECT_EQ(tag("{\"bulk\": [{}] \"a\": 1}"), "pytorch.json.syntax");
  EXPECT_EQ(tag("{\"a\" 1}"), "pytorch.json.syntax");
  EXPECT_EQ(tag("{a: 1}"), "pytorch.json.syntax");
  EXPECT_EQ(tag("{\"bulk\": [{}],}"), "pytorch.json.syntax");
  EXPECT_EQ(tag("{\"bulk\": [{}]} more"), "pytorch.json.syntax");
  EXPECT_EQ(tag("{\"bulk\": [{}, 5]}"), "pytorch.json.syntax");
  EXPECT_EQ(tag("\xef\xbb\xbf{\"bulk\": [{}]}"), "");  // a byte-order mark
}

/// A byte that is not UTF-8 is named where it is, whatever it replaces.
TEST(JsonStream, NamesDamageWhereItIs) {
  for (const std::string_view between : {", ", ",\n  "}) {
    std::string text = "{\"bulk\": [";
    for (int n = 0; n < 12; ++n)
      text += fmt::format("{}{{\"n\": {}, \"name\": \"{}\", \"more\": {{\"a\": [{}, true]}}}}",
                          n > 0 ? between : between.substr(1), n, std::string(static_cast<size_t>(n) * 9, 'x'), n);
    const size_t begin = text.find('[') + 2, end = text.size();
    text += "], \"last\": 1}";
    for (size_t i = begin; i < end; ++i) {
      std::string damaged = text;
      damaged[i] = '\xff';
      for (const size_t window : {size_t{1}, size_t{1} << 16}) {
        JsonStream stream(*ByteSource::from_memory(std::string_view(damaged)), {"bulk"}, window);
        const auto use = [](simdjson::ondemand::object& object) -> Result<void> {
          for (auto field : object) {
            std::string_view key;
            JsonValue* value = nullptr;
            if (const auto code = open_field(field, key, value)) return json_error(code, {});
          }
          return {};
        };
        const auto member = [](std::string_view, simdjson::ondemand::document&) { return Result<void>(); };
        const Result<void> read = for_each_element(stream, use, member);
        ASSERT_FALSE(read) << damaged;
        ASSERT_LE(std::abs(read.error().place.byte - static_cast<int64_t>(i)), 5) << read.error().message() << damaged;
      }
    }
  }
}

/// Of records that begin lines, one that lacks a quote costs itself.
TEST(JsonStream, TakesUpAgainBehindAMissingQuote) {
  Prng random(4);
  for (int round = 0; round < 300; ++round) {
    const std::string blanks(random.below(3), ' ');
    const int64_t count = 3 + static_cast<int64_t>(random.below(30));
    const int64_t damaged = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(count) - 2));
    const bool spread = random.below(2) == 0;
    std::string text = "{\"bulk\": [";
    std::vector<int64_t> wanted;
    for (int64_t n = 0; n < count; ++n) {
      const std::string line = spread ? "\n" + blanks + "    " : " ";
      std::string name = "\"" + std::string(random.below(90), 'x') + "\"";
      if (n == damaged) name.erase(random.below(2) == 0 ? 0 : name.size() - 1, 1);
      else wanted.push_back(n);
      text += fmt::format("{}\n{}{{{}\"n\": {},{}\"name\": {},{}\"more\": {{\"a\": [{}]}}\n{}}}", n > 0 ? "," : "",
                          blanks, line, n, line, name, line, n, blanks);
    }
    text += "\n]}";
    for (const size_t window : {size_t{1}, size_t{63}, size_t{200}, size_t{1} << 16}) {
      JsonStream stream(*ByteSource::from_memory(std::string_view(text)), {"bulk"}, window);
      Salvage salvage;
      std::vector<int64_t> found;
      const auto use = [&](simdjson::ondemand::object& object) -> Result<void> {
        int64_t n = -1;
        if (object["n"].get(n)) return fail(Code::bad_input, "test.no_number", "no number");
        found.push_back(n);
        return {};
      };
      const auto member = [](std::string_view, simdjson::ondemand::document&) { return Result<void>(); };
      ASSERT_TRUE(for_each_element(stream, use, member, &salvage)) << text;
      ASSERT_EQ(found, wanted) << "window " << window << "\n" << text;
      ASSERT_EQ(salvage.left_out, 1) << text;
    }
  }
}

/// Brackets that are never closed: salvaging looks after each bracket for the next element. A quadratic cost would take
/// minutes.
TEST(JsonStream, UnclosedBracketsCostNoSquare) {
  for (const char bracket : {'{', '['}) {
    const std::string text = "{\"bulk\":[" + std::string(1'000'000, bracket);
    JsonStream stream(*ByteSource::from_memory(std::string_view(text)), {"bulk"});
    Salvage salvage;
    const auto use = [](simdjson::ondemand::object&) { return Result<void>(); };
    const auto member = [](std::string_view, simdjson::ondemand::document&) { return Result<void>(); };
    (void)for_each_element(stream, use, member, &salvage);
    EXPECT_GT(salvage.left_out, 0) << bracket;
  }
}

/// The elements of a sequence, as text.
Result<std::vector<std::string>> read_sequence(const std::string& text) {
  CHAKRA_ASSIGN(ByteSource source, ByteSource::from_memory(text));
  JsonStream stream = JsonStream::sequence(std::move(source), kTraceTags);
  simdjson::ondemand::parser parser;
  std::vector<std::string> elements;
  for (;;) {
    CHAKRA_ASSIGN(const JsonStream::Part part, stream.next());
    if (part == JsonStream::Part::finished) return elements;
    size_t i = 0;
    CHAKRA_TRY(for_each_in_window(stream, parser, [&](simdjson::ondemand::object&) -> Result<void> {
      elements.emplace_back(std::string_view(stream.element(i++)));
      return {};
    }));
  }
}

TEST(JsonStream, ReadsSequences) {
  Prng random(3);
  for (int round = 0; round < 50; ++round) {
    std::string text, last;
    std::vector<std::string> wanted;
    for (uint64_t n = 1 + random.below(round < 5 ? 20'000 : 20); n > 0; --n) {
      RandomJson json(random);
      wanted.push_back(fmt::format("{{\"a\":{}}}", json.string()));
      text += json.blanks() + wanted.back();
    }
    const auto read = read_sequence(text + "\n");
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(*read, wanted);
    const std::string cut = text.substr(0, text.size() - 1 - random.below(wanted.back().size() - 1));
    ASSERT_EQ(tag_of(read_sequence(cut)), "io.json.truncated");
  }
  EXPECT_EQ(tag_of(read_sequence("")), "io.json.empty");
  EXPECT_EQ(tag_of(read_sequence("[{}]")), "io.json.syntax");
  EXPECT_EQ(tag_of(read_sequence("{} ] {}")), "io.json.syntax");
  EXPECT_EQ(tag_of(read_sequence("{},{}")), "io.json.syntax");
  EXPECT_EQ(tag_of(read_sequence("{} 5")), "io.json.syntax");
}

// ---- values ----------------------------------------------------------------------------------------------

/// A random value twice: as JSON writes it, in any spacing, and as Python prints it.
class RandomRepr {
 public:
  explicit RandomRepr(Prng& random) : r_(random) {}
  struct Both {
    std::string json, python;
  };

  Both value(int depth) {
    switch (r_.below(depth > 2 ? 3 : 5)) {
      case 0: return string();
      case 1: {
        const std::string number = fmt::format("{}", r_.between(-100, 100'000'000));
        return {number, number};
      }
      case 2: {
        static const Both kWords[] = {{"true", "True"}, {"false", "False"}, {"null", "None"},   {"1.50", "1.5"},
                                      {"-0.0", "-0.0"}, {"1e-5", "1e-05"},  {"12E2", "1200.0"}, {"3.0", "3.0"}};
        return kWords[r_.below(8)];
      }
      case 3: return r_.chance(0.9) ? list(depth) : object(depth);
      default: return list(depth);
    }
  }

  Both list(int depth) {
    static const char* const kSeparators[] = {", ", ", ", ", ", ",", " ,", ",\n  ", ",  "};
    const uint64_t style = r_.below(8);  // the same throughout, or any
    Both out{"[", "["};
    for (uint64_t n = r_.below(12); n > 0; --n) {
      const Both one = value(depth + 1);
      out.json += one.json + (n > 1 ? kSeparators[style < 7 ? style : r_.below(7)] : "");
      out.python += one.python + (n > 1 ? ", " : "");
    }
    return {out.json + "]", out.python + "]"};
  }

 private:
  Both object(int depth) {
    const Both one = value(depth + 1);
    return {"{\"key\": " + one.json + (r_.chance(0.5) ? ", " : " ,") + "\"x\":1}",
            "{'key': " + one.python + ", 'x': 1}"};
  }
  Both string() {
    static const Both kPieces[] = {{"cuda:0", "cuda:0"},
                                   {"aten::add_.Tensor", "aten::add_.Tensor"},
                                   {", ", ", "},
                                   {",", ","},
                                   {" ", " "},
                                   {"true", "true"},
                                   {"[1.5, {", "[1.5, {"},
                                   {"\\\\", "\\\\"},
                                   {"\\n", "\\n"},
                                   {"\\u00fc", "\xc3\xbc"},
                                   {"\xc3\xbc", "\xc3\xbc"},
                                   {"'", "'"},
                                   {"\\\"", "\""},
                                   {"\x7f", "\\x7f"}};
    Both out;
    const uint64_t kinds = r_.chance(0.5) ? 5 : 14;
    for (uint64_t n = r_.below(6); n > 0; --n) {
      const Both& piece = kPieces[r_.below(kinds)];
      out.json += piece.json;
      out.python += piece.python;
    }
    const bool single = contains(out.python, "'"), mark = contains(out.python, "\"");
    const char quote = single && !mark ? '"' : '\'';
    if (single && mark)
      for (size_t at = 0; (at = out.python.find('\'', at)) != std::string::npos; at += 2) out.python.insert(at, "\\");
    return {"\"" + out.json + "\"", quote + out.python + quote};
  }

  Prng& r_;
};

TEST(PythonRepr, OfLongListsInTimeThatGrowsWithThem) {
  std::string json = "[", python = "[";
  for (int n = 0; n < 2'000'000; ++n) {  // a square of that would take minutes
    json += n % 2 ? ", \"\\u0041\"" : ", 1E15";
    python += n % 2 ? ", 'A'" : ", 1000000000000000.0";
  }
  std::string out;
  append_python_repr(out, json + "]");
  EXPECT_EQ(out, python + "]");
}

TEST(PythonRepr, OfWhatIsNoJsonDoesNotEat) {
  for (const auto& [json, python] : {std::pair(R"([1,"\u12"])", R"([1, '\\u12'])"),
                                     {R"(["\u", 2])", R"(['\\u', 2])"},
                                     {R"(["\ud83d\u12", 2])", R"(['\xed\xa0\xbd\\u12', 2])"}}) {
    std::string out;
    append_python_repr(out, json);
    EXPECT_EQ(out, python);
  }
}

TEST(PythonRepr, OfRandomValuesInAnySpacing) {
  Prng random(11);
  for (int round = 0; round < 20'000; ++round) {
    const auto [json, python] = RandomRepr(random).list(0);
    std::string out = "before ";
    append_python_repr(out, json);
    ASSERT_EQ(out, "before " + python) << json;
  }
}

}  // namespace
}  // namespace chakra::json
