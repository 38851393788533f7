// Loads and stores in files without a name.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "chakra/replay/compute.h"
#include "chakra/trace/storage.h"

namespace chakra::replay {
namespace {

using trace::NodeId;
using trace::NodeType;

constexpr uint64_t kBlock = 4096;            ///< of O_DIRECT
constexpr uint64_t kTransfer = 4096 * 1024;  ///< bytes of a call of the system
constexpr uint64_t kLargest = uint64_t{1} << 62;

// `replay.files.create` (3): the files of `--files` cannot be made: no such folder, no right to write, no room.
// `replay.files.direct` (3): the folder's file system does not read and write past the page cache.
// `replay.files.read` (3): a load could not read its bytes.
// `replay.files.write` (3): a store, or the writing of its file before the clock runs, failed.
Failure file_error(std::string_view tag, std::string_view what, const std::string& folder, int error) {
  return fail(Code::io, std::string(tag), fmt::format("{}: {}", what, std::strerror(error)), {folder});
}

/// A file without a name.
class NamelessFile {
 public:
  static Result<NamelessFile> create(const std::string& folder) {
    NamelessFile file;
    file.folder_ = folder;
    file.fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file.fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {  // a file system without them
      const SignalsHeld held;
      std::string name = folder + "/chakra_replay.XXXXXX";
      file.fd_ = ::mkostemp(name.data(), O_CLOEXEC);
      if (file.fd_ >= 0) ::unlink(name.c_str());
    }
    if (file.fd_ < 0) return file_error("replay.files.create", "no file can be made in this folder", folder, errno);
    return file;
  }
  NamelessFile(NamelessFile&& other) noexcept
      : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  NamelessFile& operator=(NamelessFile&&) = delete;
  ~NamelessFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  uint64_t size() const { return size_; }

  /// Finds out at once whether there is room, where the file system can say.
  Result<void> reserve(uint64_t bytes) {
    int error = bytes > kLargest ? EFBIG : 0;
    if (error == 0 && ::fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) != 0) error = errno;
    if (error != 0 && error != EOPNOTSUPP)
      return file_error(
          "replay.files.create",
          fmt::format("a file of {} cannot be made in this folder", show_bytes(static_cast<double>(bytes))), folder_,
          error);
    size_ = bytes;
    return {};
  }
  Result<void> bypass_cache() {
    if (::fcntl(fd_, F_SETFL, O_DIRECT) == 0) return {};
    return file_error("replay.files.direct",
                      "this folder's file system does not bypass the page cache (--file-cache direct)", folder_, errno);
  }
  Result<void> synchronize() {
    if (::fdatasync(fd_) == 0) return {};
    return file_error("replay.files.write", "the written bytes did not get to the disk", folder_, errno);
  }
  /// Of what has been synchronized.
  void forget_cached() { ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }

  /// From `begin` on, in calls of at most `memory`.
  Result<void> move(bool write, uint64_t begin, uint64_t bytes, std::span<std::byte> memory,
                    const std::atomic<bool>& stop) {
    for (uint64_t at = 0; at < bytes && !stop;) {
      const auto now = static_cast<size_t>(std::min<uint64_t>(bytes - at, memory.size()));
      const auto offset = static_cast<off_t>(begin + at);
      const ssize_t moved =
          write ? ::pwrite(fd_, memory.data(), now, offset) : ::pread(fd_, memory.data(), now, offset);
      const int error = moved < 0 ? errno : EIO;
      if (moved < 0 && error == EINTR) continue;
      if (moved <= 0)
        return file_error(write ? "replay.files.write" : "replay.files.read",
                          fmt::format("{} of {} bytes in a file of {} in this folder failed at byte {}",
                                      write ? "writing" : "reading", bytes, size_, begin + at),
                          folder_, error);
      at += static_cast<uint64_t>(moved);
    }
    return {};
  }

 private:
  NamelessFile() = default;

  std::string folder_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

class FileComputer : public Computer {
 public:
  struct Use {
    NodeId node;
    uint32_t tier;
    uint64_t bytes;
    uint64_t begin = 0;  ///< its place in the file
  };

  FileComputer(const trace::Trace& trace, FileCache cache) : trace_(trace), cache_(cache) {}

