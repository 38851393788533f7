// All texts of traces, and all files of a folder: for calls that search for secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/io/io.h"

namespace chakra::share {

/// Receives the texts of a trace. `member`: the name of the member with the text; may be empty.
class TextSink {
 public:
  virtual ~TextSink() = default;
  virtual void text(std::string_view member, std::string_view text) = 0;
  virtual void number(std::string_view /*member*/, std::string_view /*digits*/) {}
  virtual void member(std::string_view name) = 0;  ///< an attribute with this name
};

/// Pass all texts of the file of a rank to `sink`, unknown fields included. Errors: as for reading. Cost: O(file).
Result<void> for_each_text(const io::RankFile& rank, TextSink& sink);

/// Return all files of a folder and of the folders below, or the file itself. Links to folders count as files. Errors:
/// base.file.open.
Result<std::vector<std::string>> files_below(const std::string& path);

}  // namespace chakra::share
