// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/optim/optimizer.hpp"

namespace lockstep::train {

// Holds the tensors of a run in host memory; saving reads them and loading fills them.
struct RunTensors {
    const ParameterTable& table;
    HostView<float> master;  // [table.flat_size()]
    const std::vector<OptimizerTensor>& optimizer;
};

// A range of a tensor's elements in row-major order, [first, first + values.size()). That of a
// moment in int8 has codes, and `values` are the scales of its cells; it begins where a cell does.
struct RunPiece {
    std::string name;
    std::vector<std::int64_t> shape;  // of the whole tensor
    std::size_t first = 0;
    HostView<float> values;
    HostView<std::uint8_t> codes = {};
};

// Holds what one rank owns of the tensors of a run, in host memory.
struct RunPieces {
    const ParameterTable& table;
    std::vector<std::string> suffixes = {};  // of the optimizer's tensors, such as ".exp_avg"
    std::vector<RunPiece> weights = {}, optimizer = {};
};

// Gives the host what this rank owns of a run whose ranks share a replica. Views are valid until
// the next call.
class OwnedAccess {
public:
    virtual ~OwnedAccess() = default;

    // Says that all copies for saves are this object's, so that rank 0 need not keep memory for
    // Engine::copy_for_save(). Call it before the state is shared for the first time.
    virtual void save_from_here() = 0;

    // Returns the run's own memory, or a device's copy of it.
    virtual RunPieces current() = 0;
    // Returns a copy, which steps do not change. Its memory is taken at the first call, unless
    // reserve() has taken it.
    virtual RunPieces copy() = 0;
    // Takes the memory of the copy, with all its pages. Another thread may call it while steps run,
    // but not during any other call.
    virtual RunPieces reserve() = 0;
    // Uses the values that every rank has written into its current() pieces as those of the run, in
    // the place of rank 0's: the weights alone, or the optimizer's tensors, too.
    enum class Written { weights, all };
    virtual void write_back(Written what) = 0;
};

}  // namespace lockstep::train
