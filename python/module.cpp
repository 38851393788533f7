// Errors, long calls and jobs. A verb takes its options as texts, which set() of chakra/options.h checks.
#include "module.h"
#include "models.h"
#include "watch.h"

namespace chakra::python {
namespace {

using Given = std::vector<std::pair<std::string, std::string>>;  ///< option, text; of a list one for each item
using Progress = std::optional<nb::object>;

nb::object base() { return nb::module_::import_("chakra_et._base"); }
[[noreturn]] void raise_instance(nb::handle instance) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(instance.ptr())), instance.ptr());
  throw nb::python_error();
}

template <class Options>
Options options_of(const Given& given) {
  Options options;
  for (const auto& [name, text] : given) value(set(options, name, text));
  return options;
}
Job of_traces(const std::vector<Trace>& traces) { return value(Job::from(traces)); }

/// A verb of a job, as a method of Python's.
template <class Made, class Options>
auto verb(Result<Made> (Job::*verb)(const Options&, Control) const) {
  return [verb](const Job& job, const Given& given, Progress progress) {
    const auto options = options_of<Options>(given);
    return Watch(progress).run([&](Control control) { return (job.*verb)(options, control); });
  };
}
Answer simulate(const Job& job, const Given& given, Progress progress, const std::optional<nb::object>& models) {
  const auto options = options_of<SimulateOptions>(given);
  Watch watch(progress);
  std::optional<PythonModels> called;
  if (models) called.emplace(*models, watch.raised());
  return watch.run([&](Control control) { return job.simulate(options, control, called ? &*called : nullptr); });
}
Answer diff(const Job& job, const Job& other, const Given& given, Progress progress) {
  const auto options = options_of<DiffOptions>(given);
  return Watch(progress).run([&](Control control) { return job.diff(other, options, control); });
}
Answer write(const Job& job, const std::string& path, const Given& given, Progress progress) {
  const auto options = options_of<WriteOptions>(given);
  return Watch(progress).run([&](Control control) { return job.write(path, options, control); });
}
Answer draw(const Job& job, const std::string& path, const Given& given, Progress progress) {
  const auto options = options_of<ViewOptions>(given);
  return Watch(progress).run([&](Control control) { return job.view(path, options, control); });
}
Answer query(const Job& job, const std::string& sql, const Given& given, Progress progress) {
  const auto options = options_of<QueryOptions>(given);
  return Watch(progress).run([&](Control control) { return job.query(sql, options, control); });
}
Answer report(const Job& job, const std::string& path, const Given& given, Progress progress) {
  const auto options = options_of<ReportOptions>(given);
  return Watch(progress).run([&](Control control) { return job.report(path, options, control); });
}
Answer certify_copy(const std::string& original, const std::string& shared, const Given& given, Progress progress) {
  const auto options = options_of<CertifyOptions>(given);
  return Watch(progress).run([&](Control control) { return certify(original, shared, options, control); });
}
Job link_all(const std::vector<std::string>& recordings, const Given& given, Progress progress) {
  const auto options = options_of<LinkOptions>(given);
  return Watch(progress).run([&](Control control) { return link(recordings, options, control); });
}
template <class Options>
Job generate_job(const Given& given, Progress progress) {
  const auto options = options_of<Options>(given);
  return Watch(progress).run([&](Control control) { return generate(options, control); });
}
template <class Options>
Answer calibrate_file(const Given& given) {
  const auto options = options_of<Options>(given);
  return Watch(std::nullopt).run([&](Control) { return calibrate(options); });
}

/// A verb that takes a path or several paths.
template <class Made, class Path, class Options>
auto of_path(Result<Made> (*verb)(const Path&, const Options&, Control)) {
  return [verb](const Path& path, const Given& given, Progress progress) {
    const auto options = options_of<Options>(given);
    return Watch(progress).run([&](Control control) { return verb(path, options, control); });
  };
}
template <class Options>
Answer generate_files(const Given& given, Progress progress) {
  const auto options = options_of<Options>(given);
  return Watch(progress).run([&](Control control) { return generate(options, control); });
}

