// chakra certify
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using CertifyAsked = With<CertifyOptions>;

options::Options certify_rows(CertifyAsked& o) {
  options::Options rows = rows_of(o.options, {{"original", &o.path}, {"shared", &o.other}});
  add(rows, table_options(o.files));
  return rows;
}

Result<int> run_certify(const CertifyAsked& o, const Globals& globals) {
  const Result<Answer> answer = certify(o.path, o.other, o.options, globals.control(o.files));
  CHAKRA_ASSIGN(const int code, show(globals, answer));
  const bool fails = answer->whole("holds") == 0 || answer->whole("agrees") == 0;
  return fails ? static_cast<int>(Code::bad_input) : code;
}

}  // namespace

Syntax certify_syntax() { return syntax_of<CertifyAsked>(certify_rows, run_certify); }

}  // namespace chakra::cli
