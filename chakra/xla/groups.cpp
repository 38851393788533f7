// Which devices communicate: the four forms of groups, and pairs. Devices are numbered replica * partitions +
// partition.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "chakra/xla/program.h"

namespace chakra::xla {
namespace {

using Lists = std::vector<std::vector<int64_t>>;

Failure wrong(const Program& program, const Instruction& i, std::string_view why) {
  return fail(Code::bad_input, "xla.groups", fmt::format("the groups of {} are invalid: {}", quote(i.name), why),
              {program.file});
}

/// How many places an array of these sizes has; -1 unless all are at least 1 and the result at most kMostDevices.
int64_t volume(const std::vector<int64_t>& sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMostDevices / product) return -1;
    product *= size;
  }
  return product;
}

/// `numbers` has the sizes `dims`; return its elements with the dimensions in another order.
std::vector<int64_t> transposed(const std::vector<int64_t>& numbers, const std::vector<int64_t>& dims,
                                const std::vector<int64_t>& order) {
  std::vector<size_t> stride(dims.size(), 1), at(dims.size(), 0);
  for (size_t d = dims.size(); d-- > 1;) stride[d - 1] = stride[d] * static_cast<size_t>(dims[d]);
  std::vector<int64_t> result;
  for (size_t n = 0; n < numbers.size(); ++n) {
    size_t from = 0;
    for (size_t d = 0; d < order.size(); ++d) from += at[d] * stride[static_cast<size_t>(order[d])];
    result.push_back(numbers[from]);
    for (size_t d = order.size(); d-- > 0;) {
      if (++at[d] < static_cast<size_t>(dims[static_cast<size_t>(order[d])])) break;
      at[d] = 0;
    }
  }
  return result;
}

Lists cut(const std::vector<int64_t>& numbers, int64_t members) {
  Lists lists;
  for (auto at = numbers.begin(); at != numbers.end(); at += members) lists.emplace_back(at, at + members);
  return lists;
}

std::vector<int64_t> count_up(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Result<std::vector<int64_t>> reordered(const Program& p, const Instruction& i, const Groups::Devices& devices) {
  const int64_t count = volume(devices.dims);
  if (count < 0) return wrong(p, i, "the sizes of the devices are impossible");
  const std::vector<int64_t> in_order = count_up(static_cast<int64_t>(devices.dims.size()));
  std::vector<int64_t> sorted = devices.order;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && sorted != in_order) return wrong(p, i, "not an order of the dimensions");
  return transposed(count_up(count), devices.dims, sorted.empty() ? in_order : devices.order);
}

Result<Lists> from_iota(const Program& p, const Instruction& i, const Groups::Iota& iota) {
  if (const int64_t devices = volume(iota.devices.dims); devices < 0 || volume({iota.groups, iota.members}) != devices)
    return wrong(p, i, "their number does not fit their dimensions");
  CHAKRA_ASSIGN(const std::vector<int64_t> numbers, reordered(p, i, iota.devices));
  return cut(numbers, iota.members);
}

/// The axes of a mesh, a part of an axis cut out as an axis; the members of a group differ along the named axes.
Result<Lists> from_mesh(const Program& p, const Instruction& i, const Groups::Mesh& mesh) {
  const int64_t devices = volume(mesh.sizes);
  if (devices < 0) return wrong(p, i, "the sizes of the mesh are impossible");
  std::vector<int64_t> numbers = mesh.devices.empty() ? count_up(devices) : mesh.devices;
  if (!mesh.reordered.dims.empty()) {
    CHAKRA_ASSIGN(numbers, reordered(p, i, mesh.reordered));
  }
  if (numbers.size() != static_cast<size_t>(devices)) return wrong(p, i, "the mesh has another number of devices");
  std::vector<std::vector<int64_t>> cuts(mesh.sizes.size());  // by axis: where it is cut
  for (const auto& axis : mesh.axes) {
    if (axis.axis < 0 || axis.axis >= static_cast<int64_t>(mesh.sizes.size())) return wrong(p, i, "unknown axis");
    if (axis.size == 0) continue;
    const int64_t whole = mesh.sizes[static_cast<size_t>(axis.axis)];
    if (axis.before < 1 || axis.size < 1 || axis.before > whole || axis.size > whole / axis.before ||
        whole % (axis.before * axis.size) != 0)
      return wrong(p, i, "a part of an axis does not divide the axis");
    for (const int64_t at : {axis.before, axis.before * axis.size}) cuts[static_cast<size_t>(axis.axis)].push_back(at);
  }
  std::vector<int64_t> dims;
  struct Piece {
    int64_t axis, before, dim;
  };
  std::vector<Piece> pieces;  // parallel to dims
  for (size_t a = 0; a < mesh.sizes.size(); ++a) {
    std::vector<int64_t> at = cuts[a];
    at.push_back(1), at.push_back(mesh.sizes[a]);
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    if (at.size() == 1) at.push_back(1);  // an axis of one device
    for (size_t c = 0; c + 1 < at.size(); ++c) {
      if (at[c + 1] % at[c] != 0) return wrong(p, i, "parts of an axis overlap");
      pieces.push_back({static_cast<int64_t>(a), at[c], static_cast<int64_t>(dims.size())});
      dims.push_back(at[c + 1] / at[c]);
    }
  }
  std::vector<int64_t> inner, order;
  int64_t members = 1;
  for (const auto& axis : mesh.axes) {
    const int64_t before = axis.size == 0 ? 1 : axis.before;
    const int64_t until = axis.size == 0 ? mesh.sizes[static_cast<size_t>(axis.axis)] : axis.before * axis.size;
    for (const Piece& piece : pieces)
      if (piece.axis == axis.axis && piece.before >= before &&
          (piece.before < until || (until == before && piece.before == before))) {
        if (std::find(inner.begin(), inner.end(), piece.dim) != inner.end()) return wrong(p, i, "an axis occurs twice");
        inner.push_back(piece.dim);
        members *= dims[static_cast<size_t>(piece.dim)];
      }
  }
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (std::find(inner.begin(), inner.end(), d) == inner.end()) order.push_back(d);
  order.insert(order.end(), inner.begin(), inner.end());
  return cut(transposed(numbers, dims, order), members);
}

