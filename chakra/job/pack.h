// Containers, which hold all ranks of a job: what `chakra pack` and `chakra unpack` do, as calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/options/options.h"
#include "chakra/pack/pack.h"
#include "chakra/view/view.h"

namespace chakra::job {

struct PackOptions {
  std::vector<std::string> paths;                   ///< jobs of any form
  std::string output;                               ///< the container
  bool append = false;                              ///< behind the ranks that it holds already; it must be there
  int64_t group_nodes = pack::Packer::kGroupNodes;  ///< that are read together; of a new container
  bool stats = false;                               ///< container_stats() is wanted, too, or alone
  std::string report = {};                          ///< a file that the caller writes: no input and not the output
};
options::Options rows_of(PackOptions& options);

struct PackedJob {
  std::string output;
  size_t ranks = 0;  ///< these are those added, as are the nodes
  int64_t nodes = 0;
  bool appended = false;
};

/// The container appears, or has the further ranks, when it returns; else it is as before.
/// Errors: cli.usage for an output that is an input, those of reading, io::add_rank and pack::Packer.
/// Cost: that of reading and packing, rank by rank; append: also a copy of the container.
Result<PackedJob> pack_job(const PackOptions& options);
view::Text text_of(const PackedJob& job);
answer::Answer answer_of(const PackedJob& job);

/// What a container takes, and what reading a part of it takes.
struct ContainerStats {
  static constexpr int64_t kWindow = 100;
  struct Rank {
    int64_t rank = 0;
    pack::Container::RankInfo info;
    int64_t touched = 0;         ///< bytes that a fresh reader reads for the rank
    int64_t touched_window = 0;  ///< the same for kWindow nodes in the middle of it
  };
  std::string path;
  int64_t bytes = 0, nodes = 0;
  std::vector<Rank> ranks;  ///< ascending
};
/// Errors: those of pack::Container. Cost: reads all ranks.
Result<ContainerStats> container_stats(const std::string& path);
view::Text text_of(const ContainerStats& stats);
answer::Answer answer_of(const ContainerStats& stats);

/// A damaged container, as repairing left it.
struct RepairedContainer {
  std::string path;
  int64_t ranks = 0, bytes = 0;
  int64_t cut_bytes = 0;  ///< 0: it was whole
};
/// Cuts it behind its last index. Errors: those of pack::repair_container.
Result<RepairedContainer> repair_container(const std::string& path);
view::Text text_of(const RepairedContainer& container);
answer::Answer answer_of(const RepairedContainer& container);

struct UnpackOptions {
  std::string path;                 ///< the container
  std::string output;               ///< the folder for trace.<rank>.et
  std::vector<int64_t> ranks = {};  ///< empty: all
  std::string nodes = {};           ///< "FIRST" or "FIRST:COUNT": only these of each rank; empty: all
  std::string to = "et";            ///< the form: et, json, jsonl; then .gz or .zst to pack the files
};
options::Options rows_of(UnpackOptions& options);

struct UnpackedJob {
  std::string output;
  std::vector<std::string> outputs;  ///< the files, by rank
  int64_t nodes = 0;
};

/// The files appear together when it returns. Errors: cli.usage for a form or window that is not one and for outputs
/// that would replace the container, those of pack::Container and of writing. Cost: that of reading these nodes.
Result<UnpackedJob> unpack_job(const UnpackOptions& options);
view::Text text_of(const UnpackedJob& job);
answer::Answer answer_of(const UnpackedJob& job);

}  // namespace chakra::job
