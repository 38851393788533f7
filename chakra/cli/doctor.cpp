// chakra doctor
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {
namespace {

using DoctorAsked = With<DoctorOptions>;

options::Options doctor_rows(DoctorAsked& o) { return rows_of(o.options, {{"path", &o.path}}); }
Result<int> run_doctor(const DoctorAsked& o, const Globals& globals) {
  return show(globals, doctor(o.path, o.options, globals.control()));
}

}  // namespace

Syntax doctor_syntax() { return syntax_of<DoctorAsked>(doctor_rows, run_doctor); }

}  // namespace chakra::cli