Result<Lists> listed(const Program& p, const Instruction& i) {
  const Groups& groups = p.detail(i).groups;
  if (groups.is_mesh) return from_mesh(p, i, groups.mesh);
  if (groups.is_iota) return from_iota(p, i, groups.iota);
  Lists lists;
  for (const auto& list : groups.lists)
    if (!list.empty()) lists.push_back(list);
  return lists;
}

/// What the numbers in groups mean (CollectiveOpGroupMode of xla_data.proto).
enum class Mode { replicas, partitions, replicas_of_all_partitions, devices };

Mode mode_of(const Program& p, const Instruction& i) {
  const Detail& d = p.detail(i);
  const bool channel = d.channel > 0, reduces = i.row->comm == trace::CommType::all_gather ||
                                                i.row->comm == trace::CommType::all_reduce ||
                                                i.row->comm == trace::CommType::reduce_scatter;
  if (!channel) return d.global_ids ? Mode::devices : Mode::replicas;
  if (!reduces) return Mode::partitions;
  return d.global_ids ? Mode::devices : Mode::replicas_of_all_partitions;
}

}  // namespace

Result<Lists> groups_of(const Program& p, const Instruction& i) {
  CHAKRA_ASSIGN(Lists lists, listed(p, i));
  const Mode mode = mode_of(p, i);
  const int64_t numbers = mode == Mode::devices      ? p.device_count()
                          : mode == Mode::partitions ? p.partitions
                                                     : p.replicas;
  if (lists.empty()) lists.push_back(count_up(numbers));
  std::vector<uint8_t> seen(static_cast<size_t>(numbers), 0);
  for (const auto& list : lists)
    for (const int64_t number : list) {
      if (number < 0 || number >= numbers)
        return wrong(p, i, fmt::format("the number {} is not below {}", number, numbers));
      if (seen[static_cast<size_t>(number)]++) return wrong(p, i, fmt::format("{} occurs twice", number));
    }
  if (mode == Mode::devices) return lists;
  Lists devices;
  if (mode == Mode::partitions) {
    for (int64_t r = 0; r < p.replicas; ++r)
      for (const auto& list : lists) {
        auto& to = devices.emplace_back();
        for (const int64_t partition : list) to.push_back(r * p.partitions + partition);
      }
  } else if (mode == Mode::replicas) {
    for (int64_t partition = 0; partition < p.partitions; ++partition)
      for (const auto& list : lists) {
        auto& to = devices.emplace_back();
        for (const int64_t r : list) to.push_back(r * p.partitions + partition);
      }
  } else {
    for (const auto& list : lists) {
      auto& to = devices.emplace_back();
      for (const int64_t r : list)
        for (int64_t partition = 0; partition < p.partitions; ++partition) to.push_back(r * p.partitions + partition);
    }
  }
  return devices;
}

Result<std::vector<std::pair<int64_t, int64_t>>> pairs_of(const Program& p, const Instruction& i) {
  const Detail& d = p.detail(i);
  const bool partitions = d.channel > 0;
  const int64_t numbers = partitions ? p.partitions : p.replicas;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const auto& [source, target] : d.pairs) {
    if (source < 0 || target < 0 || source >= numbers || target >= numbers)
      return wrong(p, i, fmt::format("there is no pair {} to {} among {}", source, target, numbers));
    for (int64_t other = 0; other < (partitions ? p.replicas : p.partitions); ++other)
      if (partitions) pairs.emplace_back(other * p.partitions + source, other * p.partitions + target);
      else pairs.emplace_back(source * p.partitions + other, target * p.partitions + other);
  }
  return pairs;
}

Result<void> settle_devices(Program& p) {
  if (p.device_count() > 0) return {};
  int64_t most = 0;
  bool partitions = false;            // some instruction numbers partitions
  const Instruction* open = nullptr;  // communicates among all devices, without a number
  for (const Computation& c : p.computations)
    for (const Instruction& i : c.instructions) {
      const Detail& d = p.detail(i);
      partitions |= d.channel > 0;
      for (const auto& [source, target] : d.pairs) most = std::max({most, source + 1, target + 1});
      if (i.kind() != Kind::collective) continue;
      CHAKRA_ASSIGN(const Lists lists, listed(p, i));
      if (lists.empty()) open = &i;
      for (const auto& list : lists) most = std::max(most, *std::max_element(list.begin(), list.end()) + 1);
    }
  if (most > kMostDevices || (most == 0 && open))
    return fail(Code::bad_input, "xla.devices.unknown",
                most == 0 ? fmt::format("the program has no device assignment, and {} communicates among all devices",
                                        quote(open->name))
                          : "the program has no device assignment, and the numbers in its groups are too large",
                {p.file});
  most = std::max<int64_t>(1, most);
  p.replicas = partitions ? 1 : most, p.partitions = partitions ? most : 1;
  return {};
}

}  // namespace chakra::xla
