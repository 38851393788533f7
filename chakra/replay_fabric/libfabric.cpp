// Frames as messages of libfabric's reliable endpoints: over TCP, InfiniBand (verbs) or EFA, as the provider says. The
// library is opened when it is wanted; chakra is not linked with it.
#include <cstdint>

#include "chakra/replay_fabric/wire.h"

#if __has_include(<rdma/fabric.h>)
#include <dlfcn.h>
#include <fmt/core.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cerrno>
#include <cstring>
#include <deque>
#endif

namespace chakra::replay_fabric {

Result<std::unique_ptr<Wire>> open_libfabric(const replay::World& world, replay::Rendezvous& rendezvous,
                                             const WireOptions& options, Receiver& receiver);

#if !__has_include(<rdma/fabric.h>)

Result<std::unique_ptr<Wire>> open_libfabric(const replay::World&, replay::Rendezvous&, const WireOptions&, Receiver&) {
  return fail(Code::usage, "replay.fabric.wire",
              "chakra was built without libfabric: install libfabric-dev and build again, or use wire=sockets");
}

#else

namespace {

/// What is called by name; everything else goes through tables of functions in libfabric's objects.
struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

Result<const Library*> library() {
  static const Library loaded = [] {
    Library l;
    void* const file = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto find = [&](auto& function, const char* name) {
      if (file) function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name));
    };
    find(l.getinfo, "fi_getinfo");
    find(l.freeinfo, "fi_freeinfo");
    find(l.dupinfo, "fi_dupinfo");
    find(l.fabric, "fi_fabric");
    find(l.strerror, "fi_strerror");
    return l;
  }();
  if (!loaded.getinfo || !loaded.freeinfo || !loaded.dupinfo || !loaded.fabric || !loaded.strerror)
    return fail(Code::usage, "replay.fabric.wire",
                "libfabric.so.1 cannot be opened: install libfabric1, or use wire=sockets");
  return &loaded;
}

