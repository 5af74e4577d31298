// SPDX-License-Identifier: Apache-2.0
// Preloaded: rank LATE_RANK hears two seconds late that its first PMIx fence is over. It is the one
// in the middle of MPI_Init, before Open MPI can take messages; the other hosts' ranks meanwhile go
// on, as they do where that rank has no core to run on.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace {

using Done = void (*)(int status, void* data);
using FenceNb = int (*)(const void* procs, std::size_t count, const void* info, std::size_t infos,
                        Done, void* data);

struct Caller {
    Done done;
    void* data;
};

// PMIx's own thread must stay free: what arrives meanwhile asks it for the sender's address.
void tell_late(int status, void* data) {
    std::thread([status, caller = std::unique_ptr<Caller>(static_cast<Caller*>(data))] {
        std::this_thread::sleep_for(std::chrono::seconds(2));
        caller->done(status, caller->data);
    }).detach();
}

bool is_late() {
    const char* late = std::getenv("LATE_RANK");
    const char* rank = std::getenv("PMIX_RANK");
    return late != nullptr && rank != nullptr && std::strcmp(late, rank) == 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int PMIx_Fence_nb(const void* procs,
                                                                    std::size_t count,
                                                                    const void* info,
                                                                    std::size_t infos, Done done,
                                                                    void* data) {
    static bool first = true;
    // Open MPI loads it out of sight of RTLD_NEXT.
    void* library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_NOLOAD);
    const auto fence_nb = reinterpret_cast<FenceNb>(::dlsym(library, "PMIx_Fence_nb"));
    if (!first || !is_late()) return fence_nb(procs, count, info, infos, done, data);
    first = false;
    return fence_nb(procs, count, info, infos, tell_late, new Caller{done, data});
}
