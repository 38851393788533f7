#include "chakra/facade/testing/public_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <vector>

#include "chakra/base/join.h"
#include "chakra/certify/certify.h"
#include "chakra/convert/convert.h"
#include "chakra/doctor/doctor.h"
#include "chakra/fleet/fleet.h"
#include "chakra/generate/generate.h"
#include "chakra/job/job.h"
#include "chakra/linking/linking.h"
#include "chakra/query/query.h"
#include "chakra/report/report.h"
#include "chakra/run/run.h"
#include "chakra/share/share.h"
#include "chakra/sweep/sweep.h"

namespace chakra::facade::testing {
namespace {

using options::Choice;
using options::Form;
using options::Option;
using options::Options;

/// A struct of the facade, and the rows that it takes: those of the struct of a call.
struct Verb {
  std::string name, meaning, call;
  std::function<Options()> rows;
  std::vector<std::string> without;  ///< keys of rows that the facade has arguments for
  std::vector<std::string> only = {};
};
template <class Call>
std::function<Options()> rows() {
  return [] {
    static Call call;
    return rows_of(call);
  };
}
const std::array kVerbs{
    Verb{"LinkOptions",
         "How recordings become traces: `chakra link`.",
         "linking::LinkJobOptions",
         rows<linking::LinkJobOptions>(),
         {"inputs"}},
    Verb{"StepOptions",
         "A training step to generate: `chakra gen step`.",
         "generate::GenerateStepOptions",
         rows<generate::GenerateStepOptions>(),
         {}},
    Verb{"ServeOptions",
         "A serving step to generate: `chakra gen serve`.",
         "generate::GenerateServeOptions",
         rows<generate::GenerateServeOptions>(),
         {}},
    Verb{"CasesOptions",
         "Named test cases to generate: `chakra gen cases`.",
         "generate::CaseOptions",
         rows<generate::CaseOptions>(),
         {}},
    Verb{"BlueprintOptions",
         "A network to generate from a blueprint: `chakra gen network`.",
         "generate::NetworkOptions",
         rows<generate::NetworkOptions>(),
         {}},
    Verb{"ImportOptions",
         "A workload of another tool: `chakra import`.",
         "convert::ImportOptions",
         rows<convert::ImportOptions>(),
         {"file"}},
    Verb{"EditOptions",
         "Which ranks a job has.",
         "job::SimulateOptions",
         rows<job::SimulateOptions>(),
         {},
         {"ranks", "expand"}},
    Verb{"CheckOptions",
         "Rules and proofs over a job: `chakra check`.",
         "job::CheckOptions",
         rows<job::CheckOptions>(),
         {"path"}},
    Verb{"SimulateOptions",
         "The system that a job runs on: `chakra sim`.",
         "job::SimulateOptions",
         rows<job::SimulateOptions>(),
         {"path"}},
    Verb{"WhatIfOptions",
         "What to change: `chakra whatif`.",
         "job::WhatIfOptions",
         rows<job::WhatIfOptions>(),
         {"path"}},
    Verb{"AnalyzeOptions",
         "What to analyze: `chakra analyze`.",
         "job::AnalyzeOptions",
         rows<job::AnalyzeOptions>(),
         {"path"}},
    Verb{"QueryOptions",
         "How to query the tables of a job: `chakra query`.",
         "query::QueryOptions",
         rows<query::QueryOptions>(),
         {"path", "sql"}},
    Verb{"ReportOptions",
         "What a page about a job shows: `chakra report`.",
         "report::ReportOptions",
         rows<report::ReportOptions>(),
         {"path", "output"}},
    Verb{"ViewOptions",
         "A timeline or a figure of a job: `chakra view`.",
         "job::ViewOptions",
         rows<job::ViewOptions>(),
         {"path", "output"}},
    Verb{"RunOptions",
         "How to run a job for real: `chakra replay`.",
         "run::ReplayOptions",
         rows<run::ReplayOptions>(),
         {"path"}},
    Verb{"DiffOptions",
         "How to compare two jobs: `chakra diff`.",
         "job::DiffOptions",
         rows<job::DiffOptions>(),
         {"a", "b"}},
    Verb{"WriteOptions",
         "The form of a written job.",
         "convert::ConvertOptions",
         rows<convert::ConvertOptions>(),
         {},
         {"to"}},
    Verb{"ConvertOptions",
         "Formats of a conversion: `chakra convert`.",
         "convert::ConvertOptions",
         rows<convert::ConvertOptions>(),
         {"paths"}},
    Verb{"PackOptions",
         "How to write a container: `chakra pack`.",
         "convert::PackOptions",
         rows<convert::PackOptions>(),
         {"paths"}},
    Verb{"UnpackOptions",
         "Parts of a container to extract: `chakra unpack`.",
         "convert::UnpackOptions",
         rows<convert::UnpackOptions>(),
         {"path"}},
    Verb{"SelectOptions",
         "How to choose the jobs that represent a fleet: `chakra select`.",
         "share::SelectOptions",
         rows<share::SelectOptions>(),
         {"paths"}},
    Verb{"SweepOptions",
         "Where the results of a sweep go: `chakra sweep`.",
         "sweep::SweepOptions",
         rows<sweep::SweepOptions>(),
         {"file"}},
    Verb{"FleetLinkOptions",
         "Recordings of many jobs to link: `chakra fleet link`.",
         "fleet::FleetLinkOptions",
         rows<fleet::FleetLinkOptions>(),
         {"paths"}},
    Verb{"FleetAnalyzeOptions",
         "Many jobs to analyze: `chakra fleet analyze`.",
         "fleet::FleetAnalyzeOptions",
         rows<fleet::FleetAnalyzeOptions>(),
         {"paths"}},
    Verb{"FleetMergeOptions",
         "A fleet to report on: `chakra fleet merge`.",
         "fleet::FleetMergeOptions",
         rows<fleet::FleetMergeOptions>(),
         {}},
    Verb{"CertifyOptions",
         "How to judge a shared copy of a job: `chakra certify`.",
         "certify::CertifyOptions",
         rows<certify::CertifyOptions>(),
         {"original", "shared"}},
    Verb{"ObfuscateOptions",
         "How to hide the names and ids of a job: `chakra obfuscate`.",
         "share::ObfuscateOptions",
         rows<share::ObfuscateOptions>(),
         {"path"}},
    Verb{"DoctorOptions",
         "What to diagnose: `chakra doctor`.",
         "doctor::DoctorOptions",
         rows<doctor::DoctorOptions>(),
         {"path"}},
    Verb{"CalibrateDeviceOptions",
         "Measured kernels, and the device file to make of them: `chakra calibrate device`.",
         "job::CalibrateDeviceOptions",
         rows<job::CalibrateDeviceOptions>(),
         {}},
    Verb{"CalibrateNetworkOptions",
         "Measured collectives, and the network file to make of them: `chakra calibrate network`.",
         "job::CalibrateNetworkOptions",
         rows<job::CalibrateNetworkOptions>(),
         {}},
};

Options rows_of(const Verb& verb) {
  Options rows = verb.rows();
  const auto has = [](const std::vector<std::string>& keys, const Option& row) {
    return std::find(keys.begin(), keys.end(), options::key_of(row)) != keys.end();
  };
  std::erase_if(
      rows, [&](const Option& row) { return has(verb.without, row) || (!verb.only.empty() && !has(verb.only, row)); });
  return rows;
}

/// A name of a row as C++ takes it: "packet_bytes", "auto_".
std::string identifier(std::string name) {
  constexpr std::array<std::string_view, 8> kKeywords{"auto",   "case",   "default", "export",
                                                      "static", "switch", "union",   "operator"};
  std::replace(name.begin(), name.end(), '-', '_');
  std::replace(name.begin(), name.end(), '.', '_');
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "_");
  if (std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end()) name += '_';
  return name;
}
std::string member(const Option& row) { return identifier(options::key_of(row)); }
std::string camel(std::string_view name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c == '-' || c == '_') upper = true;
    else text += std::exchange(upper, false) && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

/// Enumerations by name; verbs that have the same names for the same key share one.
class Enums {
 public:
  Enums() {
    for (const Verb& verb : kVerbs)
      for (const Option& row : rows_of(verb))
        if (const auto* choice = std::get_if<Choice>(&row.target)) add(verb, row, choice->names);
  }
  const std::string& of(const Verb& verb, const Option& row) const { return by_row_.at({verb.name, row.names}); }
  const std::vector<std::pair<std::string, std::vector<std::string>>>& all() const { return all_; }

