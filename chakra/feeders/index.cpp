#include "chakra/feeders/index.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "chakra/io/io.h"

namespace chakra::feeders {
namespace {

constexpr uint64_t kMostRows = UINT32_MAX - 1;
constexpr size_t kCompared = 4096;  ///< bytes

/// A descriptor of the file if its messages lie in it as they are; -1 if not.
int open_again(const std::string& path, const io::RecordSource& source) {
  if (!is_file(path) || !dynamic_cast<const io::EtFile*>(&source)) return -1;
  auto unpacked = ByteSource::open(path);
  if (!unpacked) return -1;
  const auto head = unpacked->peek(kCompared);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  std::string raw(head ? head->size() : 0, '\0');
  if (head && read_again(fd, 0, raw, path) && raw == *head) return fd;
  ::close(fd);
  return -1;
}

/// Passes messages on, and says where in the file each one lies.
class Placed : public io::RecordSource {
 public:
  struct Seen {
    std::string metadata;
    uint64_t end = 0;  ///< of the message before the one that next() gave last, in the file
    uint64_t messages = 0;
  };
  Placed(io::RecordSourcePtr source, Seen& seen) : source_(std::move(source)), seen_(seen) {}

  Result<bool> next(std::string_view& message) override {
    CHAKRA_ASSIGN(const bool more, source_->next(message));
    seen_.end = static_cast<uint64_t>(source_->place().byte);
    if (more && seen_.messages++ == 0) seen_.metadata = message;
    return more;
  }
  Place place() const override { return source_->place(); }

 private:
  io::RecordSourcePtr source_;
  Seen& seen_;
};

}  // namespace

void raise(const Error& error) { throw std::runtime_error(error.message()); }

Result<std::shared_ptr<Index>> Index::read(const std::string& path, bool control, uint64_t cached_bytes) {
  CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(path));
  if (ranks.size() != 1)
    return fail(Code::bad_input, "io.job.several",
                fmt::format("there are {} ranks, but a single rank is required", ranks.size()), {path});
  CHAKRA_ASSIGN(io::RecordSourcePtr source, io::open_records(ranks[0]));
  const std::shared_ptr<Index> index(new Index(path, open_again(ranks[0].path, *source)));
  Ids& ids = index->ids_;
  Messages& messages = index->messages_;
  WaitsBuilder waits;
  Placed::Seen seen;
  CHAKRA_ASSIGN(const trace::NodeSource nodes,
                io::open_nodes(std::make_unique<Placed>(std::move(source), seen), {.control = control}));
  trace::StreamedNode node;
  for (;;) {
    CHAKRA_ASSIGN(const bool more, nodes(node));
    messages.end_last(seen.end);
    if (!more) break;
    if (ids.size() >= kMostRows || waits.edges() + node.deps.size() >= kMostRows || node.message.size() > UINT32_MAX)
      return fail(Code::bad_input, "io.et.range", "too many nodes, edges or bytes of a node for the index", {path});
    messages.add(node.message);
    ids.push_back(node.id);
    waits.add(node.deps);
  }
  messages.finish(cached_bytes);
  CHAKRA_TRY(ids.sort(path));
  index->waits_ = std::move(waits).finish(ids);
  index->metadata_ = std::move(seen.metadata);
  return index;
}

}  // namespace chakra::feeders
