// `chakra doctor --secrets PATH` as a call: list what a recording, a trace or a folder reveals.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/answer/answer.h"
#include "chakra/base/base.h"
#include "chakra/recording/secrets.h"
#include "chakra/view/view.h"

namespace chakra::share {

struct FoundSecrets {
  struct File {
    std::string path, kind;  ///< kind: how the file was read; "not read" if its kind is unknown
    bool read = false;
    int64_t texts = 0;                ///< strings in the file, secret or not
    std::optional<Error> wrong = {};  ///< the file was read up to this error
  };

  std::string path;
  std::vector<File> files;  ///< all, also in folders below
  recording::Secrets secrets;
  Findings findings;
};

/// Read all files of a folder and of the folders below, or one file: recordings and other JSON, traces in all forms,
/// packed or not. Findings: cli.doctor.not_read for files of other kinds, and errors of reading. Errors:
/// base.file.open. Cost: all files are read.
Result<FoundSecrets> find_secrets(const std::string& path);
/// Return the sum over the kinds: a text may have several kinds.
int64_t count_of(const FoundSecrets& found);
view::Text text_of(const FoundSecrets& found);
answer::Answer answer_of(const FoundSecrets& found);

}  // namespace chakra::share