/// Closes an object of libfabric.
struct Close {
  template <class Object>
  void operator()(Object* object) const {
    ::fi_close(&object->fid);
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close>;

/// A frame's memory, and what libfabric keeps while it is under way.
struct Slot {
  fi_context2 context{};  // first: completions point to it
  int64_t rank = -1;      ///< of sends, to whom; -1: a receive
  std::byte* bytes = nullptr;
  size_t size = 0;  ///< of a send, with its header
  bool posted = false;
};

/// Frames that providers send without asking the receiver first.
constexpr uint32_t kMostBytes = 15 << 10;
constexpr size_t kSlotBytes = kMostBytes + sizeof(Header);

class Libfabric final : public Wire {
 public:
  Libfabric(const replay::World& world, Receiver& receiver, const Library& library)
      : world_(world), receiver_(receiver), library_(library) {}

  Result<void> connect(replay::Rendezvous& rendezvous, const WireOptions& options);
  Result<void> send(int64_t to, const Header& header, std::span<const std::byte> payload) override;
  uint32_t most_bytes() const override { return kMostBytes; }
  bool idle(int64_t to) const override { return to != world_.rank && slots_[static_cast<size_t>(to)].size == 0; }
  Result<void> progress(std::chrono::nanoseconds patience, int descriptor) override;

 private:
  struct Objects {  // closed from the last to the first
    Owned<fid_fabric> fabric;
    Owned<fid_domain> domain;
    Owned<fid_mr> memory;
    Owned<fid_av> addresses;
    Owned<fid_cq> completions;
    Owned<fid_ep> endpoint;
  };
  Result<void> check(int64_t status, std::string_view what) const;
  Result<void> open_objects(const fi_info& info);
  Result<void> lend_memory(const fi_info& info);
  Result<void> post(Slot& slot);
  Result<bool> drain();
  Result<void> completed(Slot& slot);
  Result<void> take(Slot& slot);

  const replay::World world_;
  Receiver& receiver_;
  const Library& library_;
  std::unique_ptr<std::byte[]> arena_;
  std::vector<Slot> slots_;  ///< of sends by rank, then of receives
  Objects objects_;
  std::vector<fi_addr_t> to_;   ///< by rank
  std::deque<Slot*> come_;      ///< receives that are whole and not taken
  std::vector<Slot*> waiting_;  ///< could not be posted yet
};

Result<void> Libfabric::check(int64_t status, std::string_view what) const {
  if (status >= 0) return {};
  return fail(
      Code::io, "replay.fabric.wire",
      fmt::format("rank {}: libfabric cannot {}: {}", world_.rank, what, library_.strerror(static_cast<int>(-status))));
}

Result<void> Libfabric::connect(replay::Rendezvous& rendezvous, const WireOptions& options) {
  CHAKRA_ASSIGN(const std::string mine, own_address(options.address));
  const std::string provider = options.provider.empty() ? "tcp;ofi_rxm" : options.provider;
  const std::unique_ptr<fi_info, void (*)(fi_info*)> hints(library_.dupinfo(nullptr), library_.freeinfo);
  if (!hints) return check(-FI_ENOMEM, "begin");
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  fi_info* found = nullptr;
  const int status = library_.getinfo(FI_VERSION(1, 9), mine.c_str(), nullptr, FI_SOURCE, hints.get(), &found);
  if (status < 0)
    return fail(Code::usage, "replay.fabric.wire",
                fmt::format("libfabric has no provider '{}' with reliable messages at {}: {}; see `fi_info`", provider,
                            mine, library_.strerror(-status)));
  const std::unique_ptr<fi_info, void (*)(fi_info*)> info(found, library_.freeinfo);
  CHAKRA_TRY(open_objects(*info));
  CHAKRA_TRY(lend_memory(*info));
  std::string name(256, '\0');
  size_t size = name.size();
  CHAKRA_TRY(check(::fi_getname(&objects_.endpoint->fid, name.data(), &size), "get this rank's address"));
  name.resize(size);
  CHAKRA_ASSIGN(const std::vector<std::string> all, rendezvous.exchange(name));
  for (const std::string& address : all) {
    fi_addr_t to = FI_ADDR_UNSPEC;
    if (address.size() != size || ::fi_av_insert(objects_.addresses.get(), address.data(), 1, &to, 0, nullptr) != 1)
      return fail(Code::bad_input, "replay.fabric.address",
                  "the ranks' addresses are of different kinds: all ranks must use the same wire and provider");
    to_.push_back(to);
  }
  return {};
}

Result<void> Libfabric::open_objects(const fi_info& info) {
  fi_info* const mutable_info = const_cast<fi_info*>(&info);
  const auto keep = [&](auto& owner, auto* object, int64_t status, std::string_view what) {
    if (status >= 0) owner.reset(object);
    return check(status, what);
  };
  fid_fabric* fabric = nullptr;
  int64_t status = library_.fabric(info.fabric_attr, &fabric, nullptr);
  CHAKRA_TRY(keep(objects_.fabric, fabric, status, "open its fabric"));
  fid_domain* domain = nullptr;
  status = ::fi_domain(fabric, mutable_info, &domain, nullptr);
  CHAKRA_TRY(keep(objects_.domain, domain, status, "open its domain"));
  fi_av_attr av_attr{};
  av_attr.type = FI_AV_TABLE;
  fid_av* addresses = nullptr;
  status = ::fi_av_open(domain, &av_attr, &addresses, nullptr);
  CHAKRA_TRY(keep(objects_.addresses, addresses, status, "open a table of addresses"));
  fi_cq_attr cq_attr{};
  cq_attr.format = FI_CQ_FORMAT_MSG;
  cq_attr.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  status = ::fi_cq_open(domain, &cq_attr, &completions, nullptr);
  CHAKRA_TRY(keep(objects_.completions, completions, status, "open a queue of completions"));
  fid_ep* endpoint = nullptr;
  status = ::fi_endpoint(domain, mutable_info, &endpoint, nullptr);
  CHAKRA_TRY(keep(objects_.endpoint, endpoint, status, "open an endpoint"));
  CHAKRA_TRY(check(::fi_ep_bind(endpoint, &addresses->fid, 0), "bind its addresses"));
  CHAKRA_TRY(check(::fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV), "bind its completions"));
  return check(::fi_enable(endpoint), "enable its endpoint");
}

Result<void> Libfabric::lend_memory(const fi_info& info) {
  const auto ranks = static_cast<size_t>(world_.ranks);
  slots_.resize(ranks + 8 + 4 * ranks);
  arena_ = std::make_unique<std::byte[]>(slots_.size() * kSlotBytes);
  if (info.domain_attr->mr_mode & FI_MR_LOCAL) {
    fid_mr* memory = nullptr;
    const int status = ::fi_mr_reg(objects_.domain.get(), arena_.get(), slots_.size() * kSlotBytes, FI_SEND | FI_RECV,
                                   0, 0, 0, &memory, nullptr);
    if (status >= 0) objects_.memory.reset(memory);
    CHAKRA_TRY(check(status, "register memory"));
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].bytes = arena_.get() + i * kSlotBytes;
    if (i < ranks) slots_[i].rank = static_cast<int64_t>(i);
    else CHAKRA_TRY(post(slots_[i]));
  }
  return {};
}

