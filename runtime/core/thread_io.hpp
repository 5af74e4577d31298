// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace lockstep {

// Returns how many bytes a thread of this process has read and written by system calls until now.
// It is always 0 if the kernel does not count them (CONFIG_TASK_IO_ACCOUNTING).
std::uint64_t bytes_moved_by(pid_t thread);

// Returns the path of the file whose system call the thread waits for. It is empty if the thread
// runs or waits for something else, or if the kernel does not tell.
std::string file_awaited_by(pid_t thread);

}  // namespace lockstep