 private:
  void add(const Verb& verb, const Option& row, const std::vector<std::string>& names) {
    std::string name = camel(options::key_of(row));
    for (const auto& [known, values] : all_)
      if (known == name && values != names) name = verb.name.substr(0, verb.name.find("Options")) + name;
    by_row_[{verb.name, row.names}] = name;
    if (std::none_of(all_.begin(), all_.end(), [&](const auto& known) { return known.first == name; }))
      all_.emplace_back(name, names);
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> all_;
  std::map<std::pair<std::string, std::string>, std::string> by_row_;
};

template <class... Visits>
struct Overloaded : Visits... {
  using Visits::operator()...;
};
template <class... Visits>
Overloaded(Visits...) -> Overloaded<Visits...>;

std::string quoted(const std::string& text) { return text.empty() ? "{}" : "\"" + text + "\""; }

/// "std::optional<double> peak = {}".
std::string declaration(const Option& row, const std::string& enum_name) {
  const std::string text = options::text_of(row), name = member(row);
  const auto plain = [&](const char* type) { return fmt::format("{} {} = {}", type, name, text); };
  const auto unset = [&](const char* type) { return fmt::format("{} {} = {{}}", type, name); };
  return std::visit(Overloaded{[&](const Choice& choice) {
                                 const auto place = choice.get();
                                 if (!place) return fmt::format("std::optional<{}> {} = {{}}", enum_name, name);
                                 return fmt::format("{0} {1} = {0}::{2}", enum_name, name,
                                                    identifier(choice.names[*place]));
                               },
                               [&](const Form&) { return fmt::format("std::string {} = {}", name, quoted(text)); },
                               [&](std::string*) { return fmt::format("std::string {} = {}", name, quoted(text)); },
                               [&](std::vector<std::string>*) { return unset("std::vector<std::string>"); },
                               [&](std::vector<int64_t>*) { return unset("std::vector<int64_t>"); },
                               [&](std::optional<bool>*) { return unset("std::optional<bool>"); },
                               [&](std::optional<int64_t>*) { return unset("std::optional<int64_t>"); },
                               [&](std::optional<uint64_t>*) { return unset("std::optional<uint64_t>"); },
                               [&](std::optional<double>*) { return unset("std::optional<double>"); },
                               [&](bool* value) { return fmt::format("bool {} = {}", name, *value); },
                               [&](int64_t*) { return plain("int64_t"); }, [&](uint64_t*) { return plain("uint64_t"); },
                               [&](double*) { return plain("double"); }},
                    row.target);
}

std::string comment(const Option& row) {
  std::string text = row.help;
  if (!row.more.empty()) text += ". " + row.more;
  const std::string taken = options::shown_of(row);
  if (!taken.empty() && !std::holds_alternative<Choice>(row.target))
    text += fmt::format("{} {}.", text.ends_with('.') ? "" : ".", taken);
  return "  /// " + options::wrapped(text, 116, 0);
}

/// Every line but the first gets the comment's beginning.
std::string commented(std::string text) {
  for (size_t at = text.find('\n'); at != std::string::npos && at + 1 < text.size(); at = text.find('\n', at + 1))
    text.insert(at + 1, "  /// ");
  return text;
}

}  // namespace

std::string options_header() {
  const Enums enums;
  std::string text =
      "// The options of the verbs of chakra.h: a struct for each verb, whose members are the options of the "
      "command.\n"
      "// MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.\n"
      "#pragma once\n\n#include <cstdint>\n#include <optional>\n#include <string>\n#include <string_view>\n"
      "#include <vector>\n\n#include \"chakra/base/result.h\"\n\nnamespace chakra {\ninline namespace v1 {\n";
  for (const auto& [name, values] : enums.all()) {
    text += fmt::format("\nenum class {} : uint8_t {{ ", name);
    for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + identifier(values[i]);
    text += " };";
  }
  text += '\n';
  for (const Verb& verb : kVerbs) {
    text += fmt::format("\n/// {}\nstruct {} {{\n", verb.meaning, verb.name);
    for (const Option& row : rows_of(verb)) {
      const bool choice = std::holds_alternative<Choice>(row.target);
      text += commented(comment(row)) + "\n  " + declaration(row, choice ? enums.of(verb, row) : "") + ";\n";
    }
    text += "};\n";
  }
  text +=
      "\n/// Gives a member of an options struct the value that a text stands for, as the command does: set(options, "
      "\"network\",\n"
      "/// file); of a list it adds to it. Errors: cli.usage for a name that no member has, with the nearest "
      "one, and for\n"
      "/// a value that it does not take.\n";
  for (const Verb& verb : kVerbs)
    text += fmt::format("CHAKRA_API Result<void> set({}& options, std::string_view name, const std::string& text);\n",
                        verb.name);
  return text + "\n}  // namespace v1\n}  // namespace chakra\n";
}

std::string fields_header() {
  std::string text =
      "// Rows for the members of each struct of chakra/options.h.\n"
      "// MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.\n"
      "#pragma once\n\n#include <string_view>\n#include <utility>\n#include <vector>\n\n"
      "#include \"chakra/options.h\"\n#include \"chakra/options/options.h\"\n\nnamespace chakra::facade {\n\n"
      "/// Keys of rows that are no members, such as \"path\", and the variables that get the values.\n"
      "using Arguments = std::vector<std::pair<std::string_view, options::Option::Target>>;\n\n"
      "// fields_of(): a row for each member, with the key of the row of the call. rows_of(): the rows of the "
      "command.\n";
  for (const Verb& verb : kVerbs)
    text += fmt::format(
        "options::Options fields_of({0}& options), rows_of({0}& options, const Arguments& arguments);\n", verb.name);
  return text + "\n}  // namespace chakra::facade\n";
}

std::string fields_source() {
  const Enums enums;
  std::string text =
      "// The members of the facade's options as rows, by the keys of the calls' rows.\n"
      "// MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.\n"
      "#include \"chakra/facade/fields.h\"\n\n#include \"chakra/facade/calls.h\"\n\nnamespace chakra::facade {\n"
      "namespace {\n\nusing options::choice;\nusing options::Options;\n\n";
  for (const auto& [name, values] : enums.all()) {
    text += fmt::format("constexpr std::array<std::string_view, {}> k{}{{", values.size(), name);
    for (size_t i = 0; i < values.size(); ++i) text += fmt::format("{}\"{}\"", i ? ", " : "", values[i]);
    text += "};\n";
  }
  text += "\n}  // namespace\n";
  std::string setters;
  for (const Verb& verb : kVerbs) {
    text += fmt::format("\nOptions fields_of({}& o) {{\n  return {{\n", verb.name);
    for (const Option& row : rows_of(verb)) {
      const bool enumeration = std::holds_alternative<Choice>(row.target);
      const std::string key = options::key_of(row);
      const std::string target = enumeration ? fmt::format("choice(o.{}, k{})", member(row), enums.of(verb, row))
                                             : fmt::format("&o.{}", member(row));
      text += fmt::format("      {{\"--{}\", {}, {{}}}},\n", key, target);
    }
    text += fmt::format(
        "  }};\n}}\nOptions rows_of({}& o, const Arguments& more) {{ return bound<{}>(fields_of(o), more); }}\n",
        verb.name, verb.call);
    setters +=
        fmt::format("Result<void> set({}& o, Name name, Text text) {{ return set_checked<{}>(o, name, text); }}\n",
                    verb.name, verb.call);
  }
  return text +
         "\n}  // namespace chakra::facade\n\nnamespace chakra {\ninline namespace v1 {\n\n"
         "using facade::set_checked;\nusing Name = std::string_view;\nusing Text = const std::string&;\n\n" +
         setters + "\n}  // namespace v1\n}  // namespace chakra\n";
}

// ---- the package for Python -------------------------------------------------------------------------------------

namespace {

/// A function of python/chakra_et/_verbs.py.
struct Function {
  std::string_view options, scope, name, arguments, gives, call, more;
};
constexpr std::array kFunctions{
    Function{"CheckOptions", "Job", "check", "self", "Answer", "Answer(self._check({}, progress))", ""},
    Function{"SimulateOptions", "Job", "simulate", "self", "Answer", "Answer(self._simulate({}, progress, models))",
             "models: your models of durations, in place of the built-in ones."},
    Function{"WhatIfOptions", "Job", "what_if", "self", "Answer", "Answer(self._what_if({}, progress))", ""},
    Function{"AnalyzeOptions", "Job", "analyze", "self", "Answer", "Answer(self._analyze({}, progress))", ""},
    Function{"QueryOptions", "Job", "query", "self, sql: str = \"\"", "Answer",
             "Answer(self._query(sql, {}, progress))",
             "sql: one SELECT; list('sql') has the tables. The rows are the table 'rows' of the answer."},
    Function{"ReportOptions", "Job", "report", "self, path: Text", "Answer",
             "Answer(self._report(path_of(path), {}, progress))", "path: the page, one HTML file."},
    Function{"ViewOptions", "Job", "view", "self, path: Text", "Answer",
             "Answer(self._view(path_of(path), {}, progress))",
             "path: the file. FILE.json is a timeline for https://ui.perfetto.dev; .dot, .graphml, .svg, .pdf and .png "
             "are graphs of one rank."},
    Function{"RunOptions", "Job", "run", "self", "Answer", "Answer(self._run({}, progress))", ""},
    Function{"DiffOptions", "Job", "diff", "self, other: Job", "Answer", "Answer(self._diff(other, {}, progress))", ""},
    Function{"EditOptions", "Job", "edit", "self", "Job", "Job(self._edit({}, progress))",
             "The job itself does not change. Job.made has the findings."},
    Function{"WriteOptions", "Job", "write", "self, path: Text", "Answer",
             "Answer(self._write(path_of(path), {}, progress))",
             "path: FILE.chakra is a container, PREFIX stands for PREFIX.<rank>.et, and FOLDER/ for trace.<rank>.et in "
             "the folder."},
    Function{"StepOptions", "generate", "step", "", "Job", "Job(_chakra.generate_step({}, progress))",
             "Job.made has the numbers of the job."},
    Function{"ServeOptions", "generate", "serve", "", "Job", "Job(_chakra.generate_serve({}, progress))",
             "Job.made has the numbers of the job."},
    Function{"CasesOptions", "generate", "cases", "", "Answer", "Answer(_chakra.generate_cases({}, progress))", ""},
    Function{"BlueprintOptions", "generate", "network", "", "Answer", "Answer(_chakra.generate_network({}, progress))",
             ""},
    Function{"CalibrateDeviceOptions", "calibrate", "device", "", "Answer", "Answer(_chakra.calibrate_device({}))", ""},
    Function{"CalibrateNetworkOptions", "calibrate", "network", "", "Answer", "Answer(_chakra.calibrate_network({}))",
             ""},
    Function{"FleetLinkOptions", "fleet", "link", "path: Sequence[Text] | Text", "Answer",
             "Answer(_chakra.fleet_link(paths(path), {}, progress))",
             "path: folders with the recordings of a job, and folders of such folders."},
    Function{"FleetAnalyzeOptions", "fleet", "analyze", "path: Sequence[Text] | Text", "Answer",
             "Answer(_chakra.fleet_analyze(paths(path), {}, progress))", "path: jobs, and folders of jobs."},
    Function{"FleetMergeOptions", "fleet", "merge", "", "Answer", "Answer(_chakra.fleet_merge({}, progress))", ""},
    Function{
        "LinkOptions", "", "link", "recordings: Sequence[Text] | Text", "Job",
        "Job(_chakra.link(paths(recordings), {}, progress))",
        "recordings: the host trace, the device trace or both of one rank, or folders with the recordings of a job. "
        "Without output, traces stay in memory. Job.made has the numbers."},
    Function{"ImportOptions", "", "import_workload", "path: Text", "Job",
             "Job(_chakra.import_workload(path_of(path), {}, progress))",
             "path: the workload of another tool. Job.made has the numbers."},
    Function{"ConvertOptions", "", "convert", "path: Sequence[Text] | Text", "Answer",
             "Answer(_chakra.convert(paths(path), {}, progress))",
             "path: jobs, which together are one job, or one file of another tool."},
    Function{"PackOptions", "", "pack", "path: Sequence[Text] | Text", "Answer",
             "Answer(_chakra.pack(paths(path), {}, progress))", "path: jobs; with stats alone, a container."},
    Function{"UnpackOptions", "", "unpack", "path: Text", "Answer",
             "Answer(_chakra.unpack(path_of(path), {}, progress))", "path: the container."},
    Function{"SelectOptions", "", "select", "path: Sequence[Text] | Text", "Answer",
             "Answer(_chakra.select(paths(path), {}, progress))", "path: jobs, and folders of jobs."},
    Function{"SweepOptions", "", "sweep", "path: Text", "Answer", "Answer(_chakra.sweep(path_of(path), {}, progress))",
             "path: the file that describes the space of options."},
    Function{"ObfuscateOptions", "", "obfuscate", "path: Text", "Answer",
             "Answer(_chakra.obfuscate(path_of(path), {}, progress))", "path: the job; with reveal, a hidden job."},
    Function{"CertifyOptions", "", "certify", "original: Text, shared: Text", "Answer",
             "Answer(_chakra.certify(path_of(original), path_of(shared), {}, progress))",
             "original: the job; with check, a certificate. shared: the copy."},
    Function{"DoctorOptions", "", "doctor", "path: Text = \"\"", "Answer",
             "Answer(_chakra.doctor(path_of(path), {}, progress))",
             "path: a file or a folder; without a path, the installation."},
};

constexpr char kUnbroken = '\1';  ///< a space that ends no line

/// "from_" for "from".
std::string python_name(const Option& row) {
  std::string name = member(row);
  if (name.ends_with('_')) name.pop_back();  // keywords of C++
  return name == "from" || name == "with" || name == "in" ? name + "_" : name;
}
/// "--packet-bytes" as it is called here, but in commands, which stand between single quotes.
std::string in_python(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = text.compare(i, 7, "'chakra") == 0;
    if (quoted || text.compare(i, 2, "--") != 0) {
      out += text[i];
      continue;
    }
    for (i += 2; i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '-'); ++i)
      out += text[i] == '-' ? '_' : text[i];
    --i;
  }
  return out;
}
/// "int | None = None".
std::string annotation(const Option& row, bool is_required) {
  const std::string text = options::default_of(row);
  const auto maybe = [&](std::string_view type) {
    return is_required ? std::string(type) : fmt::format("{} | None = None", type);
  };
  const auto texts = [&](std::string_view type) {
    return text.empty() ? maybe(type) : fmt::format("{} = \"{}\"", type, text);
  };
  const auto number = [&](std::string_view type) {
    return text.empty() ? maybe(type) : fmt::format("{} = {}", type, text);
  };
  return std::visit(
      Overloaded{
          [&](const Choice& choice) { return texts(fmt::format("Literal[\"{}\"]", join(choice.names, "\", \""))); },
          [&](const Form&) { return texts("str | int"); }, [&](std::string*) { return texts("Text"); },
          [&](std::vector<std::string>*) { return maybe("Texts"); },
          [&](std::vector<int64_t>*) { return maybe("Numbers"); }, [&](std::optional<bool>*) { return maybe("bool"); },
          [&](std::optional<int64_t>*) { return maybe("int"); }, [&](std::optional<uint64_t>*) { return maybe("int"); },
          [&](std::optional<double>*) { return maybe("float"); },
          [&](bool* value) { return fmt::format("bool = {}", *value ? "True" : "False"); },
          [&](int64_t*) { return number("int"); }, [&](uint64_t*) { return number("int"); },
          [&](double*) { return number("float"); }},
      row.target);
}

