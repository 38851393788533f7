// Figures laid out by Graphviz, if its program is installed.
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "chakra/view/graph.h"

extern char** environ;

namespace chakra::view {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
/// A file without a name that goes when it is closed.
using Scratch = std::unique_ptr<std::FILE, Close>;

Result<Scratch> make_scratch() {
  Scratch file(std::tmpfile());
  if (!file)
    return fail(Code::io, "view.graphviz.failed",
                fmt::format("cannot make a temporary file for Graphviz: {}", std::strerror(errno)));
  return file;
}

/// A piece of what is in it, from the beginning; `each` gets the pieces.
template <class Each>
Result<void> read_back(std::FILE* file, const Each& each) {
  std::rewind(file);
  std::string piece(size_t{1} << 20, '\0');
  for (size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), file)) > 0;)
    CHAKRA_TRY(each(std::string_view(piece).substr(0, got)));
  return {};
}

Result<void> run_dot(std::string_view form, std::FILE* in, std::FILE* out, std::FILE* errors) {
  std::string flag = fmt::format("-T{}", form);
  std::string program = "dot";
  char* const arguments[] = {program.data(), flag.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fail(
        Code::io, "view.graphviz.missing",
        fmt::format("Graphviz's program 'dot' is needed for {} and cannot be run ({}): install Graphviz (on Debian "
                    "and Ubuntu: apt install graphviz; on Fedora: dnf install graphviz; on macOS: brew install "
                    "graphviz), or write FILE.dot or FILE.graphml, without Graphviz",
                    form, std::strerror(failed)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail(Code::io, "view.graphviz.failed", "lost track of Graphviz's program 'dot'");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said;
  CHAKRA_TRY(read_back(errors, [&](std::string_view piece) -> Result<void> {
    if (said.empty()) said = piece.substr(0, piece.find('\n'));
    return {};
  }));
  return fail(Code::io, "view.graphviz.failed",
              fmt::format("Graphviz's program 'dot' ended with {} {}{}{}", WIFEXITED(status) ? "exit code" : "signal",
                          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), said.empty() ? "" : ": ",
                          quote(said, 200)));
}

}  // namespace

Result<GraphCounts> lay_out(const trace::Trace& t, std::string_view form, const GraphOptions& options,
                            const std::string& path, Findings& findings) {
  CHAKRA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  CHAKRA_ASSIGN(Scratch in, make_scratch());
  const auto write = [&](std::string_view text) -> Result<void> {
    if (std::fwrite(text.data(), 1, text.size(), in.get()) == text.size()) return {};
    return fail(Code::io, "view.graphviz.failed", "cannot write the graph for Graphviz to a temporary file");
  };
  CHAKRA_ASSIGN(const GraphCounts counts, draw(t, options, Pen(kDotWords, write), findings));
  if (counts.boxes + counts.absent > kMostLaidOut)
    return fail(
        Code::usage, "view.graphviz.large",
        fmt::format("{} nodes are too many to be laid out (at most {}): choose with --only or --focus, draw them "
                    "as few boxes with --group, or write FILE.dot or FILE.graphml",
                    show_count(counts.boxes), show_count(kMostLaidOut)),
        {t.file});
  if (std::fflush(in.get()) != 0)
    return fail(Code::io, "view.graphviz.failed", "cannot write the graph for Graphviz to a temporary file");
  std::rewind(in.get());
  CHAKRA_ASSIGN(Scratch out, make_scratch());
  CHAKRA_ASSIGN(Scratch errors, make_scratch());
  CHAKRA_TRY(run_dot(form, in.get(), out.get(), errors.get()));
  CHAKRA_TRY(read_back(out.get(), [&](std::string_view piece) { return file.write(piece); }));
  CHAKRA_TRY(file.commit());
  return counts;
}

}  // namespace chakra::view
