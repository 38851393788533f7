// The file of a sweep.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "chakra/base/join.h"
#include "chakra/sweep/space.h"

namespace chakra::sweep {

// `sweep.file` (1): a key or value of the file of a sweep that is unknown or has another type
// `sweep.option` (1): an option that the section lacks, that a sweep cannot have, or that the file gives twice
// `sweep.value` (1): a value that an option does not accept, a value that is given twice, or no value at all

namespace {

constexpr std::array<std::string_view, 7> kKeys{"points",    "constraints", "sample",     "seed",
                                                "objective", "objectives",  "require_fit"};

std::string underscored(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return text;
}

Result<std::vector<Named>> texts_of(const Spec& spec) {
  std::vector<Named> all;
  if (spec.kind == Spec::Kind::scalar) return std::vector<Named>{{spec.scalar, spec.place()}};
  if (spec.kind != Spec::Kind::list) return spec.error("sweep.file", "expected a text or a list of texts");
  for (const Spec& item : spec.items) {
    CHAKRA_ASSIGN(std::string text, item.string());
    all.push_back({std::move(text), item.place()});
  }
  return all;
}

class PlanReader {
 public:
  PlanReader(std::span<Section> sections, std::span<const std::string_view> taken)
      : sections_(sections), taken_(taken) {}

  Result<Plan> read(const Spec& spec) {
    if (spec.kind != Spec::Kind::map)
      return spec.error("sweep.file", "the file of a sweep is a map with sections such as generate and simulate");
    plan_.file = spec.place().file;
    for (const SpecField& field : spec.fields) CHAKRA_TRY(check_key(field));
    for (const SpecField& field : spec.fields)
      if (Section* const section = section_of(field.key)) CHAKRA_TRY(read_section(*section, field.value));
    if (const Spec* const points = spec.find("points")) CHAKRA_TRY(read_points(*points));
    name_parameters();
    CHAKRA_TRY(read_others(spec));
    return std::move(plan_);
  }

 private:
  std::span<Section> sections_;
  std::span<const std::string_view> taken_;
  Plan plan_;
  std::set<std::string> given_;  ///< "section.key"

  Section* section_of(std::string_view name) { return const_cast<Section*>(find_row(sections_, name)); }

  Result<void> check_key(const SpecField& field) {
    if (section_of(field.key) || std::find(kKeys.begin(), kKeys.end(), field.key) != kKeys.end()) return {};
    std::vector<std::string> known = options::names(sections_);
    known.insert(known.end(), kKeys.begin(), kKeys.end());
    const std::string nearest = options::suggestion(field.key, known);
    return field.value.error("sweep.file",
                             fmt::format("unknown key {}{}", quote(field.key),
                                         nearest.empty() ? fmt::format("; known: {}", join(known, ", ")) : nearest));
  }

  /// Add a parameter that the file has not given yet. `at`: for errors.
  Result<const options::Option*> add_parameter(const Section& section, std::string_view key, const Spec& at) {
    const options::Option* const row = options::find(section.rows, key);
    if (!row) {
      std::vector<std::string> known;
      for (const options::Option& each : section.rows) known.push_back(options::key_of(each));
      return at.error("sweep.option",
                      fmt::format("{} has no option {}{}", section.name, quote(key), options::suggestion(key, known)));
    }
    const std::string name = options::key_of(*row);
    if (std::find(section.refused.begin(), section.refused.end(), name) != section.refused.end())
      return at.error("sweep.option",
                      fmt::format("a sweep has no option {} of {}: points write no files and have no exit code",
                                  quote(name), section.name));
    if (!given_.insert(fmt::format("{}.{}", section.name, name)).second)
      return at.error("sweep.option", fmt::format("option {} of {} is given twice", quote(name), section.name));
    plan_.parameters.push_back({std::string(section.name), name, "", at.line});
    return row;
  }

