// What carries frames from rank to rank: a header and up to kFrameBytes of a message. Frames between two ranks come in
// the order in which they were sent, and neither are lost nor come twice.
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
#include "chakra/replay/rendezvous.h"

namespace chakra::replay::fabric {

inline constexpr uint32_t kFrameBytes = 64 << 10;

/// In the byte order of the machine: all ranks run on machines of one kind.
struct Header {
  enum class Kind : uint32_t {
    ready,  ///< the sender of the frame invites data of the operation; the payload is Prepared::agreement
    data,   ///< bytes of a message
    bye     ///< no frame follows
  };
  Kind kind = Kind::data;
  uint32_t round = 0;      ///< of the plan
  uint64_t operation = 0;  ///< of which group, or between which ranks with which tag
  uint64_t index = 0;      ///< which one of them
  uint32_t bytes = 0;      ///< of the payload
  uint32_t from = 0;       ///< rank; filled in by the wire
};

/// Who gets what comes.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// Where the payload of a frame goes: exactly header.bytes. Errors end the session.
  virtual Result<std::span<std::byte>> room(int64_t from, const Header& header) = 0;
  /// The payload is there.
  virtual Result<void> landed(int64_t from, const Header& header) = 0;
  /// The frame that was under way to this rank has left: its payload is not needed any more.
  virtual void left(int64_t to) = 0;
  /// The rank is gone, and nothing more comes from it.
  virtual Result<void> lost(int64_t rank, std::string_view why) = 0;
  /// Whether bytes may be taken from the network now.
  virtual bool may_receive() = 0;
  virtual void received(uint64_t bytes) = 0;
};

class Wire {
 public:
  virtual ~Wire() = default;
  /// Sends the frame. Requires idle(to) and a payload of header.bytes, which stays until the receiver's left(to), which
  /// may be called at once. Errors: replay.fabric.send.
  virtual Result<void> send(int64_t to, const Header& header, std::span<const std::byte> payload) = 0;
  /// Of the payload of a frame; at most kFrameBytes.
  virtual uint32_t most_bytes() const = 0;
  /// No frame is under way to this rank, and it is not lost.
  virtual bool idle(int64_t to) const = 0;
  /// Waits until something can be done or `descriptor` can be read, for `patience` at most, and does it.
  virtual Result<void> progress(std::chrono::nanoseconds patience, int descriptor) = 0;
};

struct WireOptions {
  std::string address;   ///< of this rank, for the others: an address or the name of an interface; empty: 127.0.0.1
  std::string provider;  ///< of libfabric; empty: "tcp;ofi_rxm"
};

struct WireRow {
  std::string_view name;
  std::string_view description;
  /// All ranks call it. `receiver` outlives the wire.
  Result<std::unique_ptr<Wire>> (*open)(const World& world, Rendezvous& rendezvous, const WireOptions& options,
                                        Receiver& receiver) = nullptr;
};
extern const std::span<const WireRow> kWires;

/// The IPv4 address of WireOptions::address, in digits. Errors: replay.fabric.address, replay.fabric.socket.
Result<std::string> own_address(const std::string& text);

}  // namespace chakra::replay::fabric
