// The members of an output of rocprofv3, and its tables of names. Inside recording.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <fmt/core.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/json/json.h"
#include "chakra/recording/profile.h"

namespace chakra::recording {

/// A record of buffer_records, whatever its kind. Members that the record lacks keep these values.
struct Activity {
  int64_t kind = -1, operation = -1, thread = -1, correlation = -1, stream = -1;
  int64_t start = -1, end = -1;
  int64_t agent = -1, queue = -1, kernel = -1;   ///< of a dispatch
  int64_t source = -1, target = -1, bytes = -1;  ///< of a copy
};

/// The parts of an output, and its tables of names.
class RocprofFile {
  static constexpr std::string_view kTool = "rocprofiler-sdk-tool";
  static constexpr int64_t kGpu = 2;  ///< type of an agent

 public:
  explicit RocprofFile(const std::string& file) : file_(file) {}

  Result<void> open(simdjson::padded_string& text) {
    text_ = std::string_view(text);
    CHAKRA_TRY(split(text));
    CHAKRA_TRY(read_agents());
    CHAKRA_TRY(read_kinds());
    return read_names();
  }

  /// Call `use` with each record of a table.
  template <class Use>
  Result<void> each(const std::string& table, const Use& use) {
    return each_object("buffer_records." + table, [&](simdjson::ondemand::object& object) -> Result<void> {
      Activity a;
      CHAKRA_TRY(each_field(object, table, [&](std::string_view key, simdjson::ondemand::value& value) -> Result<void> {
        return take(key, value, a);
      }));
      if (a.start < 0 || a.end < a.start) return impossible(a, "it has no start, or it ends before its start");
      return use(a);
    });
  }
  Failure impossible(const Activity& a, std::string_view why) const {
    return fail(Code::bad_input, "rocprof.value", fmt::format("the record with correlation {}: {}", a.correlation, why),
                place(at_));
  }
  Result<std::string_view> operation_of(const Activity& a) const {
    if (a.kind < 0 || a.kind >= std::ssize(kinds_)) return impossible(a, "its kind has no name");
    const std::vector<std::string>& names = kinds_[static_cast<size_t>(a.kind)].operations;
    if (a.operation < 0 || a.operation >= std::ssize(names)) return impossible(a, "its operation has no name");
    return std::string_view(names[static_cast<size_t>(a.operation)]);
  }
  bool is_runtime(const Activity& a) const {
    return kinds_[static_cast<size_t>(a.kind)].name.starts_with("HIP_RUNTIME_API");
  }
  std::optional<int64_t> device(int64_t agent) const {
    const auto found = devices_.find(agent);
    return found == devices_.end() ? std::nullopt : std::optional(found->second);
  }
  const DeviceNames& device_names() const { return device_names_; }
  /// Null if unknown.
  const std::string* kernel(int64_t id) const {
    const auto found = kernels_.find(id);
    return found == kernels_.end() ? nullptr : &found->second;
  }
  const std::string* message(int64_t correlation) const {
    const auto found = messages_.find(correlation);
    return found == messages_.end() ? nullptr : &found->second;
  }

 private:
  Place place(size_t at) const { return {file_, static_cast<int64_t>(at)}; }
  Failure wrong(std::string text) const { return fail(Code::bad_input, "rocprof.json", std::move(text), place(at_)); }
  /// An error of the parser in a part of the file: at the damage, or at the record that has another type than expected.
  Result<void> sound(simdjson::error_code code, std::string_view part) const {
    if (code == simdjson::SUCCESS) return {};
    const bool is_type = code == simdjson::INCORRECT_TYPE || code == simdjson::NO_SUCH_FIELD;
    const size_t damage = json::first_damage(text_), at = damage == text_.size() && is_type ? at_ : damage;
    return fail(Code::bad_input, "rocprof.json", fmt::format("{}: {}", part, simdjson::error_message(code)), place(at));
  }

