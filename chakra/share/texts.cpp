#include "chakra/share/texts.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

namespace chakra::share {
namespace {

namespace fs = std::filesystem;

void add_attr(const schema::AttrRecord& attr, TextSink& sink) {
  sink.member(attr.name);
  if (!attr.doc.empty()) sink.text("doc_string", attr.doc);
  int64_t number = 0;
  if (attr.as_integer(number)) return sink.number(attr.name, fmt::format("{}", number));
  if (attr.field == schema::kString || attr.field == schema::kBytes) return sink.text(attr.name, attr.bytes);
  if (const auto list = schema::decode_list(attr))
    for (const std::string_view text : list->texts) sink.text(attr.name, text);
}
template <class Record>
void add_rest(const Record& record, TextSink& sink) {
  for (const schema::AttrRecord& attr : record.attrs) add_attr(attr, sink);
  for (const schema::UnknownField& field : record.unknown) sink.text("", field.bytes);
}

Result<void> list_below(const std::string& folder, int depth, std::vector<std::string>& files) {
  constexpr int kDeepest = 32;  // links may lead round
  CHAKRA_ASSIGN(const std::vector<std::string> names, list_folder(folder));
  for (const std::string& name : names) {
    const std::string path = (fs::path(folder) / name).string();
    std::error_code ignored;
    if (!is_directory(path)) files.push_back(path);
    else if (!fs::is_symlink(path, ignored) && depth < kDeepest) CHAKRA_TRY(list_below(path, depth + 1, files));
    else files.push_back(path);
  }
  return {};
}

}  // namespace

Result<void> for_each_text(const io::RankFile& rank, TextSink& sink) {
  CHAKRA_ASSIGN(const io::RecordSourcePtr records, io::open_records(rank));
  std::string_view message;
  schema::MetadataRecord metadata;
  schema::NodeRecord node;
  for (bool first = true;; first = false) {
    CHAKRA_ASSIGN(const bool more, records->next(message));
    if (!more) return {};
    if (first) {
      CHAKRA_TRY(schema::decode(message, metadata));
      sink.text("version", metadata.version);
      add_rest(metadata, sink);
      continue;
    }
    node.clear();
    CHAKRA_TRY(schema::decode(message, node));
    sink.text("name", node.name);
    sink.number("start", fmt::format("{}", node.start_micros));
    for (const schema::IoRecord* io : {&node.inputs, &node.outputs})
      for (const std::string_view text : {io->values, io->shapes, io->types}) sink.text("", text);
    add_rest(node, sink);
  }
}

Result<std::vector<std::string>> files_below(const std::string& path) {
  std::vector<std::string> files;
  std::error_code ignored;
  if (is_directory(path)) CHAKRA_TRY(list_below(path, 0, files));
  else if (fs::exists(path, ignored)) files.push_back(path);
  else return fail(Code::io, "base.file.open", "the file or folder does not exist", {path});
  return files;
}

}  // namespace chakra::share
