// Many pieces that are one phase under many controls, where no wire was spare.
#pragma once

#include "planner/form/clusters/cluster.hpp"

namespace qx::form {

// A cluster with pieces that come next on its wires, or on few more, whatever else comes between.
struct LongCluster {
    Cluster of;
    std::vector<std::size_t> taken{};  // numbers of those pieces

    // given: all pieces, of which those from `next` on come. closed: wires with others before.
    LongCluster(Cluster begun, const std::vector<Piece>& given, std::size_t next, Mask closed);
    // How many entries are looked at, at least, where no phase is found.
    std::size_t least_work() const { return work_of_piece * of.pieces.size() << count(of.wires); }

  private:
    static constexpr std::size_t most = 192, work_of_piece = 6;  // pieces; for each value of all wires
};

// Whether a cluster has pieces enough, and not too many wires.
bool may_be_phase(const Cluster& of);

// Finds a beginning that is one phase of a dozen pieces or more, but for turns; one of no pieces if there is none.
Beginning find_phase(const Cluster& of, std::size_t& work);

}  // namespace qx::form
