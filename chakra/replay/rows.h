// The functions of the rows of kBackends. Each back end is one file or folder.
#pragma once

#include "chakra/replay/backend.h"

namespace chakra::replay {

Result<std::unique_ptr<Session>> open_null(const World& world, Rendezvous& rendezvous, const Settings& settings);
Result<std::unique_ptr<Session>> open_fabric(const World& world, Rendezvous& rendezvous, const Settings& settings);

Result<std::unique_ptr<Session>> open_mpi(const World& world, Rendezvous& rendezvous, const Settings& settings);
std::string_view missing_mpi();
Result<std::unique_ptr<Session>> open_nccl(const World& world, Rendezvous& rendezvous, const Settings& settings);

}  // namespace chakra::replay
