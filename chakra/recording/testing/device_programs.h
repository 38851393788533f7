// Programs with a known truth for gaps in recordings of devices: CPU waits for values that
// a kernel writes, work inside graphs, events that were recorded long before.
#pragma once

#include "chakra/recording/testing/programs.h"

namespace chakra::recording::testing {

/// Run a kernel that writes memory shortly before its end, while the CPU polls that memory.
inline void spin_for(Machine& m, const char* kernel) {
  m.op("vendor::notify", [&] { m.launch(7, 900'000, 1'100'000, false, kernel); });
  m.spin(7, 96);
}

inline void kernels(Machine& m, int count, int64_t least, int64_t most) {
  for (int i = 0; i < count; ++i) kernel_op(m, 7, least, most, 3'000, 8'000);
}

/// Run kernels of 1 ms on an idle device; the host works beside each kernel for as long, or for less than
/// half as long, and then waits by a call. The host seems to wait for `percent` of the kernels.
inline void work_beside(Machine& m, int rounds, int percent) {
  for (int i = 0; i < rounds; ++i) {
    m.op("vendor::start", [&] { m.launch(7, 1'000'000, 1'000'000, false, "by_chance"); });
    i * 100 < percent* rounds ? m.work(940'000, 980'000) : m.work(350'000, 450'000);
    m.op("aten::item", [&] { m.synchronize_stream(7); });
  }
}

inline const std::vector<Program>& device_programs() {
  static const std::vector<Program> all{
      {"spins on memory that a kernel writes", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 3; ++i) {
             kernels(m, 10, 40'000, 160'000);
             spin_for(m, "notify");
           }
           kernels(m, 10, 40'000, 160'000);
           m.op("aten::item", [&] { m.synchronize_stream(7); });
         });
       }},
      {"spins inside an operator", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           kernels(m, 10, 40'000, 160'000);
           m.op("vendor::dispatch", [&] {
             m.work(5'000, 10'000);
             m.launch(7, 900'000, 1'100'000, false, "notify");
             m.spin(7, 92);
             m.launch(7, 50'000, 60'000);
           });
           kernels(m, 10, 40'000, 160'000);
         });
       }},
      {"spins for four kernels of five", true, true,
       [](Machine& m) {
         steps(m, 2, [&] {
           for (int i = 0; i < 5; ++i) {
             kernels(m, 10, 40'000, 160'000);
             if (i < 4) spin_for(m, "notify");
             else m.op("vendor::notify", [&] { m.launch(7, 900'000, 1'100'000, false, "notify"); });
           }
         });
       }},
      {"spins that see a kernel's end", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           kernels(m, 10, 40'000, 160'000);
           m.op("vendor::beside", [&] { m.launch(20, 6'000'000, 7'000'000); });
           m.op("vendor::notify", [&] { m.launch(7, 900'000, 1'100'000, false, "notify"); });
           m.spin(7, 100);
           m.work(2'000, 6'000);
           kernels(m, 20, 40'000, 160'000);
           m.op("aten::item", [&] { m.synchronize_stream(7); });
         });
       }},
      {"short host work that ends with each kernel", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 5; ++i) {
             m.op("vendor::start", [&] { m.launch(7, 250'000, 250'000, false, "short"); });
             m.work(220'000, 240'000);
             m.op("aten::item", [&] { m.synchronize_stream(7); });
           }
           kernels(m, 10, 40'000, 160'000);
         });
       }},
      {"host work that ends with three kernels of five by chance", true, true,
       [](Machine& m) { steps(m, 3, [&] { work_beside(m, 5, 60); }); }},
      {"host work that ends with one kernel by chance", true, true,
       [](Machine& m) {
         steps(m, 1, [&] {
           work_beside(m, 1, 100);
           kernels(m, 20, 40'000, 160'000);
           m.op("aten::item", [&] { m.synchronize_stream(7); });
         });
       }},
      {"unrecorded work inside graphs", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 6; ++i) {
             m.op("graph::replay", [&] {
               std::vector<Machine::GraphNode> nodes;
               for (int k = 0; k < 60; ++k) {
                 const bool recorded = k % 20 != 10;
                 nodes.push_back({7, recorded ? 10'000 : 300'000, recorded ? 40'000 : 900'000, -1, recorded});
               }
               m.launch_graph(nodes);
             });
             m.work(20'000, 60'000);
           }
           m.op("aten::item", [&] { m.synchronize_stream(7); });
         });
       }},
      {"unrecorded work behind an event", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           m.op("side::run", [&] { m.launch(27, 900'000, 1'000'000); });
           kernels(m, 20, 60'000, 160'000);
           m.op("side::join", [&] {
             m.record_event(1, 7);
             m.wait_event(1, 27);
             m.launch_graph({{27, 500'000, 600'000, -1, false}, {27, 50'000, 100'000, -1}});
           });
           m.op("aten::item", [&] { m.synchronize_device(); });
         });
       }},
      {"queued behind a kernel that fills the device", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           m.op("side::run", [&] { m.launch(20, 300'000, 400'000); });
           m.op("aten::mm", [&] { m.launch(7, 2'000'000, 4'000'000, true); });
           m.op("side::run", [&] { m.launch(20, 50'000, 100'000); });
           m.op("cuda::synchronize", [&] { m.synchronize_device(); });
         });
       }},
      {"an event from long before", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           kernels(m, 30, 60'000, 160'000);
           m.op("side::record", [&] { m.record_event(1, 7); });
           kernels(m, 10, 60'000, 160'000);
           m.op("side::fork", [&] {
             m.wait_event(1, 27);
             m.launch(27, 2'000'000, 3'000'000);
           });
           m.op("cuda::synchronize", [&] { m.synchronize_device(); });
           m.work(20'000, 40'000);
         });
       }},
  };
  return all;
}

}  // namespace chakra::recording::testing
