// Computation by the recorded operators: the plugin, opened on demand.
#include <dlfcn.h>
#include <fmt/core.h>

#include <filesystem>
#include <optional>

#include "chakra/replay/replay.h"
#include "chakra/replay_torch/operators.h"

namespace chakra::replay_torch {
namespace {

using Interface = chakra_torch_interface_table;

Result<const Interface*> open_plugin(const replay::Settings& settings) {
  // `replay.torch.plugin` (2): the plugin of --compute torch is missing, or is of another version.
  constexpr std::string_view kTag = "replay.torch.plugin";
  std::string why;
  const std::string given = replay::setting(settings, "plugin");
  for (const std::string& place : given.empty() ? replay::plugin_places("torch") : std::vector{given}) {
    std::error_code error;
    if (!std::filesystem::exists(place, error)) {
      why += fmt::format("{}{} is missing", why.empty() ? "" : ", ", place);
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
                  fmt::format("{} belongs to another version of chakra: build it again", place));
    return table;
  }
  return fail(Code::usage, std::string(kTag),
              fmt::format("the plugin of PyTorch's operators is missing ({}): 'chakra doctor --plugins' shows how to "
                          "build it; --compute-option plugin=FILE selects a file",
                          why));
}

class TorchComputer : public replay::Computer {
 public:
  TorchComputer(const replay::ComputerInput& input, const Interface& table)
      : table_(table),
        plan_(plan_operators(
            input.trace, [&](const char* name, const char* overload) { return table.knows(name, overload) != 0; },
            input.selected)),
        session_(table.open()) {}

  ~TorchComputer() override {
    table_.close(session_);
    if (records_) table_.record(nullptr);
  }

  Result<void> record_to(const std::string& file) {
    // `replay.torch.record` (2): PyTorch's observer does not record the replay.
    if (const char* const problem = table_.record(file.c_str()))
      return fail(Code::usage, "replay.torch.record", fmt::format("the run was not recorded to {}: {}", file, problem));
    records_ = true;
    return {};
  }

  Part part(trace::NodeId node) const override { return plan_.part[node]; }

  void begin() override {
    counts_ = plan_.counts;
    uses_ = plan_.uses;
  }

  Result<bool> run(trace::NodeId node, const std::atomic<bool>&) override {
    chakra_torch_result result{};
    const OperatorPlan::Operator& op = plan_.operators[plan_.row[node]];
    const bool ran = table_.run(session_, &op.call, &result) != 0;
    for (const uint32_t storage : op.storages)
      if (--uses_[storage] == 0) table_.release(session_, storage);
    count(op, ran, result);
    return ran;
  }

  void close(replay::Computed& into) override {
    if (records_) table_.record(nullptr);
    records_ = false;
    into.operators = counts_;
  }

 private:
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
  chakra_torch_session* const session_;
  std::vector<uint32_t> uses_;  ///< per storage: operators that have not run
  bool records_ = false;
  replay::OperatorsRun counts_;
};

}  // namespace

Result<std::unique_ptr<replay::Computer>> open_torch(const replay::ComputerInput& input) {
  const replay::Settings& settings = input.settings;
  CHAKRA_ASSIGN(const Interface* const table, open_plugin(settings));
  for (std::string rest = replay::setting(settings, "libraries"); !rest.empty();) {
    const std::string path = rest.substr(0, rest.find(':'));
    rest.erase(0, path.size() + 1);
    // `replay.torch.library` (2): a library with more operators cannot be opened.
    if (const char* const problem = path.empty() ? nullptr : table->load_library(path.c_str()))
      return fail(Code::usage, "replay.torch.library", fmt::format("{} cannot be opened: {}", path, problem));
  }
  CHAKRA_ASSIGN(const std::optional<int64_t> threads, replay::number_setting(settings, "threads", 1, 1024));
  if (threads) table->set_threads(static_cast<int32_t>(*threads));
  auto computer = std::make_unique<TorchComputer>(input, *table);
  if (const std::string prefix = replay::setting(settings, "record"); !prefix.empty())
    CHAKRA_TRY(computer->record_to(fmt::format("{}.{}.json", prefix, input.trace.rank)));
  return computer;
}

}  // namespace chakra::replay_torch
