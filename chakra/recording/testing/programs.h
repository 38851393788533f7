// Programs with a known truth: the work of a machine, and the expected contents of the recordings.
#pragma once

#include "chakra/recording/testing/machine.h"

namespace chakra::recording::testing {

/// A program, the same for every machine.
struct Program {
  const char* name;
  bool device_matters;  ///< with faster kernels, the program would be faster
  bool edges_matter;    ///< without launch and synchronisation edges, a simulation would be wrong
  void (*run)(Machine& m);
};

inline void steps(Machine& m, int count, const std::function<void()>& body) {
  for (int step = 0; step < count; ++step) {
    m.annotation(fmt::format("ProfilerStep#{}", step), [&] {
      m.work(5'000, 20'000);
      body();
      m.work(5'000, 20'000);
    });
    m.work(1'000, 3'000);
  }
}

/// Run an operator around another operator that launches a kernel.
inline void kernel_op(Machine& m, int64_t stream, int64_t least, int64_t most, int64_t host_least, int64_t host_most) {
  m.op("aten::linear", [&] {
    m.work(host_least, host_most);
    m.op("aten::addmm", [&] {
      m.work(host_least, host_most);
      m.launch(stream, least, most);
      m.work(1'000, 3'000);
    });
    m.work(1'000, 3'000);
  });
  m.work(1'000, 5'000);
}

inline const std::vector<Program>& programs() {
  static const std::vector<Program> all{
      {"host-bound", false, false,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 150; ++i) kernel_op(m, 7, 2'000, 8'000, 8'000, 20'000);
         });
       }},
      {"device-bound", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 150; ++i) kernel_op(m, 7, 40'000, 160'000, 3'000, 8'000);
           m.op("aten::item", [&] { m.synchronize_stream(7); });
         });
       }},
      // One stream that is always busy: its order alone explains all.
      {"device-bound, one synchronisation at the end", true, false,
       [](Machine& m) {
         steps(m, 3, [&] {
           for (int i = 0; i < 100; ++i) kernel_op(m, 7, 30'000, 120'000, 3'000, 8'000);
         });
         m.op("cuda::synchronize", [&] { m.synchronize_device(); });
         m.op("aten::empty", [&] { m.work(1'000, 2'000); });
       }},
      {"two streams with events", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 40; ++i) {
             kernel_op(m, 7, 20'000, 60'000, 3'000, 8'000);
             m.op("side::fork", [&] {
               m.record_event(1, 7);
               m.wait_event(1, 20);
               m.launch(20, 80'000, 160'000);
               m.record_event(2, 20);
             });
             kernel_op(m, 7, 20'000, 60'000, 3'000, 8'000);
             m.op("side::join", [&] {
               m.wait_event(2, 7);
               m.launch(7, 10'000, 30'000);
             });
           }
           m.op("aten::item", [&] { m.synchronize_device(); });
         });
       }},
      {"hidden waits", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 8; ++i) {
             for (int k = 0; k < 12; ++k) kernel_op(m, 7, 60'000, 160'000, 3'000, 8'000);
             m.op("vendor::fetch", [&] { m.wait_silently(7); });
           }
         });
       }},
      {"blocking copies", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 10; ++i) {
             for (int k = 0; k < 10; ++k) kernel_op(m, 7, 60'000, 180'000, 3'000, 8'000);
             m.op("aten::copy_", [&] { m.copy_to_host(7, 5'000, 20'000); });
           }
         });
       }},
      {"copies from pageable memory", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 10; ++i) {
             m.op("aten::to", [&] { m.copy_from_host(7, 100'000, 200'000); });
             for (int k = 0; k < 10; ++k) kernel_op(m, 7, 60'000, 180'000, 3'000, 8'000);
           }
         });
       }},
      {"a copy behind a kernel that fills the device", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 6; ++i) {
             for (int k = 0; k < 4; ++k) kernel_op(m, 7, 5'000, 20'000, 3'000, 8'000);
             m.op("aten::mm", [&] { m.launch(7, 2'000'000, 4'000'000, true); });
             m.op("aten::item", [&] { m.copy_to_host(20, 5'000, 10'000); });
           }
         });
       }},
      {"streams of equal number on two devices", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 6; ++i) {
             m.use_device(1);
             for (int k = 0; k < 12; ++k) kernel_op(m, 7, 60'000, 160'000, 3'000, 8'000);
             m.use_device(0);
             kernel_op(m, 7, 5'000, 10'000, 3'000, 8'000);
             m.use_device(1);
             m.op("aten::item", [&] { m.synchronize_stream(7); });
             for (int k = 0; k < 12; ++k) kernel_op(m, 7, 60'000, 160'000, 3'000, 8'000);
             m.use_device(0);
             kernel_op(m, 7, 5'000, 10'000, 3'000, 8'000);
             m.use_device(1);
             m.op("cuda::synchronize", [&] { m.synchronize_device(); });
           }
         });
       }},
      {"graphs over two streams", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 6; ++i) {
             m.op("graph::replay", [&] {
               std::vector<Machine::GraphNode> nodes;
               for (int k = 0; k < 120; ++k) nodes.push_back({k % 2 ? 20 : 7, 10'000, 40'000, k - 1});
               m.launch_graph(nodes);
             });
             m.op("aten::item", [&] { m.synchronize_stream(20); });
             m.work(20'000, 60'000);
           }
         });
       }},
      {"more launches than the queue holds", true, true,
       [](Machine& m) {
         steps(m, 2, [&] {
           for (int i = 0; i < 2500; ++i) {
             m.op("aten::add_", [&] {
               m.work(1'000, 2'000);
               m.launch(7, 20'000, 40'000);
             });
           }
           m.op("aten::item", [&] { m.synchronize_stream(7); });
         });
       }},
      {"waits across threads", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 4; ++i) {
             for (int k = 0; k < 20; ++k) kernel_op(m, 7, 20'000, 60'000, 3'000, 8'000);
             m.on_thread(200, [&] {
               for (int k = 0; k < 20; ++k) kernel_op(m, 7, 20'000, 60'000, 3'000, 8'000);
               m.op("side::fork", [&] {
                 m.record_event(1, 7);
                 m.wait_event(1, 20);
                 m.launch(20, 200'000, 400'000);
                 m.record_event(2, 20);
                 m.wait_event(2, 7);  // the next launch on this stream comes from the other thread
               });
               m.op("aten::item", [&] { m.copy_to_host(30, 2'000, 3'000); });
             });
             kernel_op(m, 7, 20'000, 60'000, 3'000, 8'000);
             m.op("aten::item", [&] { m.synchronize_stream(7); });
           }
         });
       }},
      {"now host-bound, now device-bound", true, true,
       [](Machine& m) {
         steps(m, 4, [&] {
           for (int i = 0; i < 12; ++i) {
             const bool long_kernels = i % 2 == 0;
             for (int k = 0; k < 12; ++k)
               long_kernels ? kernel_op(m, 7, 40'000, 100'000, 3'000, 8'000)
                            : kernel_op(m, 7, 2'000, 8'000, 8'000, 20'000);
             m.op("aten::item", [&] { m.copy_to_host(7, 2'000, 3'000); });
           }
         });
       }},
  };
  return all;
}

}  // namespace chakra::recording::testing