  Result<void> check_text(const options::Option& row, const Spec& value) {
    if (const Result<void> done = options::set(row, value.scalar); !done)
      return value.error("sweep.value", done.error().text);
    return {};
  }
  /// One setting: null, a text, or a list of texts for an option that is a list.
  Result<Setting> setting_of(const options::Option& row, const Spec& value) {
    if (value.kind == Spec::Kind::null) return Setting();
    if (value.kind == Spec::Kind::scalar) {
      CHAKRA_TRY(check_text(row, value));
      return Setting(std::vector<std::string>{value.scalar});
    }
    if (value.kind != Spec::Kind::list || !options::is_list(row) || value.items.empty())
      return value.error("sweep.value", fmt::format("{}: expected {}", options::key_of(row),
                                                    options::is_list(row) ? "a value or a list of values" : "a value"));
    std::vector<std::string> texts;
    for (const Spec& item : value.items) {
      CHAKRA_ASSIGN(std::string text, item.string());
      CHAKRA_TRY(check_text(row, item));
      texts.push_back(std::move(text));
    }
    return Setting(std::move(texts));
  }

  Result<void> read_parameter(const Section& section, std::string_view key, const Spec& value) {
    CHAKRA_ASSIGN(const options::Option* const row, add_parameter(section, key, value));
    Dimension dimension{{plan_.parameters.size() - 1}, {}};
    if (value.kind != Spec::Kind::list) {
      CHAKRA_ASSIGN(Setting one, setting_of(*row, value));
      dimension.choices.push_back({std::move(one)});
    } else {
      if (value.items.empty()) return value.error("sweep.value", fmt::format("{}: the list is empty", key));
      std::set<Setting> known;
      for (const Spec& item : value.items) {
        CHAKRA_ASSIGN(Setting one, setting_of(*row, item));
        if (!known.insert(one).second)
          return item.error("sweep.value", fmt::format("{}: the value {} is given twice", key, quote(text_of(one))));
        dimension.choices.push_back({std::move(one)});
      }
    }
    plan_.dimensions.push_back(std::move(dimension));
    return {};
  }

  Result<void> read_section(const Section& section, const Spec& value) {
    plan_.sections.emplace_back(section.name);
    if (section.plain) return read_parameter(section, options::key_of(section.rows.front()), value);
    if (value.kind == Spec::Kind::null) return {};
    if (value.kind != Spec::Kind::map)
      return value.error("sweep.file", fmt::format("{}: expected a map of options", section.name));
    for (const SpecField& field : value.fields) CHAKRA_TRY(read_parameter(section, field.key, field.value));
    return {};
  }

  /// Find the section of an option of `points`: "generate.tp", or "tp" if only one section has it.
  Result<std::pair<const Section*, std::string>> place_of(const SpecField& field) {
    std::vector<const Section*> found;
    std::string_view key = field.key;
    if (const size_t dot = key.find('.'); dot != std::string_view::npos && section_of(key.substr(0, dot))) {
      if (plan_.has(key.substr(0, dot))) found.push_back(section_of(key.substr(0, dot)));
      key.remove_prefix(dot + 1);
    } else {
      for (const Section& section : sections_)
        if (plan_.has(section.name) && options::find(section.rows, key)) found.push_back(&section);
    }
    if (found.size() == 1) return std::pair(found.front(), std::string(key));
    if (found.empty())
      return field.value.error("sweep.option",
                               fmt::format("no section of the file has an option {}", quote(field.key)));
    return field.value.error("sweep.option", fmt::format("option {} is ambiguous: write {}.{} or {}.{}", quote(key),
                                                         found[0]->name, key, found[1]->name, key));
  }

  /// The list of points is one dimension of all its options.
  Result<void> read_points(const Spec& points) {
    if (points.kind != Spec::Kind::list || points.items.empty() || points.items[0].kind != Spec::Kind::map ||
        points.items[0].fields.empty())
      return points.error("sweep.file", "points: expected a list of maps, such as [{tp: 1, pp: 8}, {tp: 8, pp: 1}]");
    Dimension dimension;
    std::vector<const options::Option*> rows;
    for (const SpecField& field : points.items[0].fields) {
      CHAKRA_ASSIGN(const auto place, place_of(field));
      CHAKRA_ASSIGN(const options::Option* const row, add_parameter(*place.first, place.second, field.value));
      rows.push_back(row);
      dimension.parameters.push_back(plan_.parameters.size() - 1);
    }
    const auto& names = points.items[0].fields;
    for (const Spec& point : points.items) {
      std::vector<Setting> settings;
      for (size_t i = 0; i < names.size(); ++i) {
        const Spec* const value = point.find(names[i].key);
        if (!value) return point.error("sweep.file", fmt::format("points: this point lacks {}", quote(names[i].key)));
        CHAKRA_ASSIGN(Setting setting, setting_of(*rows[i], *value));
        settings.push_back(std::move(setting));
      }
      if (point.fields.size() > names.size())
        return point.error("sweep.file", "points: this point has options that the first point lacks");
      dimension.choices.push_back(std::move(settings));
    }
    plan_.dimensions.push_back(std::move(dimension));
    return {};
  }

