// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tests/support/failing_disk/disk_fault.hpp"

namespace lockstep::tests {

// Returns every fault for each of these calls: each error once and onward, a short write, a kill
// before and after.
std::vector<DiskFault> all_faults(const std::vector<DiskCall>& calls);

// Returns at most `max_points` faults, which are spread evenly. They are for the first call of each
// kind at each kind of file, and two names are of one kind if they differ only in numbers: an
// error, a short write, and a kill if the call changes the disk.
std::vector<DiskFault> some_faults(const std::vector<DiskCall>& calls, std::size_t max_points);

}  // namespace lockstep::tests
