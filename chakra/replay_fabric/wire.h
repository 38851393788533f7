// Transports of frames from rank to rank: a header and up to kFrameBytes of a message.
// Frames between two ranks arrive in the order of sending, without loss or duplicates.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/base.h"
#include "chakra/replay/replay.h"

namespace chakra::replay_fabric {

inline constexpr uint32_t kFrameBytes = 64 << 10;

/// In the byte order of the machine: all ranks must run on machines of one kind.
struct Header {
  enum class Kind : uint32_t {
    ready,  ///< the sender invites data of the operation; the payload is Prepared::agreement
    data,   ///< bytes of a message
    bye     ///< last frame from this rank
  };
  Kind kind = Kind::data;
  uint32_t round = 0;      ///< of the plan
  uint64_t operation = 0;  ///< identifies the group, or the two ranks and the tag
  uint64_t index = 0;      ///< position in that group or channel
  uint32_t bytes = 0;      ///< of the payload
  uint32_t from = 0;       ///< rank; filled in by the wire
};

/// Takes incoming frames.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// Return the memory for the payload of a frame: exactly header.bytes. Errors end the session.
  virtual Result<std::span<std::byte>> room(int64_t from, const Header& header) = 0;
  /// The payload has arrived.
  virtual Result<void> landed(int64_t from, const Header& header) = 0;
  /// The frame under way to this rank has left: its payload may be reused.
  virtual void left(int64_t to) = 0;
  /// The rank is gone, and no more frames come from it.
  virtual Result<void> lost(int64_t rank, std::string_view why) = 0;
  /// Return whether bytes may be read from the network now.
  virtual bool may_receive() = 0;
  virtual void received(uint64_t bytes) = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  /// Send a frame. Requires idle(to) and a payload of header.bytes that stays valid until the
  /// receiver's left(to), which may be called before send() returns. Errors: replay.fabric.send.
  virtual Result<void> send(int64_t to, const Header& header, std::span<const std::byte> payload) = 0;
  /// Return the largest payload of a frame; at most kFrameBytes.
  virtual uint32_t most_bytes() const = 0;
  /// Return whether no frame is under way to this rank and the rank is not lost.
  virtual bool idle(int64_t to) const = 0;
  /// Wait until work is possible or `descriptor` is readable, for `patience` at most, and do the work.
  virtual Result<void> progress(std::chrono::nanoseconds patience, int descriptor) = 0;
};

struct WireOptions {
  std::string address;   ///< of this rank, as seen by others: an address or the name of an interface; empty: 127.0.0.1
  std::string provider;  ///< of libfabric; empty: "tcp;ofi_rxm"
};

struct WireRow {
  std::string_view name;
  std::string_view description;
  /// All ranks must call this function. `receiver` must outlive the wire.
  Result<std::unique_ptr<Wire>> (*open)(const replay::World& world, replay::Rendezvous& rendezvous,
                                        const WireOptions& options, Receiver& receiver) = nullptr;
};
extern const std::span<const WireRow> kWires;

/// Return the IPv4 address of WireOptions::address, in digits. Errors: replay.fabric.address, replay.fabric.socket.
Result<std::string> own_address(const std::string& text);

}  // namespace chakra::replay_fabric