  void name_parameters() {
    std::map<std::string, int> count;
    for (const std::string_view name : taken_) ++count[std::string(name)];
    for (const Parameter& parameter : plan_.parameters) ++count[underscored(parameter.key)];
    for (Parameter& parameter : plan_.parameters) {
      const std::string name = underscored(parameter.key);
      const Section* const section = section_of(parameter.section);
      parameter.name = section->plain       ? parameter.section
                       : count.at(name) > 1 ? fmt::format("{}.{}", parameter.section, name)
                                            : name;
    }
  }

  Result<size_t> parameter_of(std::string_view name) const {
    std::vector<std::string> known;
    for (size_t p = 0; p < plan_.parameters.size(); ++p) {
      const Parameter& parameter = plan_.parameters[p];
      if (name == parameter.name || name == fmt::format("{}.{}", parameter.section, underscored(parameter.key)))
        return p;
      known.push_back(parameter.name);
    }
    return fail(Code::bad_input, "sweep.option",
                fmt::format("the file gives no option {}{}", quote(name), options::suggestion(name, known)));
  }

  Result<void> read_others(const Spec& spec) {
    constexpr auto kMost = static_cast<int64_t>(kMostPoints);
    if (const Spec* const constraints = spec.find("constraints")) {
      CHAKRA_ASSIGN(const std::vector<Named> texts, texts_of(*constraints));
      if (texts.size() > kMostConstraints)
        return constraints->error("sweep.file",
                                  fmt::format("{} constraints; {} are allowed", texts.size(), kMostConstraints));
      for (const Named& one : texts) {
        CHAKRA_ASSIGN(Expression made,
                      Expression::parse(
                          one.text, [&](std::string_view name) { return parameter_of(name); }, one.place));
        plan_.constraints.push_back(std::move(made));
      }
    }
    if (const Spec* const sample = spec.find("sample")) {
      CHAKRA_ASSIGN(plan_.sample, sample->integer("sample", 1, kMost, "sweep.value"));
    }
    if (const Spec* const seed = spec.find("seed")) {
      if (!plan_.sample) return seed->error("sweep.file", "seed is for a random sample: add 'sample'");
      CHAKRA_ASSIGN(plan_.seed, seed->integer("seed", 0, INT64_MAX, "sweep.value"));
    }
    for (const char* key : {"objective", "objectives"})
      if (const Spec* const objectives = spec.find(key)) {
        if (!plan_.objectives.empty()) return objectives->error("sweep.file", "give either objective or objectives");
        CHAKRA_ASSIGN(plan_.objectives, texts_of(*objectives));
      }
    if (const Spec* const fit = spec.find("require_fit")) {
      CHAKRA_ASSIGN(plan_.require_fit, fit->boolean());
    }
    return {};
  }
};

}  // namespace

std::string text_of(const Setting& setting) { return setting ? join(*setting, ",") : std::string(); }

bool Plan::has(std::string_view section) const {
  return std::find(sections.begin(), sections.end(), section) != sections.end();
}

std::optional<uint64_t> Plan::size() const {
  uint64_t product = 1;
  for (const Dimension& dimension : dimensions)
    if (__builtin_mul_overflow(product, dimension.choices.size(), &product) || product > uint64_t{INT64_MAX})
      return std::nullopt;
  return product;
}

Result<Plan> read_plan(const Spec& spec, std::span<Section> sections, std::span<const std::string_view> taken) {
  return PlanReader(sections, taken).read(spec);
}

}  // namespace chakra::sweep
