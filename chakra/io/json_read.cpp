// JSON, as a document or as lines -> records. docs/reference/formats/json.md is the contract.
#include <fmt/core.h>

#include "chakra/io/json_object.h"

namespace chakra::io {
namespace {

using json::JsonStream;
using wire::Bytes;

/// The messages of a part of the document, one after the other in a buffer, until they are taken.
class Messages {
 public:
  bool empty() const { return taken_ == list_.size(); }
  void clear() {
    list_.clear();
    bytes_.clear();
    taken_ = 0;
  }
  /// Adds the message that write(bytes) appends. `at`: of its object in the file. Errors: those of `write`.
  template <class Write>
  Result<void> add(int64_t at, const Write& write) {
    const size_t begin = bytes_.size();
    CHAKRA_TRY(write(bytes_));
    list_.push_back({begin, bytes_.size() - begin, at});
    return {};
  }
  void add_empty() { list_.push_back({0, 0, 0}); }
  /// The next, valid until clear(). Requires that there is one.
  std::string_view take() {
    const Message& m = list_[taken_++];
    at_ = m.at;
    return bytes_.view().substr(m.begin, m.size);
  }
  int64_t at() const { return at_; }  ///< of the one that was taken last

 private:
  struct Message {
    size_t begin, size;
    int64_t at;
  };
  Bytes bytes_;
  std::vector<Message> list_;
  size_t taken_ = 0;
  int64_t at_ = 0;
};

class JsonSource : public RecordSource {
 public:
  JsonSource(ByteSource source, bool lines)
      : stream_(lines ? JsonStream::sequence(std::move(source), json::kTraceTags)
                      : JsonStream(std::move(source), {"nodes"}, JsonStream::kWindow, json::kTraceTags)),
        lines_(lines) {}

  Result<bool> next(std::string_view& message) override {
    while (messages_.empty()) {
      if (finished_) return false;
      CHAKRA_TRY(read_on());
    }
    message = messages_.take();
    return true;
  }
  Place place() const override { return {stream_.file(), messages_.at()}; }

 private:
  /// A part of the document into messages.
  Result<void> read_on() {
    messages_.clear();
    CHAKRA_ASSIGN(const JsonStream::Part part, stream_.next());
    switch (part) {
      case JsonStream::Part::member: return read_member();
      case JsonStream::Part::finished: return finish();
      default: return read_window();
    }
  }

  Result<void> read_window() {
    if (!lines_) no_more_members();
    return json::for_each_in_window(stream_, parser_, [&](ondemand::object& object) -> Result<void> {
      if (lines_ && !std::exchange(any_metadata_, true)) return add_metadata(stream_.current_byte(), object);
      ++nodes_read_;
      return messages_.add(stream_.current_byte(), [&](Bytes& out) { return reader_.node(object, out); });
    });
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
        return error("the format is not json/1: this version cannot read the file");
      return {};
    }
    if (key != "metadata") return error(fmt::format("no key {} is known", quote(key)));
    if (std::exchange(any_metadata_, true)) return error("the metadata is a duplicate, or comes after the nodes");
    ondemand::object object;
    if (document.get_object().get(object) != simdjson::SUCCESS) return error("the metadata is not an object");
    Result<void> read = add_metadata(stream_.value_place().byte, object);
    if (!read && read.error().place.file.empty()) read.error().place = stream_.value_place();
    return read;
  }

  Result<void> finish() {
    finished_ = true;
    if (!lines_ && !any_array_ && nodes_read_ == 0) no_more_members();
    if (announced_ >= 0 && announced_ != nodes_read_)
      return fail(Code::bad_input, "io.json.truncated",
                  fmt::format("the file announces {} nodes and holds {}", announced_, nodes_read_), {stream_.file()});
    return {};
  }

  Result<void> add_metadata(int64_t at, ondemand::object& object) {
    return messages_.add(at, [&](Bytes& out) { return reader_.metadata(object, out, announced_); });
  }
  /// Before the first node, and at the end where there is none: metadata, if only empty.
  void no_more_members() {
    any_array_ = true;
    if (!std::exchange(any_metadata_, true)) messages_.add_empty();
  }

  JsonStream stream_;
  bool lines_, finished_ = false, any_metadata_ = false, any_array_ = false;
  ondemand::parser parser_;
  ObjectReader reader_;
  Messages messages_;
  int64_t announced_ = -1, nodes_read_ = 0;
};

}  // namespace

RecordSourcePtr open_json(ByteSource source) { return std::make_unique<JsonSource>(std::move(source), false); }
RecordSourcePtr open_json_lines(ByteSource source) { return std::make_unique<JsonSource>(std::move(source), true); }

}  // namespace chakra::io
