#include "chakra/io/node_attrs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chakra/base/text_map.h"

namespace chakra::io {
namespace {

using trace::Comm;
using trace::CommType;
using trace::Trace;

bool is_text(const AttrRecord& attr) { return attr.field == schema::kString || attr.field == schema::kString + 2; }

void keep(const AttrRecord& attr, NodeDraft& node) {
  const bool checked = attr.name == "comm_request" || attr.name == "comm_wait" ||  // what waits for what
                       attr.name == "duration_micros";                             // that is not dur_ns
  const trace::NodeType type = node.builder.trace.type[node.row];
  const bool charged = (type == trace::NodeType::mem_load || type == trace::NodeType::mem_store) &&
                       (attr.name == "storage_tier" || attr.name == "io_kind" || attr.name == "bytes");  // to a tier
  const bool priced =
      type == trace::NodeType::comp && (attr.name == "kernel" || attr.name == "unknown_work" ||  // by a device's times
                                        attr.name == "weight_bytes");                            // in another batch
  const bool planned = attr.name == "pass" || attr.name == "phase" ||                            // by a schedule
                       attr.name == "micro_batch" || attr.name == "chunk";
  if (!node.texts && !checked && !charged && !priced && !planned) return;
  if (const auto value = kept(attr, node.builder.trace)) node.builder.attr(*value);
}

Comm& comm(NodeDraft& node) { return node.builder.comm(node.row); }

/// Keep a value that its column can't take: trace/misread.h finds it.
void keep_misread(const AttrRecord& attr, NodeDraft& node) {
  if (const auto value = kept(attr, node.builder.trace)) node.builder.attr(*value);
}

/// A size that is a number, but no size; or a value of a wrong type.
void note_negative(const AttrRecord& attr, NodeDraft& node) {
  if (int64_t number = 0; attr.as_integer(number))
    node.builder.trace.defects.push_back({trace::Defect::Kind::negative_size, node.row, 0});
  else keep_misread(attr, node);
}

/// Whether a float or a double is a whole number, exactly.
bool as_whole(const AttrRecord& attr, int64_t& number) {
  const double most = attr.field == schema::kDouble       ? 0x1p53
                      : attr.field == schema::kDouble + 2 ? 0x1p24  // a float
                                                          : -1;
  if (!(std::abs(attr.real) <= most) || std::trunc(attr.real) != attr.real) return false;
  number = static_cast<int64_t>(attr.real);
  return true;
}

Result<AttrList> list_of(const AttrRecord& attr, NodeDraft& node) {
  Result<AttrList> list = decode_list(attr);
  if (!list && node.lists) node.lists = Failure(list.error());
  return list;
}

// ---- how a row of the table takes an attribute -------------------------------------------------------

template <auto Member>
void draft_integer(const AttrRecord& attr, NodeDraft& node) {
  if (int64_t number = 0; attr.as_integer(number)) node.*Member = number;
}
/// The first value counts, so that a copy of the file says the same.
template <auto Member>
void draft_time(const AttrRecord& attr, NodeDraft& node) {
  std::optional<int64_t>& time = node.*Member;
  int64_t number = 0;
  if ((!attr.as_integer(number) && !as_whole(attr, number)) || (time && *time != number))
    return keep_misread(attr, node);
  time = number;
}
template <auto Member>
void draft_list(const AttrRecord& attr, NodeDraft& node) {
  if (auto read = decode_list(attr, node.*Member); !read && node.lists) node.lists = std::move(read);
}

template <auto Member>
void comm_integer(const AttrRecord& attr, NodeDraft& node) {
  if (int64_t number = 0; attr.as_integer(number)) comm(node).*Member = number;
  else keep_misread(attr, node);
}
template <auto Member>
void comm_natural(const AttrRecord& attr, NodeDraft& node) {
  int64_t negative = 0;
  if (uint64_t number = 0; attr.as_natural(number)) comm(node).*Member = number;
  else if (!attr.as_integer(negative)) keep_misread(attr, node);
}
template <auto Member>
void comm_text(const AttrRecord& attr, NodeDraft& node) {
  if (is_text(attr)) comm(node).*Member = node.builder.trace.texts.add(attr.bytes);
}
void comm_size(const AttrRecord& attr, NodeDraft& node) {
  if (uint64_t bytes = 0; attr.as_natural(bytes)) comm(node).bytes = bytes;
  else note_negative(attr, node);
}
void comm_type(const AttrRecord& attr, NodeDraft& node) {
  if (uint64_t type = 0; attr.as_natural(type))
    comm(node).type = type < trace::kCommTypeNames.size() ? static_cast<CommType>(type) : CommType::unknown;
  else if (int64_t negative = 0; !attr.as_integer(negative)) keep_misread(attr, node);
}
void comm_dtype(const AttrRecord& attr, NodeDraft& node) {
  if (is_text(attr)) comm(node).dtype = node.builder.trace.strings.intern(attr.bytes);
}
void involved_dim(const AttrRecord& attr, NodeDraft& node) {
  const auto dims = list_of(attr, node);
  if (!dims) return;
  Comm& c = comm(node);
  c.involved_count = static_cast<uint8_t>(std::min<size_t>(dims->integers.size(), 64));
  for (size_t d = 0; d < c.involved_count; ++d) c.involved |= uint64_t{dims->integers[d] != 0} << d;
}
void pg_name(const AttrRecord& attr, NodeDraft& node) {
  Trace& trace = node.builder.trace;
  if (!trace::is_comm(trace.type[node.row])) return keep(attr, node);
  if (is_text(attr)) comm(node).group = trace.strings.intern(attr.bytes);
  else if (int64_t number = 0; attr.as_integer(number))
    comm(node).group = trace.strings.intern(fmt::format("{}", number));
}

/// Read an attribute into row I of trace::kColumns.
template <size_t I>
void take_column(const AttrRecord& attr, NodeDraft& node) {
  constexpr auto kRow = std::get<I>(trace::kColumns);
  decltype(kRow.fill) value{};
  if constexpr (kRow.stored == trace::Stored::dtype) {
    const auto type = is_text(attr) ? trace::dtype_of(attr.bytes) : trace::DType::unknown;
    if (type == trace::DType::unknown) return keep(attr, node);  // another tool's
    value = static_cast<uint8_t>(type);
  } else if (!attr.as_natural(value)) {
    return note_negative(attr, node);
  }
  auto& column = node.builder.trace.*kRow.column;
  column.resize(node.row + 1, kRow.fill);
  column.edit(node.row) = value;
}
void is_cpu_op(const AttrRecord& attr, NodeDraft& node) {
  if (int64_t says = 0; attr.as_integer(says))
    node.builder.trace.flags.edit(node.row) |= static_cast<uint8_t>(trace::kSaysCpuOrNot | (says ? trace::kOnCpu : 0));
}
void part_of(const AttrRecord& attr, NodeDraft& node) {
  if (uint64_t whole = 0; attr.as_natural(whole)) node.builder.part_by_id(node.row, whole);
}

/// Attributes that share a column or a side table with others, or that fill one by a special rule.
constexpr std::array<AttrRow, 25> kAttrs{{
    {"is_cpu_op", is_cpu_op},
    {"comm_type", comm_type},
    {"comm_size", comm_size},
    {"comm_src", comm_integer<&Comm::src>},
    {"comm_dst", comm_integer<&Comm::dst>},
    {"comm_tag", comm_integer<&Comm::tag>},
    {"comm_priority", comm_integer<&Comm::priority>},
    {"comm_seq", comm_integer<&Comm::sequence>},
    {"comm_root", comm_integer<&Comm::root>},
    {"comm_in_bytes", comm_natural<&Comm::in_bytes>},
    {"comm_out_bytes", comm_natural<&Comm::out_bytes>},
    {"comm_in_split", comm_text<&Comm::in_split>},
    {"comm_out_split", comm_text<&Comm::out_split>},
    {"comm_dtype", comm_dtype},
    {"involved_dim", involved_dim},
    {"pg_name", pg_name},
    {"ts_ns", draft_time<&NodeDraft::start_ns>},
    {"dur_ns", draft_time<&NodeDraft::duration_ns>},
    {"dep_kinds", draft_list<&NodeDraft::dep_kinds>},
    {"dep_lag_ns", draft_list<&NodeDraft::dep_lags>},
    {"part_of", part_of},
    {"pid", draft_integer<&NodeDraft::pid>},
    {"tid", draft_integer<&NodeDraft::tid>},
    {"device", draft_integer<&NodeDraft::device>},
    {"stream", draft_integer<&NodeDraft::stream>},
}};

/// The row of column I of trace::kColumns; without a name where the column is not a separate attribute.
template <size_t I>
constexpr AttrRow column_attr() {
  if constexpr (std::get<I>(trace::kColumns).is_attribute()) return {std::get<I>(trace::kColumns).wire, take_column<I>};
  else return {};
}
constexpr std::array kColumnAttrs = []<size_t... I>(std::index_sequence<I...>) {
  return std::array{column_attr<I>()...};
}
(std::make_index_sequence<std::tuple_size_v<decltype(trace::kColumns)>>());

const AttrRow* find_attr(std::string_view name) {
  static const TextMap<const AttrRow*> by_name = [] {
    TextMap<const AttrRow*> rows;
    for (const AttrRow& row : kAttrs) rows.emplace(row.name, &row);
    for (const AttrRow& row : kColumnAttrs)
      if (row.take) rows.emplace(row.name, &row);
    return rows;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

/// Whether two texts of one size are equal: without a call for the sizes of nearly all names.
bool same_text(const char* a, const char* b, size_t size) {
  const auto ends_equal = [&](auto word) {
    decltype(word) first = 0, last = 0, other_first = 0, other_last = 0;
    __builtin_memcpy(&first, a, sizeof word);
    __builtin_memcpy(&last, a + size - sizeof word, sizeof word);
    __builtin_memcpy(&other_first, b, sizeof word);
    __builtin_memcpy(&other_last, b + size - sizeof word, sizeof word);
    return first == other_first && last == other_last;
  };
  if (size - 8 <= 8) return ends_equal(uint64_t{});
  if (size - 4 <= 4) return ends_equal(uint32_t{});
  return size == 0 || __builtin_memcmp(a, b, size) == 0;  // an empty text may be null
}

}  // namespace

std::optional<trace::Attr> kept(const AttrRecord& attr, Trace& trace) {
  const StringId name = trace.strings.intern(attr.name);
  int64_t integer = 0;
  if (attr.field == schema::kBool) return trace::Attr{name, attr.integer != 0};
  if (attr.as_integer(integer)) return trace::Attr{name, integer};
  if (attr.field == schema::kUint64) return trace::Attr{name, attr.natural};
  if (attr.field == schema::kDouble || attr.field == schema::kDouble + 2) return trace::Attr{name, attr.real};
  if (attr.field == schema::kString) return trace::Attr{name, attr.bytes};
  return std::nullopt;
}

void AttrReader::read(const AttrRecord& attr, size_t place, NodeDraft& node) {
  if (place >= seen_.size() / kNames) seen_.resize((place + 1) * kNames);
  const size_t last = attr.name.empty() ? 0 : static_cast<unsigned char>(attr.name.back());
  Seen& seen = seen_[place * kNames + (attr.name.size() * 3 + last) % kNames];
  if (seen.name.size() != attr.name.size() || !same_text(seen.name.data(), attr.name.data(), attr.name.size())) {
    seen.name.assign(attr.name);
    seen.row = find_attr(attr.name);
  }
  if (seen.row) return seen.row->take(attr, node);
  keep(attr, node);
}

}  // namespace chakra::io
