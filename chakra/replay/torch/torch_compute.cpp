// Computation by the recorded operators: the plugin, opened on demand, and the thread that runs them.
#include <dlfcn.h>
#include <fmt/core.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>

#include "chakra/replay/compute.h"
#include "chakra/replay/torch/operators.h"

namespace chakra::replay {
namespace {

using Clock = std::chrono::steady_clock;
using Interface = chakra_torch_interface_table;

constexpr std::string_view kPluginFile = "libchakra_replay_torch.so";

/// Where the plugin may be: of an installation, of a build, of `./dev torch`.
std::vector<std::string> plugin_places(const Settings& settings) {
  if (const std::string given = setting(settings, "plugin"); !given.empty()) return {given};
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> places;
  for (const char* folder : {"../lib/chakra", ".", "../../torch"})
    places.push_back((own / folder / kPluginFile).lexically_normal().string());
  return places;
}

Result<const Interface*> open_plugin(const Settings& settings) {
  // `replay.torch.plugin` (2): the plugin of --compute torch is not there, or is not of this version.
  constexpr std::string_view kTag = "replay.torch.plugin";
  std::string why;
  for (const std::string& place : plugin_places(settings)) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) {
      why += fmt::format("{}{} is not there", why.empty() ? "" : ", ", place);
      continue;
    }
    void* const file = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* const problem = file ? nullptr : ::dlerror();
    void* const symbol = file ? ::dlsym(file, "chakra_torch_interface") : nullptr;
    if (!symbol)
      return fail(Code::usage, std::string(kTag),
                  fmt::format("{} cannot be opened: {}", place, problem ? problem : "it is not this plugin"));
    const Interface* const table = reinterpret_cast<decltype(&chakra_torch_interface)>(symbol)();
    if (table->abi != CHAKRA_TORCH_ABI)
      return fail(Code::usage, std::string(kTag),
                  fmt::format("{} is of another version of chakra: build it again", place));
    return table;
  }
  return fail(Code::usage, std::string(kTag),
              fmt::format("the plugin of PyTorch's operators is missing ({}): './dev torch' builds it, and "
                          "--compute-option plugin=FILE names one",
                          why));
}

class TorchComputer : public Computer {
 public:
  TorchComputer(const trace::Trace& trace, const Interface& table, const std::vector<bool>& selected)
      : table_(table),
        plan_(plan_operators(
            trace, [&](const char* name, const char* overload) { return table.knows(name, overload) != 0; }, selected)),
        thread_([this] { work(); }) {}

  ~TorchComputer() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (records_) table_.record(nullptr);
  }

  Result<void> record_to(const std::string& file) {
    // `replay.torch.record` (2): PyTorch's observer does not record the replay.
    if (const char* const problem = table_.record(file.c_str()))
      return fail(Code::usage, "replay.torch.record",
                  fmt::format("the replay is not recorded to {}: {}", file, problem));
    records_ = true;
    return {};
  }

  Part part(trace::NodeId node) const override { return plan_.part[node]; }

  void begin() override {
    const std::lock_guard lock(mutex_);
    CHAKRA_ASSERT(waiting_.empty() && ended_.empty());
    counts_ = plan_.counts;
    uses_ = plan_.uses;
  }

  void start(trace::NodeId node) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(node);
    }
    changed_.notify_all();
  }

  void progress(std::chrono::nanoseconds patience, std::vector<Ended>& ended) override {
    std::unique_lock lock(mutex_);
    if (patience.count() > 0) changed_.wait_for(lock, patience, [this] { return !ended_.empty(); });
    ended.insert(ended.end(), ended_.begin(), ended_.end());
    ended_.clear();
  }

  Result<Computed> close() override {
    const std::lock_guard lock(mutex_);
    if (records_) table_.record(nullptr);
    records_ = false;
    return counts_;
  }

 private:
  void work() {
    chakra_torch_session* const session = table_.open();
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (ends_) break;
      const trace::NodeId node = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      Ended ended{node, false, Clock::now()};
      chakra_torch_result result{};
      const OperatorPlan::Operator& op = plan_.operators[plan_.row[node]];
      ended.ran = table_.run(session, &op.call, &result) != 0;
      for (const uint32_t storage : op.storages)
        if (--uses_[storage] == 0) table_.release(session, storage);
      lock.lock();
      count(op, ended.ran, result);
      ended_.push_back(ended);
      changed_.notify_all();
    }
    lock.unlock();
    table_.close(session);
  }

  void count(const OperatorPlan::Operator& op, bool ran, const chakra_torch_result& result) {
    if (!ran) {
      ++counts_.not_run[{op.call.name, result.message}];
      return;
    }
    ++counts_.ran;
    counts_.same_shapes += result.same_shapes != 0;
    counts_.substituted += result.substituted != 0;
    counts_.in_float += result.in_float != 0;
    counts_.unknown_inputs += result.unknown_inputs;
    if (!result.same_shapes) ++counts_.other_shapes[{op.call.name, result.message}];
  }

  const Interface& table_;
  const OperatorPlan plan_;
  std::vector<uint32_t> uses_;  ///< per storage: operators that have not run; of the thread
  bool records_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<trace::NodeId> waiting_;
  std::vector<Ended> ended_;
  Computed counts_;
  bool ends_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace

Result<std::unique_ptr<Computer>> open_torch(const trace::Trace& trace, const std::vector<bool>& selected,
                                             const Settings& settings) {
  CHAKRA_ASSIGN(const Interface* const table, open_plugin(settings));
  for (std::string rest = setting(settings, "libraries"); !rest.empty();) {
    const std::string path = rest.substr(0, rest.find(':'));
    rest.erase(0, path.size() + 1);
    // `replay.torch.library` (2): a library with more operators cannot be opened.
    if (const char* const problem = path.empty() ? nullptr : table->load_library(path.c_str()))
      return fail(Code::usage, "replay.torch.library", fmt::format("{} cannot be opened: {}", path, problem));
  }
  if (const std::string threads = setting(settings, "threads"); !threads.empty()) {
    int64_t number = 0;
    if (!parse_decimal(threads, number) || number < 1 || number > 1024)
      return fail(Code::usage, "cli.usage",
                  fmt::format("--compute-option threads={}: a number from 1 to 1,024 is expected", threads));
    table->set_threads(static_cast<int32_t>(number));
  }
  auto computer = std::make_unique<TorchComputer>(trace, *table, selected);
  if (const std::string prefix = setting(settings, "record"); !prefix.empty())
    CHAKRA_TRY(computer->record_to(fmt::format("{}.{}.json", prefix, trace.rank)));
  return computer;
}

}  // namespace chakra::replay
