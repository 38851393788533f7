// Work that several processes share through a folder: the part of a process, and journals of finished tasks.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chakra/base/append_file.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"

namespace chakra::fleet {

/// The part of one process: 1/1 is all of the work.
struct Shard {
  int64_t index = 1, count = 1;
  bool is_all() const { return count == 1; }
  /// Return whether a part belongs to this shard. Consecutive numbers of a name belong to different shards.
  bool has(std::string_view name, uint64_t number = 0) const;
  bool operator==(const Shard&) const = default;
};
inline constexpr int64_t kMostShards = 1'000'000;
/// Parse "I/N" with 1 <= I <= N.
Result<Shard> parse_shard(std::string_view text);
/// The option `--shard I/N`.
options::Option shard_option(Shard& shard);

/// Return the name of a shard's journal: "points.jsonl" for all of the work, else "points.3-of-16.jsonl".
std::string journal_name(std::string_view stem, const Shard& shard);
/// Return the paths of all journals of a stem in a folder, ascending, without that of `own`. A missing folder has none.
/// Errors: base.file.open.
Result<std::vector<std::string>> journals_in(const std::string& folder, std::string_view stem,
                                             const std::optional<Shard>& own);
/// Split a text into its whole lines, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Append the key of a member to a JSON object that is not closed: {"key":
void append_key(std::string& to, std::string_view key);
/// Append a member with a text.
void append_member(std::string& to, std::string_view key, std::string_view text);
/// Return the text of a scalar member; null: there is none.
const std::string* text_at(const Spec& spec, std::string_view key);

enum class State : uint8_t {
  begun,   ///< an attempt that has not ended, or a killed one
  done,    ///< the results are on the disk
  failed,  ///< the input or the options are wrong: another attempt would fail again
  again,   ///< a file could not be read or written: a later call tries again
};
inline constexpr std::array<std::string_view, 4> kStates{"begun", "done", "failed", "again"};

/// A line of a journal.
struct Outcome {
  std::string key;  ///< of the task: the same work has the same key
  State state = State::begun;
  std::string tag = {}, text = {};  ///< of the error
  int64_t wall_us = 0;              ///< of the attempt
  std::map<std::string, std::string> values = {};
};
std::string line_of(const Outcome& outcome);
/// Parse a line; nullopt: it is not one.
std::optional<Outcome> parse_line(std::string_view line);

/// The journals of a fleet: this process adds to one, and reads all. Thread safe.
class Journals {
 public:
  /// Create the folder, and lock the journal of the shard until destruction. Errors: base.file.*; base.file.busy:
  /// another process has this shard.
  static Result<Journals> open(const std::string& folder, const Shard& shard);
  /// Only read. Errors: base.file.open, base.file.read.
  static Result<Journals> look(const std::string& folder);

  Result<void> add(const Outcome& outcome);
  /// Read the journals of the other processes again. Return whether they grew. Errors: as for read_file().
  Result<bool> refresh();
  Result<void> sync();

  /// Return the outcome of a task: done if any process did the task, else the last one that is not State::begun.
  std::optional<Outcome> find(const std::string& key) const;
  /// Return the number of attempts since the last end of one, which ended without an outcome or still run.
  int64_t attempts(const std::string& key) const;
  int64_t damaged() const;  ///< lines that are not outcomes, which are ignored

 private:
  struct Entry {
    std::optional<Outcome> last;
    int64_t attempts = 0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  std::string folder_;
  std::optional<Shard> own_shard_;
  std::optional<AppendFile> file_;
  Entries own_, others_;
  int64_t own_damaged_ = 0, others_damaged_ = 0;
  size_t other_lines_ = 0;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();

  static void take(std::string_view line, Entries& entries, int64_t& damaged);
  static void take(const Outcome& outcome, Entries& entries);
};

}  // namespace chakra::fleet
