// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "nccl_operations.hpp"

using namespace emulated_nccl;

namespace {

// Holds the operations that all ranks have queued as their n-th collective.
struct Round {
    std::map<int, Operation> operations;
    bool done = false, wrong = false;
};

struct Splitting {
    std::map<int, std::pair<int, int>> colours;  // key: rank; value: colour and key
};

struct World {
    int size = 0;
    int joined = 0;
    bool broken = false;  // a rank was aborted: nothing runs any more
    std::map<std::size_t, Round> rounds;
    std::map<std::size_t, Splitting> splittings;
    std::map<std::pair<int, int>, std::deque<Operation>> sent;            // key: sender and
                                                                          // receiver
    std::map<std::pair<std::size_t, int>, std::shared_ptr<World>> parts;  // key: splitting and
                                                                          // colour
};

struct Process {
    std::mutex mutex;  // protects everything in this file
    std::condition_variable changed;
    std::map<std::string, std::shared_ptr<World>> worlds;
    std::set<ncclComm*> communicators;
    std::size_t registered = 0;
    int ids = 0, calls = 0, aborting = 0, blocks = 0;
    std::size_t bytes = 0;
    EmulatedHold hold = EmulatedHold::nothing;
};

Process& process() {
    static Process only;
    return only;
}

}  // namespace

struct ncclComm {
    std::shared_ptr<World> world;
    int rank = 0;
    ncclResult_t error = ncclSuccess;
    int busy = 0;  // number of queries that still report it in progress
    bool used = false, aborted = false, finalized = false;
    std::size_t next_round = 0, next_splitting = 0;
    int colour = 0;
    ncclComm_t* part = nullptr;  // set during a split
    std::set<void*> registrations;
    std::deque<Operation> queue;
    std::thread thread;

    bool in_progress() const {
        return world->joined < world->size || busy > 0 || part != nullptr ||
               (finalized && !queue.empty());
    }
    void run();
    void run_one(std::unique_lock<std::mutex>& lock, const Operation& operation);
};

void ncclComm::run() {
    auto& changed = process().changed;
    std::unique_lock lock(process().mutex);
    while (true) {
        changed.wait(lock, [&] { return aborted || finalized || !queue.empty(); });
        if (queue.empty() || aborted) break;
        const Operation operation = queue.front();
        for (bool ready = false; !ready && !aborted;) {
            lock.unlock();
            ready = std::ranges::all_of(operation.before, emulated_advance);
            if (!ready) std::this_thread::sleep_for(std::chrono::microseconds(20));
            lock.lock();
        }
        run_one(lock, operation);
        if (aborted) break;
        operation.work->done = true;
        queue.pop_front();
        changed.notify_all();
    }
    for (const Operation& operation : queue) operation.work->done = true;
}

void ncclComm::run_one(std::unique_lock<std::mutex>& lock, const Operation& operation) {
    auto& changed = process().changed;
    if (operation.kind == Kind::send) {
        auto& mailbox = world->sent[{rank, operation.root}];
        mailbox.push_back(operation);
        changed.notify_all();
        changed.wait(lock, [&] { return aborted || mailbox.empty(); });
        return;
    }
    if (operation.kind == Kind::recv) {
        auto& mailbox = world->sent[{operation.root, rank}];
        changed.wait(lock, [&] { return aborted || !mailbox.empty(); });
        if (aborted || world->broken) return;
        std::memcpy(operation.to, mailbox.front().from, operation.count * bytes_of(operation.type));
        mailbox.pop_front();
        changed.notify_all();
        return;
    }
    Round& round = world->rounds[next_round++];
    round.operations[rank] = operation;
    if (static_cast<int>(round.operations.size()) == world->size && !world->broken) {
        for (const auto& [other, theirs] : round.operations)
            if (theirs.shape() != operation.shape()) round.wrong = true;
        if (!round.wrong) execute(round.operations);
        round.done = true;
        changed.notify_all();
    }
    changed.wait(lock, [&] { return aborted || round.done; });
    if (round.wrong) error = ncclInvalidUsage;
}

