#include "models.h"

#include <algorithm>

namespace chakra::python {
namespace {

/// Run `call`, and keep an exception in `raised`.
template <class Made, class Call>
Result<Made> guarded(Raised& raised, const Call& call) {
  const nb::gil_scoped_acquire acquire;
  try {
    return call();
  } catch (nb::python_error& error) {
    raised.emplace(std::move(error));
  }
  return fail(Code::interrupted, "job.interrupted", "a model of the caller raised an exception");
}

}  // namespace

PythonModels::PythonModels(nb::object models, Raised& raised)
    : models_(std::move(models)), base_(nb::module_::import_("chakra_et._models")), raised_(raised) {
  base_.attr("check_models")(models_);
  rank_independent_ = nb::cast<bool>(base_.attr("is_rank_independent")(models_));
}

Result<void> PythonModels::prices(const Trace& trace, int64_t rank, std::span<int64_t> inout) {
  return guarded<void>(raised_, [&]() -> Result<void> {
    const nb::object made = base_.attr("checked_prices")(models_.attr("prices")(trace, rank), inout.size(), rank);
    if (made.is_none()) return {};
    const auto values = nb::cast<nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(made, false);
    std::copy_n(values.data(), inout.size(), inout.begin());
    return {};
  });
}

Result<std::optional<int64_t>> PythonModels::collective(const Meeting& meeting) {
  using Time = std::optional<int64_t>;
  return guarded<Time>(raised_, [&]() -> Result<Time> {
    const nb::object of = base_.attr("Meeting")(text_of(meeting.group), text_of(meeting.type).attr("lower")(),
                                                meeting.bytes, meeting.members, meeting.first_ps, meeting.last_ps);
    const nb::object time = base_.attr("checked_time")(models_.attr("collective")(of));
    return time.is_none() ? Time() : Time(nb::cast<int64_t>(time));
  });
}

}  // namespace chakra::python
