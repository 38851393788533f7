// A temporary folder, for jobs in memory that a call needs as files.
#pragma once

#include <string>
#include <utility>

#include "chakra/base/base.h"
#include "chakra/job/loaded.h"

namespace chakra::job {

/// Below TMPDIR, else /tmp, for its owner alone; the destructor removes the folder with all contents.
class Folder {
 public:
  static Result<Folder> make();  ///< Errors: base.file.create
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder& operator=(Folder&& other) noexcept {
    path_.swap(other.path_);
    return *this;
  }
  ~Folder();
  const std::string& path() const { return path_; }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Write trace.<rank>.et, or a job by classes. Errors: as for io::write_et and io::write_class_job.
Result<void> write_loaded(const Loaded& loaded, const std::string& folder);

}  // namespace chakra::job
