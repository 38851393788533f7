// Computation by the work of nodes: GEMMs for their operations, then copies for their bytes.
#include <fmt/core.h>

#include <cmath>
#include <new>

#include "chakra/replay/compute.h"
#include "chakra/replay/work/blas.h"
#include "chakra/replay/work/copies.h"
#include "chakra/work/work.h"

namespace chakra::replay {
namespace {

constexpr int64_t kLeastSize = 16, kMostSize = 4096, kUsualSize = 512;
constexpr int64_t kMostBuffer = int64_t{1} << 20, kUsualBuffer = 256;  ///< MiB

bool says_work(const trace::Trace& t, trace::NodeId n) {
  const work::NodeWork work = work::work_of(t, n);
  return t.type[n] == trace::NodeType::comp && (work.ops > 0 || work.bytes > 0);
}

uint64_t scaled(uint64_t amount, double scale) {
  if (scale == 1) return amount;
  const double more = std::round(static_cast<double>(amount) * scale);
  return more >= 0x1p63 ? UINT64_MAX / 2 : static_cast<uint64_t>(more);
}

/// Two factors and the result.
struct Matrices {
  std::unique_ptr<float[]> a, b, c;
};

Result<Matrices> make_matrices(int size) {
  const auto rows = static_cast<size_t>(size), most = (rows + kExtraRows) * rows;
  Matrices m;
  for (auto* matrix : {&m.a, &m.b, &m.c}) {
    matrix->reset(new (std::nothrow) float[most]);
    if (!*matrix)
      return fail(Code::io, "replay.memory",
                  fmt::format("matrices of {} rows need more memory than this machine has (--compute-option size=N)",
                              show_count(size)));
    std::fill_n(matrix->get(), most, 0.5F);
  }
  return m;
}

class WorkComputer : public Computer {
 public:
  /// `room`: null where no node says bytes.
  WorkComputer(const ComputerInput& input, WorkDone expected, int size, Blas blas, Matrices matrices,
               std::shared_ptr<CopyRoom> room)
      : trace_(input.trace),
        scale_(input.scale),
        expected_(std::move(expected)),
        size_(size),
        blas_(std::move(blas)),
        matrices_(std::move(matrices)),
        room_(std::move(room)) {
    blas_.multiply(size_, size_, size_, matrices_.a.get(), matrices_.b.get(), matrices_.c.get());  // starts its threads
  }

  Part part(trace::NodeId node) const override { return says_work(trace_, node) ? Part::runs : Part::timed; }

  void begin() override { done_ = expected_; }

  Result<bool> run(trace::NodeId node, const std::atomic<bool>& stop) override {
    using Clock = std::chrono::steady_clock;
    const auto since = [](Clock::time_point begin) {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count() * kPsPerNs;
    };
    const work::NodeWork work = work::work_of(trace_, node);
    const Clock::time_point begin = Clock::now();
    for (const Product& p : products_of(scaled(work.ops, scale_), size_)) {
      for (uint64_t i = 0; i < p.count && !stop; ++i) {
        blas_.multiply(p.m, p.n, p.k, matrices_.a.get(), matrices_.b.get(), matrices_.c.get());
        done_.operations = add_bytes(done_.operations, p.operations());
      }
    }
    if (work.ops > 0) done_.product_ps = add_saturated(done_.product_ps, since(begin));
    if (!room_ || work.bytes == 0) return true;
    const Clock::time_point copies = Clock::now();
    done_.bytes = add_bytes(done_.bytes, room_->move(scaled(work.bytes, scale_), stop));
    done_.copy_ps = add_saturated(done_.copy_ps, since(copies));
    return true;
  }

  void close(Computed& into) override { into.work = done_; }

 private:
  const trace::Trace& trace_;
  const double scale_;
  const WorkDone expected_;
  const int size_;
  const Blas blas_;
  const Matrices matrices_;
  const std::shared_ptr<CopyRoom> room_;
  WorkDone done_;
};

}  // namespace

WorkDone asked_work(const trace::Trace& t, const std::vector<bool>& selected, double scale) {
  WorkDone all;
  for (const trace::NodeId n : t.nodes()) {
    if (t.type[n] != trace::NodeType::comp || !(selected.empty() || selected[n])) continue;
    if (says_work(t, n)) {
      const work::NodeWork work = work::work_of(t, n);
      ++all.nodes;
      all.other_types += work.ops > 0 && work.type != trace::DType::f32 && work.type != trace::DType::unknown;
      all.wanted_operations = add_bytes(all.wanted_operations, scaled(work.ops, scale));
      all.wanted_bytes = add_bytes(all.wanted_bytes, scaled(work.bytes, scale));
    } else if (t.dur_ps[n] > 0) {
      ++all.timed;
      all.timed_ps = add_saturated(all.timed_ps, picoseconds(static_cast<double>(t.dur_ps[n]) * scale / kPsPerSecond));
    } else {
      ++all.silent;
    }
  }
  return all;
}

Result<std::unique_ptr<Computer>> open_work(const ComputerInput& input) {
  CHAKRA_ASSIGN(const std::optional<int64_t> threads, number_setting(input.settings, "threads", 1, 1024));
  CHAKRA_ASSIGN(const std::optional<int64_t> size, number_setting(input.settings, "size", kLeastSize, kMostSize));
  CHAKRA_ASSIGN(const std::optional<int64_t> buffer, number_setting(input.settings, "buffer", 2, kMostBuffer));
  CHAKRA_ASSIGN(Blas blas, open_blas(setting(input.settings, "library"), threads));
  WorkDone expected = asked_work(input.trace, input.selected, input.scale);
  expected.library = blas.library;
  expected.threads_without_effect = threads && !blas.sets_threads;
  const auto rows = static_cast<int>(size.value_or(kUsualSize));
  CHAKRA_ASSIGN(Matrices matrices, make_matrices(rows));
  std::shared_ptr<CopyRoom> room;
  if (expected.wanted_bytes > 0) {
    CHAKRA_ASSIGN(room, CopyRoom::shared(static_cast<uint64_t>(buffer.value_or(kUsualBuffer)) << 20));
  }
  return std::make_unique<WorkComputer>(input, std::move(expected), rows, std::move(blas), std::move(matrices),
                                        std::move(room));
}

}  // namespace chakra::replay
