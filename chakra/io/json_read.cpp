// JSON, as a document or as lines -> records. docs/reference/formats/json.md is the contract.
#include <fmt/core.h>

#include "chakra/io/json_object.h"

namespace chakra::io {
namespace {

using json::JsonStream;
using wire::Bytes;

class JsonSource : public RecordSource {
 public:
  JsonSource(ByteSource source, bool lines)
      : stream_(lines ? JsonStream::sequence(std::move(source), json::kTraceTags)
                      : JsonStream(std::move(source), {"nodes"}, JsonStream::kWindow, json::kTraceTags)),
        lines_(lines) {}

  Result<bool> next(std::string_view& message) override {
    while (given_ == messages_.size()) {
      if (finished_) return false;
      CHAKRA_TRY(read_on());
    }
    const Message& m = messages_[given_++];
    message = out_.view().substr(m.begin, m.size);
    at_ = m.at;
    return true;
  }
  Place place() const override { return {stream_.file(), at_}; }

 private:
  struct Message {
    size_t begin, size;
    int64_t at;
  };

  /// A part of the document into messages.
  Result<void> read_on() {
    messages_.clear();
    out_.clear();
    given_ = 0;
    CHAKRA_ASSIGN(const JsonStream::Part part, stream_.next());
    if (part == JsonStream::Part::finished) {
      finished_ = true;
      if (!lines_ && !any_array_ && nodes_read_ == 0) CHAKRA_TRY(no_more_members());
      if (announced_ >= 0 && announced_ != nodes_read_)
        return fail(Code::bad_input, "io.json.truncated",
                    fmt::format("the file announces {} nodes and holds {}", announced_, nodes_read_), {stream_.file()});
      return {};
    }
    if (part == JsonStream::Part::member) return read_member();
    if (!lines_) CHAKRA_TRY(no_more_members());
    return json::for_each_in_window(stream_, parser_, [&](ondemand::object& object) -> Result<void> {
      const bool first = lines_ && !std::exchange(any_metadata_, true);
      nodes_read_ += !first;
      return add(stream_.current_byte(),
                 [&] { return first ? reader_.metadata(object, out_, announced_) : reader_.node(object, out_); });
    });
  }
  template <class Read>
  Result<void> add(int64_t at, const Read& read) {
    const size_t begin = out_.size();
    CHAKRA_TRY(read());
    messages_.push_back({begin, out_.size() - begin, at});
    return {};
  }
  Result<void> read_member() {
    const auto error = [&](std::string text) {
      return fail(Code::bad_input, "io.json.field", std::move(text), stream_.value_place());
    };
    const std::string key(stream_.key());
    ondemand::document document;
    if (const auto code = parser_.iterate(stream_.value()).get(document))
      return json::json_error(code, stream_.value_place(), json::kTraceTags);
    if (key == "chakraTrace") {
      std::string_view form;
      if (document.get_string().get(form) != simdjson::SUCCESS || form != "json/1")
        return error("the form is not json/1: this version cannot read it");
      return {};
    }
    if (key != "metadata") return error(fmt::format("no key {} is known", quote(key)));
    if (std::exchange(any_metadata_, true)) return error("the metadata is a duplicate, or comes after the nodes");
    ondemand::object object;
    if (document.get_object().get(object) != simdjson::SUCCESS) return error("the metadata is no object");
    Result<void> read = add(stream_.value_place().byte, [&] { return reader_.metadata(object, out_, announced_); });
    if (!read && read.error().place.file.empty()) read.error().place = stream_.value_place();
    return read;
  }
  /// Before the first node, and at the end where there is none: metadata, if only empty.
  Result<void> no_more_members() {
    any_array_ = true;
    if (!std::exchange(any_metadata_, true)) messages_.push_back({0, 0, 0});
    return {};
  }

  JsonStream stream_;
  bool lines_, finished_ = false, any_metadata_ = false, any_array_ = false;
  ondemand::parser parser_;
  ObjectReader reader_;
  Bytes out_;
  std::vector<Message> messages_;
  size_t given_ = 0;
  int64_t at_ = 0, announced_ = -1, nodes_read_ = 0;
};

}  // namespace

RecordSourcePtr open_json(ByteSource source) { return std::make_unique<JsonSource>(std::move(source), false); }
RecordSourcePtr open_json_lines(ByteSource source) { return std::make_unique<JsonSource>(std::move(source), true); }

}  // namespace chakra::io