  /// Find the members of the only process, and those of the members `strings` and `buffer_records`.
  Result<void> split(simdjson::padded_string& text) {
    simdjson::ondemand::document document;
    simdjson::ondemand::array processes;
    CHAKRA_TRY(sound(parser_.iterate(text).get(document), "the file"));
    CHAKRA_TRY(sound(document[kTool].get_array().get(processes), kTool));
    size_t count = 0;
    std::string_view only;
    for (auto process : processes) {
      simdjson::ondemand::object object;
      CHAKRA_TRY(sound(process.get_object().get(object), "a process"));
      if (++count > 1) break;
      CHAKRA_TRY(sound(object.raw_json().get(only), "a process"));
    }
    if (count != 1)
      return fail(Code::bad_input, "rocprof.processes",
                  count == 0 ? "the file holds no process"
                             : "the file holds several processes; record each rank into a separate file",
                  {file_});
    CHAKRA_TRY(members_of(only, "", "a process"));
    for (const std::string_view outer : {"metadata", "strings", "buffer_records"})
      if (const auto found = parts_.find(std::string(outer)); found != parts_.end())
        CHAKRA_TRY(members_of(found->second, std::string(outer) + ".", outer));
    return {};
  }
  Result<void> members_of(std::string_view json, const std::string& prefix, std::string_view part) {
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    CHAKRA_TRY(sound(iterate(json, document), part));
    CHAKRA_TRY(sound(document.get_object().get(object), part));
    for (auto field : object) {
      std::string_view key;
      CHAKRA_TRY(sound(field.unescaped_key().get(key), part));
      std::string name = prefix + std::string(key);
      simdjson::ondemand::value member;
      CHAKRA_TRY(sound(field.value().get(member), name));
      parts_[std::move(name)] = json::token(member);
    }
    return {};
  }
  /// Parse a part in place: the text goes on behind the part.
  simdjson::error_code iterate(std::string_view part, simdjson::ondemand::document& document) {
    return parser_.iterate(simdjson::padded_string_view(part, part.size() + simdjson::SIMDJSON_PADDING)).get(document);
  }

  /// Call `use` with each object of an array. A part that the file lacks has no elements.
  template <class Use>
  Result<void> each_object(const std::string& part, const Use& use) {
    const auto found = parts_.find(part);
    if (found == parts_.end()) return {};
    simdjson::ondemand::document document;
    simdjson::ondemand::array elements;
    CHAKRA_TRY(sound(iterate(found->second, document), part));
    CHAKRA_TRY(sound(document.get_array().get(elements), part));
    for (auto element : elements) {
      if (const char* at = nullptr; !document.current_location().get(at)) at_ = static_cast<size_t>(at - text_.data());
      simdjson::ondemand::object object;
      CHAKRA_TRY(sound(element.get_object().get(object), part));
      CHAKRA_TRY(use(object));
    }
    at_ = 0;
    return {};
  }
  /// Call `use` with each field of an object: key, value.
  template <class Use>
  Result<void> each_field(simdjson::ondemand::object& object, std::string_view part, const Use& use) {
    for (auto field : object) {
      std::string_view key;
      simdjson::ondemand::value value;
      CHAKRA_TRY(sound(field.unescaped_key().get(key), part));
      CHAKRA_TRY(sound(field.value().get(value), part));
      CHAKRA_TRY(use(key, value));
    }
    return {};
  }
  /// A whole number; a number beyond 63 bits, such as an address, keeps its bits.
  Result<int64_t> whole(simdjson::ondemand::value& value, std::string_view key) const {
    int64_t number = 0;
    if (value.get_int64().get(number) == simdjson::SUCCESS) return number;
    uint64_t natural = 0;
    if (value.get_uint64().get(natural) == simdjson::SUCCESS) return static_cast<int64_t>(natural);
    return wrong(fmt::format("{} must be a whole number", key));
  }
  /// {"handle": 7}
  Result<int64_t> handle(simdjson::ondemand::value& value, std::string_view key,
                         std::string_view member = "handle") const {
    simdjson::ondemand::object object;
    simdjson::ondemand::value number;
    CHAKRA_TRY(sound(value.get_object().get(object), key));
    CHAKRA_TRY(sound(object[member].get(number), key));
    return whole(number, key);
  }
  Result<std::string> text(simdjson::ondemand::value& value, std::string_view key) const {
    std::string_view found;
    CHAKRA_TRY(sound(value.get_string().get(found), key));
    return std::string(found);
  }

  Result<void> read_agents() {
    return each_object("agents", [&](simdjson::ondemand::object& agent) -> Result<void> {
      int64_t id = -1, type = 0;
      std::string name, product;
      CHAKRA_TRY(
          each_field(agent, "agents", [&](std::string_view key, simdjson::ondemand::value& value) -> Result<void> {
            if (key == "id") {
              CHAKRA_ASSIGN(id, handle(value, key));
            } else if (key == "type") {
              CHAKRA_ASSIGN(type, whole(value, key));
            } else if (key == "name" || key == "product_name") {
              CHAKRA_ASSIGN((key == "name" ? name : product), text(value, key));
            }
            return {};
          }));
      if (type != kGpu) return {};
      const auto number = static_cast<int64_t>(devices_.size());
      if (!devices_.emplace(id, number).second) return wrong(fmt::format("two agents have the handle {}", id));
      device_names_.emplace(number, product.empty() ? name : product);
      return {};
    });
  }

