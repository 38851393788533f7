#include "chakra/recording/kineto_args.h"

#include <fmt/core.h>

namespace chakra::recording {
namespace {

namespace ondemand = simdjson::ondemand;

/// Strings and null may stand for what is not known; NaN and the like are nothing that JSON knows.
bool is_unknown(JsonValue& value) {
  ondemand::json_type type;
  return !value.type().get(type) && type != ondemand::json_type::number && is_sound(value);
}

/// A number, or something that stands for an unknown one.
bool number(JsonValue& part, int64_t& to) { return to_integer(part, to) || is_unknown(part); }

/// What c10d attaches to communication. False where a number is none.
bool read_comm_arg(std::string_view key, JsonValue& part, StringPool& strings, CommRecord& comm) {
  const auto text = [&] { return strings.intern(decoded(token(part))); };
  switch (key[0]) {
    case 'R':
      if (is(key, "Rank")) return number(part, comm.rank);
      break;
    case 'S':
      if (is(key, "Seq")) return number(part, comm.sequence);
      if (is(key, "Src Rank")) return number(part, comm.src);
      break;
    case 'd':
      if (is(key, "dtype")) comm.dtype = text();
      break;
    case 'C':
      if (is(key, "Collective name")) comm.collective = text();
      break;
    case 'D':
      if (is(key, "Dst Rank")) return number(part, comm.dst);
      break;
    case 'I':
      if (is(key, "In msg nelems")) return number(part, comm.in_elements);
      if (is(key, "In split size")) comm.in_split = strings[text()];
      break;
    case 'O':
      if (is(key, "Out msg nelems")) return number(part, comm.out_elements);
      if (is(key, "Out split size")) comm.out_split = strings[text()];
      break;
    case 'G':
      if (is(key, "Group size")) return number(part, comm.group_size);
      if (is(key, "Global rank start")) return number(part, comm.rank_start);
      if (is(key, "Global rank stride")) return number(part, comm.rank_stride);
      break;
    case 'P':
      if (is(key, "Process Group Name")) comm.group = text();
      else if (is(key, "Process Group Description")) comm.group_description = text();
      else if (is(key, "Process Group Ranks")) comm.ranks = strings[text()];
      break;
    default: break;
  }
  return true;
}

/// One comparison of length and first letters decides for nearly all keys. False where a number is none.
bool read_arg(std::string_view key, JsonValue& part, StringPool& strings, KinetoArgs& args) {
  switch (key.empty() ? 0 : key[0]) {
    case 'c':
      if (is(key, "correlation")) return number(part, args.correlation);
      if (is(key, "cuda_sync_kind")) args.sync_kind = token(part);
      return true;
    case 'E': return !is(key, "External id") || number(part, args.external_id);
    case 'e': return !is(key, "external id") || number(part, args.external_id);
    case 'R':
      if (is(key, "Record function id")) return number(part, args.rf_id);
      break;
    case 'S':
      if (is(key, "Sequence number")) return number(part, args.sequence);
      break;
    case 'd':
      if (!is(key, "device")) break;
      args.has_device = true;
      return number(part, args.device);
    case 's':
      if (!is(key, "stream")) return true;
      args.has_stream = true;
      return number(part, args.stream);
    case 'b': return !is(key, "bytes") || number(part, args.bytes);
    case 'w':
      if (is(key, "wait_on_stream")) return number(part, args.source_stream);
      return !is(key, "wait_on_cuda_event_record_corr_id") || number(part, args.source_correlation);
    case 'C':
      if (!is(key, "Concrete Inputs")) break;
      args.values = token(part);
      return true;
    case 'I':
      if (is(key, "Input Dims") || is(key, "Input dims")) return args.dims = token(part), true;
      if (is(key, "Input type")) return args.types = token(part), true;
      break;
    case 'D':
    case 'O':
    case 'G':
    case 'P': break;
    default: return true;
  }
  return read_comm_arg(key, part, strings, args.comm);
}

}  // namespace

Result<void> read_kineto_args(JsonValue& value, bool keep_dims, JsonStream& stream, StringPool& strings, Arena& texts,
                              KinetoArgs& args) {
  ondemand::object object;
  if (value.get_object().get(object)) return {};
  for (auto field : object) {
    std::string_view key;
    JsonValue* at = nullptr;
    if (const auto code = open_field(field, key, at)) return json_error(code, {});
    if (!read_arg(key, *at, strings, args)) {
      stream.look_at(key.data());
      return fail(Code::bad_input, "pytorch.kineto.field", fmt::format("{} is not a whole number", quote(key)));
    }
  }
  if (keep_dims && !args.dims.empty()) args.comm.dims = texts.add(args.dims);
  if (keep_dims && !args.types.empty()) args.comm.types = texts.add(args.types);
  return {};
}

}  // namespace chakra::recording
