// Names that people type: mlcommons/chakra's commands as links to this one. Each takes the same flags, old spellings
// included, and becomes the arguments of a subcommand; docs/reference/names.md says what each does and where it
// differs.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <span>

#include "chakra/cli/cli.h"

namespace chakra::cli {
namespace {

using Arguments = std::vector<std::string>;

struct Flag {
  std::string_view name;
  std::string_view old;  ///< another spelling, or ""
  bool value = true;
  bool required = false;
  std::string_view help;
};

/// What was given, by Flag::name.
struct Given {
  std::map<std::string_view, std::string> values;
  Arguments words;  ///< that are no flags

  bool has(std::string_view name) const { return values.contains(name); }
  const std::string& operator[](std::string_view name) const { return values.at(name); }
};

Failure usage(std::string text) { return fail(Code::usage, "cli.usage", std::move(text)); }

/// "--Num_NPUs" and "--num-npus" are the same flag.
std::string spelled(std::string_view flag) {
  std::string out(flag);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

/// As Python's argparse reads: "--flag value", "--flag=value", and any beginning of a flag that only one has.
Result<Given> parse(std::span<const Flag> flags, const Arguments& args) {
  Given given;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].starts_with("--")) {
      given.words.push_back(args[i]);
      continue;
    }
    const size_t equals = std::min(args[i].find('='), args[i].size());
    const std::string asked = spelled(std::string_view(args[i]).substr(2, equals - 2));
    const Flag* found = nullptr;
    bool exact = false, several = false;
    for (const Flag& flag : flags)
      for (const std::string& name : {spelled(flag.name), spelled(flag.old)}) {
        if (name.empty() || !name.starts_with(asked) || exact) continue;
        if (name == asked) exact = true;
        else if (found && found != &flag) several = true;
        found = &flag;
      }
    if (!found || asked.empty()) return usage(fmt::format("unknown flag {}", quote(args[i])));
    if (several && !exact) return usage(fmt::format("{} is ambiguous; write more of the flag", quote(args[i])));
    if (!found->value) {
      if (equals < args[i].size()) return usage(fmt::format("--{} takes no value", found->name));
      given.values[found->name] = "";
    } else if (equals < args[i].size()) {
      given.values[found->name] = args[i].substr(equals + 1);
    } else if (i + 1 < args.size()) {
      given.values[found->name] = args[++i];
    } else {
      return usage(fmt::format("--{} needs a value", found->name));
    }
  }
  for (const Flag& flag : flags)
    if (flag.required && !given.has(flag.name)) return usage(fmt::format("--{} is required", flag.name));
  return given;
}

Result<Given> parse_without_words(std::span<const Flag> flags, const Arguments& args) {
  CHAKRA_ASSIGN(Given given, parse(flags, args));
  if (!given.words.empty()) return usage(fmt::format("unexpected argument {}", quote(given.words[0])));
  return given;
}

/// Adds "TO VALUE" where the flag was given.
void pass(const Given& given, std::string_view name, std::string_view to, Arguments& out) {
  if (!given.has(name)) return;
  out.emplace_back(to);
  out.push_back(given[name]);
}

/// A path that begins with "-" would be taken for an option.
std::string path(const std::string& text) { return text.starts_with('-') ? "./" + text : text; }

// ---- chakra_trace_link -----------------------------------------------------------------------------------

constexpr std::array<Flag, 5> kLinkFlags{{
    {"rank", "", true, false, "the rank, if the files do not contain it"},
    {"chakra-host-trace", "pytorch-et-file", true, false, "PyTorch execution trace"},
    {"chakra-device-trace", "kineto-file", true, false, "Kineto trace"},
    {"output-file", "", true, true, "the trace to write"},
    {"log-level", "", true, false, "without effect"},
}};
Result<Translated> trace_link(const Arguments& args) {
  CHAKRA_ASSIGN(const Given given, parse_without_words(kLinkFlags, args));
  Translated to{{"link"}, ""};
  for (const std::string_view file : {"chakra-host-trace", "chakra-device-trace"})
    if (given.has(file)) to.args.push_back(path(given[file]));
  if (to.args.size() == 1) return usage("--chakra-host-trace or --chakra-device-trace is required");
  to.args.insert(to.args.end(), {"-o", path(given["output-file"])});
  pass(given, "rank", "--rank", to.args);
  if (given["output-file"].ends_with(".json"))
    to.note = "the output is a Chakra trace (.et) despite its name; chakra_converter accepts it unchanged";
  return to;
}

// ---- chakra_converter --------------------------------------------------------------------------------------