  /// Kinds of records, each with the names of its operations: by number.
  Result<void> read_kinds() {
    return each_object("strings.buffer_records", [&](simdjson::ondemand::object& row) -> Result<void> {
      Kind kind;
      CHAKRA_TRY(
          each_field(row, "strings", [&](std::string_view key, simdjson::ondemand::value& value) -> Result<void> {
            if (key == "kind") {
              CHAKRA_ASSIGN(kind.name, text(value, key));
            } else if (key == "operations") {
              simdjson::ondemand::array operations;
              CHAKRA_TRY(sound(value.get_array().get(operations), key));
              for (auto operation : operations) {
                std::string_view name;
                CHAKRA_TRY(sound(operation.get_string().get(name), key));
                kind.operations.emplace_back(name);
              }
            }
            return {};
          }));
      kinds_.push_back(std::move(kind));
      return {};
    });
  }

  Result<void> read_names() {
    CHAKRA_TRY(each_object("kernel_symbols", [&](simdjson::ondemand::object& symbol) -> Result<void> {
      int64_t id = -1;
      std::string name, formatted;
      CHAKRA_TRY(each_field(symbol, "kernel_symbols",
                            [&](std::string_view key, simdjson::ondemand::value& value) -> Result<void> {
                              if (key == "kernel_id") {
                                CHAKRA_ASSIGN(id, whole(value, key));
                              } else if (key == "kernel_name" || key == "formatted_kernel_name") {
                                CHAKRA_ASSIGN((key == "kernel_name" ? name : formatted), text(value, key));
                              }
                              return {};
                            }));
      kernels_[id] = formatted.empty() ? name : formatted;
      return {};
    }));
    return each_object("strings.marker_api", [&](simdjson::ondemand::object& row) -> Result<void> {
      int64_t id = -1;
      std::string name;
      CHAKRA_TRY(
          each_field(row, "marker_api", [&](std::string_view key, simdjson::ondemand::value& value) -> Result<void> {
            if (key == "key") {
              CHAKRA_ASSIGN(id, whole(value, key));
            } else if (key == "value") {
              CHAKRA_ASSIGN(name, text(value, key));
            }
            return {};
          }));
      messages_[id] = std::move(name);
      return {};
    });
  }

  Result<void> take(std::string_view key, simdjson::ondemand::value& value, Activity& a) {
    struct Number {
      std::string_view key;
      int64_t Activity::*member;
    };
    static constexpr std::array<Number, 6> kNumbers{{{"kind", &Activity::kind},
                                                     {"operation", &Activity::operation},
                                                     {"thread_id", &Activity::thread},
                                                     {"start_timestamp", &Activity::start},
                                                     {"end_timestamp", &Activity::end},
                                                     {"bytes", &Activity::bytes}}};
    static constexpr std::array<Number, 3> kHandles{
        {{"stream_id", &Activity::stream}, {"src_agent_id", &Activity::source}, {"dst_agent_id", &Activity::target}}};
    for (const Number& row : kNumbers)
      if (row.key == key) {
        CHAKRA_ASSIGN(a.*row.member, whole(value, key));
      }
    for (const Number& row : kHandles)
      if (row.key == key) {
        CHAKRA_ASSIGN(a.*row.member, handle(value, key));
      }
    if (key == "correlation_id") {
      CHAKRA_ASSIGN(a.correlation, handle(value, key, "internal"));
    }
    if (key != "dispatch_info") return {};
    simdjson::ondemand::object info;
    CHAKRA_TRY(sound(value.get_object().get(info), key));
    return each_field(info, key, [&](std::string_view member, simdjson::ondemand::value& inner) -> Result<void> {
      if (member == "agent_id") {
        CHAKRA_ASSIGN(a.agent, handle(inner, member));
      } else if (member == "queue_id") {
        CHAKRA_ASSIGN(a.queue, handle(inner, member));
      } else if (member == "kernel_id") {
        CHAKRA_ASSIGN(a.kernel, whole(inner, member));
      }
      return {};
    });
  }

  struct Kind {
    std::string name;
    std::vector<std::string> operations;
  };
  std::string file_;
  std::string_view text_;  ///< the file
  size_t at_ = 0;          ///< in it: the record that is read
  simdjson::ondemand::parser parser_;
  std::map<std::string, std::string_view> parts_;  ///< "agents", "buffer_records.hip_api": JSON
  std::vector<Kind> kinds_;
  std::map<int64_t, int64_t> devices_;  ///< by the handle of the agent
  DeviceNames device_names_;
  absl::flat_hash_map<int64_t, std::string> kernels_, messages_;
};

}  // namespace chakra::recording