Result<void> Libfabric::post(Slot& slot) {
  void* const described = objects_.memory ? ::fi_mr_desc(objects_.memory.get()) : nullptr;
  const int64_t status = slot.rank >= 0 ? ::fi_send(objects_.endpoint.get(), slot.bytes, slot.size, described,
                                                    to_[static_cast<size_t>(slot.rank)], &slot.context)
                                        : ::fi_recv(objects_.endpoint.get(), slot.bytes, kSlotBytes, described,
                                                    FI_ADDR_UNSPEC, &slot.context);
  if (status != -FI_EAGAIN) return check(status, slot.rank >= 0 ? "send" : "receive");
  waiting_.push_back(&slot);
  return {};
}

Result<void> Libfabric::send(int64_t to, const Header& header, std::span<const std::byte> payload) {
  CHAKRA_ASSERT(idle(to) && payload.size() == header.bytes && payload.size() <= kMostBytes);
  Slot& slot = slots_[static_cast<size_t>(to)];
  Header mine = header;
  mine.from = static_cast<uint32_t>(world_.rank);
  std::memcpy(slot.bytes, &mine, sizeof mine);
  if (!payload.empty()) std::memcpy(slot.bytes + sizeof mine, payload.data(), payload.size());
  slot.size = sizeof mine + payload.size();
  return post(slot);
}

Result<void> Libfabric::completed(Slot& slot) {
  if (slot.rank >= 0) {
    slot.size = 0;
    receiver_.left(slot.rank);
  } else {
    come_.push_back(&slot);
  }
  return {};
}

/// Hands over a frame that has come, and waits for the next one in its place.
Result<void> Libfabric::take(Slot& slot) {
  Header header;
  std::memcpy(&header, slot.bytes, sizeof header);
  const int64_t from = header.from;
  if (header.bytes > kMostBytes || from >= world_.ranks)
    return fail(Code::bad_input, "replay.fabric.frame", fmt::format("received a frame of {} bytes", header.bytes));
  CHAKRA_ASSIGN(const std::span<std::byte> room, receiver_.room(from, header));
  if (header.bytes > 0) std::memcpy(room.data(), slot.bytes + sizeof header, header.bytes);
  receiver_.received(header.bytes);
  CHAKRA_TRY(receiver_.landed(from, header));
  return post(slot);
}

/// Reads completions. True if there were any.
Result<bool> Libfabric::drain() {
  fi_cq_msg_entry entries[16];
  const int64_t count = ::fi_cq_read(objects_.completions.get(), entries, 16);
  for (int64_t i = 0; i < count; ++i) CHAKRA_TRY(completed(*reinterpret_cast<Slot*>(entries[i].op_context)));
  if (count == -FI_EAVAIL) {
    fi_cq_err_entry error{};
    if (::fi_cq_readerr(objects_.completions.get(), &error, 0) != 1) return false;
    const auto* slot = reinterpret_cast<const Slot*>(error.op_context);
    if (!slot || slot->rank < 0) CHAKRA_TRY(check(-error.err, "receive"));
    else CHAKRA_TRY(receiver_.lost(slot->rank, library_.strerror(error.err)));
    return true;
  }
  if (count != -FI_EAGAIN) CHAKRA_TRY(check(count, "read completions"));
  return count > 0;
}

Result<void> Libfabric::progress(std::chrono::nanoseconds patience, int descriptor) {
  for (Slot* slot : std::exchange(waiting_, {})) CHAKRA_TRY(post(*slot));
  CHAKRA_ASSIGN(bool moved, drain());
  while (!come_.empty() && receiver_.may_receive()) {
    Slot* const slot = come_.front();
    come_.pop_front();
    CHAKRA_TRY(take(*slot));
    moved = true;
  }
  if (moved || patience.count() <= 0) return {};
  fid* const waited[] = {&objects_.completions->fid};
  int fd = -1;
  ::fi_control(&objects_.completions->fid, FI_GETWAIT, &fd);
  // Some providers only go on when they are asked.
  patience = std::min<std::chrono::nanoseconds>(patience, std::chrono::milliseconds(waiting_.empty() ? 50 : 1));
  if (fd >= 0 && ::fi_trywait(objects_.fabric.get(), const_cast<fid**>(waited), 1) != 0) return {};
  pollfd polled[] = {{descriptor, POLLIN, 0}, {fd, POLLIN, 0}};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec wait{seconds.count(), static_cast<long>((patience - seconds).count())};
  ::ppoll(polled, fd >= 0 ? 2 : 1, &wait, nullptr);
  return {};
}

}  // namespace

Result<std::unique_ptr<Wire>> open_libfabric(const replay::World& world, replay::Rendezvous& rendezvous,
                                             const WireOptions& options, Receiver& receiver) {
  CHAKRA_ASSIGN(const Library* const found, library());
  auto wire = std::make_unique<Libfabric>(world, receiver, *found);
  CHAKRA_TRY(wire->connect(rendezvous, options));
  return wire;
}

#endif

}  // namespace chakra::replay_fabric