namespace {

ncclComm_t make(std::shared_ptr<World> world, int rank) {
    auto* comm = new ncclComm;
    comm->world = std::move(world);
    comm->rank = rank;
    ++comm->world->joined;
    process().communicators.insert(comm);
    comm->thread = std::thread([comm] { comm->run(); });
    process().changed.notify_all();
    return comm;
}

ncclResult_t queue(ncclComm_t comm, cudaStream_t stream, Operation operation) {
    const std::lock_guard lock(process().mutex);
    if (comm->error != ncclSuccess) return comm->error;
    if (comm->in_progress() || comm->finalized) return ncclInvalidUsage;
    // The real NCCL can be captured, but Lockstep never does that.
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaStreamIsCapturing(stream, &capturing);
    if (capturing != cudaStreamCaptureStatusNone) return ncclInvalidUsage;
    operation.work = std::make_shared<EmulatedTask>();
    operation.before = emulated_queue(stream, operation.work);
    const std::size_t bytes = operation.count * emulated_nccl::bytes_of(operation.type);
    emulated_count({.kind = EmulatedKind::collective, .bytes = bytes});
    comm->queue.push_back(std::move(operation));
    process().changed.notify_all();
    // A thread of NCCL launches the operation; the first one also connects.
    ++process().calls;
    process().bytes += bytes;
    comm->busy = std::exchange(comm->used, true) ? 1 : 3;
    return ncclInProgress;
}

void finish_split(ncclComm_t comm) {
    const std::size_t number = comm->next_splitting - 1;
    const auto& colours = comm->world->splittings[number].colours;
    if (static_cast<int>(colours.size()) < comm->world->size) return;
    ncclComm_t* part = std::exchange(comm->part, nullptr);
    if (comm->colour == NCCL_SPLIT_NOCOLOR) return;
    std::vector<std::pair<int, int>> members;  // sorted by key
    for (const auto& [rank, colour] : colours)
        if (colour.first == comm->colour) members.push_back({colour.second, rank});
    std::sort(members.begin(), members.end());
    auto& world = comm->world->parts[{number, comm->colour}];
    if (!world) world = std::make_shared<World>();
    world->size = static_cast<int>(members.size());
    const auto own = std::find(members.begin(), members.end(),
                               std::pair(colours.at(comm->rank).second, comm->rank));
    *part = make(world, static_cast<int>(own - members.begin()));
}

void discard(ncclComm_t comm) {
    comm->thread.join();
    const std::lock_guard lock(process().mutex);
    process().registered -= comm->registrations.size();
    process().communicators.erase(comm);
    delete comm;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
    *version = 22809;
    return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    const std::lock_guard lock(process().mutex);
    *id = {};
    const std::string name = "world " + std::to_string(process().ids++);
    std::memcpy(id->internal, name.data(), name.size());
    return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
    return result == ncclRemoteError ? "remote process exited or there was a network error"
                                     : "invalid usage";
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
    if (config->blocking != 0) return ncclInvalidArgument;
    const std::lock_guard lock(process().mutex);
    process().blocks = config->maxCTAs;
    auto& world = process().worlds[id.internal];
    if (!world) world = std::make_shared<World>();
    world->size = size;
    *comm = make(world, rank);
    return ncclInProgress;
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int key, ncclComm_t* part,
                           ncclConfig_t* config) {
    const std::lock_guard lock(process().mutex);
    if (config->blocking != 0 || comm->in_progress()) return ncclInvalidUsage;
    comm->world->splittings[comm->next_splitting++].colours[comm->rank] = {colour, key};
    comm->colour = colour;
    comm->part = part;
    *part = nullptr;
    return ncclSuccess;  // as NCCL 2.28 does, although the parent is in progress
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
    emulated_call(__func__);
    const std::lock_guard lock(process().mutex);
    if (comm->part != nullptr) finish_split(comm);
    *error = comm->error != ncclSuccess ? comm->error
             : comm->in_progress()      ? ncclInProgress
                                        : ncclSuccess;
    if (comm->busy > 0 && process().hold != EmulatedHold::calls) --comm->busy;
    return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
    *rank = comm->rank;
    return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int* size) {
    *size = comm->world->size;
    return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    const std::lock_guard lock(process().mutex);
    if (comm->in_progress() || !comm->registrations.empty()) return ncclInvalidUsage;
    comm->finalized = true;
    process().changed.notify_all();
    return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    if (!comm->finalized) return ncclInvalidUsage;
    discard(comm);
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
    {
        std::unique_lock lock(process().mutex);
        comm->aborted = comm->world->broken = true;
        process().changed.notify_all();
        ++process().aborting;
        process().changed.wait(lock, [] { return process().hold != EmulatedHold::aborts; });
        --process().aborting;
    }
    discard(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommRegister(ncclComm_t comm, void* memory, std::size_t bytes, void** handle) {
    const std::lock_guard lock(process().mutex);
    if (memory == nullptr || bytes == 0 || comm->in_progress()) return ncclInvalidUsage;
    comm->registrations.insert(memory);
    ++process().registered;
    *handle = memory;
    return ncclSuccess;
}
ncclResult_t ncclCommDeregister(ncclComm_t comm, void* handle) {
    const std::lock_guard lock(process().mutex);
    if (comm->registrations.erase(handle) == 0) return ncclInvalidArgument;
    --process().registered;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
    emulated_call(__func__);
    return queue(comm, stream, {Kind::all_reduce, from, to, count, type, reduction, 0, {}, {}});
}
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
    emulated_call(__func__);
    return queue(comm, stream, {Kind::reduce_scatter, from, to, count, type, reduction, 0, {}, {}});
}
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    emulated_call(__func__);
    return queue(comm, stream, {Kind::all_gather, from, to, count, type, ncclSum, 0, {}, {}});
}
ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
    emulated_call(__func__);
    return queue(comm, stream, {Kind::broadcast, from, to, count, type, ncclSum, root, {}, {}});
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
    emulated_call(__func__);
    return queue(comm, stream, {Kind::send, from, nullptr, count, type, ncclSum, peer, {}, {}});
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
    emulated_call(__func__);
    return queue(comm, stream, {Kind::recv, nullptr, to, count, type, ncclSum, peer, {}, {}});
}

void emulated_nccl_remote_error() {
    const std::lock_guard lock(process().mutex);
    for (ncclComm* comm : process().communicators) comm->error = ncclRemoteError;
}
std::size_t emulated_nccl_registered() {
    const std::lock_guard lock(process().mutex);
    return process().registered;
}
int emulated_nccl_calls() {
    const std::lock_guard lock(process().mutex);
    return process().calls;
}
std::size_t emulated_nccl_bytes() {
    const std::lock_guard lock(process().mutex);
    return process().bytes;
}
void emulated_nccl_hold(EmulatedHold what) {
    const std::lock_guard lock(process().mutex);
    process().hold = what;
    process().changed.notify_all();
}
int emulated_nccl_blocks() {
    const std::lock_guard lock(process().mutex);
    return process().blocks;
}
int emulated_nccl_aborting() {
    const std::lock_guard lock(process().mutex);
    return process().aborting;
}
int emulated_nccl_communicators() {
    const std::lock_guard lock(process().mutex);
    return static_cast<int>(process().communicators.size());
}
