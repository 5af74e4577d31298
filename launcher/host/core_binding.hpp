// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::launcher {

// The kernel's way to write a set: "0-3,8" is 0 1 2 3 8. Empty where it is no such text.
std::vector<int> parse_cpu_list(const std::string& text);

// A PCI device's address as the kernel's folders have it, with four digits of domain and in small
// letters: "0000:1a:00.0".
std::string kernel_address(std::string pci);

// The cores of the memory node that a PCI device hangs on, by its address ("0000:17:00.0", with a
// domain of four or eight digits); empty where the machine does not say.
std::vector<int> cores_near(const std::string& pci, const std::filesystem::path& sys = "/sys");

// Those of `allowed` that are near; all of them where none is.
std::vector<int> cores_to_use(const std::vector<int>& allowed, const std::vector<int>& near);

// The cores that the scheduler leaves to this thread; ascending.
std::vector<int> bound_cores();
// Binds this thread, and those that it will start, to these cores.
void bind_to_cores(const std::vector<int>& cores);

}  // namespace lockstep::launcher
