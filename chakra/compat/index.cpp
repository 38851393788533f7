#include "chakra/compat/index.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "chakra/io/io.h"

namespace chakra::compat {
namespace {

constexpr uint64_t kPageBytes = 64 << 10;
constexpr uint64_t kMostRows = UINT32_MAX - 1;

Result<void> read_again(int fd, uint64_t at, std::span<char> to, const std::string& file) {
  for (size_t have = 0; have < to.size();) {
    const ssize_t got = ::pread(fd, to.data() + have, to.size() - have, static_cast<off_t>(at + have));
    if (got < 0) return fail(Code::io, "base.file.read", "the file cannot be read again", {file});
    if (got == 0) return fail(Code::bad_input, "io.et.truncated", "the file has become shorter since", {file});
    have += static_cast<size_t>(got);
  }
  return {};
}

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

/// Reads the stream into the columns of an index.
class Index::Reader {
 public:
  explicit Reader(Index& index) : x_(index) {}

  Result<void> run(const std::string& path, bool control) {
    CHAKRA_ASSIGN(const std::vector<io::RankFile> ranks, io::find_ranks(path));
    if (ranks.size() != 1)
      return fail(Code::bad_input, "io.job.several",
                  fmt::format("there are {} ranks, and this takes one", ranks.size()), {path});
    CHAKRA_ASSIGN(io::RecordSourcePtr source, io::open_records(ranks[0]));
    x_.fd_ = open_again(ranks[0].path, *source);
    CHAKRA_ASSIGN(const trace::NodeSource nodes,
                  io::open_nodes(std::make_unique<Placed>(std::move(source), seen_), {.control = control}));
    trace::StreamedNode node;
    for (;;) {
      CHAKRA_ASSIGN(const bool more, nodes(node));
      place_last();
      if (!more) break;
      CHAKRA_TRY(add(node));
    }
    x_.metadata_ = std::move(seen_.metadata);
    CHAKRA_TRY(x_.sort_ids());
    x_.link(std::move(parents_), std::move(unresolved_));
    return {};
  }

 private:
  /// Where the message before ended is known when the next one has been read.
  void place_last() {
    if (x_.fd_ < 0 || x_.ids_.empty()) return;
    Page& page = x_.pages_.back();
    const uint64_t begin = seen_.end - x_.size_.back();
    if (x_.size() - 1 == page.first) page.at = begin;
    x_.begin_.back() = static_cast<uint32_t>(begin - page.at);
    page.bytes = seen_.end - page.at;
  }

  Result<void> add(trace::StreamedNode& node) {
    if (x_.ids_.size() >= kMostRows || parents_.size() + unresolved_.size() + node.deps.size() >= kMostRows ||
        node.message.size() > UINT32_MAX)
      return fail(Code::bad_input, "io.et.range", "more nodes, edges or bytes of a node than can be indexed",
                  {x_.file_});
    if (x_.pages_.empty() || x_.pages_.back().bytes >= kPageBytes) x_.pages_.push_back({.first = x_.size()});
    const Row row = x_.size();
    x_.ids_.push_back(node.id);
    x_.size_.push_back(static_cast<uint32_t>(node.message.size()));
    x_.begin_.push_back(static_cast<uint32_t>(x_.pages_.back().bytes));
    if (x_.fd_ < 0) {
      x_.pages_.back().text += node.message;
      x_.pages_.back().bytes += node.message.size();
    }
    std::sort(node.deps.begin(), node.deps.end());
    node.deps.erase(std::unique(node.deps.begin(), node.deps.end()), node.deps.end());
    ascending_ = ascending_ && (row == 0 || x_.ids_[row - 1] < node.id);
    uint32_t known = 0;
    for (const uint64_t dep : node.deps) {
      const auto parent = ascending_ ? x_.find(dep) : std::nullopt;
      if (parent) parents_.push_back(*parent), ++known;
      else unresolved_.emplace_back(dep, row);
    }
    x_.waits_for_.push_back(known);  // link() adds the others
    return {};
  }