  /// The tiers that are used, and how large their files have to be.
  std::vector<uint64_t> find_uses(const ComputerInput& input, const FileOrderRow& order) {
    const trace::StorageReader reader(trace_);
    std::vector<uint64_t> sizes;
    for (const NodeId n : trace_.nodes()) {
      if (!trace::is_memory(trace_.type[n]) || !input.selects(n)) continue;
      const trace::StorageUse use = reader.of(n);
      if (!use.bytes || *use.bytes == 0) {
        ++known_.untold;
        continue;
      }
      const auto found = std::find_if(known_.tiers.begin(), known_.tiers.end(),
                                      [&](const FilesMoved::Tier& tier) { return tier.name == use.tier.value_or(""); });
      const auto tier = static_cast<uint32_t>(found - known_.tiers.begin());
      if (found == known_.tiers.end()) {
        known_.tiers.push_back({.name = std::string(use.tier.value_or(""))});
        sizes.push_back(0);
      }
      uses_.push_back({n, tier, *use.bytes});
    }
    std::vector<Use*> places;
    for (Use& use : uses_) places.push_back(&use);
    Prng random(static_cast<uint64_t>(trace_.rank));
    for (size_t i = places.size(); order.random && i > 1; --i) std::swap(places[i - 1], places[random.below(i)]);
    for (Use* use : places) {
      use->begin = sizes[use->tier];
      sizes[use->tier] = add_bytes(sizes[use->tier], whole_blocks(use->bytes));
    }
    for (size_t tier = 0; tier < sizes.size(); ++tier) {
      known_.tiers[tier].file_bytes = sizes[tier];
      known_.tiers[tier].order = order.name;
    }
    return sizes;
  }

  Result<void> open(const std::string& folder, std::span<const uint64_t> sizes, const std::atomic<bool>& stop) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kBlock, kTransfer)));
    if (!memory_)
      return fail(Code::io, "replay.memory", fmt::format("files need {} of memory", show_bytes(double{kTransfer})));
    std::memset(memory_.get(), 1, kTransfer);
    for (const uint64_t size : sizes) {
      CHAKRA_ASSIGN(NamelessFile file, NamelessFile::create(folder));
      CHAKRA_TRY(file.reserve(whole_blocks(size)));
      if (cache_ == FileCache::direct) CHAKRA_TRY(file.bypass_cache());
      CHAKRA_TRY(file.move(true, 0, file.size(), {memory_.get(), kTransfer}, stop));
      CHAKRA_TRY(file.synchronize());
      files_.push_back(std::move(file));
    }
    return {};
  }

  Part part(NodeId node) const override { return find(node) ? Part::runs : Part::timed; }

  void begin() override { moved_ = known_; }

  Result<bool> run(NodeId node, const std::atomic<bool>& stop) override {
    using Clock = std::chrono::steady_clock;
    const Use& use = *find(node);
    const bool writes = trace_.type[node] == NodeType::mem_store;
    const uint64_t bytes = cache_ == FileCache::direct ? whole_blocks(use.bytes) : use.bytes;
    NamelessFile& file = files_[use.tier];
    const Clock::time_point begin = Clock::now();
    if (cache_ == FileCache::synced && !writes) file.forget_cached();
    CHAKRA_TRY(file.move(writes, use.begin, bytes, {memory_.get(), kTransfer}, stop));
    if (cache_ == FileCache::synced && writes) CHAKRA_TRY(file.synchronize());
    const Picoseconds took =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count() * kPsPerNs;
    FilesMoved::Tier& tier = moved_.tiers[use.tier];
    ++(writes ? tier.stores : tier.loads);
    uint64_t& sum = writes ? tier.written_bytes : tier.read_bytes;
    sum = add_bytes(sum, bytes);
    Picoseconds& time = writes ? tier.write_ps : tier.read_ps;
    time = add_saturated(time, took);
    return true;
  }

  void close(Computed& into) override { into.files = moved_; }

 private:
  static uint64_t whole_blocks(uint64_t bytes) {
    return bytes > kLargest ? bytes : (bytes + kBlock - 1) / kBlock * kBlock;
  }
  const Use* find(NodeId node) const {
    const auto found =
        std::lower_bound(uses_.begin(), uses_.end(), node, [](const Use& use, NodeId n) { return use.node < n; });
    return found != uses_.end() && found->node == node ? &*found : nullptr;
  }

  const trace::Trace& trace_;
  const FileCache cache_;
  std::vector<Use> uses_;            ///< ascending by node
  std::vector<NamelessFile> files_;  ///< by tier
  std::unique_ptr<std::byte, FreeMemory> memory_;
  FilesMoved known_, moved_;
};

}  // namespace

const FileOrderRow* find_file_order(std::string_view name) {
  const auto found =
      std::find_if(kFileOrders.begin(), kFileOrders.end(), [&](const auto& row) { return row.name == name; });
  return found == kFileOrders.end() ? nullptr : &*found;
}

const FileCacheRow* find_file_cache(std::string_view name) {
  const auto found =
      std::find_if(kFileCaches.begin(), kFileCaches.end(), [&](const auto& row) { return row.name == name; });
  return found == kFileCaches.end() ? nullptr : &*found;
}

Result<std::unique_ptr<Computer>> open_files(const ComputerInput& input, const std::string& folder,
                                             const FileCacheRow& cache, const FileOrderRow& order) {
  auto computer = std::make_unique<FileComputer>(input.trace, cache.cache);
  const std::vector<uint64_t> sizes = computer->find_uses(input, order);
  CHAKRA_TRY(computer->open(folder, sizes, input.stop));
  return computer;
}

}  // namespace chakra::replay