std::string python_function(const Function& function) {
  const auto verb =
      std::find_if(kVerbs.begin(), kVerbs.end(), [&](const Verb& v) { return v.name == function.options; });
  const size_t depth = function.scope.empty() ? 0 : 4;
  const std::string in(depth, ' '), deeper(depth + 4, ' ');
  const auto passes = [&](std::string_view name) { return function.call.find(name) != std::string_view::npos; };
  std::string signature =
      fmt::format("def {}({}{}*", function.name, function.arguments, function.arguments.empty() ? "" : ", ");
  const auto parameter = [&](std::string text) {  // on one line
    std::replace(text.begin(), text.end(), ' ', kUnbroken);
    signature += ", " + text;
  };
  std::string doc = verb->meaning, lists;
  if (!function.more.empty()) doc += "\n\n" + deeper + options::wrapped(std::string(function.more), 120, depth + 4);
  doc +=
      "\n\n" + deeper +
      "Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of\n" +
      deeper + "the command.\n";
  for (const Option& row : rows_of(*verb)) {
    const std::string name = python_name(row);
    parameter(fmt::format("{}: {}", name, annotation(row, row.required && function.name != "link")));
    std::string text = fmt::format("{}: {}", name, row.help);
    if (!row.more.empty()) text += ". " + row.more;
    const std::string taken = options::shown_of(row);
    if (!taken.empty() && !std::holds_alternative<Choice>(row.target))
      text += (text.ends_with('.') ? " " : ". ") + taken;
    doc += "\n" + deeper + options::wrapped(in_python(text), 120, depth + 8) + (text.ends_with('.') ? "" : ".");
    if (options::is_list(row)) lists += fmt::format("\"{}\", ", name);
  }
  if (passes("models")) parameter("models: Models | None = None");
  if (passes("progress")) parameter("progress: Progress = None");
  signature += fmt::format("){0}->{0}{1}:", kUnbroken, function.gives);
  signature = options::wrapped(signature, 116, depth + 8);
  std::replace(signature.begin(), signature.end(), kUnbroken, ' ');

  const std::string given =
      lists.empty() ? "given(locals())" : fmt::format("given(locals(), ({}))", lists.substr(0, lists.size() - 1));
  std::string call(function.call);
  call.replace(call.find("{}"), 2, given);
  return fmt::format("{}{}{}\n{}\"\"\"{}\n{}\"\"\"\n{}return {}\n",
                     function.scope.empty() || function.scope == "Job" ? "" : in + "@staticmethod\n", in, signature,
                     deeper, doc, deeper, deeper, call);
}

}  // namespace

