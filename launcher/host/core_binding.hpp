// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::launcher {

// Parses the kernel's notation for a set of numbers: "0-3,8" is 0 1 2 3 8. Returns an empty vector
// when the text is no such set.
std::vector<int> parse_cpu_list(const std::string& text);

// Returns a PCI device's address in the form of the kernel's folders: the domain has four digits
// and letters are lower case, as in "0000:1a:00.0".
std::string kernel_address(std::string pci);

// Returns the cores of the NUMA node that a PCI device is attached to. `pci` is the device's
// address ("0000:17:00.0"; the domain may have four or eight digits). The result is empty when the
// machine does not report the node.
std::vector<int> cores_near(const std::string& pci, const std::filesystem::path& sys = "/sys");

// Returns the cores of `allowed` that are also in `near`, or all of `allowed` when none is near.
std::vector<int> cores_to_use(const std::vector<int>& allowed, const std::vector<int>& near);

// Returns the cores that the scheduler allows for this thread, in ascending order.
std::vector<int> bound_cores();
// Binds this thread, and the threads that it will start, to these cores.
void bind_to_cores(const std::vector<int>& cores);

}  // namespace lockstep::launcher