  Index& x_;
  Placed::Seen seen_;
  bool ascending_ = true;
  std::vector<Row> parents_;                          ///< child after child
  std::vector<std::pair<uint64_t, Row>> unresolved_;  ///< by id, because it has not been read
};

Result<std::shared_ptr<Index>> Index::read(const std::string& path, bool control, uint64_t cached_bytes) {
  std::shared_ptr<Index> index(new Index);
  index->file_ = path;
  CHAKRA_TRY(Reader(*index).run(path, control));
  if (index->fd_ >= 0) {
    const uint64_t pages = std::max<uint64_t>(1, cached_bytes / kPageBytes);
    index->cache_.resize(std::min<uint64_t>(pages, index->pages_.size()));
  }
  return index;
}

Index::~Index() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> Index::sort_ids() {
  if (std::adjacent_find(ids_.begin(), ids_.end(), std::greater_equal<>()) == ids_.end()) return {};
  by_id_.resize(ids_.size());
  std::iota(by_id_.begin(), by_id_.end(), Row{0});
  std::sort(by_id_.begin(), by_id_.end(), [&](Row a, Row b) { return ids_[a] < ids_[b]; });
  const auto twice = std::adjacent_find(by_id_.begin(), by_id_.end(), [&](Row a, Row b) { return ids_[a] == ids_[b]; });
  if (twice == by_id_.end()) return {};
  return fail(Code::bad_input, "feed.id.duplicate", fmt::format("node {} is a duplicate", ids_[*twice]), {file_});
}

/// Children from parents. `parents` lists those that were known, child after child; the ids of `unresolved` are looked
/// up.
void Index::link(std::vector<Row> parents, std::vector<std::pair<uint64_t, Row>> unresolved) {
  const std::vector<uint32_t> known = waits_for_;
  first_child_.assign(size_t{size()} + 1, 0);
  for (const Row parent : parents) ++first_child_[parent + 1];
  size_t resolved = 0;
  for (const auto& [id, child] : unresolved) {
    ++waits_for_[child];
    const auto parent = find(id);
    if (parent) ++first_child_[*parent + 1], unresolved[resolved] = {*parent, child}, ++resolved;
    else absent_.emplace_back(id, child);
  }
  unresolved.resize(resolved);
  std::sort(absent_.begin(), absent_.end());
  std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
  children_.resize(first_child_.back());
  std::vector<uint32_t> next(first_child_.begin(), first_child_.end() - (first_child_.empty() ? 0 : 1));
  auto edge = parents.begin();
  auto also = unresolved.begin();  // both by ascending child
  for (Row child = 0; child < size(); ++child) {
    for (uint32_t n = 0; n < known[child]; ++n) children_[next[*edge++]++] = child;
    for (; also != unresolved.end() && also->second == child; ++also) children_[next[also->first]++] = child;
  }
}

std::optional<Index::Row> Index::find(uint64_t id) const {
  if (ids_.empty()) return std::nullopt;
  const uint64_t lowest = by_id_.empty() ? ids_.front() : ids_[by_id_.front()];
  const auto row_at = [&](size_t i) { return by_id_.empty() ? static_cast<Row>(i) : by_id_[i]; };
  if (id < lowest) return std::nullopt;
  if (id - lowest < ids_.size() && ids_[row_at(id - lowest)] == id) return row_at(id - lowest);
  size_t low = 0, high = ids_.size();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ids_[row_at(middle)] < id) low = middle + 1;
    else high = middle;
  }
  if (low == ids_.size() || ids_[row_at(low)] != id) return std::nullopt;
  return row_at(low);
}

std::optional<Index::Row> Index::cycle() const {
  std::vector<uint32_t> missing = waits_for_;
  std::vector<Row> ready;
  for (Row row = 0; row < size(); ++row)
    if (missing[row] == 0) ready.push_back(row);
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    const Row row = ready.back();
    ready.pop_back();
    for (const Row child : children(row))
      if (--missing[child] == 0) ready.push_back(child);
  }
  if (done == size()) return std::nullopt;
  return static_cast<Row>(std::find_if(missing.begin(), missing.end(), [](uint32_t n) { return n > 0; }) -
                          missing.begin());
}

Result<std::string_view> Index::message(Row row) {
  const auto after =
      std::upper_bound(pages_.begin(), pages_.end(), row, [](Row r, const Page& page) { return r < page.first; });
  const auto number = static_cast<size_t>(after - pages_.begin()) - 1;
  const Page& page = pages_[number];
  if (fd_ < 0) return std::string_view(page.text).substr(begin_[row], size_[row]);
  Cached& cached = cache_[number % cache_.size()];
  if (cached.page != number && std::exchange(missed_, number) != number) {  // its neighbours may not be wanted
    alone_.resize(size_[row]);
    CHAKRA_TRY(read_again(fd_, page.at + begin_[row], alone_, file_));
    return alone_;
  }
  if (cached.page != number) {
    cached.page = SIZE_MAX;
    cached.text.resize(page.bytes);
    CHAKRA_TRY(read_again(fd_, page.at, cached.text, file_));
    cached.page = number;
  }
  return std::string_view(cached.text).substr(begin_[row], size_[row]);
}

}  // namespace chakra::compat
