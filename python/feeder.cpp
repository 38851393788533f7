// The feeder of a trace in memory: batches of rows as arrays of NumPy.
#include "module.h"

namespace chakra::python {
namespace {

template <class T>
using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
std::span<const T> span_of(const Values<T>& values) {
  return {values.data(), values.size()};
}

/// Rows and times, an array each.
nb::object arrays_of(const std::vector<RowFeeder::Ready>& ready) {
  std::vector<uint32_t> rows;
  std::vector<int64_t> times;
  rows.reserve(ready.size());
  times.reserve(ready.size());
  for (const RowFeeder::Ready& each : ready) {
    rows.push_back(each.row);
    times.push_back(each.time_ps);
  }
  return nb::make_tuple(array(std::move(rows)), array(std::move(times)));
}

}  // namespace

void add_feeder(nb::module_& m) {
  constexpr const char* kArrays = "tuple[numpy.ndarray[typing.Any, typing.Any], numpy.ndarray[typing.Any, typing.Any]]";
  static const std::string start = std::string("def start(self) -> ") + kArrays;
  nb::class_<RowFeeder>(m, "Feeder")
      .def(
          "__init__",
          [](RowFeeder* self, const Trace& trace) {
            new (self) RowFeeder(value([&] {
              const nb::gil_scoped_release release;
              return RowFeeder::of(trace);
            }()));
          },
          nb::arg("trace"))
      .def(
          "start",
          [](RowFeeder& feeder) {
            std::vector<RowFeeder::Ready> ready;
            feeder.start(ready);
            return arrays_of(ready);
          },
          nb::sig(start.c_str()), "Return the rows without dependencies, ascending, and their times, which are 0.")
      .def("_done",
           [](RowFeeder& feeder, const Values<uint32_t>& rows, const Values<int64_t>& ends) {
             std::vector<RowFeeder::Ready> ready;
             value(feeder.done(span_of<uint32_t>(rows), span_of<int64_t>(ends), ready));
             return arrays_of(ready);
           })
      .def_prop_ro("remaining", &RowFeeder::remaining, "The number of rows that are not done.")
      .def_prop_ro(
          "queues", [](const RowFeeder& feeder) { return array(feeder.queues()); },
          nb::sig("def queues(self) -> numpy.ndarray[typing.Any, typing.Any]"),
          "int64 array: the queue of each row; -1: no queue. A copy.");
}

}  // namespace chakra::python