void add_jobs(nb::module_& m) {
  nb::class_<Job>(m, "Job")
      .def(nb::init<const Job&>())
      .def_static("_of", &of_traces)
      .def_prop_ro("path", &Job::path, "The path of the job, as given; '' for a job in memory.")
      .def_prop_ro(
          "ranks",
          [](const Job& job) { return Watch(std::nullopt).run([&](Control control) { return job.ranks(control); }); },
          "Ranks, ascending. Cost: the first use reads the traces.")
      .def(
          "trace",
          [](const Job& job, int64_t rank) {
            return Watch(std::nullopt).run([&](Control control) { return job.trace(rank, control); });
          },
          nb::arg("rank"), "Return the trace of a rank. Errors: cli.usage for an unknown rank.")
      .def("_made", [](const Job& job) { return job.made(); })
      .def("_check", verb(&Job::check))
      .def("_simulate", &simulate)
      .def("_what_if", verb(&Job::what_if))
      .def("_analyze", verb(&Job::analyze))
      .def("_query", &query)
      .def("_run", verb(&Job::run))
      .def("_edit", verb(&Job::edit))
      .def("_info", [](const Job& job) { return Watch(std::nullopt).run([&](Control c) { return job.info(c); }); })
      .def("_diff", &diff)
      .def("_view", &draw)
      .def("_report", &report)
      .def("_write", &write);
  m.def("open", [](const std::string& path) { return value(open(path)); });
  m.def("generate_cases", &generate_files<CasesOptions>);
  m.def("generate_network", &generate_files<BlueprintOptions>);
  m.def("import_workload", of_path(&import_workload));
  m.def("convert", of_path(&convert));
  m.def("pack", of_path(&pack));
  m.def("obfuscate", of_path(&obfuscate));
  m.def("certify", &certify_copy);
  m.def("select", of_path(&select));
  m.def("sweep", of_path(&sweep));
  m.def("fleet_link", of_path(&fleet_link));
  m.def("fleet_analyze", of_path(&fleet_analyze));
  m.def("fleet_merge", [](const Given& given, Progress progress) {
    const auto options = options_of<FleetMergeOptions>(given);
    return Watch(progress).run([&](Control control) { return fleet_merge(options, control); });
  });
  m.def("unpack", of_path(&unpack));
  m.def("doctor", of_path(&doctor));
  m.def("list", [](std::string_view kind) { return value(list(kind)); });
  m.def("link", &link_all);
  m.def("generate_step", &generate_job<StepOptions>);
  m.def("generate_serve", &generate_job<ServeOptions>);
  m.def("calibrate_device", &calibrate_file<CalibrateDeviceOptions>);
  m.def("calibrate_network", &calibrate_file<CalibrateNetworkOptions>);
  m.def(
      "use_cores",
      [](int cores) {
        if (cores < 0) throw nb::value_error("cores must not be negative");
        use_cores(cores);
      },
      nb::arg("cores"),
      "Limit all later verbs to this number of cores; 0: all cores. Must not be called while a verb runs.");
  m.def("names", [](std::string_view kind) { return value(names(kind)); });
  m.def("version", &version);
}

}  // namespace

void raise(const Error& error) {
  const auto known = [](int64_t number) { return number < 0 ? nb::object(nb::none()) : nb::object(nb::int_(number)); };
  const nb::object place =
      base().attr("Place")(text_of(error.place.file), known(error.place.byte), known(error.place.line));
  raise_instance(base().attr("Error")(text_of(error.message()), error.tag, text_of(error.text), place,
                                      static_cast<int>(error.code)));
}
void no_key(std::string_view key, const std::vector<std::string>& known) {
  raise_instance(base().attr("no_key")(key, known));
}

}  // namespace chakra::python

NB_MODULE(_chakra, m) {
  nanobind::set_leak_warnings(false);  // interpreters end without freeing all objects
  chakra::python::add_answers(m);
  chakra::python::add_traces(m);
  chakra::python::add_feeder(m);
  chakra::python::add_jobs(m);
}
