// `chakra doctor PATH` as a call: diagnose files of recordings or traces,
// and recommend the next commands.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/view/view.h"

namespace chakra::doctor {

struct ExaminedFile {
  enum class Kind : uint8_t { other, trace, host, kineto, classes, foreign, nsys, rocprof, rocpd };
  std::string name, path;
  Kind kind = Kind::other;
  std::string packed = {};        ///< "gzip", "zstd" or ""
  std::string version = {};       ///< of host traces; format of traces other than .et; kind of another tool's file
  int64_t rank = -1, nodes = -1;  ///< -1: unknown
  int64_t ranks = 1;              ///< in the file
  std::optional<Error> wrong = {};
};
inline constexpr std::array<std::string_view, 9> kExaminedKindNames{"unknown",
                                                                    "Chakra trace",
                                                                    "PyTorch execution trace",
                                                                    "Kineto trace",
                                                                    "job by classes of ranks",
                                                                    "file of another tool",
                                                                    "export of Nsight Systems",
                                                                    "output of rocprofv3",
                                                                    "database of rocprofv3"};

struct ExaminedFiles {
  std::string path;
  std::vector<ExaminedFile> files;   ///< for a folder: the files in the folder, by name
  std::vector<std::string> folders;  ///< subfolders
  Findings findings;
  std::vector<std::string> next;  ///< commands

  bool ok() const;  ///< no finding is an error
};

/// Diagnose a file or a folder. Findings: errors of reading a file, by tag; cli.doctor.cut, .version, .alone,
/// .rank_missing, `.none`; io.job.rank; errors of io::find_ranks and recording::pair_folder. Errors: base.file.open.
/// Cost: traces are read completely, recordings are decompressed.
Result<ExaminedFiles> examine_files(const std::string& path);
view::Text text_of(const ExaminedFiles& files);
answer::Answer answer_of(const ExaminedFiles& files);

}  // namespace chakra::doctor
