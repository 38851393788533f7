#include "chakra/io/node_attrs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "chakra/base/text_map.h"
#include "chakra/trace/storage.h"

namespace chakra::io {
namespace {

using trace::Comm;
using trace::CommType;
using trace::Trace;

bool is_text(const AttrRecord& attr) { return attr.field == schema::kString || attr.field == schema::kString + 2; }

/// The attributes without a column that are kept also without ReadOptions::texts, of nodes of some types.
struct KeptRow {
  std::string_view name;
  bool (*of)(trace::NodeType type);
};
bool always(trace::NodeType) { return true; }
bool computes(trace::NodeType type) { return type == trace::NodeType::comp; }
constexpr std::array<KeptRow, 15> kKept{{
    {"comm_request", always},  // what waits for what
    {"comm_wait", always},
    {"duration_micros", always},   // that is not dur_ns
    {"listed_dep_kinds", always},  // of a list that is not whole
    {"listed_dep_lag_ns", always},
    {"storage_tier", trace::is_memory},  // charged to a tier
    {"io_kind", trace::is_memory},
    {"bytes", trace::is_memory},
    {"kernel", computes},  // priced by a device's times
    {"unknown_work", computes},
    {"weight_bytes", computes},  // priced in another batch
    {"pass", always},            // planned by a schedule
    {"phase", always},
    {"micro_batch", always},
    {"chunk", always},
}};
const KeptRow* find_kept(std::string_view name) {
  const auto* found = std::find_if(kKept.begin(), kKept.end(), [&](const KeptRow& row) { return row.name == name; });
  return found == kKept.end() ? nullptr : found;
}

void keep(const AttrRecord& attr, NodeDraft& node) {
  if (!node.texts) {
    const KeptRow* kept_row = find_kept(attr.name);
    if (!kept_row || !kept_row->of(node.builder.trace.type[node.row])) return;
  }
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
/// The same, of a number from 0 on.
template <auto Member>
bool draft_number(uint64_t number, NodeDraft& node) {
  node.*Member = static_cast<int64_t>(number);
  return true;
}
template <auto Member>
bool draft_first(uint64_t number, NodeDraft& node) {
  return !(node.*Member) && draft_number<Member>(number, node);
}
template <auto Member>
void draft_list(const AttrRecord& attr, NodeDraft& node) {
  AttrList& list = node.*Member;
  if (const std::string_view values = schema::plain::small_values(attr.bytes); !values.empty()) {
    list.naturals.clear();
    list.integers.clear();
    if (attr.field == schema::kUint32List) return list.naturals.assign(values.begin(), values.end());
    if (attr.field == schema::kInt64List) return list.integers.assign(values.begin(), values.end());
  }
  if (auto read = decode_list(attr, list); !read && node.lists) node.lists = std::move(read);
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
bool comm_number(uint64_t number, NodeDraft& node) {
  comm(node).*Member = static_cast<std::decay_t<decltype(comm(node).*Member)>>(number);
  return true;
}
template <auto Member>
void comm_text(const AttrRecord& attr, NodeDraft& node) {
  if (is_text(attr)) comm(node).*Member = node.builder.trace.texts.add(attr.bytes);
}
/// The first value counts, as for times.
void comm_size(const AttrRecord& attr, NodeDraft& node) {
  uint64_t bytes = 0;
  if (!attr.as_natural(bytes)) return note_negative(attr, node);
  if (node.comm_bytes && *node.comm_bytes != bytes) return keep_misread(attr, node);
  node.comm_bytes = comm(node).bytes = bytes;
}
bool comm_size_number(uint64_t bytes, NodeDraft& node) {
  if (node.comm_bytes && *node.comm_bytes != bytes) return false;
  node.comm_bytes = comm(node).bytes = bytes;
  return true;
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

/// Read a number into row I of trace::kColumns.
template <size_t I>
bool take_column_number(uint64_t number, NodeDraft& node) {
  constexpr auto kRow = std::get<I>(trace::kColumns);
  if constexpr (kRow.stored == trace::Stored::dtype) return false;
  auto& column = node.builder.trace.*kRow.column;
  column.resize(node.row + 1, kRow.fill);
  column.edit(node.row) = static_cast<decltype(kRow.fill)>(number);
  return true;
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
bool is_cpu_number(uint64_t says, NodeDraft& node) {
  node.builder.trace.flags.edit(node.row) |=
      static_cast<uint8_t>(trace::kSaysCpuOrNot | (says != 0 ? trace::kOnCpu : 0));
  return true;
}
void part_of(const AttrRecord& attr, NodeDraft& node) {
  if (uint64_t whole = 0; attr.as_natural(whole)) node.builder.part_by_id(node.row, whole);
}

/// Attributes that share a column or a side table with others, or that fill one by a special rule.
constexpr std::array<AttrRow, 25> kAttrs{{
    {"is_cpu_op", is_cpu_op, is_cpu_number},
    {"comm_type", comm_type},
    {"comm_size", comm_size, comm_size_number},
    {"comm_src", comm_integer<&Comm::src>, comm_number<&Comm::src>},
    {"comm_dst", comm_integer<&Comm::dst>, comm_number<&Comm::dst>},
    {"comm_tag", comm_integer<&Comm::tag>, comm_number<&Comm::tag>},
    {"comm_priority", comm_integer<&Comm::priority>, comm_number<&Comm::priority>},
    {"comm_seq", comm_integer<&Comm::sequence>, comm_number<&Comm::sequence>},
    {"comm_root", comm_integer<&Comm::root>, comm_number<&Comm::root>},
    {"comm_in_bytes", comm_natural<&Comm::in_bytes>, comm_number<&Comm::in_bytes>},
    {"comm_out_bytes", comm_natural<&Comm::out_bytes>, comm_number<&Comm::out_bytes>},
    {"comm_in_split", comm_text<&Comm::in_split>},
    {"comm_out_split", comm_text<&Comm::out_split>},
    {"comm_dtype", comm_dtype},
    {"involved_dim", involved_dim},
    {"pg_name", pg_name},
    {"ts_ns", draft_time<&NodeDraft::start_ns>, draft_first<&NodeDraft::start_ns>},
    {"dur_ns", draft_time<&NodeDraft::duration_ns>, draft_first<&NodeDraft::duration_ns>},
    {"dep_kinds", draft_list<&NodeDraft::dep_kinds>},
    {"dep_lag_ns", draft_list<&NodeDraft::dep_lags>},
    {"part_of", part_of},
    {"pid", draft_integer<&NodeDraft::pid>, draft_number<&NodeDraft::pid>},
    {"tid", draft_integer<&NodeDraft::tid>, draft_number<&NodeDraft::tid>},
    {"device", draft_integer<&NodeDraft::device>, draft_number<&NodeDraft::device>},
    {"stream", draft_integer<&NodeDraft::stream>, draft_number<&NodeDraft::stream>},
}};

/// The row of column I of trace::kColumns; without a name where the column is not a separate attribute.
template <size_t I>
constexpr AttrRow column_attr() {
  if constexpr (std::get<I>(trace::kColumns).is_attribute())
    return {std::get<I>(trace::kColumns).wire, take_column<I>, take_column_number<I>};
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

/// Whether two texts of the same size are equal: without a call for most names.
bool same_text(const char* a, const char* b, size_t size) {
  const auto ends_equal = [&]<size_t kWord>(std::integral_constant<size_t, kWord>) {
    return __builtin_memcmp(a, b, kWord) == 0 && __builtin_memcmp(a + size - kWord, b + size - kWord, kWord) == 0;
  };
  if (size - 8 <= 8) return ends_equal(std::integral_constant<size_t, 8>());
  return size > 16 ? ends_equal(std::integral_constant<size_t, 16>()) : __builtin_memcmp(a, b, size) == 0;
}

/// The largest number that a varint of at most nine bytes has as a value of the member; 0 for members of other codings.
uint64_t most_of(uint32_t field) {
  switch (schema::kMembers[field].coding) {
    case schema::Coding::varint: return schema::is_narrow(field) ? INT32_MAX : INT64_MAX;
    case schema::Coding::natural: return schema::is_narrow(field) ? UINT32_MAX : INT64_MAX;
    case schema::Coding::boolean: return 1;
    default: return 0;
  }
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
  place %= kMostPlaces;
  if (place >= places_) seen_.resize((places_ = place + 1) * kNames);
  Seen& known = seen_[place * kNames + slot(attr.name.size(), attr.name.empty() ? '\0' : attr.name.back())];
  if (known.field != attr.field || known.name != attr.name) remember(attr, node, known);
  if (known.row) return known.row->take(attr, node);
  if (!known.dropped) keep(attr, node);
}

void AttrReader::remember(const AttrRecord& attr, const NodeDraft& node, Seen& known) {
  const bool is_list = attr.field != 0 && schema::is_list(attr.field);
  known.name.assign(attr.name);
  known.row = find_attr(attr.name);
  known.dropped = !known.row && !node.texts && !find_kept(attr.name);
  known.field = attr.field;
  known.is_text = is_list || schema::kMembers[attr.field].coding == schema::Coding::text;
  known.most = is_list ? 0 : most_of(attr.field);
  known.head_size = 0;
  if (!known.is_text && known.most == 0) return;
  wire::Bytes head;
  wire::put_text(head, schema::kAttrName, attr.name);
  head.end(wire::tag_at(head.room(wire::kMostVarint), attr.field, known.is_text ? wire::kText : wire::kVarint));
  if (head.size() <= known.head.size()) known.head_size = head.view().copy(known.head.data(), known.head.size());
}

bool AttrReader::read_known(std::string_view message, size_t place, NodeDraft& node) {
  place %= kMostPlaces;
  if (place >= places_ || message.size() < 2) return false;
  const auto name_size = static_cast<uint8_t>(message[1]);
  if (message.size() < size_t{2} + name_size) return false;
  const Seen& known = seen_[place * kNames + slot(name_size, message[1 + name_size])];
  const size_t size = known.head_size;
  if (size == 0 || message.size() < size || !same_text(message.data(), known.head.data(), size)) return false;
  const char *at = message.data() + size, *const end = message.data() + message.size();
  uint64_t number = 0;
  std::string_view text;
  if (!(known.is_text ? schema::plain::take_text(at, end, text) : schema::plain::take_varint(at, end, number)) ||
      at != end || number > known.most)
    return false;
  if (known.dropped) return true;
  if (!known.is_text && known.row && known.row->take_number && known.row->take_number(number, node)) return true;
  take(known, number, text, node);
  return true;
}

/// Apart from read_known(), which then saves few registers.
[[gnu::noinline]] void AttrReader::take(const Seen& known, uint64_t number, std::string_view text, NodeDraft& node) {
  AttrRecord attr;
  attr.name = known.name;
  attr.field = known.field;
  attr.integer = static_cast<int64_t>(number);
  attr.natural = number;
  attr.bytes = text;
  if (known.row) known.row->take(attr, node);
  else keep(attr, node);
}

}  // namespace chakra::io