constexpr std::array<Flag, 9> kConverterFlags{{
    {"input", "input_filename", true, true, "the file to convert"},
    {"output", "output_filename", true, true, "PyTorch: the file to write; Text: a prefix, for PREFIX.<rank>.et"},
    {"simulate", "", false, false, "PyTorch: without effect; 'chakra sim' simulates"},
    {"num-npus", "", true, false, "Text: ranks"},
    {"num-passes", "", true, false, "Text: iterations"},
    {"input_type", "", true, false, "PyTorch, Text or FlexFlow (old; now the first word)"},
    {"num_dims", "", true, false, "without effect (old)"},
    {"npu_frequency", "", true, false, "FlexFlow: without effect: times are times, not cycles (old)"},
    {"log-filename", "", true, false, "without effect: no log is written"},
}};
Result<Translated> converter(const Arguments& args) {
  CHAKRA_ASSIGN(const Given given, parse(kConverterFlags, args));
  if (given.words.size() + given.has("input_type") != 1)
    return usage("the type of the input is missing: chakra_converter PyTorch|Text --input FILE --output FILE");
  const std::string type = given.has("input_type") ? given["input_type"] : given.words[0];
  const std::string in = path(given["input"]), out = path(given["output"]);
  if (type == "PyTorch") {
    Translated to{{"convert", in, "-o", out, "--to", "et"}, ""};
    if (given.has("simulate")) to.note = "--simulate is without effect; use 'chakra sim'";
    return to;
  }
  Translated to{{"import", in, "-o", out, "--from", ""}, ""};
  if (type == "Text") {
    to.args.back() = "text";
    pass(given, "num-npus", "--num-npus", to.args);
    pass(given, "num-passes", "--num-passes", to.args);
    to.note =
        "each rank's nodes are numbered from 0; 'chakra import --dims 8,8' also keeps the groups of hybrid parallelism";
  } else if (type == "FlexFlow") {
    to.args.back() = "flexflow";
    to.note = "times are read as ms, FlexFlow's unit; 'chakra import --time-unit s' reads seconds";
  } else {
    return usage(fmt::format("unknown input type {}; expected PyTorch, Text or FlexFlow", quote(type)));
  }
  return to;
}

// ---- the others ----------------------------------------------------------------------------------------------

constexpr std::array<Flag, 5> kGeneratorFlags{{
    {"num_npus", "", true, false, "ranks"},
    {"num_dims", "", true, false, "without effect (old)"},
    {"default_runtime", "", true, false, "time of a computation in us (5)"},
    {"default_tensor_size", "", true, false, "bytes of a load, store or message (1024)"},
    {"default_comm_size", "", true, false, "bytes of a collective (65536)"},
}};
Result<Translated> generator(const Arguments& args) {
  CHAKRA_ASSIGN(const Given given, parse_without_words(kGeneratorFlags, args));
  Translated to{{"gen", "cases", "-o", "."}, ""};
  pass(given, "num_npus", "--num-npus", to.args);
  pass(given, "default_runtime", "--default-runtime", to.args);
  pass(given, "default_tensor_size", "--default-tensor-size", to.args);
  pass(given, "default_comm_size", "--default-comm-size", to.args);
  return to;
}

constexpr std::array<Flag, 2> kFileFlags{{
    {"input_filename", "", true, true, "a Chakra trace"},
    {"output_filename", "", true, true, "the file to write"},
}};
Result<Translated> visualizer(const Arguments& args) {
  CHAKRA_ASSIGN(const Given given, parse_without_words(kFileFlags, args));
  return Translated{{"view", path(given["input_filename"]), "-o", path(given["output_filename"])}, ""};
}
Result<Translated> jsonizer(const Arguments& args) {
  CHAKRA_ASSIGN(const Given given, parse_without_words(kFileFlags, args));
  return Translated{{"convert", path(given["input_filename"]), "-o", path(given["output_filename"]), "--to", "json"},
                    "the output is one JSON document, not a sequence of objects"};
}

constexpr std::array<Flag, 5> kTimelineFlags{{
    {"input_filename", "", true, true, "CSV of issue and callback lines"},
    {"output_filename", "", true, true, "the timeline to write (JSON)"},
    {"num_npus", "", true, false, "ranks"},
    {"npu_frequency", "", true, false, "ticks per second: MHz, or with a unit (1.5GHz)"},
    {"log_filename", "", true, false, "without effect: no log is written"},
}};
Result<Translated> timeline_visualizer(const Arguments& args) {
  CHAKRA_ASSIGN(const Given given, parse_without_words(kTimelineFlags, args));
  Translated to{{"view", path(given["input_filename"]), "-o", path(given["output_filename"]), "--from", "csv", "--to",
                 "timeline"},
                "times are microseconds, as timelines have them, not milliseconds"};
  pass(given, "num_npus", "--num-npus", to.args);
  pass(given, "npu_frequency", "--npu-frequency", to.args);
  return to;
}

std::string help_of(std::span<const Flag> flags) {
  std::string out;
  for (const Flag& flag : flags)
    out += fmt::format("  --{:<22} {}{}{}\n", flag.name, flag.help, flag.required ? " (required)" : "",
                       flag.old.empty() ? "" : fmt::format("; or --{}", flag.old));
  return out;
}

}  // namespace

// cmake/install.cmake reads the names from these lines.
constexpr NameRow kNameRows[] = {
    {"chakra_trace_link", "Link the recordings of a rank: chakra link", trace_link, [] { return help_of(kLinkFlags); }},
    {"chakra_converter",
     "Make traces of other tools' files: chakra convert, chakra import; the first word is PyTorch or Text", converter,
     [] { return help_of(kConverterFlags); }},
    {"chakra_generator", "Write the named test cases into this folder: chakra gen cases", generator,
     [] { return help_of(kGeneratorFlags); }},
    {"chakra_visualizer", "Draw a trace, FILE.dot, .graphml, .svg or .pdf: chakra view", visualizer,
     [] { return help_of(kFileFlags); }},
    {"chakra_jsonizer", "Write a trace as JSON: chakra convert", jsonizer, [] { return help_of(kFileFlags); }},
    {"chakra_timeline_visualizer", "Make a timeline of a simulator's CSV: chakra view", timeline_visualizer,
     [] { return help_of(kTimelineFlags); }},
};
constinit const std::span<const NameRow> kNames = kNameRows;

const NameRow* find_name(std::string_view argv0) {
  const std::string_view name = argv0.substr(argv0.rfind('/') + 1);
  for (const NameRow& row : kNames)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace chakra::cli
