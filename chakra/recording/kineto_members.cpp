// The members of a Kineto trace beside its records.
#include <fmt/core.h>

#include "chakra/recording/kineto_args.h"

namespace chakra::recording {
namespace {

namespace ondemand = simdjson::ondemand;

/// Read the value of deviceProperties. Skip entries without a number or with an empty name, which some ROCm versions
/// write.
DeviceNames read_device_names(ondemand::document& value) {
  DeviceNames names;
  ondemand::array list;
  if (value.get_array().get(list)) return names;
  for (auto item : list) {
    ondemand::object object;
    if (item.get_object().get(object)) return names;
    int64_t id = -1;
    std::string name;
    for (auto field : object) {
      std::string_view key;
      JsonValue* at = nullptr;
      if (open_field(field, key, at)) return names;
      if (is(key, "id")) (void)to_integer(*at, id);
      else if (is(key, "name")) name = decoded(token(*at));
    }
    if (id >= 0 && !name.empty()) names.emplace(id, std::move(name));
  }
  return names;
}

void read_groups(JsonValue& value, std::vector<trace::ProcessGroup>& groups) {
  ondemand::array list;
  if (value.get_array().get(list)) return;
  for (auto item : list) {
    ondemand::object object;
    if (item.get_object().get(object)) return;
    trace::ProcessGroup group;
    for (auto field : object) {
      std::string_view name;
      JsonValue* at = nullptr;
      if (open_field(field, name, at)) return;
      JsonValue& part = *at;
      if (is(name, "pg_name")) group.name = decoded(token(part));
      else if (is(name, "pg_desc")) group.description = decoded(token(part));
      else if (is(name, "backend_config")) group.backend = token(part);
      else if (is(name, "pg_size") || is(name, "group_size")) (void)to_integer(part, group.size);
      else if (is(name, "ranks")) group.ranks = parse_ranks(token(part));
    }
    if (!group.name.empty() || !group.ranks.empty()) groups.push_back(std::move(group));
  }
}

/// The rank and the groups of the job.
Result<void> read_distributed_info(ondemand::document& document, const JsonStream& stream, Profile& out) {
  ondemand::object info;
  if (document.get_object().get(info)) return {};
  for (auto field : info) {
    std::string_view name;
    JsonValue* at = nullptr;
    if (open_field(field, name, at)) return {};
    JsonValue& value = *at;
    if (is(name, "rank")) {
      const std::string_view text = token(value);  // a value can be looked at once
      if (!parse_integer(text, out.rank) || out.rank < 0)
        return fail(Code::bad_input, "pytorch.pair.rank", fmt::format("distributedInfo names the rank {}", quote(text)),
                    stream.value_place());
    } else if (is(name, "world_size")) (void)to_integer(value, out.world_size);
    else if (is(name, "pg_config")) read_groups(value, out.groups);
  }
  return {};
}

}  // namespace

Result<void> read_kineto_member(std::string_view key, ondemand::document& document, const JsonStream& stream,
                                Profile& profile) {
  if (is(key, "deviceProperties")) profile.device_names = read_device_names(document);
  if (is(key, "distributedInfo")) return read_distributed_info(document, stream, profile);
  if (is(key, "baseTimeNanoseconds") && !parse_integer(token(document), profile.base_ns))
    return fail(Code::bad_input, "pytorch.kineto.time", "baseTimeNanoseconds is not a whole number",
                stream.value_place());
  return {};
}

}  // namespace chakra::recording