std::string python_source() {
  std::string text =
      "\"\"\"The verbs: their options are those of the command.\n\n"
      "MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.\n\"\"\"\n"
      "from __future__ import annotations\n\nimport os\n\nfrom . import _chakra\n"
      "from ._base import Answer, BaseJob, given, path_of, paths\n\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n"
      "    from collections.abc import Callable, Sequence\n    from typing import Literal\n\n"
      "    from ._models import Models\n\n"
      "    Text = str | os.PathLike[str]\n    Texts = Sequence[Text | float] | Text | float\n    Numbers = "
      "Sequence[int] | int\n    Progress = Callable[[float], bool | None] | None\n";
  std::string_view scope;
  for (const Function& function : kFunctions) {
    if (function.scope.empty()) text += "\n";
    else if (function.scope != scope)
      text +=
          function.scope == "Job"
              ? "\n\nclass Job(BaseJob):\n    \"\"\"The traces of all ranks of a job. Several threads may use one "
                "job.\n\n"
                "    The first verb that needs the traces reads them; later verbs reuse them. progress(share) receives "
                "the completed\n"
                "    share of the work, 0 to 1, several times a second. Return False to stop: the verb then raises "
                "Error with code\n"
                "    130. Ctrl-C stops a verb, too. Other Python threads run during a verb.\n    \"\"\"\n"
              : fmt::format("\n\nclass {}:\n    \"\"\"`chakra {}`.\"\"\"\n", function.scope,
                            function.scope == "generate" ? "gen" : function.scope);
    scope = function.scope;
    text += "\n" + python_function(function);
  }
  return text;
}

}  // namespace chakra::facade::testing
